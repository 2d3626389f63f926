package mrc

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/lab"
)

// watched counts the frames that are put on the wires between two switches.
type watched struct {
	a, b string
	n    atomic.Int64
}

// Sent implements lab.Tap.
func (w *watched) Sent(_ time.Duration, wire *lab.Wire, _ []byte) {
	if wire.From == w.a && wire.To == w.b || wire.From == w.b && wire.To == w.a {
		w.n.Add(1)
	}
}

// Arrived implements lab.Tap.
func (w *watched) Arrived(time.Duration, *lab.Wire, []byte) {}

// TestDrain: under traffic, a drained link carries no packets once the controller reports the link
// as drained. No packet is lost during the drain, nor when the link then goes down, comes back and
// carries traffic again.
func TestDrain(t *testing.T) {
	long(t)
	run(t, nil, func(t *testing.T, f *bed) {
		link := f.linkBetween("P2-T0-2", "P2-T1-1")
		tap := &watched{a: "P2-T0-2", b: "P2-T1-1"}
		f.do(func() { f.world.AddTap(tap) })
		lost := f.lost()
		x := f.traffic(3 << 18)
		f.until(time.Second, "a tenth is done", func() bool { return x.progress() > 0.1 })
		if tap.n.Load() == 0 {
			t.Fatal("nothing crosses the link before it is drained")
		}
		if err := f.admin(mrc.Target{Link: link.ID}, api.AdminDrained); err != nil {
			t.Fatal(err)
		}
		drained := func() bool {
			links := kind.Of[api.AdminSpec, api.Link](f.mrc.Kinds())
			l, err := links.Get(t.Context(), string(link.ID))
			return err == nil && l.Spec.Admin == api.AdminDrained && len(l.Status.Drains) == 1 &&
				l.Status.Drains[0].Drained
		}
		f.until(time.Second, "the link is drained", drained)
		if !f.denies("P2-T0-2", "P2-T1-1") {
			t.Error("the link is drained, and hosts do not deny exactly the EVs across it")
		}
		before := tap.n.Load()
		f.setLink("P2-T0-2", "P2-T1-1", false)
		f.until(time.Second, "half is done", func() bool { return x.progress() > 0.5 })
		if n := tap.n.Load() - before; n != 0 {
			t.Errorf("%d frames cross the link after it is drained", n)
		}
		f.setLink("P2-T0-2", "P2-T1-1", true)
		if x.progress() == 1 {
			t.Error("the writes were done too early to see anything")
		}
		x.finish(10 * time.Second)
		if n := f.lost() - lost; n != 0 {
			t.Errorf("%d packets are lost, want none", n)
		}
		f.until(5*time.Second, "the link's back-off is over", func() bool {
			return f.linkBetween("P2-T0-2", "P2-T1-1").Status.Phase == "up" || f.denies("P2-T0-2", "P2-T1-1")
		})
		if err := f.admin(mrc.Target{Link: link.ID}, api.AdminUp); err != nil {
			t.Fatal(err)
		}
		f.until(5*time.Second, "the link is used again", f.deniesNothing)
	})
}

// TestDrainLastPath: the controller refuses to drain the last path between hosts and changes
// nothing.
func TestDrainLastPath(t *testing.T) {
	run(t, nil, func(t *testing.T, f *bed) {
		if err := f.admin(mrc.Target{Plane: 1}, api.AdminDrained); err != nil {
			t.Fatal(err)
		}
		f.until(time.Second, "plane 1 is drained", func() bool {
			return f.happened(api.EventDrainChanged, "plane 1", "drained")
		})
		states := f.states()
		var refused *api.Error
		for _, last := range []mrc.Target{
			{Plane: 2}, {Host: "H1", Port: 2}, {Node: f.linkBetween("P2-T0-1", "P2-T1-1").Status.From},
		} {
			if err := f.admin(last, api.AdminDrained); !errors.As(err, &refused) ||
				refused.Code != api.CodeLastPath {
				t.Errorf("%v: %v, want a refusal with %s", last, err, api.CodeLastPath)
			}
		}
		if err := f.admin(mrc.Target{Link: f.linkBetween("P2-T0-1", "P2-T1-1").ID},
			api.AdminDrained); err != nil {
			t.Errorf("one of two links: %v", err)
		}
		if err := f.admin(mrc.Target{Link: f.linkBetween("P2-T0-1", "P2-T1-2").ID},
			api.AdminDrained); !errors.As(err, &refused) || refused.Code != api.CodeLastPath {
			t.Errorf("the second of two links: %v", err)
		}
		if err := f.admin(mrc.Target{Link: f.linkBetween("P2-T0-1", "P2-T1-1").ID},
			api.AdminUp); err != nil {
			t.Error(err)
		}
		f.until(5*time.Second, "hosts hold what they held", func() bool {
			for name, s := range f.states() {
				if !s.Equal(states[name]) {
					return false
				}
			}
			return true
		})
		for _, p := range f.planes() {
			if want := map[int]api.AdminState{1: api.AdminDrained,
				2: api.AdminUp}[p.Plane]; p.Spec.Admin != want {
				t.Errorf("plane %d is wanted to be %q, want %q", p.Plane, p.Spec.Admin, want)
			}
		}
	})
}

func (f *bed) planes() []api.Plane {
	out, err := kind.Views[api.Plane](f.t.Context(), f.mrc.Kinds())
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}
