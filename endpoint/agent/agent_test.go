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
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weft-sdn/weft/endpoint/agent"
	"github.com/weft-sdn/weft/endpoint/agent/agenttest"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/hostapi/hostpb"
)

// laconic is a controller that takes streams, says welcome or not, and nothing else.
type laconic struct {
	hostpb.UnimplementedHostsServer
	welcome *hostapi.Welcome
	streams atomic.Int32
}

func (s *laconic) Subscribe(stream hostpb.Hosts_SubscribeServer) error {
	s.streams.Add(1)
	if s.welcome != nil {
		for _, m := range hostapi.EncodeDown(s.welcome) {
			if err := stream.Send(m); err != nil {
				return err
			}
		}
	}
	<-stream.Context().Done()
	return stream.Context().Err()
}

// runAgent runs an agent of that controller in a bubble of synctest, until the test ends.
func runAgent(t *testing.T, s *laconic, timeout time.Duration) *agent.Agent {
	t.Helper()
	l := bufconn.Listen(1 << 16)
	server := grpc.NewServer(grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
		MinTime: 5 * time.Second, PermitWithoutStream: true})) // as the controller's
	hostpb.RegisterHostsServer(server, s)
	go func() { _ = server.Serve(l) }()

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
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
		server.Stop()
	})
	return a
}

// TestNoWelcome: an agent gives a stream up when the controller's welcome does not come in time
// (Config.WelcomeTimeout), says so, and tries again.
func TestNoWelcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 3 * time.Second
		s := &laconic{}
		a := runAgent(t, s, timeout)
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

// TestStreamStays: a stream lasts after its welcome, however little is said by it, and the timeout
// of the welcome is over.
func TestStreamStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &laconic{welcome: &hostapi.Welcome{Software: "quiet", MaxEvents: 1, MaxCounts: 1,
			MaxMessageRate: 1}}
		a := runAgent(t, s, 3*time.Second)
		time.Sleep(time.Hour)
		synctest.Wait()
		if st := a.Status(); !st.Connected || st.Err != nil || st.Welcome.Software != "quiet" ||
			s.streams.Load() != 1 {
			t.Errorf("after an hour: %+v, and %d streams", st, s.streams.Load())
		}
	})
}

// TestFinishWithoutStream: an agent that has no stream when the host ends cannot say so: Run
// returns at once, also where Finish came first.
func TestFinishWithoutStream(t *testing.T) {
	for _, first := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			cfg := agent.DefaultConfig()
			cfg.Name, cfg.Controller, cfg.Instance = "h1", "controller:1", 1
			cfg.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context,
				_ string) (net.Conn, error) {
				return nil, context.DeadlineExceeded
			})}
			a, err := agent.New(cfg, &agenttest.Endpoint{})
			if err != nil {
				t.Fatal(err)
			}
			if first {
				a.Finish()
			}
			done := make(chan error, 1)
			go func() { done <- a.Run(t.Context()) }()
			synctest.Wait()
			a.Finish()
			a.Finish()
			synctest.Wait()
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("Finish first %v: %v", first, err)
				}
			default:
				t.Errorf("Finish first %v: Run goes on", first)
				t.FailNow()
			}
		})
	}
}
