package hosts

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/api/hostapi/hostpb"
)

// delegate hands streams to the present server.
type delegate struct {
	hostpb.UnimplementedHostsServer
	server func() *Server
}

// Register has a gRPC server take streams for the server that server returns; nil: there is none
// now. The acceptor of the connections makes sure that the other end may take the place of every
// host.
func Register(r grpc.ServiceRegistrar, server func() *Server) {
	hostpb.RegisterHostsServer(r, &delegate{server: server})
}

// Subscribe serves a stream: it is gRPC's.
func (g *delegate) Subscribe(stream grpc.BidiStreamingServer[hostpb.HostMessage,
	hostpb.ControllerMessage]) error {
	if s := g.server(); s != nil {
		return s.Subscribe(stream)
	}
	return status.Error(codes.Unavailable, "this controller serves no hosts")
}
