package agent_test

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/api/hostapi/hostpb"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/host/agent/agenttest"
	"github.com/weft-sdn/weft/internal/bubble"
)

// laconic is a controller that takes streams, says welcome or not, and little else.
type laconic struct {
	hostpb.UnimplementedHostsServer
	welcome *hostapi.Welcome
	update  *hostpb.Update // after the welcome; nil: none
	streams atomic.Int32
	open    atomic.Int32 // of these

	mu    sync.Mutex
	heard []hostapi.Up
}

func (s *laconic) Subscribe(stream hostpb.Hosts_SubscribeServer) error {
	s.streams.Add(1)
	s.open.Add(1)
	defer s.open.Add(-1)
	var say []*hostpb.ControllerMessage
	if s.welcome != nil {
		say = hostapi.EncodeDown(s.welcome)
	}
	if s.update != nil {
		say = append(say, &hostpb.ControllerMessage{
			Message: &hostpb.ControllerMessage_Update{Update: s.update}})
	}
	for _, m := range say {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		up, err := hostapi.DecodeUp(m)
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.heard = append(s.heard, up)
		s.mu.Unlock()
	}
}

// last is the latest message that it has heard.
func (s *laconic) last() hostapi.Up {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard[len(s.heard)-1]
}

// runAgent runs an agent of that controller in a bubble of synctest, until the test ends.
func runAgent(t *testing.T, s *laconic, change func(*agent.Config)) *agent.Agent {
	t.Helper()
	l := bufconn.Listen(1 << 16)
	server := grpc.NewServer(grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
		MinTime: 5 * time.Second, PermitWithoutStream: true})) // as the controller's
	hostpb.RegisterHostsServer(server, s)
	go func() { _ = server.Serve(l) }()

	cfg := agent.DefaultConfig()
	cfg.Name, cfg.Controller, cfg.Instance = "h1", "controller:1", 1
	cfg.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context,
		_ string) (net.Conn, error) {
		return l.DialContext(ctx)
	})}
	cfg.WelcomeTimeout = timeout
	if change != nil {
		change(&cfg)
	}
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

// timeout is how long agents wait for the welcome.
const timeout = 3 * time.Second

// TestNoWelcome: an agent gives a stream up when the controller's welcome does not come in time
// (Config.WelcomeTimeout), says so, and tries again.
func TestNoWelcome(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &laconic{}
		a := runAgent(t, s, nil)
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

// TestOtherThanWelcome: the agent ends a stream that does not begin with a welcome, even over a
// shared connection, and tries a new stream.
func TestOtherThanWelcome(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &laconic{update: &hostpb.Update{Last: true}}
		a := runAgent(t, s, func(c *agent.Config) {
			cc, err := grpc.NewClient("passthrough:///"+c.Controller, append(c.DialOptions,
				grpc.WithTransportCredentials(insecure.NewCredentials()))...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cc.Close() })
			c.Connect = func(context.Context) (agent.Conn, error) { return cc, nil }
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		if st := a.Status(); st.Connected || st.Err == nil ||
			!strings.Contains(st.Err.Error(), "want welcome") {
			t.Errorf("connected %v, %v", st.Connected, st.Err)
		}
		if s.streams.Load() < 2 || s.open.Load() != 0 {
			t.Errorf("%d streams after a minute, of which %d are open, want more than 1 and none",
				s.streams.Load(), s.open.Load())
		}
	})
}

// TestTells: the agent reports the queue pairs to the controller, and refuses an update with a
// wrong encoding.
func TestTells(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &laconic{
			welcome: &hostapi.Welcome{Software: "quiet", MaxEvents: 1, MaxCounts: 1, MaxMessageRate: 1,
				MaxGroups: 1},
			update: &hostpb.Update{Version: &hostpb.Version{Epoch: 1, Number: 2}, Last: true,
				SetProfiles: []*hostpb.EvProfile{{}}},
		}
		a := runAgent(t, s, nil)
		synctest.Wait()
		want := hostapi.Version{Epoch: 1, Number: 2}
		if r, _ := s.last().(*hostapi.Refused); r == nil || r.Version != want || r.Field == "" ||
			a.Status().Refused == nil {
			t.Errorf("after a wrong update %+v, %+v; want that %v is refused", s.last(), a.Status(), want)
		}
		group := hostapi.QueuePairGroup{Count: 3,
			QueuePairKey: hostapi.QueuePairKey{Peer: netip.MustParseAddr("2001:db8::1")}}
		a.QueuePairs(hostapi.QueuePairs{Groups: []hostapi.QueuePairGroup{group}})
		synctest.Wait()
		if q, _ := s.last().(*hostapi.QueuePairs); q == nil || len(q.Groups) != 1 ||
			q.Groups[0] != group {
			t.Errorf("%+v, want %+v", s.last(), group)
		}
		a.Finish()
		synctest.Wait()
		if v, _ := a.Held(); v != (hostapi.Version{}) { // it can be asked still
			t.Errorf("at the end the host holds %v", v)
		}
	})
}

// TestStreamStays: a stream lasts after its welcome, however little is said by it, and the timeout
// of the welcome is over.
func TestStreamStays(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := &laconic{welcome: &hostapi.Welcome{Software: "quiet", MaxEvents: 1, MaxCounts: 1,
			MaxMessageRate: 1}}
		a := runAgent(t, s, nil)
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
		bubble.Test(t, func(t *testing.T) {
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
