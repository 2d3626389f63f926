package plan

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

// A forwarding table says by prefix by which hops packets leave: "" for none.
type forwardingTable map[netip.Prefix]string

// lookup returns what the longest prefix says, "" when there is none.
func (f forwardingTable) lookup(a netip.Addr) string {
	for length := a.BitLen(); length >= 0; length-- {
		p, _ := a.Prefix(length)
		if hopSet, ok := f[p]; ok {
			return hopSet
		}
	}
	return ""
}

// hopSetsText writes next hops of a switch.
func hopSetsText(hops []Hop, up bool) string {
	var parts []string
	for _, h := range hops {
		parts = append(parts, fmt.Sprintf("%d/%d", h.Port, h.Neighbor))
	}
	if up && len(parts) > 0 {
		parts = append(parts, "up")
	}
	return strings.Join(parts, " ")
}

// tableOf reads the forwarding table out of entries, groups and members.
func tableOf(t *testing.T, entities []entry.Entity) forwardingTable {
	t.Helper()
	value := func(v entry.Value) uint32 {
		n, _ := v.Uint64()
		return uint32(n)
	}
	members, groups, seen := map[uint32]Hop{}, map[uint32][]Hop{}, map[entry.Key]bool{}
	hopOf := func(a entry.Action) Hop {
		return Hop{value(a.Arg("port")), uint16(value(a.Arg("neighbor")))}
	}
	table := forwardingTable{}
	for _, e := range entities {
		if seen[e.Key()] {
			t.Errorf("twice: %s", e)
		}
		seen[e.Key()] = true
		switch e := e.(type) {
		case entry.Member:
			members[e.ID] = hopOf(e.Action)
		case entry.Group:
			for _, m := range e.Members {
				groups[e.ID] = append(groups[e.ID], members[m])
			}
		case entry.Table:
			if e.Name != p4.TableIpv6Route {
				continue
			}
			p := everywhere
			if m, ok := e.Field("dst_addr"); ok {
				a, _ := m.Value.Addr6()
				p = netip.PrefixFrom(a, m.Bits)
			}
			group := groups[value(e.Action.Arg("group"))]
			switch e.Action.Name {
			case p4.ActionForward:
				table[p] = hopSetsText([]Hop{hopOf(e.Action)}, false)
			case p4.ActionEcmpGroup, p4.ActionForwardUp:
				if len(group) == 0 {
					t.Errorf("no group behind %s", e)
				}
				table[p] = hopSetsText(group, e.Action.Name == p4.ActionForwardUp)
			case p4.ActionDropNoRoute:
				table[p] = ""
			default:
				t.Errorf("unknown action: %s", e)
			}
		}
	}
	return table
}

// dumbTable is the twin of [Network.Routes] that looks at each destination alone:
// for each prefix that some node has, the shortest paths toward it.
func dumbTable(
	n *Network, sw *inventory.Switch, more map[netip.Prefix]topology.NodeID,
	below map[topology.NodeID]bool,
) forwardingTable {
	type from struct {
		id     topology.NodeID
		metric uint32
	}
	origins := map[netip.Prefix][]from{}
	add := func(p netip.Prefix, id topology.NodeID, metric uint32) {
		p = p.Masked()
		if !slices.ContainsFunc(origins[p], func(f from) bool { return f.id == id }) {
			origins[p] = append(origins[p], from{id, metric})
		}
	}
	for _, node := range n.Snapshot.Nodes {
		add(host(node.Loopback), node.ID, 0)
		for _, l := range node.Locators {
			add(l.Prefix, node.ID, l.Metric)
		}
	}
	for _, p := range n.Snapshot.Prefixes {
		add(p.Prefix, p.Node, p.Metric)
	}
	for p, id := range more {
		add(p, id, 0)
	}
	table := forwardingTable{}
	here := map[netip.Prefix]bool{}
	for _, h := range n.hostsOf[sw.Name] {
		_, outside := n.edges[sw.Name][h.Hop.Port]
		for _, p := range append([]netip.Prefix{host(h.Address)}, h.Prefixes...) {
			if !here[p] && !outside {
				table[p] = hopSetsText([]Hop{h.Hop}, false)
			}
			here[p] = true
		}
	}
	for i := range n.Inventory.Hosts {
		h := &n.Inventory.Hosts[i]
		for _, p := range append([]netip.Prefix{host(h.Address)}, h.Prefixes...) {
			if at := n.nodes[h.Switch]; at != nil && !n.covered(at.ID, p) {
				add(p, at.ID, 0)
			}
		}
	}
	self := n.nodes[sw.Name]
	for p, from := range origins {
		best, reached, hopSets, own, up := uint64(0), false, []Hop(nil), here[p], below != nil
		for _, o := range from {
			own = own || o.id == self.ID
			up = up && !below[o.id]
			paths, ok := n.routing.Toward(o.id, topology.MetricIGP)
			if !ok {
				continue
			}
			cost, ok := paths.Distance(self.ID)
			if !ok {
				continue
			}
			switch cost += uint64(o.metric) * n.routing.Unit(); {
			case !reached || cost < best:
				reached, best, hopSets = true, cost, n.Hops(sw, paths)
			case cost == best:
				hopSets = append(slices.Clone(hopSets), n.Hops(sw, paths)...)
			}
		}
		if hopSets = sortHops(slices.Clone(hopSets)); !own && len(hopSets) > 0 {
			table[p] = hopSetsText(hopSets, up)
		}
	}
	return table
}

// addresses returns addresses at and around the edges of all prefixes, and some
// in between.
func addresses(rng *rand.Rand, prefixes map[netip.Prefix]bool) []netip.Addr {
	seen := map[netip.Addr]bool{}
	for p := range prefixes {
		first, last := p.Masked().Addr(), p.Masked().Addr().As16()
		middle := first.As16()
		for i := p.Bits(); i < 128; i++ {
			last[i/8] |= 0x80 >> (i % 8)
			if rng.IntN(2) == 0 {
				middle[i/8] |= 0x80 >> (i % 8)
			}
		}
		end := netip.AddrFrom16(last)
		for _, a := range []netip.Addr{first, first.Prev(), end, end.Next(), netip.AddrFrom16(middle)} {
			if a.IsValid() {
				seen[a] = true
			}
		}
	}
	out := make([]netip.Addr, 0, len(seen))
	for a := range seen {
		out = append(out, a)
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return out
}

// plannedTables are the tables of all switches, by name.
type plannedTables struct {
	whole, each, dumb map[string]forwardingTable
	destinations      map[netip.Prefix]bool
	entries, single   int
}

// compareTables compares the routes of all switches with their dumb twins: at
// every destination the same ways, and what nobody has goes nowhere in the end.
func compareTables(
	t *testing.T, n *Network, rng *rand.Rand, plan func(*inventory.Switch) (whole, each []entry.Entity,
		dumb forwardingTable),
) plannedTables {
	t.Helper()
	p := plannedTables{map[string]forwardingTable{}, map[string]forwardingTable{},
		map[string]forwardingTable{}, map[netip.Prefix]bool{}, 0, 0}
	for i := range n.Inventory.Switches {
		sw := &n.Inventory.Switches[i]
		whole, each, dumb := plan(sw)
		p.whole[sw.Name], p.each[sw.Name], p.dumb[sw.Name] = tableOf(t, whole), tableOf(t, each), dumb
		p.entries, p.single = p.entries+len(p.whole[sw.Name]), p.single+len(dumb)
		for d := range dumb {
			p.destinations[d] = true
		}
	}
	for _, a := range addresses(rng, p.destinations) {
		somebody := false
		for d := range p.destinations {
			somebody = somebody || d.Contains(a)
		}
		for name, dumb := range p.dumb {
			if got, want := p.each[name].lookup(a), dumb.lookup(a); got != want {
				t.Fatalf("%s: %v one by one by %q, want %q", name, a, got, want)
			}
			if got, want := p.whole[name].lookup(a), dumb.lookup(a); somebody && got != want {
				t.Fatalf("%s: %v by %q, want %q", name, a, got, want)
			}
		}
		if !somebody {
			ends(t, n, p.whole, a)
		}
	}
	return p
}

// ends checks that a packet to an address cannot circulate, whatever paths it takes.
func ends(t *testing.T, n *Network, tables map[string]forwardingTable, a netip.Addr) {
	t.Helper()
	const under, done = 1, 2
	state := map[string]int{}
	var visit func(name string)
	visit = func(name string) {
		switch state[name] {
		case under:
			t.Fatalf("%v circulates through %s", a, name)
		case done:
			return
		}
		state[name] = under
		sw, hopSet := n.switches[name], tables[name].lookup(a)
		for _, l := range n.Snapshot.LinksFrom(n.nodes[name].ID) {
			h, ok := n.Hop(sw, l)
			if ok && slices.Contains(strings.Fields(hopSet), hopSetsText([]Hop{h}, false)) {
				visit(n.at[l.Remote].Name)
			}
		}
		state[name] = done
	}
	for name := range tables {
		visit(name)
	}
}

func plainPlan(
	n *Network,
) func(*inventory.Switch) (whole, each []entry.Entity, dumb forwardingTable) {
	return func(sw *inventory.Switch) ([]entry.Entity, []entry.Entity, forwardingTable) {
		return n.Routes(sw), n.EachRoute(sw), dumbTable(n, sw, nil, nil)
	}
}

// randomNet returns a random network in one of several shapes, with many kinds of prefixes, and
// without some links and MAC addresses.
func randomNet(rng *rand.Rand) *sample.Net {
	var net *sample.Net
	switch rng.IntN(4) {
	case 0:
		net = sample.Figure1()
	case 1:
		net = sample.Clos(2+rng.IntN(6), 1+rng.IntN(4), rng.IntN(3))
	case 2:
		net = sample.FatTree(2+rng.IntN(2), 1+rng.IntN(3), 2, 2*(1+rng.IntN(2)), rng.IntN(2))
	default:
		net = sample.New()
		var names []string
		for i := range 3 + rng.IntN(9) {
			names = append(names, fmt.Sprintf("n%d", i))
			net.Switches(names[i])
			if i > 0 {
				net.Link(names[i], names[rng.IntN(i)], 1+uint32(rng.IntN(3)))
			}
		}
		for range rng.IntN(10) {
			if a, b := rng.IntN(len(names)), rng.IntN(len(names)); a != b {
				net.Link(names[a], names[b], 1+uint32(rng.IntN(3)))
			}
		}
		net.Hosts(names[0], "x", "y")
	}
	snap := net.Topology.Build()
	for _, l := range snap.Links {
		if rng.IntN(12) == 0 {
			net.Topology.RemoveLink(l.ID)
		}
	}
	some := func() topology.NodeID { return snap.Nodes[rng.IntN(len(snap.Nodes))].ID }
	advertise := func(p string, id topology.NodeID) {
		net.Topology.SetPrefix(topology.Prefix{PrefixKey: topology.PrefixKey{Node: id,
			Prefix: netip.MustParsePrefix(p)}, Metric: uint32(rng.IntN(3))})
	}
	for i := range rng.IntN(6) { // anycast, nested in one another and in nothing
		advertise(fmt.Sprintf("2001:db8:%x::/%d", 0x40+i, 46+rng.IntN(20)), some())
		advertise(fmt.Sprintf("2001:db8:%x::/48", 0x40+i), some())
	}
	if rng.IntN(3) == 0 {
		advertise("2001:db8::/32", some())
	}
	if rng.IntN(3) == 0 {
		advertise("::/0", some())
	}
	if rng.IntN(3) == 0 {
		advertise("fc00::/16", some())
	}
	for i := range net.Inventory.Hosts {
		h := &net.Inventory.Hosts[i]
		switch rng.IntN(4) {
		case 0:
			h.Prefixes = append(h.Prefixes, netip.MustParsePrefix(fmt.Sprintf("2001:db8:2:%x::/64", i)))
		case 1:
			h.Prefixes = append(h.Prefixes,
				netip.MustParsePrefix(fmt.Sprintf("2001:db8:%x::/44", 0x40+16*rng.IntN(2))))
		}
	}
	for _, node := range snap.Nodes {
		if n := *node; rng.IntN(10) == 0 {
			n.Overload = true
			net.Topology.SetNode(n)
		}
	}
	if rng.IntN(3) == 0 {
		net.Inventory.Switches[rng.IntN(len(net.Inventory.Switches))].MAC = inventory.MAC{}
	}
	return net
}

// drainSome drains some links of a network, or none.
func drainSome(n *Network, rng *rand.Rand) *Network {
	var drained []topology.LinkID
	for of, i := 2*rng.IntN(4), 0; of > 0 && i < len(n.Snapshot.Links); i++ {
		if rng.IntN(of) == 0 {
			drained = append(drained, n.Snapshot.Links[i].ID)
		}
	}
	return n.WithDrained(drained)
}

// TestRoutesAgainstEachDestination: the routes of a switch send a packet along the same paths as
// one separate route for every destination.
func TestRoutesAgainstEachDestination(t *testing.T) {
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 1))
		net := randomNet(rng)
		n := network(net)
		if rng.IntN(3) == 0 && len(net.Inventory.Hosts) > 0 {
			h := &net.Inventory.Hosts[rng.IntN(len(net.Inventory.Hosts))]
			n = n.WithEdges(Edges{h.Switch: {h.Port: {VRF: 7}}})
		}
		n = drainSome(n, rng)
		compareTables(t, n, rng, plainPlan(n))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestEVRoutesAgainstEachDestination: the same holds with the uSIDs of an assignment, and with
// routes marked as leading up.
func TestEVRoutesAgainstEachDestination(t *testing.T) {
	planned := 0
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 2))
		net := sample.FatTree(2, 1+rng.IntN(3), 2, 2*(1+rng.IntN(2)), 1)
		for _, l := range net.Topology.Build().Links {
			if rng.IntN(15) == 0 {
				net.Topology.RemoveLink(l.ID)
			}
		}
		n := drainSome(network(net), rng)
		var leaves []topology.NodeID
		for _, h := range net.Inventory.Hosts {
			leaves = append(leaves, net.Node(h.Switch))
		}
		clos, err := n.graph.Clos(topology.ClosRequest{Leaves: leaves, MaxTiers: 3})
		if err != nil {
			continue // too few links are left
		}
		for _, mode := range []ev.Mode{ev.ModeStructured, ev.ModeF3216, ev.ModeF1616} {
			a, err := ev.Assign(clos, ev.Format{Mode: mode}, ev.Numbers{})
			if err != nil {
				t.Fatalf("seed %d: %v: %v", seed, mode, err)
			}
			more := map[netip.Prefix]topology.NodeID{}
			for _, node := range clos.Nodes() {
				if usid, ok := a.Node(node.ID); ok && mode.SRv6() {
					sid, err := mode.USID().SID(a.Format().Block, usid)
					if err != nil {
						t.Fatal(err)
					}
					more[sid] = node.ID
				}
			}
			compareTables(t, n, rng, func(sw *inventory.Switch) ([]entry.Entity, []entry.Entity,
				forwardingTable) {
				var below map[topology.NodeID]bool
				if _, ok := a.Switch(n.nodes[sw.Name].ID); ok && mode == ev.ModeStructured {
					below = map[topology.NodeID]bool{}
					dumbBelow(n, clos, n.nodes[sw.Name].ID, below)
				}
				return n.EVRoutes(sw, a), n.EachEVRoute(sw, a), dumbTable(n, sw, more, below)
			})
			if t.Failed() {
				t.Fatalf("seed %d: %v", seed, mode)
			}
			planned++
		}
	}
	if planned < 60 {
		t.Errorf("only %d assignments compared", planned)
	}
}

func dumbBelow(
	n *Network, clos *topology.Clos, id topology.NodeID, below map[topology.NodeID]bool,
) {
	tier, _ := clos.Tier(id)
	for _, l := range n.Snapshot.LinksFrom(id) {
		if t, ok := clos.Tier(l.Remote); ok && t < tier {
			below[l.Remote] = true
			dumbBelow(n, clos, l.Remote, below)
		}
	}
}

// TestRoutesOfClos: the routes of a Clos are few, with all links and without
// some, and grow far slower than the square of its switches.
func TestRoutesOfClos(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	var entries []int
	for _, pods := range []int{2, 4} {
		net := sample.FatTree(pods, 8, 4, 4*pods, 2)
		p := compareTables(t, network(net), rng, plainPlan(network(net)))
		t.Logf("%d switches: %d routes, %d one by one", len(p.whole), p.entries, p.single)
		if 2*p.entries > p.single {
			t.Errorf("%d pods: %d routes, for %d one by one", pods, p.entries, p.single)
		}
		entries = append(entries, p.entries)
		links := net.Topology.Build().Links
		for range 3 {
			net.Topology.RemoveLink(links[rng.IntN(len(links))].ID)
		}
		q := compareTables(t, network(net), rng, plainPlan(network(net)))
		t.Logf("without some links: %d routes, %d one by one", q.entries, q.single)
		if 5*q.entries > 6*p.entries {
			t.Errorf("%d pods: %d routes without some links, %d with all", pods, q.entries, p.entries)
		}
	}
	if 4*entries[0] < entries[1] {
		t.Errorf("%d routes of twice the switches, after %d", entries[1], entries[0])
	}
}

// TestNoRouteBetweenBlocks: aggregates reach neither from one block of addresses
// to another nor over more than a 65,536th of all.
func TestNoRouteBetweenBlocks(t *testing.T) {
	net := sample.Clos(6, 2, 1)
	for i, p := range []string{"4000::/8", "4100::/8", "4200::/8", "4300::/8"} {
		key := topology.PrefixKey{Node: net.Node(fmt.Sprintf("leaf%d", 1+i%2)),
			Prefix: netip.MustParsePrefix(p)}
		net.Topology.SetPrefix(topology.Prefix{PrefixKey: key})
	}
	for _, p := range []string{"6000::/10", "6100::/10"} {
		net.Topology.SetPrefix(topology.Prefix{PrefixKey: topology.PrefixKey{Node: net.Node("leaf1"),
			Prefix: netip.MustParsePrefix(p)}})
	}
	n := network(net)
	for i := range net.Inventory.Switches {
		sw := &net.Inventory.Switches[i]
		table := tableOf(t, n.Routes(sw))
		for _, a := range []string{
			"2001:db8::8000", "2001:db8:1::8001", "2001:db8:0:8000::", "2001:db8:ffff::", "2001:db9::",
			"fc00:1::", "fd00::", "::1", "4400::", "4800::", "6080::", "6200::", "ff02::1",
		} {
			if hopSet := table.lookup(netip.MustParseAddr(a)); hopSet != "" {
				t.Errorf("%s: %s by %q, want no way", sw.Name, a, hopSet)
			}
		}
	}
}
