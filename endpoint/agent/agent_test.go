package agent_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weft-sdn/weft/endpoint/agent"
	"github.com/weft-sdn/weft/endpoint/agent/agenttest"
	"github.com/weft-sdn/weft/hostapi/hostpb"
)

// silent is a controller that takes streams and says nothing.
type silent struct {
	hostpb.UnimplementedHostsServer
	streams atomic.Int32
}

func (s *silent) Subscribe(stream hostpb.Hosts_SubscribeServer) error {
	s.streams.Add(1)
	<-stream.Context().Done()
	return stream.Context().Err()
}

// TestNoWelcome: an agent gives a stream up when the controller's welcome does not come in time
// (Config.WelcomeTimeout), says so, and tries again.
func TestNoWelcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 3 * time.Second
		l := bufconn.Listen(1 << 16)
		s := &silent{}
		server := grpc.NewServer()
		hostpb.RegisterHostsServer(server, s)
		go func() { _ = server.Serve(l) }()
		defer server.Stop()

		cfg := agent.DefaultConfig()
		cfg.Name, cfg.Controller, cfg.Instance, cfg.WelcomeTimeout = "h1", "controller:1", 1, timeout
		cfg.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context,
			_ string) (net.Conn, error) {
			return l.DialContext(ctx)
		})}
		a, err := agent.New(cfg, &agenttest.Endpoint{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		defer func() { cancel(); <-done }()

		time.Sleep(timeout - time.Millisecond)
		synctest.Wait()
		if st := a.Status(); st.Err != nil || s.streams.Load() != 1 {
			t.Errorf("before the timeout: %v, after %d streams", st.Err, s.streams.Load())
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if st := a.Status(); st.Connected || st.Err == nil ||
			!strings.Contains(st.Err.Error(), "no welcome within 3s") {
			t.Errorf("after the timeout: connected %v, %v", st.Connected, st.Err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if s.streams.Load() < 2 {
			t.Errorf("%d streams after a minute", s.streams.Load())
		}
	})
}
