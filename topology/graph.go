package topology

import (
	"hash/fnv"
	"sync/atomic"
)

// A Graph is what paths and trees are computed on: the nodes of a snapshot and
// the links that are usable, which are those whose both ends are nodes of the
// snapshot and whose other direction is there too. It is immutable but for the
// shortest paths it remembers, and safe for use by several goroutines.
type Graph struct {
	snapshot *Snapshot
	reverse  []int32 // by link, -1: none
	transit  []bool  // by node: may be crossed
	hash     []uint64
	linkHash []uint64

	// out and in are the usable links in compressed rows: the edges of node v
	// are out.edges[out.start[v]:out.start[v+1]].
	out, in rows
	costs   [metrics][]uint32 // by link

	from, toward [metrics][]atomic.Pointer[Paths] // by node
}

type rows struct {
	start []int32
	edges []edge
}

// An edge is a usable link seen from one of its nodes.
type edge struct {
	node int32 // the other node
	link int32
}

func (r *rows) of(v int32) []edge { return r.edges[r.start[v]:r.start[v+1]] }

// A Filter takes parts of a snapshot out of a graph. Nil functions keep all.
type Filter struct {
	Node func(*Node) bool // keeps a node
	Link func(*Link) bool // keeps one direction of a link, and so decides for both
	// Transit keeps a node as one that may be crossed; one it refuses can only
	// be the first or last of a path. Overloaded nodes are never crossed.
	Transit func(*Node) bool
}

// NewGraph returns the graph of what a filter keeps. [Snapshot.Graph] is the
// one without a filter, shared by all its users.
func NewGraph(s *Snapshot, f Filter) *Graph {
	n := len(s.Nodes)
	g := &Graph{
		snapshot: s,
		reverse:  pairLinks(s.Links),
		transit:  make([]bool, n),
		hash:     make([]uint64, n),
		linkHash: make([]uint64, len(s.Links)),
	}
	kept := make([]bool, n)
	for i, node := range s.Nodes {
		kept[i] = f.Node == nil || f.Node(node)
		g.transit[i] = !node.Overload && (f.Transit == nil || f.Transit(node))
		g.hash[i] = hashString(string(node.ID))
	}
	usable := make([]bool, len(s.Links))
	for i, l := range s.Links {
		g.linkHash[i] = hashString(string(l.ID))
		from, ok1 := s.nodeIndex[l.Local]
		to, ok2 := s.nodeIndex[l.Remote]
		usable[i] = ok1 && ok2 && from != to && kept[from] && kept[to] && g.reverse[i] >= 0 && (f.Link == nil || f.Link(l))
	}
	for i := range usable {
		usable[i] = usable[i] && usable[g.reverse[i]]
	}
	g.out = newRows(s, usable, func(l *Link) (NodeID, NodeID) { return l.Local, l.Remote })
	g.in = newRows(s, usable, func(l *Link) (NodeID, NodeID) { return l.Remote, l.Local })
	for m := range metrics {
		g.costs[m] = m.costs(s.Links)
		g.from[m] = make([]atomic.Pointer[Paths], n)
		g.toward[m] = make([]atomic.Pointer[Paths], n)
	}
	return g
}

func newRows(s *Snapshot, usable []bool, ends func(*Link) (at, other NodeID)) rows {
	r := rows{start: make([]int32, len(s.Nodes)+1)}
	for i, l := range s.Links {
		if usable[i] {
			at, _ := ends(l)
			r.start[s.nodeIndex[at]+1]++
		}
	}
	for v := range s.Nodes {
		r.start[v+1] += r.start[v]
	}
	r.edges = make([]edge, r.start[len(s.Nodes)])
	next := append([]int32(nil), r.start...)
	for i, l := range s.Links {
		if usable[i] {
			at, other := ends(l)
			v := s.nodeIndex[at]
			r.edges[next[v]] = edge{node: s.nodeIndex[other], link: int32(i)}
			next[v]++
		}
	}
	return r
}

// Snapshot returns the snapshot the graph was made of.
func (g *Graph) Snapshot() *Snapshot { return g.snapshot }

// Reverse returns the other direction of a link, or nil when it has none.
func (g *Graph) Reverse(l *Link) *Link {
	i, ok := g.snapshot.linkIndex[l.ID]
	if !ok || g.reverse[i] < 0 {
		return nil
	}
	return g.snapshot.Links[g.reverse[i]]
}

// Neighbors returns the usable links of a node, in the order of the snapshot.
func (g *Graph) Neighbors(id NodeID) []*Link {
	v, ok := g.snapshot.nodeIndex[id]
	if !ok {
		return nil
	}
	var links []*Link
	for _, e := range g.out.of(v) {
		links = append(links, g.snapshot.Links[e.link])
	}
	return links
}

// Cost returns what a link of the snapshot costs under a metric, at least 1.
func (g *Graph) Cost(l *Link, m Metric) uint32 {
	return g.costs[m][g.snapshot.linkIndex[l.ID]]
}

func hashString(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return mix(h.Sum64())
}

// mix is the finalizer of splitmix64: every bit of the result depends on every
// bit of x.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
