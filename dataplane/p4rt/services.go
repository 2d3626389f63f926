package p4rt

import (
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/dataplane/clientlimit"
)

// common adds the services that gRPC tools expect at any port: server reflection (v1 and v1alpha)
// and health checking. They list what is registered before Serve.
func (s *Server) common() {
	s.health = health.NewServer()
	healthpb.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)
}

// RegisterService implements grpc.ServiceRegistrar: it adds another service to the same port, such
// as gNMI. Call it before Serve. Close also waits for the calls of the added service, so the caller
// must end these calls first.
func (s *Server) RegisterService(d *grpc.ServiceDesc, impl any) {
	s.grpc.RegisterService(d, impl)
	s.health.SetServingStatus(d.ServiceName, healthpb.HealthCheckResponse_SERVING)
}

// commonStream bounds the streams of the common services of a connection, and ends them when the
// server closes: their handlers know nothing of that.
func (s *Server) commonStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	handler grpc.StreamHandler) error {
	service, _, _ := strings.Cut(strings.TrimPrefix(info.FullMethod, "/"), "/")
	if !strings.HasPrefix(service, "grpc.") {
		return handler(srv, stream)
	}
	leave, ok := clientlimit.ClientOf(stream.Context()).Stream(service)
	if !ok {
		return status.Errorf(codes.ResourceExhausted,
			"the connection has %d streams of %s, as many as it may", clientlimit.MaxStreams, service)
	}
	served := make(chan error, 1)
	go func() { // it ends with the stream
		defer leave()
		served <- handler(srv, stream)
	}()
	select {
	case err := <-served:
		return err
	case <-s.done:
		return status.Error(codes.Unavailable, "the server is closed")
	}
}
