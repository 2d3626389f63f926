package controller_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/controllertest"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Routes of many switches are planned bit by bit; nothing depends on it.
func TestManySwitches(t *testing.T) {
	if testing.Short() {
		t.Skip("many switches on one goroutine")
	}
	net := sample.Clos(150, 4, 1)
	w := up(t, net, 1)
	w.converged()
	spec := net.Spec(1, "h1", names("h", 2, 60)...)
	w.put("g", spec)
	w.run(time.Second)
	for i := range 3 {
		spine := w.group("g").Status.Tree.Nodes[1].Switch
		removed := removeLinks(net, w.core.Topology(), spine)
		w.core.SetTopology(net.Topology.Build())
		moved := w.group("g").Status.Tree.Nodes[1].Switch
		if moved == spine {
			t.Fatalf("round %d: the tree still crosses %s", i, spine)
		}
		w.run(w.random(5 * time.Millisecond))
		if i == 1 {
			for _, l := range removed {
				net.Topology.SetLink(l)
			}
			w.core.SetTopology(net.Topology.Build())
		}
		w.run(time.Second)
		w.converged()
		w.delivers(&spec)
	}
}

// BenchmarkPutToProgrammed puts groups on Figure 1 and carries out what the
// core wants at once, until they are programmed: the controller's own share of
// the time from a POST on.
func BenchmarkPutToProgrammed(b *testing.B) {
	net := sample.Figure1()
	net.Inventory.Intervals.Audit, net.Inventory.Intervals.Stall = 0, 0
	core, err := controller.NewCore(controller.Config{Inventory: net.Inventory, Start: start}, nil)
	if err != nil {
		b.Fatal(err)
	}
	devices := make(map[string]*controllertest.Device)
	core.SetTopology(net.Topology.Build())
	for _, sw := range net.Inventory.Switches {
		devices[sw.Name] = controllertest.NewDevice(sw.Name)
		core.SwitchConnected(sw.Name, entry.Contents{})
	}
	now, works := time.Duration(0), 0
	settle := func() {
		for r := core.Ready(0); !r.Empty(); r = core.Ready(0) {
			for _, w := range r.Tasks {
				works++
				core.Done(devices[w.Switch].Do(w))
			}
		}
	}
	settle()
	spec := net.Spec(1, "s1", "r1", "r2", "r3", "r4", "r5")
	works = 0
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := core.Groups().Put("g", spec, resource.Precondition{}); err != nil {
			b.Fatal(err)
		}
		settle()
		if g, _ := core.Groups().Get("g"); !g.Status.Is(api.Programmed) {
			b.Fatalf("%+v", g.Status.Conditions)
		}
		_ = core.Groups().Delete("g", resource.Precondition{})
		for range 4 {
			settle()
			now += time.Second
			core.Tick(now)
		}
	}
	b.ReportMetric(float64(works)/float64(b.N), "works/op")
}

// BenchmarkManyGroups loads a Clos of 72 switches with 200 groups.
func BenchmarkManyGroups(b *testing.B) {
	net := sample.Clos(64, 8, 4)
	net.Inventory.Intervals.Audit, net.Inventory.Intervals.Stall = 0, 0
	snap := net.Topology.Build()
	for b.Loop() {
		core, err := controller.NewCore(controller.Config{Inventory: net.Inventory, Start: start}, nil)
		if err != nil {
			b.Fatal(err)
		}
		devices := make(map[string]*controllertest.Device)
		core.SetTopology(snap)
		for _, sw := range net.Inventory.Switches {
			devices[sw.Name] = controllertest.NewDevice(sw.Name)
			core.SwitchConnected(sw.Name, entry.Contents{})
		}
		for i := range 200 {
			spec := net.Spec(i+1, fmt.Sprintf("h%d", i+1),
				slices.DeleteFunc(names("h", 1, 64),
					func(h string) bool { return h == fmt.Sprintf("h%d", i+1) })...)
			if _, _, err := core.Groups().Put(fmt.Sprintf("g%d", i), spec,
				resource.Precondition{}); err != nil {
				b.Fatal(err)
			}
		}
		for r := core.Ready(0); !r.Empty(); r = core.Ready(0) {
			for _, w := range r.Tasks {
				core.Done(devices[w.Switch].Do(w))
			}
			core.Tick(core.Now() + time.Millisecond)
		}
		for _, g := range core.Groups().List() {
			if !g.Status.Is(api.Programmed) {
				b.Fatalf("%s: %+v", g.Name, g.Status.Conditions)
			}
		}
	}
}

// BenchmarkTopologyManyGroups takes a link of a switch of tier 1 from a Clos of 1,024 switches with
// 1,000 groups of 64 receivers, and brings it back: what the controller computes, without devices.
func BenchmarkTopologyManyGroups(b *testing.B) {
	net := sample.FatTree(32, 16, 8, 256, 4)
	net.Inventory.Intervals.Audit, net.Inventory.Intervals.Stall = 0, 0
	core, err := controller.NewCore(controller.Config{Inventory: net.Inventory, Start: start}, nil)
	if err != nil {
		b.Fatal(err)
	}
	whole := net.Topology.Build()
	core.SetTopology(whole)
	rng := rand.New(rand.NewPCG(1, 2))
	hosts := net.Inventory.Hosts
	for i := range 1000 {
		pick := rng.Perm(len(hosts))[:65]
		var to []string
		for _, h := range pick[1:] {
			to = append(to, hosts[h].Name)
		}
		spec := net.Spec(i+1, hosts[pick[0]].Name, to...)
		_, _, err := core.Groups().Put(fmt.Sprintf("g%d", i), spec, resource.Precondition{})
		if err != nil {
			b.Fatal(err)
		}
	}
	core.Ready(0)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		l := *whole.Links[len(whole.Links)/2+n%64]
		net.Topology.RemoveLink(l.ID)
		core.SetTopology(net.Topology.Build())
		net.Topology.SetLink(l)
		core.SetTopology(net.Topology.Build())
	}
}
