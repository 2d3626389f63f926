package controller_test

import (
	"maps"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// A controller that starts anew beside a network that works learns it bit by
// bit, and breaks nothing meanwhile.
func TestRestartLearnsBitByBit(t *testing.T) {
	seeds(t, 10, func(t *testing.T, seed uint64) {
		net := sample.Figure1()
		w := up(t, net, seed)
		spec := net.Spec(1, "s1", "r1", "r2", "r3", "r4", "r5")
		w.put("g", spec)
		w.run(time.Second)
		tree := w.group("g").Status.Tree
		whole := w.core.Topology()
		w.wires = whole
		w.pump()

		w.always(&spec, names("r", 1, 5))
		for name, d := range w.devices {
			w.session[name]++
			before := maps.Clone(d.Entities)
			d.Wrote = func(u entry.Update) {
				// Routes to single destinations, made meanwhile, go again.
				if _, held := before[u.Entity.Key()]; held && u.Type == entry.Delete {
					t.Fatalf("at %v: %s: %s", w.Now(), d.Name, u)
				}
				w.every()
			}
		}
		w.boot()
		w.connectAll()
		w.run(10 * time.Millisecond)
		b := topology.NewBuilder()
		for _, n := range whole.Nodes {
			b.SetNode(*n)
			for _, l := range whole.LinksFrom(n.ID) {
				b.SetLink(*l)
			}
			w.core.SetTopology(b.Build())
			w.run(w.random(90 * time.Millisecond))
		}
		w.run(time.Second)
		if got := w.group("g"); got.Status.Tree.Nodes[5].SID != tree.Nodes[5].SID ||
			!got.Status.Is(api.Programmed) {
			t.Errorf("moved: %+v", got.Status)
		}
		w.every = nil
		w.converged()
	})
}

// The controller sees changes from the time without a controller when the topology is complete.
func TestRestartAfterLinkDown(t *testing.T) {
	net := sample.Figure1()
	w := up(t, net, 1)
	spec := net.Spec(1, "s1", "r3")
	w.put("g", spec)
	w.run(time.Second)
	via := w.group("g").Status.Tree.Nodes[1].Switch
	w.pump()
	removeLinks(net, w.core.Topology(), via)
	for name := range w.devices {
		w.session[name]++
	}
	w.boot()
	w.core.SetTopology(net.Topology.Build())
	w.connectAll()
	for _, s := range w.core.Switches() {
		if !s.Settling {
			t.Errorf("%s settled at once", s.Name)
		}
	}
	w.run(time.Second)
	for _, s := range w.core.Switches() {
		if s.Settling {
			t.Errorf("%s has not settled", s.Name)
		}
	}
	w.converged()
	w.delivers(&spec)
	if now := w.group("g").Status.Tree.Nodes[1].Switch; now == via {
		t.Errorf("still by %s", via)
	}
}

// TestRestartOfMany: routes of many switches are planned bit by bit, some of them after the
// switches were read back. A switch that agrees is not written to.
func TestRestartOfMany(t *testing.T) {
	if testing.Short() {
		t.Skip("many switches on one goroutine")
	}
	for _, settle := range []time.Duration{0, 100 * time.Millisecond} {
		t.Run(settle.String(), func(t *testing.T) {
			net := sample.Clos(300, 4, 1)
			w := up(t, net, 1)
			w.put("g", net.Spec(1, "h1", names("h", 2, 60)...))
			w.run(time.Second)
			w.converged()
			whole := w.core.Topology()
			w.pump()
			for name, d := range w.devices {
				w.session[name]++
				d.Wrote = func(u entry.Update) { t.Fatalf("%s: %s", d.Name, u) }
			}
			net.Inventory.Intervals.Settle = api.Duration(settle)
			w.boot()
			for name, d := range w.devices { // before the routes of most are planned
				w.core.SwitchConnected(name, d.Contents())
			}
			w.core.SetTopology(whole)
			w.pump()
			w.run(time.Second)
			w.converged()
		})
	}
}
