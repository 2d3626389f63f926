package topology

import (
	"encoding/json"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSnapshotIsImmutable(t *testing.T) {
	w := newNetwork("a", "b")
	w.connect("a", "b", 1, 1)
	node := Node{ID: "a", SIDs: []SID{{Address: netip.MustParseAddr("fc00::2")},
		{Address: netip.MustParseAddr("fc00::1")}}}
	w.SetNode(node)
	s := w.Build()
	before, _ := json.Marshal(s)

	node.SIDs[0].Address = netip.MustParseAddr("fc00::3")
	w.RemoveLink("a,1~b,1")
	b := s.Builder()
	b.SetNode(Node{ID: "a"})
	b.RemoveNode("b")
	b.SetStale(&Staleness{Reason: "test"})
	if next := b.Build(); next.Version != s.Version+1 || len(next.Nodes) != 1 || next.Stale == nil {
		t.Errorf("the next snapshot is %+v", next)
	}
	if after, _ := json.Marshal(s); string(after) != string(before) {
		t.Errorf("the snapshot was\n%s and is\n%s", before, after)
	}
}

// The same objects in any order give the same snapshot.
func TestSnapshotOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := randomNetwork(t, 8, 8, 3).Build()
		b := NewBuilder()
		b.SetNode(Node{ID: "passing"})
		for _, n := range rapid.Permutation(s.Nodes).Draw(t, "nodes") {
			b.SetNode(*n)
		}
		for _, l := range rapid.Permutation(s.Links).Draw(t, "links") {
			b.SetLink(*l)
		}
		b.RemoveNode("passing")
		again := b.Build()
		x, _ := json.Marshal(s)
		y, _ := json.Marshal(again)
		if string(x) != string(y) {
			t.Fatalf("snapshots differ:\n%s\n%s", x, y)
		}
		for _, n := range s.Nodes {
			for _, l := range s.Links {
				if slices.Contains(s.LinksFrom(n.ID), l) != (l.Local == n.ID) {
					t.Fatalf("LinksFrom(%s) is wrong about %s", n.ID, l.ID)
				}
			}
		}
	})
}

func TestSnapshotLookups(t *testing.T) {
	w := figure1()
	w.SetPrefix(Prefix{PrefixKey: PrefixKey{"n2", netip.MustParsePrefix("fd02::/64")}})
	w.SetPrefix(Prefix{PrefixKey: PrefixKey{"n2", netip.MustParsePrefix("fd01::/64")}})
	w.SetPrefix(Prefix{PrefixKey: PrefixKey{"n3", netip.MustParsePrefix("fd03::/64")}})
	s := w.Build()
	if n := s.NodeByName("n4"); n == nil || n.ID != "n4" {
		t.Errorf("NodeByName gives %v", n)
	}
	if s.NodeByName("n9") != nil || s.Node("n9") != nil || s.Link("n9") != nil {
		t.Error("found what is not there")
	}
	if got := ids(t, s.PrefixesOf("n2"),
		func(p *Prefix) string { return p.Prefix.String() }); got != "fd01::/64 fd02::/64" {
		t.Errorf("prefixes of n2: %s", got)
	}
	if len(s.PrefixesOf("n1")) != 0 || len(s.LinksFrom("n9")) != 0 {
		t.Error("found what is not there")
	}
}

func TestPortMap(t *testing.T) {
	b := NewBuilder()
	b.SetPorts(PortMap{
		"a": {ByLinkID: map[uint32]uint32{7: 1}},
		"b": {ByAddress: map[netip.Addr]uint32{netip.MustParseAddr("fe80::b"): 2}},
	})
	for _, c := range []struct {
		link          Link
		local, remote uint32
	}{
		{Link{Local: "a", Remote: "b", LocalID: 7, RemoteID: 8, RemoteAddresses: addrs("fe80::a",
			"fe80::b")}, 1, 2},
		{Link{Local: "a", Remote: "b", LocalID: 9, RemoteID: 8}, 9, 8},
		{Link{Local: "c", Remote: "a", LocalID: 7, RemoteID: 7}, 7, 1},
		{Link{Local: "c", Remote: "a"}, 0, 0},
	} {
		id := b.SetLink(c.link)
		if l := b.Build().Link(id); l.LocalPort != c.local || l.RemotePort != c.remote {
			t.Errorf("%s has ports %d and %d, want %d and %d", id, l.LocalPort, l.RemotePort, c.local,
				c.remote)
		}
		b.RemoveLink(id)
	}
}

func TestPublisher(t *testing.T) {
	var p Publisher
	s, changed := p.Current()
	if s.Version != 0 || len(s.Nodes) != 0 || s.Graph() == nil {
		t.Errorf("the first snapshot is %+v", s)
	}
	if _, again := p.Current(); again != changed {
		t.Error("two readers wait for different things")
	}
	select {
	case <-changed:
		t.Fatal("changed before anything was published")
	default:
	}
	next := figure1().Build()
	p.Publish(next)
	select {
	case <-changed:
	default:
		t.Fatal("readers were not told")
	}
	if s, _ := p.Current(); s != next {
		t.Error("the newest snapshot is not the one published")
	}
}

func TestBehavior(t *testing.T) {
	for _, c := range []struct {
		b       Behavior
		base    Behavior
		flavors Flavors
		name    string
	}{
		{1, BehaviorEnd, 0, "End"},
		{2, BehaviorEnd, FlavorPSP, "End (PSP)"},
		{4, BehaviorEnd, FlavorPSP | FlavorUSP, "End (PSP,USP)"},
		{7, BehaviorEndX, FlavorUSP, "End.X (USP)"},
		{18, BehaviorEndDT6, 0, "End.DT6"},
		{29, BehaviorEnd, FlavorPSP | FlavorUSD, "End (PSP,USD)"},
		{48, BehaviorEndNextCSID, FlavorPSP | FlavorUSD | FlavorNextCSID, "End (PSP,USD,NEXT-CSID)"},
		{57, BehaviorEndXNextCSID, FlavorPSP | FlavorUSD | FlavorNextCSID, "End.X (PSP,USD,NEXT-CSID)"},
		{75, BehaviorEndReplicate, 0, "End.Replicate"},
		{0x8001, 0x8001, 0, "0x8001"},
	} {
		if c.b.Base() != c.base || c.b.Flavors() != c.flavors || c.b.String() != c.name {
			t.Errorf("%d is %d with %v: %q", c.b, c.b.Base(), c.b.Flavors(), c.b.String())
		}
		if c.b.IsEndX() != (c.base == BehaviorEndX || c.base == BehaviorEndXNextCSID) ||
			c.b.Private() != (c.b >= 0x8000) {
			t.Errorf("%d: IsEndX %v, Private %v", c.b, c.b.IsEndX(), c.b.Private())
		}
	}
}

// TestLinkName: a link's name contains the names of both switches, also after the link's end, and
// the identifiers where links are parallel. The id of another thing stays.
func TestLinkName(t *testing.T) {
	w := newNetwork("a", "b", "c")
	w.SetNode(Node{ID: "a", Name: "leaf1"})
	w.SetNode(Node{ID: "b", Name: "spine1"})
	w.connect("a", "b", 1, 1)
	w.connect("a", "c", 1, 1)
	check := func(id LinkID, want string) {
		t.Helper()
		if got := w.Build().LinkName(id); got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
		}
	}
	check("a,1~b,1", "leaf1 – spine1")
	check("b,1~a,1", "spine1 – leaf1")
	check("a,2~c,1", "leaf1 – c")
	check("a,7~z,1", "leaf1 – z")
	check("h/1", "h/1")
	w.connect("a", "b", 1, 1)
	check("a,1~b,1", "leaf1 – spine1 (1 and 1)")
	check("b,2~a,3", "spine1 – leaf1 (2 and 3)")
	check("a,2~c,1", "leaf1 – c")
}
