package mrc

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// TestDrainWaits: a drain is over when each host has applied its Set or has gone, and the last
// packets have left.
func TestDrainWaits(t *testing.T) {
	s := &drainSet{env: &env{}, linger: 50 * time.Millisecond}
	d := s.add(Target{Plane: 2}, nil)
	for host, seq := range map[string]uint64{"a": 3, "b": 1, "c": 1} {
		d.waits[host] = seq
	}
	s.startLinger(d)
	applied := map[string]uint64{"a": 2, "b": 1, "c": 1}
	run := func(now time.Duration) api.Drain {
		s.now = now
		s.run(func(host string) (uint64, uint64) { return applied[host], 0 })
		return s.view(d)
	}
	if got := run(time.Second); got.Drained || !slices.Equal(got.Awaits, []string{"a"}) {
		t.Errorf("%+v, want to wait for a, which has applied 2 of 3", got)
	}
	if next := s.next(time.Hour); next != time.Hour {
		t.Errorf("next %v: time alone ends no drain that waits", next)
	}
	applied["a"] = 3
	if got := run(2 * time.Second); got.Drained || len(got.Awaits) > 0 {
		t.Errorf("%+v, want to linger", got)
	}
	if next := s.next(time.Hour); next != 2050*time.Millisecond {
		t.Errorf("next %v, want 2.05s", next)
	}
	if got := run(2050 * time.Millisecond); !got.Drained {
		t.Errorf("%+v, want drained", got)
	}
	if p := s.Planes(); !slices.Equal(p, []int{2}) {
		t.Errorf("planes %v", p)
	}
}

// TestUndrainBeforeFabric: drains of an earlier core end before the topology is known.
func TestUndrainBeforeFabric(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 2, 2, 1)
	for _, target := range []Target{{Plane: 2}, {Node: leafID(1, 1)}, {Link: "gone"},
		{Host: hostName(1, 1), Port: 1}} {
		w.core.ResumeDrain(target)
		if err := w.core.Undrain(target); err != nil || len(w.core.Drains()) > 0 {
			t.Fatalf("%v: %v, drains %v", target, err, w.core.Drains())
		}
	}
	w.start()
	w.run(time.Second)
	if n := w.check(func(topology.LinkID) bool { return false }, none); n != 0 {
		t.Errorf("%d EVs are denied, want none", n)
	}
}

// TestDrainAwaitsSwitches: if switches are informed of drains, a drain is over when all informed
// switches avoid the drained links and the last packets have left, whatever the switches got
// before. A drain of a host port does not wait, because switches choose nothing there.
func TestDrainAwaitsSwitches(t *testing.T) {
	s := &drainSet{env: &env{}, linger: 50 * time.Millisecond, switches: true}
	port := s.add(Target{Host: "a", Port: 1}, nil)
	d, applied := s.add(Target{Plane: 2}, []int32{4}), uint64(0)
	run := func(now time.Duration) api.Drain {
		s.now = now
		s.run(func(string) (uint64, uint64) { return applied, 0 })
		return s.view(d)
	}
	s.startLinger(d)
	if got := run(time.Second); got.Drained || len(got.Awaits) > 0 || !s.view(port).Drained {
		t.Errorf("%+v before switches were told, the port %+v", got, s.view(port))
	}
	s.stale, s.drained.Seq = false, 3 // what Core.Drained does
	for _, c := range []struct {
		told   uint64
		behind []string
	}{{2, nil}, {2, []string{"s10", "s2"}}, {3, []string{"s10", "s2"}}} {
		s.told, s.behind = c.told, c.behind
		if got := run(2 * time.Second); got.Drained || len(got.Awaits) != len(c.behind) ||
			len(c.behind) > 0 && !slices.Equal(got.Awaits, []string{"s2", "s10"}) {
			t.Errorf("told %d, %v behind: %+v", c.told, c.behind, got)
		}
		if next := s.next(time.Hour); next != time.Hour {
			t.Errorf("next %v: time alone ends no drain that waits", next)
		}
	}
	if why := s.why(d); why != "2 switches have not applied it yet" {
		t.Errorf("%q", why)
	}
	d.waits["b"] = 1
	if why := s.why(d); why != "1 hosts have not applied it yet" {
		t.Errorf("%q", why)
	}
	if got := s.view(d).Awaits; !slices.Equal(got, []string{"b", "s2", "s10"}) {
		t.Errorf("waits for %v", got)
	}
	s.told, s.behind, applied = 3, nil, 1
	if got := run(3 * time.Second); got.Drained || len(got.Awaits) > 0 ||
		s.why(d) != "its last packets are on their way" {
		t.Errorf("%+v, %q, want to linger", got, s.why(d))
	}
	if next := s.next(time.Hour); next != 3050*time.Millisecond {
		t.Errorf("next %v, want 3.05s", next)
	}
	if got := run(3050 * time.Millisecond); !got.Drained {
		t.Errorf("%+v, want drained", got)
	}
	s.told, s.behind = 5, []string{"s2"} // something else is drained later
	if got := run(4 * time.Second); !got.Drained || len(got.Awaits) > 0 {
		t.Errorf("%+v: it was drained", got)
	}
}
