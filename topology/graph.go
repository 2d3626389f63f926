package topology

import (
	"cmp"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"
)

// A Graph holds the nodes and usable links of a snapshot, for the computation of paths and trees. A
// link is usable if the snapshot has both end nodes and also the link's other direction. A Graph is
// immutable except for its cache of shortest paths, and safe for use by several goroutines.
type Graph struct {
	snapshot *Snapshot
	reverse  []int32 // by link, -1: none
	usable   []bool  // by link
	transit  []bool  // by node: may be crossed
	hash     []uint64

	// out and in are the usable links in compressed rows: the edges of node v
	// are out.edges[out.start[v]:out.start[v+1]].
	out, in rows
	costs   [metrics][]uint32 // by link; one slice for metrics that agree
	unit    uint64            // see [Graph.Unit]

	from, toward [metrics][]atomic.Pointer[Paths] // by node
	twins        [metrics]func() *twins
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
	// Transit reports whether paths may cross a node; otherwise the node can only be the first or last
	// node of a path. Paths never cross overloaded nodes.
	Transit func(*Node) bool
}

// NewGraph returns the graph of the nodes and links that a filter keeps. [Snapshot.Graph] returns
// the graph without a filter, shared by all users.
func NewGraph(s *Snapshot, f Filter) *Graph {
	n := len(s.Nodes)
	local, remote := s.ends()
	g := &Graph{
		snapshot: s,
		unit:     1,
		reverse:  pairLinks(s.Links, n, local, remote),
		transit:  make([]bool, n),
		hash:     make([]uint64, n),
	}
	kept := make([]bool, n)
	for i, node := range s.Nodes {
		kept[i] = f.Node == nil || f.Node(node)
		g.transit[i] = !node.Overload && (f.Transit == nil || f.Transit(node))
		g.hash[i] = hashString(string(node.ID))
	}
	usable := make([]bool, len(s.Links))
	for i, l := range s.Links {
		from, to := local[i], remote[i]
		usable[i] = from >= 0 && to >= 0 && from != to && kept[from] && kept[to] && g.reverse[i] >= 0 &&
			(f.Link == nil || f.Link(l))
	}
	for i := range usable {
		usable[i] = usable[i] && usable[g.reverse[i]]
	}
	g.usable = usable
	g.out = newRows(n, usable, local, remote)
	g.in = newRows(n, usable, remote, local)
	for m := range metrics { // MetricIGP first
		g.costs[m] = m.costs(s.Links, g.costs[MetricIGP])
		g.from[m] = make([]atomic.Pointer[Paths], n)
		g.toward[m] = make([]atomic.Pointer[Paths], n)
		g.twins[m] = sync.OnceValue(func() *twins { return newTwins(g, m) })
	}
	return g
}

// ends returns the nodes of each link, -1 where the snapshot lacks it.
func (s *Snapshot) ends() (local, remote []int32) {
	local, remote = make([]int32, len(s.Links)), make([]int32, len(s.Links))
	find := func(id NodeID) int32 {
		if v, ok := s.nodeIndex[id]; ok {
			return v
		}
		return -1
	}
	for i, l := range s.Links {
		if i > 0 && l.Local == s.Links[i-1].Local {
			local[i] = local[i-1]
		} else {
			local[i] = find(l.Local)
		}
		remote[i] = find(l.Remote)
	}
	return local, remote
}

// newRows orders the usable links of n nodes by the node at one end.
func newRows(n int, usable []bool, at, other []int32) rows {
	r := rows{start: make([]int32, n+1)}
	for i, ok := range usable {
		if ok {
			r.start[at[i]+1]++
		}
	}
	for v := range n {
		r.start[v+1] += r.start[v]
	}
	r.edges = make([]edge, r.start[n])
	next := append([]int32(nil), r.start...)
	for i, ok := range usable {
		if ok {
			r.edges[next[at[i]]] = edge{node: other[i], link: int32(i)}
			next[at[i]]++
		}
	}
	return r
}

// Snapshot returns the snapshot the graph was made of.
func (g *Graph) Snapshot() *Snapshot { return g.snapshot }

// Reverse returns the opposite direction of a link; nil if the graph lacks it.
func (g *Graph) Reverse(l *Link) *Link {
	i := g.place(l)
	if i < 0 || g.reverse[i] < 0 {
		return nil
	}
	return g.snapshot.Links[g.reverse[i]]
}

// ReversePlace returns the index of a link's opposite direction in the snapshot, -1 if the graph
// lacks it.
func (g *Graph) ReversePlace(link int32) int32 { return g.reverse[link] }

// PlaceOf returns the place in the snapshot of a link, -1 when the graph does not cross it.
func (g *Graph) PlaceOf(l *Link) int32 {
	v, ok := g.snapshot.nodeIndex[l.Local]
	if !ok {
		return -1
	}
	u, edges := g.snapshot.nodeIndex[l.Remote], g.out.of(v) // ordered by node
	i, _ := slices.BinarySearchFunc(edges, u, func(e edge, u int32) int {
		return cmp.Or(cmp.Compare(e.node, u), 1)
	})
	for ; i < len(edges) && edges[i].node == u; i++ {
		if x := g.snapshot.Links[edges[i].link]; x == l || x.ID == l.ID {
			return edges[i].link
		}
	}
	return -1
}

// place is [Snapshot.LinkPlace], and looks first among the few links of the local node.
func (g *Graph) place(l *Link) int {
	if i := g.PlaceOf(l); i >= 0 {
		return int(i)
	}
	return g.snapshot.LinkPlace(l.ID)
}

// Usable reports whether the graph crosses a link.
func (g *Graph) Usable(l *Link) bool {
	i := g.place(l)
	return i >= 0 && g.usable[i]
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

// Cost returns the cost of a link of the snapshot by a metric, at least 1.
func (g *Graph) Cost(l *Link, m Metric) uint32 {
	return g.costs[m][g.place(l)]
}

func hashString(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return Mix(h.Sum64())
}

// Mix returns a hash of x, the finalizer of splitmix64: every bit of the result depends on every
// bit of x.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
