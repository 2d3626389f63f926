package gnmi

import (
	"context"
	"errors"
	"sync"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Version is the gNMI version that Capabilities reports.
const Version = "0.10.0"

// Server is the gRPC service gnmi.gNMI for one switch.
type Server struct {
	gpb.UnimplementedGNMIServer

	source Source
	done   chan struct{} // closed by Close

	mu      sync.Mutex
	closed  bool          // guarded by mu
	changed chan struct{} // guarded by mu; closed and replaced when a port changes
}

// NewServer makes a server that serves nothing before Register.
func NewServer() *Server {
	return &Server{done: make(chan struct{}), changed: make(chan struct{})}
}

// Register adds the service to a gRPC server that does not serve yet.
func (s *Server) Register(at grpc.ServiceRegistrar, source Source) {
	s.source = source
	gpb.RegisterGNMIServer(at, s)
}

// PortChanged must be called when the state of a port has changed; it has the
// form of dataplane.Config.PortChanged. It never waits.
func (s *Server) PortChanged(uint32, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// change returns the channel that is closed at the next change.
func (s *Server) change() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Close ends all subscriptions, those to come too, with UNAVAILABLE.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.done)
	}
}

var errClosed = status.Error(codes.Unavailable, "the switch is closed")

// ports reads the switch.
func (s *Server) ports(ctx context.Context) ([]Port, error) {
	ports, err := s.source.Ports(ctx)
	switch {
	case err == nil:
		return ports, nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil, status.FromContextError(err).Err()
	}
	return nil, errClosed
}

// Capabilities implements gnmi.gNMI.
func (s *Server) Capabilities(context.Context, *gpb.CapabilityRequest) (*gpb.CapabilityResponse, error) {
	return &gpb.CapabilityResponse{
		SupportedModels: []*gpb.ModelData{
			{Name: "openconfig-interfaces", Organization: "OpenConfig working group", Version: "3.0.0"},
			{Name: "openconfig-p4rt", Organization: "OpenConfig working group", Version: "1.0.0"},
		},
		SupportedEncodings: encodings,
		GNMIVersion:        Version,
	}, nil
}

// Get implements gnmi.gNMI: a notification for each path and port.
func (s *Server) Get(ctx context.Context, req *gpb.GetRequest) (*gpb.GetResponse, error) {
	if err := checkEncoding(req.GetEncoding()); err != nil {
		return nil, err
	}
	if n := len(req.GetPath()); n == 0 || n > maxSubscriptions {
		return nil, status.Errorf(codes.InvalidArgument, "%d paths; want 1 to %d", n, maxSubscriptions)
	}
	patterns := make([]pattern, len(req.GetPath()))
	for i, path := range req.GetPath() {
		var err error
		if patterns[i], err = compile(req.GetPrefix(), path); err != nil {
			return nil, err
		}
	}
	ports, err := s.ports(ctx)
	if err != nil {
		return nil, err
	}
	out := &gpb.GetResponse{}
	now := time.Now()
	for i, p := range patterns {
		r := newReport(now, req.GetPrefix(), req.GetEncoding())
		if req.GetType() != gpb.GetRequest_CONFIG { // everything is state
			for i := range ports {
				p.each(&ports[i], r.add)
			}
		}
		if len(r.all) == 0 {
			return nil, status.Errorf(codes.NotFound, "path %s: there is none", text(req.GetPrefix(), req.GetPath()[i]))
		}
		out.Notification = append(out.Notification, r.all...)
	}
	return out, nil
}
