package controller_test

import (
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// assignment numbers the links of a network.
func assignment(t *testing.T, net *sample.Net, s *topology.Snapshot, mode ev.Mode) *ev.Assignment {
	t.Helper()
	clos, err := s.Graph().Clos(topology.ClosRequest{Leaves: []topology.NodeID{net.Node("leaf1"),
		net.Node("leaf2")}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := ev.Assign(clos, ev.Format{Mode: mode}, ev.Numbers{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// has counts the entries of a table that a switch holds.
func (w *bed) has(sw, table string) (n int) {
	for _, e := range w.devices[sw].Entities {
		if t, ok := e.(entry.Table); ok && t.Name == table {
			n++
		}
	}
	return n
}

// upRoutes counts the routes of a switch that leave the way up to EVs.
func (w *bed) upRoutes(sw string) (n int) {
	for _, e := range w.devices[sw].Entities {
		if t, ok := e.(entry.Table); ok && t.Name == p4.TableIpv6Route &&
			t.Action.Name == p4.ActionForwardUp {
			n++
		}
	}
	return n
}

// TestAssignment: switches hold the entities of an assignment and keep the entities while a link is
// gone. A restarted controller does not touch these entities, neither before the assignment is
// known nor if the assignment is the same.
func TestAssignment(t *testing.T) {
	net := sample.Clos(2, 2, 2)
	net.Inventory.MRC.Mode = "stev"
	w := newBed(t, net, 1)
	whole := net.Topology.Build()
	w.core.SetTopology(whole)
	w.connectAll()
	w.run(50 * time.Millisecond)
	if n := w.has("leaf1", p4.TableIpv6Route); n != 0 {
		t.Errorf("%d routes before anybody knows what EVs mean", n)
	}
	if n := w.has("leaf1", p4.TableTrafficClass); n == 0 {
		t.Error("no classes")
	}
	a := assignment(t, net, whole, ev.ModeStructured)
	w.core.SetAssignment(a)
	w.run(time.Second)
	if got := [...]int{w.has("leaf1", p4.TableEvField), w.has("leaf1", p4.TableEvUp),
		w.has("leaf1", p4.TableIcmpErrors), w.has("spine1", p4.TableEvUp)}; got != [...]int{1, 2, 1, 0} {
		t.Errorf("fields, values and ICMPv6 errors of a leaf, values of a spine: %v", got)
	}
	// to the other spine's loopback and locator
	if w.upRoutes("leaf1") == 0 || w.upRoutes("spine1") != 2 {
		t.Errorf("%d and %d routes that lead up", w.upRoutes("leaf1"), w.upRoutes("spine1"))
	}

	// A link is gone: the numbers stay.
	w.pump()
	held := maps.Clone(w.devices["leaf1"].Entities)
	removeLinks(net, whole, "spine1")
	w.core.SetTopology(net.Topology.Build())
	w.run(time.Second)
	for k, e := range held {
		t1, ok := e.(entry.Table)
		if now := w.devices["leaf1"].Entities[k]; ok && t1.Name == p4.TableEvUp &&
			(now == nil || !entry.SameContent(now, e)) {
			t.Errorf("%v is %v now", e, now)
		}
	}
	for _, l := range whole.Links {
		net.Topology.SetLink(*l)
	}
	w.core.SetTopology(net.Topology.Build())
	w.run(time.Second)

	// A controller starts anew.
	for name := range w.devices {
		w.session[name]++
	}
	w.boot()
	writes := 0
	w.every = func() { writes++ }
	w.core.SetTopology(net.Topology.Build())
	w.connectAll()
	w.run(5 * time.Second)
	if writes > 0 {
		t.Errorf("%d writes before it knows what EVs mean", writes)
	}
	w.core.SetAssignment(assignment(t, net, w.core.Topology(), ev.ModeStructured))
	w.run(5 * time.Second)
	if writes > 0 {
		t.Errorf("%d writes for the assignment there was", writes)
	}

	// There is no fabric any more.
	w.core.SetAssignment(nil)
	w.run(time.Second)
	if n := w.has("leaf1", p4.TableEvUp) + w.upRoutes("leaf1"); n != 0 {
		t.Errorf("%d entries for EVs that are none", n)
	}
}

// TestUnknownAssignment: switches without routes get plain ones when nobody says what
// EVs mean, those that connect later too.
func TestUnknownAssignment(t *testing.T) {
	net := sample.Clos(2, 2, 2)
	net.Inventory.MRC.Mode = "usid-f3216"
	w := newBed(t, net, 2)
	w.core.SetTopology(net.Topology.Build())
	w.connect("leaf1")
	w.run(time.Second)
	w.connect("leaf2")
	w.run(time.Second)
	for _, sw := range []string{"leaf1", "leaf2"} {
		if w.has(sw, p4.TableIpv6Route) == 0 {
			t.Errorf("%s has no routes", sw)
		}
	}
	w.core.SetAssignment(assignment(t, net, w.core.Topology(), ev.ModeF3216))
	w.run(time.Second)
	for _, sw := range []string{"leaf1", "leaf2"} {
		uA := 0
		for _, e := range w.devices[sw].Entities {
			if t1, ok := e.(entry.Table); ok && t1.Action.Name == p4.ActionUa {
				uA++
			}
		}
		if uA != 2 {
			t.Errorf("%s has %d uAs, want 2", sw, uA)
		}
	}
}

// TestDrainedRoutes: routes avoid drained links while other paths of the same length exist, also
// after the topology has changed. Unrouted lists the switches that still have to change their
// routes.
func TestDrainedRoutes(t *testing.T) {
	net := sample.Clos(2, 2, 2)
	w := up(t, net, 1)
	whole := w.core.Topology()
	var drained []topology.LinkID
	var ports []uint32 // of leaf1 to spine1
	for _, l := range whole.Links {
		if l.Local == net.Node("spine1") || l.Remote == net.Node("spine1") {
			drained = append(drained, l.ID)
		}
		if l.Local == net.Node("leaf1") && l.Remote == net.Node("spine1") {
			h, _ := plan.NewNetwork(whole, &net.Inventory).Hop(w.core.Inventory().Switch("leaf1"), l)
			ports = append(ports, h.Port)
		}
	}
	slices.Sort(drained)
	// by counts the routes of leaf1 with a next hop to spine1, alone or with further next hops, and
	// the remaining routes.
	by := func() (spine1, others int) {
		at := func(a entry.Action) bool {
			p, _ := a.Arg("port").Uint64()
			return slices.Contains(ports, uint32(p))
		}
		members, groups := map[uint32]bool{}, map[uint64]bool{}
		for _, e := range w.devices["leaf1"].Entities {
			if m, ok := e.(entry.Member); ok {
				members[m.ID] = at(m.Action)
			}
		}
		for _, e := range w.devices["leaf1"].Entities {
			if g, ok := e.(entry.Group); ok {
				groups[uint64(g.ID)] = slices.ContainsFunc(g.Members, func(m uint32) bool { return members[m] })
			}
		}
		for _, e := range w.devices["leaf1"].Entities {
			if r, ok := e.(entry.Table); ok && r.Name == p4.TableIpv6Route {
				g, _ := r.Action.Arg("group").Uint64()
				if at(r.Action) || groups[g] {
					spine1++
				} else {
					others++
				}
			}
		}
		return spine1, others
	}
	before, own := by()
	if before < 3 || len(ports) != 1 || len(w.core.Unrouted()) > 0 {
		t.Fatalf("%d routes, ports %v, unrouted %v", before, ports, w.core.Unrouted())
	}
	w.disconnect("leaf2")
	w.core.SetDrained(drained)
	if u := w.core.Unrouted(); !slices.Contains(u, "leaf1") || !slices.Contains(u, "leaf2") {
		t.Errorf("unrouted at once: %v", u)
	}
	w.run(time.Second)
	if u := w.core.Unrouted(); !slices.Equal(u, []string{"leaf2"}) {
		t.Errorf("unrouted: %v, want the one that is away", u)
	}
	w.connect("leaf2")
	w.run(time.Second)
	if u := w.core.Unrouted(); len(u) > 0 {
		t.Errorf("unrouted: %v", u)
	}
	toSpine, others := by()
	if toSpine == 0 || toSpine >= before || toSpine+others < before+own {
		t.Errorf("%d and %d routes, %d and %d before: want those to spine1 alone to lead to it", toSpine,
			others, before, own)
	}
	net.Topology.SetPrefix(topology.Prefix{PrefixKey: topology.PrefixKey{Node: net.Node("leaf2"),
		Prefix: netip.MustParsePrefix("2001:db8:77::/64")}})
	w.core.SetTopology(net.Topology.Build())
	w.run(time.Second)
	if a, b := by(); a != toSpine || b != others+1 {
		t.Errorf("another topology: %d and %d routes, %d and %d before", a, b, toSpine, others)
	}
	w.core.SetDrained(nil)
	w.run(time.Second)
	if a, b := by(); a != before+1 || b != own {
		t.Errorf("used again: %d and %d routes, %d and %d before", a, b, before, own)
	}
	w.disconnect("leaf2")
	net.Topology.RemoveNode(net.Node("leaf2"))
	w.core.SetTopology(net.Topology.Build())
	w.run(time.Second)
	if u := w.core.Unrouted(); len(u) > 0 {
		t.Errorf("unrouted: %v, which the topology lacks", u)
	}
}

// TestUnroutedAtOnce: Unrouted also lists switches that the controller has not planned yet.
func TestUnroutedAtOnce(t *testing.T) {
	net := sample.Clos(80, 2, 0)
	w := up(t, net, 1)
	w.run(10 * time.Second)
	if u := w.core.Unrouted(); len(u) > 0 {
		t.Fatalf("unrouted: %v", u)
	}
	w.core.SetDrained([]topology.LinkID{w.core.Topology().LinksFrom(net.Node("spine1"))[0].ID})
	if u := w.core.Unrouted(); len(u) != 81 || slices.Contains(u, "leaf1") {
		t.Errorf("%d switches: %v, want all but leaf1, to which the link leads", len(u), u)
	}
}
