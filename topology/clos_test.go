package topology

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mustClos(t failer, s *Snapshot, r ClosRequest) *Clos {
	t.Helper()
	c, err := s.Graph().Clos(r)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return c
}

// checkClosPaths compares all paths of a Clos with those a dumb search finds.
func checkClosPaths(t failer, c *Clos, d *dumbClos, leaves []NodeID, lost func(*Link) bool,
	gone NodeID) {
	t.Helper()
	for _, src := range leaves {
		for _, dst := range leaves {
			want := d.paths(src, dst, lost)
			if src == gone || dst == gone {
				want = nil
			}
			if c.Plane(src) != c.Plane(dst) {
				if len(want) > 0 {
					t.Fatalf("%s and %s are in planes %d and %d, but paths join them:%v", src, dst, c.Plane(src),
						c.Plane(dst), want)
				}
				continue
			}
			p, err := c.Paths(src, dst, c.Plane(src))
			if err != nil {
				t.Fatalf("%v", err)
			}
			var got []string
			for ref := range p.All() {
				links := p.Links(ref)
				if len(links) != p.Hops() {
					t.Fatalf("%s to %s: %d links, want %d", src, dst, len(links), p.Hops())
				}
				i, ok := p.Index(ref)
				if at, found := p.At(i); !ok || !found || i != len(got) || at != ref {
					t.Fatalf("%s to %s: path %d %v has index %d, %v, where %v is", src, dst, len(got), ref, i, ok,
						at)
				}
				got = append(got, pathNames(links))
			}
			if _, ok := p.At(len(got)); ok || p.Len() != len(got) {
				t.Fatalf("%s to %s: Len %d of %d paths", src, dst, p.Len(), len(got))
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("%s to %s: paths\n%s\nwant\n%s", src, dst, strings.Join(got, "\n"),
					strings.Join(want, "\n"))
			}
		}
	}
}

func TestClosAgainstSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := randomFabric(t)
		s := f.Build()
		c := mustClos(t, s, ClosRequest{Leaves: f.leaves})
		d := newDumbClos(s, f.leaves)
		for _, n := range s.Nodes {
			tier, ok := c.Tier(n.ID)
			if want, reached := d.tier[n.ID]; ok != reached || tier != want {
				t.Fatalf("tier of %s is %d, %v, want %d, %v", n.ID, tier, ok, want, reached)
			}
		}
		checkClosPaths(t, c, d, f.leaves, nil, "")
	})
}

// Losing links and a node one after the other, and all at once, leaves the
// paths that a search finds without them, and does not change the whole.
func TestClosWithout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := randomFabric(t)
		s := f.Build()
		if len(s.Links) == 0 {
			return
		}
		c := mustClos(t, s, ClosRequest{Leaves: f.leaves})
		d := newDumbClos(s, f.leaves)
		lost := Losses{Nodes: []NodeID{rapid.SampledFrom(s.Nodes).Draw(t, "node").ID, "unknown"},
			Links: []LinkID{"unknown"}}
		for range rapid.IntRange(0, 4).Draw(t, "links") {
			lost.Links = append(lost.Links, rapid.SampledFrom(s.Links).Draw(t, "link").ID)
		}
		gone := map[*Link]bool{}
		for _, l := range s.Links {
			r := c.g.Reverse(l)
			gone[l] = slices.Contains(lost.Links, l.ID) || slices.Contains(lost.Links, r.ID) ||
				slices.Contains(lost.Nodes, l.Local) || slices.Contains(lost.Nodes, l.Remote)
		}
		isLost := func(l *Link) bool { return gone[l] }
		checkClosPaths(t, c.Without(lost), d, f.leaves, isLost, lost.Nodes[0])
		step := c
		for _, id := range lost.Links {
			step = step.Without(Losses{Links: []LinkID{id}})
		}
		checkClosPaths(t, step.Without(Losses{Nodes: lost.Nodes}), d, f.leaves, isLost, lost.Nodes[0])
		checkClosPaths(t, c, d, f.leaves, nil, "")
	})
}

func TestClosCrossing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := randomFabric(t)
		s := f.Build()
		c := mustClos(t, s, ClosRequest{Leaves: f.leaves})
		name := func(p PathSet, ref PathRef) string {
			i, _ := p.Index(ref)
			return fmt.Sprintf("%s %s %d", p.Source().ID, p.Destination().ID, i)
		}
		want := map[LinkID][]string{}
		for p := range c.Pairs() {
			for ref := range p.All() {
				for _, l := range p.Links(ref) {
					want[l.ID] = append(want[l.ID], name(p, ref))
				}
			}
		}
		for _, l := range s.Links {
			var got []string
			for p, ref := range c.Crossing(l.ID) {
				got = append(got, name(p, ref))
			}
			slices.Sort(got)
			slices.Sort(want[l.ID])
			if !slices.Equal(got, want[l.ID]) {
				t.Fatalf("over %s: %v, want %v", l.ID, got, want[l.ID])
			}
		}
	})
}

// The order in which a network is learned changes nothing.
func TestClosIsDeterministic(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	f := newFabric(2, 3, 2, 2)
	first := f.Build()
	describe := func(s *Snapshot) string {
		c := mustClos(t, s, ClosRequest{Leaves: f.leaves})
		out := ""
		for p := range c.Pairs() {
			for ref := range p.All() {
				out += fmt.Sprintln(p.Plane(), pathNames(p.Links(ref)))
			}
		}
		return out
	}
	want := describe(first)
	if n := strings.Count(want, "\n"); n != 2*3*2*2*2*2 {
		t.Fatalf("%d paths, want 2 planes x 6 pairs x 2 spines x 2 x 2 links", n)
	}
	r := rand.New(rand.NewPCG(seed, 0))
	b := NewBuilder()
	for _, i := range r.Perm(len(first.Links)) {
		b.SetLink(*first.Links[i])
	}
	for _, i := range r.Perm(len(first.Nodes)) {
		b.SetNode(*first.Nodes[i])
	}
	slices.Reverse(f.leaves)
	if got := describe(b.Build()); got != want {
		t.Errorf("learned in another order:\n%s\nwant\n%s", got, want)
	}
}

func TestClosViews(t *testing.T) {
	w, edges := clos(2, 2, 2, 4)
	s := w.Build()
	c := mustClos(t, s, ClosRequest{Leaves: edges})
	if c.Planes() != 1 || c.Tiers() != 3 {
		t.Errorf("%d planes, %d tiers; want 1, 3", c.Planes(), c.Tiers())
	}
	node := func(n *Node) string { return string(n.ID) }
	if got, want := ids(t, c.Nodes(), node),
		"leaf-00-00 leaf-00-01 leaf-01-00 leaf-01-01 agg-00-00 agg-00-01 agg-01-00 agg-01-01 core-000 "+
			"core-001 core-002 core-003"; got != want {
		t.Errorf("nodes %s\nwant  %s", got, want)
	}
	remote := func(l *Link) string { return string(l.Remote) }
	if got, want := ids(t, c.Up("agg-00-01"), remote), "core-002 core-003"; got != want {
		t.Errorf("up from agg-00-01: %s, want %s", got, want)
	}
	if got, want := ids(t, c.Down("agg-00-01"), remote), "leaf-00-00 leaf-00-01"; got != want {
		t.Errorf("down from agg-00-01: %s, want %s", got, want)
	}
	p, err := c.Paths("leaf-00-00", "leaf-01-01", 1)
	if err != nil || p.Len() != 4 || p.Hops() != 4 {
		t.Fatalf("%d paths of %d links, %v; want 4 of 4", p.Len(), p.Hops(), err)
	}
	near, err := c.Paths("leaf-00-00", "leaf-00-01", 1)
	if err != nil || near.Len() != 2 || near.Hops() != 2 {
		t.Fatalf("%d paths of %d links, %v; want 2 of 2", near.Len(), near.Hops(), err)
	}
	self, err := c.Paths("leaf-00-00", "leaf-00-00", 1)
	if ref, ok := self.At(0); err != nil || !ok || ref != ToItself || self.Len() != 1 ||
		self.Hops() != 0 || len(self.Links(ref)) != 0 {
		t.Errorf("a leaf to itself: %v, %d paths of %d links, %v", ref, self.Len(), self.Hops(), err)
	}
	ascents, err := c.Ascents("leaf-00-00", 1)
	if err != nil || ascents.Len() != 2+4 || ascents.Apex(0).ID != "agg-00-00" ||
		ascents.Apex(5).ID != "core-003" || ascents.Apex(6) != nil {
		t.Errorf("%d ways, %v", ascents.Len(), err)
	}
	for _, l := range s.Links {
		if got := c.LinkPlane(l.ID); got != 1 {
			t.Errorf("%s is in plane %d", l.ID, got)
		}
	}
	for _, c := range []struct {
		err  error
		want error
		word string
	}{
		{second(c.Paths("x", "leaf-00-00", 1)), ErrUnknownNode, "source leaf: x"},
		{second(c.Paths("leaf-00-00", "core-000", 1)), ErrNotLeaf,
			"destination leaf: core-000 in plane 1"},
		{second(c.Paths("leaf-00-00", "leaf-00-01", 2)), ErrNotLeaf, "leaf-00-00 in plane 2"},
		{second(c.Ascents("agg-00-00", 1)), ErrNotLeaf, "agg-00-00"},
		{second(s.Graph().Clos(ClosRequest{Leaves: []NodeID{"x"}})), ErrUnknownNode, "leaf x"},
		{second(s.Graph().Clos(ClosRequest{Leaves: edges, MaxAscents: 5})), ErrTooManyPaths,
			"leaf-00-00: over 5 ways up in plane 1"},
		{second(s.Graph().Clos(ClosRequest{Leaves: edges, Tiers: map[NodeID]int{"core-000": 0}})), nil,
			"tier 0 of core-000"},
		{second(s.Graph().Clos(ClosRequest{Leaves: edges, Tiers: map[NodeID]int{edges[0]: 1}})), nil,
			"tier 1 of leaf-00-00"},
	} {
		if c.err == nil || c.want != nil && !errors.Is(c.err, c.want) ||
			!strings.Contains(c.err.Error(), c.word) {
			t.Errorf("error %v, want %v with %q", c.err, c.want, c.word)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// Hosts' prefixes make a leaf; its own addresses and those of links do not.
func TestSnapshotLeaves(t *testing.T) {
	w := newNetwork("leaf", "spine", "other", "lan")
	w.SetNode(Node{ID: "spine", Loopback: netip.MustParseAddr("fd00::2"),
		RouterID4: netip.MustParseAddr("10.0.0.2"),
		Locators:  []Locator{{Prefix: netip.MustParsePrefix("5f00:0:2::/48")}},
		SIDs:      []SID{{Address: netip.MustParseAddr("5f00:1:2::1")}}})
	w.SetNode(Node{ID: "lan", Pseudonode: true})
	w.SetLink(Link{Local: "spine", Remote: "leaf", LocalAddresses: addrs("fd01::1"),
		RemoteAddresses: addrs("fd02::2")})
	for node, prefixes := range map[NodeID][]string{
		"leaf": {"fd00::1/128", "2001:db8:1::/64", "2001:db8:2::/64"},
		"spine": {"fd00::2/128", "10.0.0.2/32", "5f00:0:2::/48", "5f00:1:2::1/128", "fd01::/127",
			"fd02::/64", "::/0", "0.0.0.0/0"},
		"other": {"192.0.2.0/24"},
		"lan":   {"2001:db8:3::/64"},
		"gone":  {"2001:db8:4::/64"},
	} {
		for _, p := range prefixes {
			w.SetPrefix(Prefix{PrefixKey: PrefixKey{Node: node, Prefix: netip.MustParsePrefix(p)}})
		}
	}
	s := w.Build()
	if got := s.Leaves(); !slices.Equal(got, []NodeID{"leaf", "other"}) {
		t.Errorf("leaves %v, want leaf and other", got)
	}
	if c := mustClos(t, s, ClosRequest{}); len(c.Leaves()) != 2 {
		t.Errorf("%d leaves of the Clos", len(c.Leaves()))
	}
}

// Leaves that are in all planes: links have colors.
func TestClosPlanesByAdminGroup(t *testing.T) {
	w := newNetwork("leaf1", "leaf2", "red1", "red2", "blue", "white")
	color := func(a, b NodeID, group uint32) {
		for _, id := range [2]LinkID{first(w.connect(a, b, 10, 10)), ""} {
			if id != "" {
				links, _ := w.links.all()
				for l := range links {
					if l.Local == a && l.Remote == b || l.Local == b && l.Remote == a {
						l.AdminGroup = group
					}
				}
			}
		}
	}
	for _, leaf := range []NodeID{"leaf1", "leaf2"} {
		color(leaf, "red1", 0b001)
		color(leaf, "red2", 0b101) // the lowest bit counts
		color(leaf, "blue", 0b010)
		color(leaf, "white", 0)
	}
	s := w.Build()
	c := mustClos(t, s, ClosRequest{Leaves: []NodeID{"leaf1", "leaf2"}, Planes: PlanesByAdminGroup})
	if c.Planes() != 2 || !slices.Equal(c.PlanesOf("leaf1"), []int{1, 2}) {
		t.Fatalf("%d planes, leaf1 in %v", c.Planes(), c.PlanesOf("leaf1"))
	}
	for plane, want := range map[int]string{1: "red1 red2", 2: "blue"} {
		p, err := c.Paths("leaf1", "leaf2", plane)
		if err != nil {
			t.Fatal(err)
		}
		var apexes []*Node
		for ref := range p.All() {
			apexes = append(apexes, p.Up().Apex(ref.Up))
		}
		if got := ids(t, apexes, func(n *Node) string { return string(n.ID) }); got != want {
			t.Errorf("plane %d by %s, want %s", plane, got, want)
		}
	}
	if c.Plane("leaf1") != 0 || c.Plane("red2") != 1 || c.Plane("blue") != 2 || c.Plane("white") != 0 {
		t.Errorf("planes of nodes: %d %d %d %d", c.Plane("leaf1"), c.Plane("red2"), c.Plane("blue"),
			c.Plane("white"))
	}
}

func first(a, _ LinkID) LinkID { return a }

// With the previous view a switch without leaves does not rise above its neighbors, and a divided
// plane does not become two planes.
func TestClosRemembers(t *testing.T) {
	w, edges := clos(2, 2, 2, 2)
	before := mustClos(t, w.Build(), ClosRequest{Leaves: edges})
	w2, _ := clos(2, 2, 2, 2)
	for _, l := range w2.Build().Links {
		agg, leaf := l.Local == "agg-00-00", strings.HasPrefix(string(l.Remote), "leaf")
		back := l.Remote == "agg-00-00" && strings.HasPrefix(string(l.Local), "leaf")
		if agg && leaf || back || l.Local == "leaf-00-01" || l.Remote == "leaf-00-01" {
			w2.RemoveLink(l.ID)
		}
	}
	s := w2.Build()
	fresh := mustClos(t, s, ClosRequest{Leaves: edges})
	if tier, _ := fresh.Tier("agg-00-00"); tier != 3 || fresh.Planes() != 2 {
		t.Errorf("without memory: tier %d, %d planes; the test expects 3, 2", tier, fresh.Planes())
	}
	if flat := mustClos(t, s, ClosRequest{Leaves: edges, MaxTiers: 3}); flat.Tiers() != 3 ||
		len(flat.Nodes()) != 2+4+2+2-1 {
		t.Errorf("of at most 3 tiers: %d tiers, %d nodes, want 3, and all but agg-00-00", flat.Tiers(),
			len(flat.Nodes()))
	}
	c := mustClos(t, s, ClosRequest{Leaves: edges, Previous: before})
	if tier, _ := c.Tier("agg-00-00"); tier != 1 || c.Planes() != 1 || c.Plane("leaf-00-01") != 1 {
		t.Errorf("tier %d, %d planes, leaf-00-01 in %d; want 1, 1, 1", tier, c.Planes(),
			c.Plane("leaf-00-01"))
	}
	p, err := c.Paths("leaf-00-00", "leaf-00-01", 1)
	if err != nil || p.Len() != 0 || p.Hops() != -1 {
		t.Errorf("to the lost leaf: %d paths of %d links, %v", p.Len(), p.Hops(), err)
	}
}

// A leaf attached to the top: its tier 0 would make the top tier 1.
func TestClosGivenTiers(t *testing.T) {
	w, edges := clos(2, 2, 2, 2)
	w.SetNode(Node{ID: "border"})
	w.connect("border", "core-000", 10, 10)
	w.connect("border", "core-001", 10, 10)
	edges = append(edges, "border")
	s := w.Build()
	c := mustClos(t, s, ClosRequest{Leaves: edges, Tiers: map[NodeID]int{"core-000": 2,
		"core-001": 2}})
	for dst, want := range map[NodeID][2]int{"leaf-01-01": {2, 4}, "leaf-00-01": {2, 2},
		"border": {2, 3}} {
		p, err := c.Paths("leaf-00-00", dst, 1)
		if err != nil || p.Len() != want[0] || p.Hops() != want[1] {
			t.Errorf("to %s: %d paths of %d links, %v; want %v", dst, p.Len(), p.Hops(), err, want)
		}
		for ref := range p.All() {
			links := p.Links(ref)
			if links[0].Local != "leaf-00-00" || links[len(links)-1].Remote != dst {
				t.Errorf("to %s:%s", dst, pathNames(links))
			}
		}
	}
}

func TestPathSetAllocations(t *testing.T) {
	f := newFabric(1, 8, 8, 1)
	c := mustClos(t, f.Build(), ClosRequest{Leaves: f.leaves})
	links := make([]*Link, 0, 8)
	if n := testing.AllocsPerRun(10, func() {
		for p := range c.Pairs() {
			for ref := range p.All() {
				links = p.AppendLinks(links[:0], ref)
			}
		}
	}); n > 0 {
		t.Errorf("%v allocations for all paths, want none", n)
	}
}
