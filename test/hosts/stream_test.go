package hosts_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/host/agent/agenttest"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/southbound/hosts"
)

func check(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("said:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestSubscribe: a host gets a snapshot, then deltas, and what it says arrives.
func TestSubscribe(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, func(c *hosts.Config) { c.CountsInterval = time.Second })
		first := state(t, 3, 8)
		if err := w.server.Set("h1", first); err != nil {
			t.Fatal(err)
		}
		h := w.host("h1", &agenttest.Endpoint{}, nil)
		settle(100 * time.Millisecond)
		if !h.State().Equal(first) {
			t.Fatalf("holds %+v", h.State())
		}
		second := deny(t, first, 3)
		if err := w.server.Set("h1", second); err != nil {
			t.Fatal(err)
		}
		settle(0)
		if !h.State().Equal(second) {
			t.Fatalf("holds %+v", h.State())
		}
		if c := h.Changes(); len(c) != 2 || len(c[1].Delta.Change) != 3 ||
			len(c[1].Delta.SetProfiles) != 0 {
			t.Errorf("%d changes, the second %+v", len(c), c[1].Delta)
		}
		ev := first.Profiles[1].EVs[2]
		h.agent.PortStatus(hostapi.Ports(1, 2))
		settle(0)
		h.agent.EVEvent(hostapi.EVEvent{Profile: "leaf0-leaf2", EV: ev, State: hostapi.EVAssumedBad})
		settle(0)
		h.agent.EVEvent(hostapi.EVEvent{Profile: "leaf0-leaf2", EV: ev, State: hostapi.EVGood})
		settle(0)
		probe := &hostapi.Probe{
			ID: 7, Destination: first.Profiles[1].Destinations[0].Addr(), Format: first.Profiles[1].Format,
			EV: ev, DSCP: 46, Count: 3, Timeout: time.Second,
		}
		if err := w.server.Probe("h1", probe); err != nil {
			t.Fatal(err)
		}
		settle(0)
		h.SetCounts(hostapi.EVCount{Profile: "leaf0-leaf2", EV: ev, Sent: 10, Lost: 1})
		settle(3 * time.Second) // what has not changed is not said again
		check(t, w.observer.Said("h1"),
			"hello none", "applied 1", "applied 2", "ports 0x6", "1 events, 0 dropped",
			"1 events, 0 dropped", "probe 7: 3 of 3 ", "1 counts")
		if c := w.server.Counters(); c.Snapshots != 1 || c.Deltas != 1 || c.Applied != 2 ||
			c.Streams != 1 || c.Probes != 1 || c.Events != 2 || c.Counts != 1 {
			t.Errorf("%+v", c)
		}
		s, ok := w.server.Status("h1")
		if !ok || !s.Connected || !s.Current || s.Applied != (hostapi.Version{Epoch: 1, Number: 2}) ||
			s.Hello.Capabilities.MaxMPR != 32 {
			t.Errorf("%+v", s)
		}
	})
}

// TestControllerGone: a controller without a state for a host leaves the host alone, and a host
// keeps its state while the controller is gone.
func TestControllerGone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, nil)
		first := deny(t, state(t, 2, 8), 1)
		_ = w.server.Set("h1", first)
		h := w.host("h1", &agenttest.Endpoint{}, nil)
		settle(time.Second)
		w.stop()
		settle(time.Hour)
		if !h.State().Equal(first) {
			t.Fatalf("without a controller: %+v", h.State())
		}
		if s := h.agent.Status(); s.Connected || s.Err == nil {
			t.Errorf("%+v", s)
		}
		h.agent.EVEvent(hostapi.EVEvent{Profile: "leaf0-leaf1", EV: first.Profiles[0].EVs[2],
			State: hostapi.EVAssumedBad})

		w.start(2, nil) // it says nothing yet: its topology is not in sync
		settle(time.Minute)
		if !h.State().Equal(first) || len(h.Changes()) != 1 {
			t.Fatalf("after the restart: %+v", h.State())
		}
		_ = w.server.Set("h1", first) // and then what the host has
		settle(time.Second)
		if n := len(h.Changes()); n != 1 {
			t.Errorf("%d changes, want the first: the host has the rest already", n)
		}
		second := deny(t, first, 2)
		_ = w.server.Set("h1", second)
		settle(0)
		if !h.State().Equal(second) {
			t.Errorf("holds %+v", h.State())
		}
		// The EV that went bad meanwhile is told when the controller can know it.
		check(t, w.observer.Said("h1"), "hello none", "applied 1", "gone", "hello 1.1", "applied 1",
			"1 events, 0 dropped", "applied 2")
		if c := w.server.Counters(); c.UnknownEVs != 1 || c.Snapshots != 1 || c.Deltas != 1 {
			t.Errorf("%+v", c)
		}
	})
}

// TestResume: a stream that was cut is taken up by version.
func TestResume(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, nil)
		s := state(t, 4, 16)
		_ = w.server.Set("h1", s)
		h := w.host("h1", &agenttest.Endpoint{}, nil)
		settle(time.Second)
		for i := range 5 {
			w.cut()
			s = deny(t, s, i)
			_ = w.server.Set("h1", s)
			settle(time.Minute)
			if !h.State().Equal(s) {
				t.Fatalf("round %d: %+v", i, h.State())
			}
		}
		// deltas may have gone into the dead streams too
		if c := w.server.Counters(); c.Snapshots != 1 || c.Applied != 6 || c.Streams != 6 {
			t.Errorf("%+v", c)
		}
	})
}

// TestCutInSnapshot: wherever the stream breaks within a snapshot, the host applies nothing of the
// snapshot, and in the end applies the whole snapshot.
func TestCutInSnapshot(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := state(t, 600, 128) // several parts
		parts := hostapi.Parts(&hostapi.Update{Version: hostapi.Version{Epoch: 1, Number: 1},
			Delta: hostapi.Diff(nil, s, true)}, hostapi.PartBytes)
		size := 0
		for _, p := range parts {
			size += proto.Size(p)
		}
		if len(parts) < 2 {
			t.Fatalf("%d parts", len(parts))
		}
		w := newBed(t, nil)
		_ = w.server.Set("h1", s)
		var tries atomic.Int64
		h := w.host("h1", &agenttest.Endpoint{}, func(i int, c *cuttable) {
			tries.Store(int64(i))
			if i < 6 {
				c.left.Store(int64(i * size / 6)) // the last of these is within the last part
			}
		})
		for h.State() == nil && tries.Load() < 20 {
			settle(time.Second)
		}
		if tries.Load() != 6 || !h.State().Equal(s) || len(h.Changes()) != 1 {
			t.Errorf("after %d cuts: %d changes", tries.Load(), len(h.Changes()))
		}
	})
}

// TestSlowHost: a slow host receives all missed changes as one delta to the latest state.
func TestSlowHost(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, nil)
		slow := make(chan struct{})
		e := &agenttest.Endpoint{}
		e.Applied = func(s *hostapi.State) {
			if len(s.Profiles[0].Denied) == 1 {
				<-slow
			}
		}
		s := state(t, 2, 64)
		_ = w.server.Set("h1", s)
		h := w.host("h1", e, nil)
		settle(time.Second)
		for i := range 60 {
			s = deny(t, s, i)
			_ = w.server.Set("h1", s)
			settle(time.Millisecond)
		}
		close(slow)
		settle(time.Second)
		if !h.State().Equal(s) {
			t.Error("not the last state")
		}
		if c := w.server.Counters(); c.Snapshots != 1 || c.Deltas != 2 {
			t.Errorf("%+v, want one delta to be slow with, and one for the rest", c)
		}
	})
}

// TestSilentHost: a host that does not answer loses its stream, and begins where it was.
func TestSilentHost(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, nil)
		stuck := make(chan struct{})
		e := &agenttest.Endpoint{}
		e.Applied = func(s *hostapi.State) {
			if len(s.Profiles[0].Denied) == 1 {
				<-stuck
			}
		}
		s := state(t, 1, 8)
		_ = w.server.Set("h1", s)
		h := w.host("h1", e, nil)
		settle(time.Second)
		_ = w.server.Set("h1", deny(t, s, 1))
		settle(2 * time.Minute)
		if c := w.server.Counters(); c.Silent != 1 {
			t.Errorf("%+v", c)
		}
		close(stuck)
		settle(time.Minute)
		// It had applied what it could not answer any more.
		check(t, w.observer.Said("h1"), "hello none", "applied 1", "gone", "hello 1.2", "applied 2")
		_ = w.server.Set("h1", deny(t, s, 1, 2))
		settle(time.Second)
		if c := w.server.Counters(); c.Snapshots != 1 || !h.State().Equal(deny(t, s, 1, 2)) {
			t.Errorf("%+v", c)
		}
	})
}

// TestNewerStream: a host that connects again replaces its older stream, in whatever order they
// come.
func TestNewerStream(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, nil)
		s := state(t, 1, 8)
		_ = w.server.Set("h1", s)
		old := w.host("h1", &agenttest.Endpoint{}, nil)
		settle(10 * time.Millisecond)
		young := w.host("h1", &agenttest.Endpoint{}, nil)
		settle(10 * time.Millisecond)
		check(t, w.observer.Said("h1"), "hello none", "applied 1", "gone", "hello none", "applied 2")
		if !young.State().Equal(s) || !young.agent.Status().Connected || old.agent.Status().Connected {
			t.Errorf("%+v", old.agent.Status())
		}
		if err := old.agent.Status().Err; err == nil || !strings.Contains(err.Error(), "newer stream") {
			t.Error(err)
		}
		if c := w.server.Counters(); c.Replaced != 1 {
			t.Errorf("%+v", c)
		}
		old.stop()
		settle(time.Minute)
		if st, _ := w.server.Status("h1"); !st.Connected {
			t.Error("the end of the older stream took the newer one with it")
		}
	})
}

// TestRefusal: one bad profile holds up nothing but itself.
func TestRefusal(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, nil)
		e := &agenttest.Endpoint{Device: (&agenttest.Endpoint{}).Capabilities()}
		e.Device.EVMaxCountProfile = 16
		w.observer.OnHello = func(string, *hostapi.Hello) {}
		big := state(t, 3, 8)
		wide := state(t, 2, 20)
		big.Profiles[1] = wide.Profiles[1] // more than the device has
		_ = w.server.Set("h1", big)
		h := w.host("h1", e, nil)
		settle(time.Second)
		if s := h.State(); len(s.Profiles) != 2 || s.Profile("leaf0-leaf2") != nil {
			t.Fatalf("%+v", s)
		}
		_ = w.server.Set("h1", deny(t, big, 2))
		settle(time.Second)
		if s := h.State(); len(s.Profiles) != 2 || len(s.Profiles[0].Denied) != 1 {
			t.Fatalf("%+v", s)
		}
		if st, _ := w.server.Status("h1"); st.Current || len(st.Refusals) != 1 ||
			st.Refusals[0].Field != "set_profiles[leaf0-leaf2].count" {
			t.Errorf("%+v", st)
		}
		good := state(t, 3, 8)
		_ = w.server.Set("h1", good)
		settle(time.Second)
		if !h.State().Equal(good) {
			t.Errorf("%+v", h.State())
		}
		check(t, w.observer.Said("h1"), "hello none",
			"refused 0: unsupported: set_profiles[leaf0-leaf2].count: 20, want at most 16 "+
				"(ev_max_count_profile)",
			"applied 1", "without set_profiles[leaf0-leaf2].count", "applied 2",
			"without set_profiles[leaf0-leaf2].count", "applied 3")
	})
}

// TestBusyDevice: an object that the device refuses for now keeps its old definition, without the
// removed EVs, and the host tries again.
func TestBusyDevice(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newBed(t, nil)
		var busy atomic.Bool
		busy.Store(true)
		e := &agenttest.Endpoint{Device: (&agenttest.Endpoint{}).Capabilities()}
		e.Device.OptAttr &^= hostapi.OptEVProfileModifyOnline
		e.Refuse = func(c agent.Change) error {
			for _, p := range c.Delta.SetProfiles {
				if busy.Load() && c.From.Profile(p.Name) != nil {
					return &hostapi.FieldError{Code: hostapi.CodeBusy, Field: fmt.Sprintf("set_profiles[%s]",
						p.Name), Reason: "queue pairs use it"}
				}
			}
			return nil
		}
		s := state(t, 2, 4)
		_ = w.server.Set("h1", s)
		h := w.host("h1", e, nil)
		settle(time.Second)
		next := *s
		q := *s.Profiles[0]
		q.EVs = slices.Clone(q.EVs)
		q.EVs[1] = hostapi.NewEV(0x99990000, 1)
		next.Profiles = []*hostapi.Profile{q.WithDenied(q.EVs[:1]),
			s.Profiles[1].WithDenied(s.Profiles[1].EVs[:1])}
		_ = w.server.Set("h1", &next)
		settle(time.Second)
		got := h.State()
		if p := got.Profiles[0]; !p.SameDefinition(s.Profiles[0]) || !p.IsDenied(s.Profiles[0].EVs[1]) ||
			!p.IsDenied(q.EVs[0]) || len(p.Denied) != 2 {
			t.Errorf("%+v", p)
		}
		if !got.Profiles[1].Equal(next.Profiles[1]) {
			t.Errorf("%+v", got.Profiles[1])
		}
		busy.Store(false)
		settle(time.Minute)
		if !h.State().Equal(&next) {
			t.Errorf("%+v", h.State())
		}
		if st, _ := w.server.Status("h1"); !st.Current {
			t.Errorf("%+v", st)
		}
	})
}
