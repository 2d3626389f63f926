package hosts_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/host/agent/agenttest"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/service/hostrelay"
	"github.com/weft-sdn/weft/southbound/hosts"
)

// attended is a world whose controller decides, and the attendants of two others.
type attended struct {
	*bed
	listeners [2]*bufconn.Listener
	at        atomic.Int64 // where hosts connect
	dials     [2]atomic.Int64
}

// newAttended returns such a world. Hosts report their counters after an interval; 0: they do not.
func newAttended(t *testing.T, counts time.Duration) *attended {
	w := &attended{bed: newBed(t, func(c *hosts.Config) {
		c.RetryInterval, c.CountsInterval = time.Second, counts
	})}
	inv := lab.Clos(lab.ClosConfig{Planes: 2, T0: 2, T1: 2, Hosts: 2})
	inventory := inv.Inventory(nil)
	inventory.MRC.Mode = "stev"
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	cc, err := grpc.NewClient("passthrough:///decider",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			w.mu.Lock()
			l := w.listener
			w.mu.Unlock()
			return l.DialContext(ctx)
		}), grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6,
				MaxDelay: time.Second}, MinConnectTimeout: time.Second,
		}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.listeners {
		cfg := hosts.DefaultConfig()
		cfg.Epoch, cfg.CountsInterval = uint64(100+i), counts
		a, err := hostrelay.New(hostrelay.Config{
			Inventory: &inventory, Hosts: cfg, Connect: func(context.Context) (agent.Conn, error) {
				return cc, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		l := bufconn.Listen(1 << 16)
		w.listeners[i] = l
		running.Go(func() {
			if err := a.Run(ctx, l); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
		_ = cc.Close()
	})
	return w
}

// host runs an agent of host H1, which connects where w.at says, until the test ends.
func (w *attended) host(e *agenttest.Endpoint) *agent.Agent { return w.named("H1", e) }

// named is host for a host of another name.
func (w *attended) named(name string, e *agenttest.Endpoint) *agent.Agent {
	cfg := agent.DefaultConfig()
	cfg.Controller, cfg.Name = "controller:1", name
	cfg.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context,
		_ string) (net.Conn, error) {
		at := w.at.Load()
		w.dials[at].Add(1)
		c, err := w.listeners[at].DialContext(ctx)
		if err != nil {
			return nil, err
		}
		cut := &cuttable{Conn: c, left: new(atomic.Int64)}
		cut.left.Store(-1)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.conns = append(w.conns, cut)
		return cut, nil
	})}
	a, err := agent.New(cfg, e)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = a.Run(ctx)
	}()
	w.t.Cleanup(func() {
		cancel()
		<-done
	})
	return a
}

func (w *attended) set(s *hostapi.State) {
	w.t.Helper()
	if err := w.server.Set("H1", s); err != nil {
		w.t.Fatal(err)
	}
}

// TestAttended: the decider treats a host at another controller's attendant like its own host.
// Answers arrive after the host has applied or refused a state, and reports arrive too.
func TestAttended(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newAttended(t, 0)
		first := state(t, 2, 8)
		w.set(first)
		var refuse atomic.Bool
		slow := &agenttest.Endpoint{Refuse: func(c agent.Change) error {
			time.Sleep(time.Second) // as a device may take
			if refuse.Load() {
				return &hostapi.FieldError{Code: hostapi.CodeDevice, Field: "set_profiles[leaf0-leaf2]",
					Reason: "no room"}
			}
			return nil
		}}
		a := w.host(slow)
		settle(500 * time.Millisecond)
		if st, _ := w.server.Status("H1"); !st.Connected || st.Current {
			t.Fatalf("before the host has applied: %+v", st)
		}
		settle(time.Second)
		if st, _ := w.server.Status("H1"); !st.Current || !slow.State().Equal(first) {
			t.Fatalf("after the host has applied: %+v", st)
		}

		ev := first.Profiles[0].EVs[1]
		a.PortStatus(hostapi.Ports(1, 2))
		a.EVEvent(hostapi.EVEvent{Profile: "leaf0-leaf1", EV: ev, State: hostapi.EVAssumedBad})
		err := w.server.Probe("H1", &hostapi.Probe{
			ID: 7, Destination: first.Profiles[0].Destinations[0].Addr(), Format: first.Profiles[0].Format,
			EV: ev, Count: 3, Timeout: time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		settle(3 * time.Second)
		if r := w.observer.Result("H1"); r.ID != 7 || r.Received != 3 {
			t.Errorf("probe: %+v", r)
		}
		if e := w.observer.Events("H1"); len(e) != 1 || e[0].EV != ev {
			t.Errorf("events: %+v", e)
		}

		refuse.Store(true)
		second := *first
		changed := *first.Profiles[1]
		changed.MinActive++
		second.Profiles = []*hostapi.Profile{first.Profiles[0], &changed}
		w.set(&second)
		settle(1500 * time.Millisecond)
		if st, _ := w.server.Status("H1"); len(st.Refusals) != 1 ||
			st.Refusals[0].Field != "set_profiles[leaf0-leaf2]" || st.Refusals[0].Reason != "no room" {
			t.Fatalf("after the host has refused: %+v", st)
		}
		refuse.Store(false)
		settle(20 * time.Second)
		if st, _ := w.server.Status("H1"); !st.Current || !slow.State().Equal(&second) {
			t.Fatalf("after the host has room: %+v, holds %+v", st, slow.State())
		}
	})
}

// TestAttendedElsewhere: an attendant says nothing to a host that another controller has served
// since.
func TestAttendedElsewhere(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newAttended(t, time.Second)
		first := state(t, 2, 8)
		w.set(first)
		h := &agenttest.Endpoint{}
		w.host(h)
		settle(time.Second)
		if !h.State().Equal(first) {
			t.Fatalf("holds %+v", h.State())
		}
		h.SetCounts(hostapi.EVCount{Profile: "leaf0-leaf1", EV: first.Profiles[0].EVs[1], Sent: 9,
			Lost: 2})
		settle(3 * time.Second)
		if c := w.observer.Counts("H1"); len(c) == 0 || c[0].Sent != 9 || c[0].Lost != 2 {
			t.Errorf("counts: %+v", c)
		}
		w.at.Store(1)
		w.cut()
		second := deny(t, first, 3)
		w.set(second)
		settle(20 * time.Second)
		if !h.State().Equal(second) {
			t.Fatalf("at another controller it holds %+v", h.State())
		}
		if c := h.Changes(); w.dials[1].Load() == 0 || len(c) != 2 {
			t.Fatalf("%d connections to the other controller, %d changes", w.dials[1].Load(), len(c))
		}
		w.stop()
		w.at.Store(0)
		w.cut()
		settle(30 * time.Second)
		if w.dials[0].Load() < 2 {
			t.Error("the host has not come back")
		}
		if !h.State().Equal(second) {
			t.Errorf("back at the first controller, without a decider, it holds %+v", h.State())
		}
		// The connection and the host's state survive the change of the decider.
		w.start(2, nil)
		third := deny(t, second, 5)
		w.set(third)
		settle(5 * time.Second)
		if !h.State().Equal(third) {
			t.Errorf("it holds %+v, want what the next decider says", h.State())
		}
	})
}

// TestAttendedRestart: a host that starts again while no controller decides gets what it held at
// its attendant, and then what the next decider says.
func TestAttendedRestart(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newAttended(t, 0)
		first := state(t, 2, 8)
		w.set(first)
		h := &agenttest.Endpoint{}
		a := w.host(h)
		settle(time.Second)
		if !h.State().Equal(first) {
			t.Fatalf("holds %+v", h.State())
		}
		w.stop()
		for i := range 3 {
			a.Finish()
			h = &agenttest.Endpoint{}
			a = w.host(h)
			settle(10 * time.Second)
			if !h.State().Equal(first) {
				t.Fatalf("after restart %d, without a decider, it holds %+v", i+1, h.State())
			}
		}
		w.cut()
		settle(10 * time.Second)
		if c := h.Changes(); len(c) != 1 || !h.State().Equal(first) {
			t.Fatalf("after its connection was lost it holds %+v, by %d changes", h.State(), len(c))
		}
		w.start(2, nil)
		second := deny(t, first, 3)
		w.set(second)
		settle(10 * time.Second)
		if st, _ := w.server.Status("H1"); !h.State().Equal(second) || !st.Current {
			t.Errorf("it holds %+v, want what the next decider says (%+v)", h.State(), st)
		}
	})
}

// TestAttendedRestartLater: a host that starts again gets nothing that the decider may have changed
// since, and nothing but the decider's state when there is a decider.
func TestAttendedRestartLater(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newAttended(t, 0)
		first := state(t, 2, 8)
		w.set(first)
		h := &agenttest.Endpoint{}
		a := w.host(h)
		settle(time.Second)
		a.Finish()
		settle(time.Second)
		second := deny(t, first, 3)
		w.set(second)
		h = &agenttest.Endpoint{}
		a = w.host(h)
		settle(10 * time.Second)
		if c := h.Changes(); len(c) != 1 || !h.State().Equal(second) {
			t.Fatalf("with a decider it holds %+v, by %d changes", h.State(), len(c))
		}
		a.Finish()
		settle(time.Second)
		if err := w.server.Set("H2", second); err != nil {
			t.Fatal(err)
		}
		other := &agenttest.Endpoint{}
		w.named("H2", other)
		settle(time.Second)
		if !other.State().Equal(second) {
			t.Fatalf("the other host holds %+v", other.State())
		}
		w.stop()
		h = &agenttest.Endpoint{}
		w.host(h)
		settle(20 * time.Second)
		if len(h.Changes()) != 0 {
			t.Errorf("it holds %+v, which the decider may have changed since", h.State())
		}
	})
}
