package topology

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// bellmanFord is the dumb twin of Dijkstra: it relaxes every link of the
// snapshot until nothing changes.
func bellmanFord(g *Graph, root int32, m Metric, toward bool) []uint64 {
	s := g.snapshot
	dist := make([]uint64, len(s.Nodes))
	for i := range dist {
		dist[i] = unreached
	}
	dist[root] = 0
	costs := m.costs(s.Links, MetricIGP.costs(s.Links, nil))
	for changed := true; changed; {
		changed = false
		for i, l := range s.Links {
			from, okFrom := s.nodeIndex[l.Local]
			to, okTo := s.nodeIndex[l.Remote]
			if !okFrom || !okTo || g.Reverse(l) == nil {
				continue
			}
			if toward {
				from, to = to, from
			}
			if dist[from] == unreached || from != root && s.Nodes[from].Overload {
				continue
			}
			if d := dist[from] + uint64(costs[i]); d < dist[to] {
				dist[to], changed = d, true
			}
		}
	}
	return dist
}

func TestPathsAgainstBellmanFord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := randomNetwork(t, 14, 20, 5)
		s := w.Build()
		// Some links have a delay, some nodes ask not to be crossed, some
		// links have one direction only.
		b := s.Builder()
		for _, l := range s.Links {
			l := *l
			if rapid.Bool().Draw(t, "delay") {
				l.Delay = Delay{Known: true, Min: rapid.Uint32Range(0, 9).Draw(t, "min"), Max: 9}
			}
			l.TEMetric = rapid.Uint32Range(0, 9).Draw(t, "te")
			b.SetLink(l)
			if rapid.IntRange(1, 8).Draw(t, "one way") == 1 {
				b.RemoveLink(l.ID)
			}
		}
		for _, n := range s.Nodes {
			n := *n
			n.Overload = rapid.IntRange(1, 6).Draw(t, "overload") == 1
			b.SetNode(n)
		}
		s = b.Build()
		g := s.Graph()
		for m := range metrics {
			for root := range s.Nodes {
				for _, toward := range []bool{false, true} {
					p := g.pathsFrom(int32(root), m)
					if toward {
						p = g.pathsToward(int32(root), m)
					}
					want := bellmanFord(g, int32(root), m, toward)
					if !slices.Equal(p.dist, want) {
						t.Fatalf("%v from %d (toward %v): %v, not %v", m, root, toward, p.dist, want)
					}
					checkPaths(t, g, p, m)
				}
				checkFirstHops(t, g, int32(root), m)
			}
		}
	})
}

// checkPaths follows the paths of several keys.
func checkPaths(t *rapid.T, g *Graph, p *Paths, m Metric) {
	for _, n := range g.snapshot.Nodes {
		d, ok := p.Distance(n.ID)
		links := p.Links(n.ID)
		if (len(links) > 0) != (ok && n.ID != p.Root()) {
			t.Fatalf("%s has %d links and distance %d", n.ID, len(links), d)
		}
		for key := range uint64(3) {
			path := p.Path(n.ID, key)
			if (path != nil) != ok {
				t.Fatalf("path to %s is %v", n.ID, path)
			}
			if len(path) == 0 {
				continue
			}
			var sum uint64
			for i, l := range path {
				sum += uint64(g.Cost(l, m))
				if i > 0 && path[i-1].Remote != l.Local {
					t.Fatalf("path breaks at %s", l.ID)
				}
				if i > 0 && g.snapshot.Node(l.Local).Overload {
					t.Fatalf("path crosses %s", l.Local)
				}
			}
			first, last, touching := path[0].Local, path[len(path)-1].Remote, path[len(path)-1]
			if p.toward {
				first, last, touching = last, first, path[0]
			}
			if sum != d || first != p.Root() || last != n.ID || !slices.Contains(links, touching) {
				t.Fatalf("path between %s and %s costs %d, not %d", first, last, sum, d)
			}
		}
	}
}

// nowhere has no place for any link.
func nowhere(links []*Link) []int32 { return slices.Repeat([]int32{-1}, len(links)) }

// checkFirstHops compares the first links toward all nodes with those of the
// shortest paths toward each.
func checkFirstHops(t interface{ Fatalf(string, ...any) }, g *Graph, v int32, m Metric) {
	id := g.snapshot.Nodes[v].ID
	var f FirstHops
	f.Find(g, g.snapshot.Nodes[(int(v)+1)%len(g.snapshot.Nodes)].ID, m) // nothing is left of another's
	if !f.Find(g, id, m) {
		t.Fatalf("no first hops of %s", id)
	}
	for u, node := range g.snapshot.Nodes {
		p := g.pathsToward(int32(u), m)
		if got, want := f.Sets[f.Of[u]], p.Links(id); !slices.Equal(got, want) {
			t.Fatalf("%v: from %s to %s by %v, want %v", m, id, node.ID, got, want)
		}
		got, reached := f.Distance(int32(u))
		if want, ok := p.Distance(id); reached != ok || ok && got != want {
			t.Fatalf("%v: from %s to %s at %d, want %d", m, id, node.ID, got, want)
		}
	}
}

// TestFirstHopsOfManyLinks: a node has more links than a word has bits.
func TestFirstHopsOfManyLinks(t *testing.T) {
	w := newNetwork("a", "b", "z")
	for range 100 {
		w.connect("a", "b", 1, 1)
	}
	for i := range 70 {
		id := NodeID(fmt.Sprintf("m%d", i))
		w.SetNode(Node{ID: id})
		w.connect("a", id, 1, 1)
		w.connect(id, "z", 1, 1)
	}
	g := w.Build().Graph()
	for v := range g.snapshot.Nodes {
		checkFirstHops(t, g, int32(v), MetricIGP)
	}
	if new(FirstHops).Find(g, "elsewhere", MetricIGP) {
		t.Error("first hops of a node that is not there")
	}
}

func TestNextHopsOfFigure1(t *testing.T) {
	s := figure1().Build()
	g := s.Graph()
	for _, c := range []struct {
		from, to NodeID
		want     string
	}{
		{"n6", "n2", "n6,1~n4,1 n6,2~n5,1"},
		{"n6", "n1", "n6,1~n4,1"},
		{"n1", "n3", "n1,1~n4,2"},
		{"n4", "n3", "n4,3~n2,1 n4,1~n6,1"},
		{"n2", "n6", "n2,1~n4,3 n2,2~n5,2"},
		{"n6", "n6", ""},
		{"n6", "nowhere", ""},
	} {
		p, ok := g.Toward(c.to, MetricIGP)
		if !ok {
			if c.to != "nowhere" {
				t.Errorf("%s is unknown", c.to)
			}
			continue
		}
		got := ids(t, p.Links(c.from), func(l *Link) string { return string(l.ID) })
		if got != c.want {
			t.Errorf("next hops of %s toward %s: %s, want %s", c.from, c.to, got, c.want)
		}
	}
}

// Different keys must spread over all equal paths, parallel links included.
func TestPathSpreads(t *testing.T) {
	w := newNetwork("a", "b", "c", "d")
	for range 3 {
		w.connect("a", "b", 1, 1)
	}
	w.connect("a", "c", 1, 1)
	w.connect("b", "d", 1, 1)
	w.connect("c", "d", 1, 1)
	g := w.Build().Graph()
	p, _ := g.From("a", MetricIGP)
	via := map[LinkID]int{}
	const keys = 4000
	for key := range uint64(keys) {
		via[p.Path("d", key)[0].ID]++
	}
	for id, want := range map[LinkID]int{"a,4~c,1": keys / 2, "a,1~b,1": keys / 6, "a,2~b,2": keys / 6,
		"a,3~b,3": keys / 6} {
		if via[id] < want*8/10 || via[id] > want*12/10 {
			t.Errorf("%s carries %d of %d keys, about %d are due", id, via[id], keys, want)
		}
	}
}

func TestGraphUsesOnlyWholeLinks(t *testing.T) {
	w := newNetwork("a", "b", "c")
	w.connect("a", "b", 1, 1)
	w.connect("b", "c", 1, 1)
	w.SetLink(Link{Local: "a", Remote: "c", LocalID: 9, RemoteID: 9, IGPMetric: 1})
	w.SetLink(Link{Local: "a", Remote: "gone", LocalID: 10, RemoteID: 1, IGPMetric: 1})
	w.SetLink(Link{Local: "gone", Remote: "a", LocalID: 1, RemoteID: 10, IGPMetric: 1})
	g := w.Build().Graph()
	if got := ids(t, g.Neighbors("a"),
		func(l *Link) string { return string(l.ID) }); got != "a,1~b,1" {
		t.Errorf("usable links of a: %s", got)
	}
	p, _ := g.From("a", MetricIGP)
	if d, _ := p.Distance("c"); d != 2 {
		t.Errorf("c is at %d", d)
	}
}

func TestPairing(t *testing.T) {
	const a, b = "a", "b"
	for _, c := range []struct {
		name  string
		links []Link
		want  string
	}{
		{"identifiers", []Link{
			{Local: a, Remote: b, LocalID: 1, RemoteID: 7}, {Local: a, Remote: b, LocalID: 2, RemoteID: 8},
			{Local: b, Remote: a, LocalID: 7, RemoteID: 1}, {Local: b, Remote: a, LocalID: 8, RemoteID: 2}},
			"[2 3 0 1]"},
		{"crossed identifiers", []Link{
			{Local: a, Remote: b, LocalID: 1, RemoteID: 8}, {Local: a, Remote: b, LocalID: 2, RemoteID: 7},
			{Local: b, Remote: a, LocalID: 7, RemoteID: 2}, {Local: b, Remote: a, LocalID: 8, RemoteID: 1}},
			"[3 2 1 0]"},
		{"a certain pair before an uncertain one", []Link{
			{Local: a, Remote: b, LocalID: 1}, {Local: a, Remote: b, LocalID: 2, RemoteID: 7},
			{Local: b, Remote: a, LocalID: 7, RemoteID: 2}, {Local: b, Remote: a, LocalID: 8, RemoteID: 1}},
			"[3 2 1 0]"},
		{"another link's identifier", []Link{
			{Local: a, Remote: b, LocalID: 1, RemoteID: 7}, {Local: b, Remote: a, LocalID: 8, RemoteID: 2}},
			"[-1 -1]"},
		{"no identifiers", []Link{
			{ID: "1", Local: a, Remote: b}, {ID: "2", Local: a, Remote: b}, {ID: "3", Local: b, Remote: a}},
			"[2 -1 0]"},
		{"addresses", []Link{
			{Local: a, Remote: b, LocalAddresses: addrs("fe80::1"), RemoteAddresses: addrs("fe80::2")},
			{Local: a, Remote: b, LocalAddresses: addrs("fe80::3"), RemoteAddresses: addrs("fe80::4")},
			{Local: b, Remote: a, LocalAddresses: addrs("fe80::2"), RemoteAddresses: addrs("fe80::1")},
			{Local: b, Remote: a, LocalAddresses: addrs("fe80::4"), RemoteAddresses: addrs("fe80::3")}},
			"[2 3 0 1]"},
		{"a loop", []Link{{Local: a, Remote: a, LocalID: 1, RemoteID: 1}}, "[-1]"},
	} {
		links := make([]*Link, len(c.links))
		for i := range c.links {
			links[i] = &c.links[i]
		}
		if got := fmt.Sprint(pairLinks(links, 0, nowhere(links), nowhere(links))); got != c.want {
			t.Errorf("%s: pairs are %s, want %s", c.name, got, c.want)
		}
	}
}

// TestPairsOfKnownNodes: links pair alike whichever of their nodes are known.
func TestPairsOfKnownNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := NewBuilder()
		node := rapid.SampledFrom([]NodeID{"a", "b", "c", "d", "e"})
		for _, id := range rapid.SliceOfDistinct(node, rapid.ID).Draw(t, "known") {
			b.SetNode(Node{ID: id})
		}
		for range rapid.IntRange(0, 30).Draw(t, "links") {
			b.SetLink(Link{Local: node.Draw(t, "local"), Remote: node.Draw(t, "remote"),
				LocalID:  rapid.Uint32Range(0, 2).Draw(t, "id"),
				RemoteID: rapid.Uint32Range(0, 2).Draw(t, "other")})
		}
		s := b.Build()
		local, remote := s.ends()
		got := pairLinks(s.Links, len(s.Nodes), local, remote)
		if want := pairLinks(s.Links, 0, nowhere(s.Links), nowhere(s.Links)); !slices.Equal(got, want) {
			t.Fatalf("pairs are %v, want %v", got, want)
		}
		between := make(map[[2]NodeID]bool)
		for _, l := range s.Links {
			between[[2]NodeID{l.Local, l.Remote}] = true
		}
		starts, opposite := linksBetween(s.Links, len(s.Nodes), local, remote)
		for g, o := range opposite {
			l := s.Links[starts[g]]
			if o < 0 && between[[2]NodeID{l.Remote, l.Local}] {
				t.Fatalf("no links run back from %s to %s", l.Remote, l.Local)
			} else if o >= 0 {
				if r := s.Links[starts[o]]; r.Local != l.Remote || r.Remote != l.Local {
					t.Fatalf("%s runs back to %s", r.ID, l.ID)
				}
			}
		}
	})
}

func TestFilter(t *testing.T) {
	s := figure1().Build()
	for _, c := range []struct {
		name   string
		filter Filter
		from   NodeID
		want   string // nodes reached by whom
	}{
		{"nothing", Filter{}, "n6", "n1 n2 n3 n4 n5 n6"},
		{"a node", Filter{Node: func(n *Node) bool { return n.ID != "n4" }}, "n6", "n2 n3 n5 n6"},
		{"one direction of a link", Filter{Link: func(l *Link) bool { return l.ID != "n1,1~n4,2" }}, "n6",
			"n2 n3 n4 n5 n6"},
		{"transit", Filter{Transit: func(n *Node) bool { return n.ID != "n4" }}, "n6", "n2 n3 n4 n5 n6"},
		{"transit at the start", Filter{Transit: func(n *Node) bool { return n.ID != "n4" }}, "n4",
			"n1 n2 n3 n4 n5 n6"},
	} {
		g := NewGraph(s, c.filter)
		p, ok := g.From(c.from, MetricIGP)
		if !ok {
			t.Fatalf("%s: no %s", c.name, c.from)
		}
		var reached []NodeID
		for _, n := range s.Nodes {
			if _, ok := p.Distance(n.ID); ok {
				reached = append(reached, n.ID)
			}
		}
		if got := ids(t, reached, func(n NodeID) string { return string(n) }); got != c.want {
			t.Errorf("without %s, %s reaches %s, want %s", c.name, c.from, got, c.want)
		}
	}
}
