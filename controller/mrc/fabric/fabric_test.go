package fabric

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/topology"
)

// TestWhole: a fabric keeps lost elements, takes over changes, and ignores overload. Only the first
// topology is used unchanged.
func TestWhole(t *testing.T) {
	first := smallNetwork()
	now := first.Build()
	if whole(topology.Empty(), now) != now {
		t.Error("the first topology is copied, and nothing is to be changed")
	}
	for name, change := range map[string]func(*topology.Builder){
		"overload": func(b *topology.Builder) { b.SetNode(topology.Node{ID: leaf1, Overload: true}) },
		"stale":    func(b *topology.Builder) { b.SetStale(&topology.Staleness{Reason: "no peer"}) },
	} {
		b := now.Builder()
		change(b)
		got := whole(topology.Empty(), b.Build())
		if got.Stale != nil || got.Node(leaf1).Overload || len(got.Links) != len(now.Links) {
			t.Errorf("%s: stale %v, %+v, %d links", name, got.Stale, got.Node(leaf1), len(got.Links))
		}
	}
	first.SetPrefix(topology.Prefix{PrefixKey: topology.PrefixKey{Node: leaf2,
		Prefix: netip.MustParsePrefix("2001:db8:2::/48")}})
	before := first.Build()
	gone := before.Links[0]
	later := smallNetwork()
	later.RemoveNode(spine2)
	later.RemoveLink(gone.ID)
	later.SetNode(topology.Node{ID: leaf1, Name: "another name"})
	later.SetNode(topology.Node{ID: "leaf3"})
	got := whole(before, later.Build())
	if len(got.Nodes) != 5 || len(got.Links) != len(before.Links) || got.Link(gone.ID) == nil ||
		got.Node(leaf1).Name != "another name" || len(got.Prefixes) != 1 {
		t.Errorf("%d nodes, %d links, %+v, prefixes %v", len(got.Nodes), len(got.Links),
			got.Node(leaf1), got.Prefixes)
	}
}

// TestLinksThatAreNew: a fabric lacks every link added later, wherever the link sorts, and every
// link whose port has changed.
func TestLinksThatAreNew(t *testing.T) {
	cfg := defaults()
	snap := smallNetwork().Build()
	f, err := newFabric(snap, []topology.NodeID{leaf1, leaf2}, &cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !f.has(snap) {
		t.Error("the fabric does not have what it was made of")
	}
	for i := range snap.Links {
		less := snap.Builder()
		less.RemoveLink(snap.Links[i].ID)
		part, err := newFabric(less.Build(), []topology.NodeID{leaf1, leaf2}, &cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		if part.has(snap) || !f.has(less.Build()) {
			t.Errorf("without link %d the fabric has it: %v, and the whole has the rest: %v", i,
				part.has(snap), f.has(less.Build()))
		}
		other := *snap.Links[i]
		other.LocalPort = 77
		less.SetLink(other)
		if f.has(less.Build()) {
			t.Errorf("the fabric has link %d with another port", i)
		}
	}
}

// TestLinksOfOneDirection: a link advertised in only one direction is in the fabric, but no path
// crosses it.
func TestLinksOfOneDirection(t *testing.T) {
	cfg := defaults()
	for _, ends := range [][2]topology.NodeID{{leaf1, spine1}, {spine1, leaf1}} {
		net := smallNetwork()
		one := topology.Link{Local: ends[0], Remote: ends[1], LocalID: 9, RemoteID: 9, IGPMetric: 10}
		net.SetLink(one)
		f, err := newFabric(net.Build(), []topology.NodeID{leaf1, leaf2}, &cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range int32(f.Len()) {
			e := f.Edge(i)
			if alone := e.LocalID == 9; alone != (f.Reverse(e) == nil) ||
				alone != (len(e.Leaves()) == 0) {
				t.Errorf("from %s to %s: reverse %v, leaves %v", e.Local, e.Remote, f.Reverse(e), e.Leaves())
			}
		}
	}
}

// TestLeavesOfHosts: hosts can attach to leaves and to unknown nodes, but not to spines above
// leaves.
func TestLeavesOfHosts(t *testing.T) {
	cfg := defaults()
	f, err := newFabric(smallNetwork().Build(), []topology.NodeID{leaf1, leaf2}, &cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[topology.NodeID]bool{leaf1: true, leaf2: true, spine1: false,
		spine2: false, "leaf3": true} {
		if got := f.isLeaf(id); got != want {
			t.Errorf("%s is a leaf: %v, want %v", id, got, want)
		}
	}
}

// TestPortsTakeBothDirections: a port down at either end of a link takes both directions of this
// link out of use, and no further link.
func TestPortsTakeBothDirections(t *testing.T) {
	net := smallNetwork()
	for _, l := range net.Build().Links { // at the ports that its ids are
		l := *l
		l.LocalPort, l.RemotePort = l.LocalID, l.RemoteID
		net.SetLink(l)
	}
	cfg := defaults()
	for _, down := range net.Build().Links {
		s := New(&cfg, Outside{Drains: noDrains{}})
		for i, leaf := range []topology.NodeID{leaf1, leaf2} {
			if _, err := s.PutHost(Host{Name: string(leaf), At: ev.Attachment{leaf},
				Address: netip.AddrFrom16([16]byte{0x20, 1, 15: byte(i)})}); err != nil {
				t.Fatal(err)
			}
		}
		s.SetTopology(net.Build())
		s.InSync()
		s.Settle()
		s.SetPorts(down.Local, map[uint32]bool{down.LocalPort: false})
		for i := range int32(s.Links().Len()) {
			l := s.Links().At(i)
			both := l.ID == down.ID || l.Local == down.Remote && l.LocalID == down.RemoteID
			if (l.Phase() == Down) != both {
				t.Errorf("port %d of %s is down, and %s is %v", down.LocalPort, down.Local, l.ID, l.Phase())
			}
		}
	}
}

// TestTrialOfSuspect: a link denied for packet loss returns to use only after the required number
// of probes has come through. A lost probe extends the hold by the rule for suspects, however many
// probes beyond one are required.
func TestTrialOfSuspect(t *testing.T) {
	s, _ := newLinks(t)
	suspects := *s.suspects
	s.suspects = &suspects
	for _, need := range []int{2, 3} {
		s.now += time.Hour
		suspects.Probes = need
		const i = 0
		l := &s.all[i]
		s.Deny(i, "of the test")
		hold := s.all[i].until - s.now
		s.now = l.until
		if s.run(true); l.phase != Trying || s.Wants(i) != need {
			t.Fatalf("the link is %v and wants %d probes, want trying, %d", l.phase, s.Wants(i), need)
		}
		s.Result(i, s.now, need, need-1)
		if longer := l.until - s.now; l.phase != Held || longer != 2*hold {
			t.Errorf("one of %d probes is lost: the link is %v for %v, want held for twice %v", need,
				l.phase, longer, hold)
		}
		s.now = l.until
		s.run(true)
		s.Result(i, s.now, 1, 1)
		if s.run(true); l.phase != Trying || s.Wants(i) != need-1 {
			t.Errorf("one probe came through: the link is %v and wants %d more", l.phase, s.Wants(i))
		}
		s.Result(i, s.now, need-1, need-1)
		if s.run(true); l.phase != Up {
			t.Errorf("all probes came through: the link is %v", l.phase)
		}
	}
}

// TestFabricKeepsWhatIsGone: a fabric that grows while a link is gone keeps this link, denied.
func TestFabricKeepsWhatIsGone(t *testing.T) {
	s, _ := hostPair(t, &drains{}, twoPlanes())
	links := s.Fabric().Snapshot().Links
	net := s.Fabric().Snapshot().Builder()
	net.RemoveLink(links[0].ID)
	s.SetTopology(net.Build())
	net.SetNode(topology.Node{ID: "spine9"})
	s.SetTopology(net.Build())
	s.Settle()
	place, ok := s.Fabric().Place(links[0].ID)
	if !ok || s.Fabric().Len() != len(links) || !s.Links().At(place).Denied() {
		t.Errorf("the fabric has %d links of %d, the one that is gone: %v", s.Fabric().Len(), len(links),
			ok)
	}
	if s.Fabric().Snapshot().Node("spine9") == nil {
		t.Error("the fabric has not grown")
	}
}

var threeTierLeaves = []topology.NodeID{"a1", "a2", "a3", "b1", "b2"}

// threeTiers is leaves a1 to a3 below p, b1 and b2 below q, and p and q below two cores.
func threeTiers() *topology.Builder {
	net := topology.NewBuilder()
	ids := make(map[topology.NodeID]uint32)
	connect := func(a, b topology.NodeID) {
		for _, n := range []topology.NodeID{a, b} {
			net.SetNode(topology.Node{ID: n})
			ids[n]++
		}
		net.SetLink(topology.Link{Local: a, Remote: b, LocalID: ids[a], RemoteID: ids[b], IGPMetric: 10})
		net.SetLink(topology.Link{Local: b, Remote: a, LocalID: ids[b], RemoteID: ids[a], IGPMetric: 10})
	}
	for _, leaf := range threeTierLeaves {
		connect(leaf, map[byte]topology.NodeID{'a': "p", 'b': "q"}[leaf[0]])
	}
	for _, core := range []topology.NodeID{"core2", "core10"} {
		connect("p", core)
		connect("q", core)
	}
	return net
}

// TestEdges: an edge has the leaves below it, in either direction, and rises where paths climb by
// it; the edges that paths cross are in the natural order of their ids.
func TestEdges(t *testing.T) {
	cfg := defaults()
	leaves := threeTierLeaves
	net := threeTiers()
	net.SetNode(topology.Node{ID: "x"})
	net.SetLink(topology.Link{Local: "x", Remote: "core2", LocalID: 9, RemoteID: 9})
	f, err := newFabric(net.Build(), leaves, &cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	up := map[topology.NodeID]int{"a1": 0, "a2": 0, "a3": 0, "b1": 0, "b2": 0, "p": 1, "q": 1,
		"core2": 2, "core10": 2}
	crossed := 0
	for i := range int32(f.Len()) {
		e := f.Edge(i)
		low := e.Local
		if up[e.Remote] < up[e.Local] {
			low = e.Remote
		}
		want := map[topology.NodeID][]topology.NodeID{"p": leaves[:3], "q": leaves[3:], "x": nil}[low]
		if up[low] == 0 && low != "x" {
			want = []topology.NodeID{low}
		}
		if want == nil {
			if len(e.Leaves()) != 0 || e.Rises() || e.crossed() {
				t.Errorf("from %s to %s: leaves %v, rises %v", e.Local, e.Remote, e.Leaves(), e.Rises())
			}
			continue
		}
		crossed++
		if !slices.Equal(e.Leaves(), want) || e.Rises() != (low == e.Local) ||
			f.Reverse(e).Local != e.Remote {
			t.Errorf("from %s to %s: leaves %v, rises %v; want %v", e.Local, e.Remote, e.Leaves(), e.Rises(),
				want)
		}
	}
	if order := f.ByID(); len(order) != crossed || !slices.IsSortedFunc(order, func(a, b int32) int {
		return natural.Compare(f.Edge(a).ID, f.Edge(b).ID)
	}) || slices.IsSorted(order) {
		t.Errorf("%d edges are crossed: %v", crossed, order)
	}
}

// TestLinksOfPaths: a path crosses exactly its own links, up and down.
func TestLinksOfPaths(t *testing.T) {
	cfg := defaults()
	f, err := newFabric(threeTiers().Build(), threeTierLeaves, &cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	for dst, hops := range map[topology.NodeID]int{"a1": 0, "a2": 2, "b1": 4} {
		set, ok := f.PathSet(ev.Attachment{"a1"}, ev.Attachment{dst}, 1)
		if !ok || set.Hops() != hops {
			t.Fatalf("to %s: %d hops, %v; want %d", dst, set.Hops(), ok, hops)
		}
		for ref := range set.All() {
			places := f.PlacesOf(set, ref)
			at := topology.NodeID("a1")
			for _, i := range places {
				if e := f.Edge(i); e.Local != at {
					t.Fatalf("to %s: after %s comes %s", dst, at, e.ID)
				}
				at = f.Edge(i).Remote
			}
			if at != dst || len(places) != hops {
				t.Errorf("to %s: %d links lead to %s", dst, len(places), at)
			}
			for i := range int32(f.Len()) {
				if got := f.Crosses(set, ref, i); got != slices.Contains(places, i) {
					t.Errorf("to %s: path %v crosses %s: %v", dst, places, f.Edge(i).ID, got)
				}
			}
		}
	}
	if _, ok := f.PathSet(ev.Attachment{"a1"}, ev.Attachment{"core2"}, 1); ok {
		t.Error("there are paths to a core")
	}
}

// TestNamesOfNodes: NameOf returns the name that a node shows, and "" for an unknown node.
func TestNamesOfNodes(t *testing.T) {
	b := topology.NewBuilder()
	b.SetNode(topology.Node{ID: leaf1, Name: "T0-1"})
	for id, want := range map[topology.NodeID]string{leaf1: "T0-1", leaf2: ""} {
		if got := NameOf(b.Build(), id); got != want {
			t.Errorf("%s is called %q, want %q", id, got, want)
		}
	}
}

// TestFabricKeepsNumbers: switches and planes keep their numbers when the fabric grows.
func TestFabricKeepsNumbers(t *testing.T) {
	cfg := inventory.DefaultMRC("usid-f3216")
	net := twoPlanes()
	for _, l := range net.Build().Links {
		l := *l
		l.LocalPort, l.RemotePort = l.LocalID, l.RemoteID
		net.SetLink(l)
	}
	leaves := []topology.NodeID{"leaf1-1", "leaf1-2", "leaf2-1", "leaf2-2"}
	before, err := newFabric(net.Build(), leaves, &cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, second := topology.NodeID("leaf0-1"), topology.NodeID("spine0-1") // by id
	net.SetNode(topology.Node{ID: first})
	net.SetNode(topology.Node{ID: second})
	net.SetLink(topology.Link{Local: first, Remote: second, LocalID: 1, RemoteID: 1, LocalPort: 1})
	net.SetLink(topology.Link{Local: second, Remote: first, LocalID: 1, RemoteID: 1, LocalPort: 1})
	after, err := newFabric(net.Build(), append(leaves, first), &cfg, before)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range before.Snapshot().Nodes {
		was, _ := before.Assignment().Node(n.ID)
		is, ok := after.Assignment().Node(n.ID)
		p, q := before.Clos().Plane(n.ID), after.Clos().Plane(n.ID)
		if was != is || !ok || p != q || p == 0 {
			t.Errorf("%s had number %d in plane %d, and has %d in plane %d", n.ID, was, p, is, q)
		}
	}
	if p := after.Clos().Plane(first); p != 3 {
		t.Errorf("the plane that is new is plane %d, want 3", p)
	}
}

// TestWholeOfEachPart: whole keeps the earlier nodes, links and prefixes when the newer snapshot is
// empty.
func TestWholeOfEachPart(t *testing.T) {
	node := topology.NewBuilder()
	node.SetNode(topology.Node{ID: leaf1})
	prefix := topology.NewBuilder()
	prefix.SetPrefix(topology.Prefix{PrefixKey: topology.PrefixKey{Node: leaf1,
		Prefix: netip.MustParsePrefix("2001:db8:2::/48")}})
	pair := topology.NewBuilder()
	for _, ends := range [][2]topology.NodeID{{leaf1, spine1}, {spine1, leaf1}} {
		pair.SetNode(topology.Node{ID: ends[0]})
		pair.SetLink(topology.Link{Local: ends[0], Remote: ends[1], LocalID: 1, RemoteID: 1})
	}
	for i, before := range []*topology.Snapshot{node.Build(), prefix.Build(), pair.Build()} {
		got := whole(before, topology.Empty())
		if len(got.Nodes) != len(before.Nodes) || len(got.Prefixes) != len(before.Prefixes) ||
			len(got.Links) != len(before.Links) {
			t.Errorf("part %d: %d nodes, %d prefixes", i, len(got.Nodes), len(got.Prefixes))
		}
	}
	stale := smallNetwork()
	stale.SetStale(&topology.Staleness{Reason: "no peer"})
	if got := whole(stale.Build(), smallNetwork().Build()); got.Stale != nil {
		t.Errorf("a fabric is stale: %+v", got.Stale)
	}
}
