package p4rt

import (
	"context"
	"maps"
	"path"
	"strings"
	"sync"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/dataplane/clientlimit"
)

// Call names calls of the service that ended alike.
type Call struct {
	Method string // "Write"
	Code   string // of gRPC: "OK", "InvalidArgument"
}

// ServerStats counts the calls of a Server.
type ServerStats struct {
	Streams int               // open stream channels
	Dropped uint64            // messages to controllers that read too slowly
	Updates uint64            // in Write requests, refused ones included
	Calls   map[Call]uint64   // calls that have ended
	Unread  int               // octets of answers to Reads that wait for their clients
	Clients clientlimit.Stats // connections, and clients turned away
}

// Stats returns the counts so far.
func (s *Server) Stats() ServerStats {
	dropped := s.Dropped()
	s.mu.Lock()
	streams := len(s.streams)
	s.mu.Unlock()
	s.backlogs.mu.Lock()
	unread := s.backlogs.octets
	s.backlogs.mu.Unlock()
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	return ServerStats{Streams: streams, Dropped: dropped, Updates: s.calls.updates,
		Calls:  maps.Clone(s.calls.ended),
		Unread: unread, Clients: s.limiter.Stats()}
}

// callCounter counts calls as they end.
type callCounter struct {
	mu      sync.Mutex
	ended   map[Call]uint64 // guarded by mu
	updates uint64          // guarded by mu
}

func (c *callCounter) updated(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.updates += uint64(n)
}

func (c *callCounter) count(method string, err error) {
	if !strings.HasPrefix(method, "/"+p4v1.P4Runtime_ServiceDesc.ServiceName+"/") {
		return // another service at the port
	}
	call := Call{path.Base(method), status.Code(err).String()}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
		c.ended = make(map[Call]uint64)
	}
	c.ended[call]++
}

func (c *callCounter) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo,
	handler grpc.UnaryHandler) (any, error) {
	resp, err := handler(ctx, req)
	c.count(info.FullMethod, err)
	return resp, err
}

func (c *callCounter) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	handler grpc.StreamHandler) error {
	err := handler(srv, stream)
	c.count(info.FullMethod, err)
	return err
}
