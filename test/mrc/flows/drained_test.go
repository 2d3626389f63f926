package flows

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/test/seeds"
	"github.com/weft-sdn/weft/topology"
)

// between counts the frames that two switches put on the wires between them; b is empty for a and
// all its neighbors.
type between struct {
	a, b string
	n    atomic.Int64
}

// Sent implements lab.Tap.
func (w *between) Sent(_ time.Duration, wire *lab.Wire, _ []byte) {
	if wire.From == w.a && (w.b == "" || wire.To == w.b) ||
		wire.To == w.a && (w.b == "" || wire.From == w.b) {
		w.n.Add(1)
	}
}

// Arrived implements lab.Tap.
func (w *between) Arrived(time.Duration, *lab.Wire, []byte) {}

// TestDrainedCarriesNothing: in each mode, what is drained carries nothing any more when the
// controller reports it, whether hosts choose the links to it or switches do: a T1 of three tiers,
// and a link of one to a T2. It is used again afterwards.
func TestDrainedCarriesNothing(t *testing.T) {
	seed := seeds.One(t, 1)
	for _, mode := range []ev.Mode{ev.ModeStructured, ev.ModeECMP, ev.ModeF3216} {
		for name, tap := range map[string]*between{"a T1": {a: "P1-T1-1"},
			"a link to a T2": {a: "P1-T1-1", b: "P1-T2-1"}} {
			t.Run(mode.String()+", "+name, func(t *testing.T) {
				cfg := lab.ClosConfig{Tiers: 3, Hosts: 8}
				x, err := newExchange(cfg, mode, seed, func(from, to string) bool { return true })
				if err != nil {
					t.Fatal(err)
				}
				x.world.AddTap(tap)
				target := mrc.Target{Node: nodeOf(t, x.world, tap.a)}
				if tap.b != "" {
					target = mrc.Target{Link: linkOf(t, x.control, tap.a, tap.b)}
				}
				wait := func(what string, done func() bool) {
					t.Helper()
					if err := x.run(time.Second, done); err != nil {
						t.Fatal(err)
					}
					if !done() {
						t.Fatalf("%s: not within a second", what)
					}
				}
				wait("it carries packets", func() bool { return tap.n.Load() > 100 })
				if err := x.control.Paths.Drain(target); err != nil {
					t.Fatal(err)
				}
				wait("it is drained", func() bool {
					d := x.control.Paths.Core().Drains()
					return len(d) == 1 && d[0].Drained && len(d[0].Awaits) == 0
				})
				before, received := tap.n.Load(), x.received()
				if err := x.run(time.Second/2, nil); err != nil {
					t.Fatal(err)
				}
				if n := tap.n.Load() - before; n > 0 {
					t.Errorf("it carried %d frames after it was drained", n)
				}
				for i, octets := range x.received() {
					if octets == received[i] {
						t.Errorf("nothing arrives from %s at %s", x.Flows[i].From, x.Flows[i].To)
					}
				}
				if err := x.control.Paths.Undrain(target); err != nil {
					t.Fatal(err)
				}
				wait("it is used again", func() bool { return tap.n.Load() > before+100 })
			})
		}
	}
}

func nodeOf(t *testing.T, w *lab.World, name string) topology.NodeID {
	t.Helper()
	i := slices.IndexFunc(w.Network.Switches, func(s lab.Switch) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no switch %s", name)
	}
	return lab.NodeID(w.Network.Switches[i])
}

func linkOf(t *testing.T, c *lab.Control, a, b string) topology.LinkID {
	t.Helper()
	_, now := c.Paths.Core().Network()
	for _, l := range now.Links {
		if now.Node(l.Local).DisplayName() == a && now.Node(l.Remote).DisplayName() == b {
			return l.ID
		}
	}
	t.Fatalf("no link from %s to %s", a, b)
	return ""
}
