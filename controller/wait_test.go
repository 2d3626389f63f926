package controller_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/controllertest"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// waitBed is a core whose switches carry out their tasks when the test says so.
type waitBed struct {
	t       *testing.T
	core    *controller.Core
	devices map[string]*controllertest.Device
	// of the tasks carried out, which the core does not know of yet
	results map[string]reconcile.Result
}

func newBench(t *testing.T, core *controller.Core) *waitBed {
	b := &waitBed{t: t, core: core, devices: make(map[string]*controllertest.Device),
		results: make(map[string]reconcile.Result)}
	for _, s := range core.Switches() {
		if s.Managed {
			b.devices[s.Name] = controllertest.NewDevice(s.Name)
			core.SwitchConnected(s.Name, entry.Contents{})
		}
	}
	return b
}

// take has the switches carry out their tasks.
func (b *waitBed) take() {
	for _, w := range b.core.Ready(0).Tasks {
		if r := b.devices[w.Switch].Do(w); w.ID != 0 {
			b.results[w.Switch] = r
		}
	}
}

// answer gives the core the outcome of what all switches but one carried out, again and again until
// these have nothing more to do.
func (b *waitBed) answer(but string) {
	for {
		done := true
		for sw, r := range b.results {
			if sw != but {
				done = false
				delete(b.results, sw)
				b.core.Done(r)
			}
		}
		b.take()
		if done && (len(b.results) == 0 || len(b.results) == 1 && b.results[but].ID != 0) {
			return
		}
	}
}

// finish has all switches carry out everything, until the core is done or a second has passed.
func (b *waitBed) finish(done func() bool) {
	b.t.Helper()
	for end := b.core.Now() + time.Second; ; {
		b.answer("")
		at, ok := b.core.Next()
		if done() || !ok || at > end {
			break
		}
		b.core.Tick(at)
		b.take()
	}
	if !done() {
		b.t.Error("all switches hold everything, and it is not programmed")
	}
}

// withOtherMAC returns an inventory with another MAC address for a switch, as used by the links of
// its neighbors.
func withOtherMAC(inv inventory.Inventory, sw string) inventory.Inventory {
	inv.Switches = slices.Clone(inv.Switches)
	for i := range inv.Switches {
		if inv.Switches[i].Name == sw {
			inv.Switches[i].MAC[4] ^= 0xff
		}
	}
	return inv
}

// TestGroupWaitsForUnderlay: a group does not advance before the switches of the tree have links
// and routes, even if the switches hold all entities of the group.
func TestGroupWaitsForUnderlay(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(n *sample.Net)
	}{
		{"links", func(n *sample.Net) { n.Inventory = withOtherMAC(n.Inventory, "n1") }},
		{"routes", func(n *sample.Net) {
			n.Topology.SetPrefix(topology.Prefix{
				PrefixKey: topology.PrefixKey{Node: n.Node("n1"),
					Prefix: netip.MustParsePrefix("2001:db8:77::/48")}, Metric: 1,
			})
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			net := sample.Figure1()
			net.Inventory.Intervals.Settle = 0
			core, err := controller.NewCore(controller.Config{Inventory: net.Inventory, Start: start}, nil)
			if err != nil {
				t.Fatal(err)
			}
			core.SetTopology(net.Topology.Build())
			b := newBench(t, core)
			b.take()
			b.answer("")
			if _, _, err := core.Groups().Put("g", net.Spec(1, "s1", "r1", "r4"),
				resource.Precondition{}); err != nil {
				t.Fatal(err)
			}
			b.take() // the group's entries are on their way
			c.change(net)
			if err := core.SetInventory(net.Inventory); err != nil {
				t.Fatal(err)
			}
			core.SetTopology(net.Topology.Build())
			first := b.results["n4"]
			delete(b.results, "n4")
			if first.ID == 0 {
				t.Fatal("n4 is not in the tree")
			}
			core.Done(first)
			b.answer("n4") // which has its part of the group, and what has changed is on its way
			if _, pending := b.results["n4"]; !pending {
				t.Fatalf("n4 gets no other %s", c.what)
			}
			step := func() string {
				g, err := core.Groups().Get("g")
				if err != nil {
					t.Fatal(err)
				}
				return g.Status.Condition(api.Programmed).Message
			}
			if got := step(); got != "making" {
				t.Errorf("the group is at step %q, although n4 has not all its %s: want making", got, c.what)
			}
			b.finish(func() bool { return step() == "" })
		})
	}
}

// TestPFCWaitsForLinks: the headend sends nothing along an SRv6 policy, and a PFC policy on it is
// not programmed, before the switches have their links, by which packets and PFC frames travel.
func TestPFCWaitsForLinks(t *testing.T) {
	core := controller.PFCCore(t, nil)
	b := newBench(t, core)
	b.take()
	b.answer("")
	controller.PutPFC(t, core)
	b.take() // what the policy needs is on its way
	if err := core.SetInventory(withOtherMAC(*controller.InventoryOf(core), "R2")); err != nil {
		t.Fatal(err)
	}
	first := b.results["R3"]
	delete(b.results, "R3")
	core.Done(first)
	b.answer("R3")
	if _, pending := b.results["R3"]; !pending {
		t.Fatal("R3 gets no other links")
	}
	programmed := func() bool {
		p, err := core.PFCPolicies().Get("p")
		if err != nil {
			t.Fatal(err)
		}
		return p.Status.Conditions.Is(api.Programmed)
	}
	if programmed() {
		t.Error("programmed, although R3 has not all its links")
	}
	before := len(b.devices["R1"].Entities)
	b.finish(programmed)
	if after := len(b.devices["R1"].Entities); after <= before {
		t.Errorf("R1 had all its %d entries before R3 had its links", after)
	}
}
