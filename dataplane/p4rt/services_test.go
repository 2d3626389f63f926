package p4rt

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/weft-sdn/weft/dataplane/clientlimit"
)

// TestCommonServices checks that tools can ask the server for its services, their files and its
// health, that the server bounds the number of such streams on a connection, and that the streams
// end with the server.
func TestCommonServices(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := NewServer(ServerConfig{})
	listener := bufconn.Listen(1 << 16)
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///switch",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}()

	ask, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(r *reflectionpb.ServerReflectionRequest) *reflectionpb.ServerReflectionResponse {
		t.Helper()
		if err := ask.Send(r); err != nil {
			t.Fatal(err)
		}
		m, err := ask.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	var names []string
	for _, n := range answer(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}).GetListServicesResponse().GetService() {
		names = append(names, n.GetName())
	}
	for _, want := range []string{"p4.v1.P4Runtime", "grpc.health.v1.Health"} {
		if !slices.Contains(names, want) {
			t.Errorf("%v; want %s too", names, want)
		}
	}
	found := false
	for _, b := range answer(&reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{
			FileContainingSymbol: "p4.v1.P4Runtime"}}).GetFileDescriptorResponse().GetFileDescriptorProto() {
		var f descriptorpb.FileDescriptorProto
		if err := proto.Unmarshal(b, &f); err != nil {
			t.Fatal(err)
		}
		for _, service := range f.GetService() {
			for _, m := range service.GetMethod() {
				found = found || m.GetName() == "Write" && !m.GetServerStreaming()
			}
		}
	}
	if !found {
		t.Error("the file of P4Runtime has no unary Write")
	}

	client := healthpb.NewHealthClient(conn)
	for _, service := range []string{"", "p4.v1.P4Runtime"} {
		if r, err := client.Check(ctx, &healthpb.HealthCheckRequest{Service: service}); err != nil ||
			r.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("%q is %v, %v", service, r.GetStatus(), err)
		}
	}
	watch := func() (grpc.ServerStreamingClient[healthpb.HealthCheckResponse], error) {
		w, err := client.Watch(ctx, &healthpb.HealthCheckRequest{})
		if err != nil {
			return nil, err
		}
		_, err = w.Recv()
		return w, err
	}
	w, err := watch()
	for range clientlimit.MaxStreams - 1 {
		if err == nil {
			_, err = watch()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one more than %d streams: %v, want ResourceExhausted", clientlimit.MaxStreams, err)
	}

	s.Close(ctx) // waits for the streams
	if err := <-served; err != nil {
		t.Error(err)
	}
	for err = nil; err == nil; {
		_, err = w.Recv()
	}
	if _, end := ask.Recv(); status.Code(end) != codes.Unavailable ||
		status.Code(err) != codes.Unavailable && !errors.Is(err, context.Canceled) {
		t.Errorf("the streams ended with %v and %v, want Unavailable", err, end)
	}
	if n := s.Stats().Calls; len(n) > 0 {
		t.Errorf("calls of common services are counted as those of P4Runtime: %v", n)
	}
}
