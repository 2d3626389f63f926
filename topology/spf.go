package topology

import (
	"math"
	"slices"
)

const unreached = math.MaxUint64

// Paths holds the shortest paths from one node to all nodes, or from all nodes to one node, with
// all equal-cost choices. They are immutable.
type Paths struct {
	g      *Graph
	metric Metric
	root   int32
	toward bool
	dist   []uint64 // by node
}

// From returns the shortest paths from a node to all others; ok is false when
// the snapshot lacks the node. The graph remembers them.
func (g *Graph) From(root NodeID, m Metric) (p *Paths, ok bool) {
	v, ok := g.snapshot.nodeIndex[root]
	if !ok {
		return nil, false
	}
	return g.pathsFrom(v, m), true
}

// Toward returns the shortest paths from all nodes to one; ok is false when
// the snapshot lacks the node. The graph remembers them.
func (g *Graph) Toward(root NodeID, m Metric) (p *Paths, ok bool) {
	v, ok := g.snapshot.nodeIndex[root]
	if !ok {
		return nil, false
	}
	return g.pathsToward(v, m), true
}

func (g *Graph) pathsFrom(v int32, m Metric) *Paths { return g.cached(&g.from[m][v], v, m, false) }

func (g *Graph) pathsToward(v int32, m Metric) *Paths {
	return g.cached(&g.toward[m][v], v, m, true)
}

// Root returns the node the paths start from, or lead to.
func (p *Paths) Root() NodeID { return p.g.snapshot.Nodes[p.root].ID }

// Distance returns the cost of the shortest path between the root and a node;
// ok is false when there is none.
func (p *Paths) Distance(id NodeID) (d uint64, ok bool) {
	v, known := p.g.snapshot.nodeIndex[id]
	if !known || p.dist[v] == unreached {
		return 0, false
	}
	return p.dist[v], true
}

// Links returns the links through which the shortest paths between the root and a node touch that
// node, in the order of the snapshot: the links by which paths of [Graph.Toward] leave the node
// (its equal-cost next hops toward the root), or paths of [Graph.From] arrive. The root has none.
func (p *Paths) Links(id NodeID) []*Link {
	v, ok := p.g.snapshot.nodeIndex[id]
	if !ok {
		return nil
	}
	var links []*Link
	for _, e := range p.rows().of(v) {
		if p.tight(v, e) {
			links = append(links, p.g.snapshot.Links[e.link])
		}
	}
	return links
}

// Path returns the links of one shortest path between the root and a node, in
// the direction of travel, picking among equal ones by key. It is empty for
// the root and nil when there is no path.
func (p *Paths) Path(id NodeID, key uint64) []*Link {
	v, ok := p.g.snapshot.nodeIndex[id]
	if !ok || p.dist[v] == unreached {
		return nil
	}
	path := []*Link{}
	for v != p.root {
		e := p.pick(v, key)
		path = append(path, p.g.snapshot.Links[e.link])
		v = e.node
	}
	if !p.toward {
		slices.Reverse(path)
	}
	return path
}

// rows are the edges that lead from a node a step closer to the root.
func (p *Paths) rows() *rows {
	if p.toward {
		return &p.g.out
	}
	return &p.g.in
}

// tight reports whether an edge of rows().of(v) is on a shortest path between
// the root and v.
func (p *Paths) tight(v int32, e edge) bool {
	d := p.dist[e.node] // less than that of v first: few edges pass, and the root has none
	return d < p.dist[v] && d+uint64(p.g.costs[p.metric][e.link]) == p.dist[v] &&
		(e.node == p.root || p.g.transit[e.node])
}

// pick chooses among the tight edges of v: the node first and then, among
// parallel links, the link. The choice of a node depends on nothing but the
// key and the candidates, so that all who have the same candidates agree
// (which makes their paths meet), different keys spread evenly, and a change
// elsewhere in the network moves nothing.
func (p *Paths) pick(v int32, key uint64) edge {
	best := edge{node: -1}
	for _, e := range p.rows().of(v) {
		if p.tight(v, e) && (best.node < 0 || p.g.prefer(e, best, key)) {
			best = e
		}
	}
	return best
}

// score returns what a key makes of a node: of two nodes, the key prefers the one
// with the higher score.
func (g *Graph) score(v int32, key uint64) uint64 { return Mix(g.hash[v] ^ key) }

// prefer reports whether the key prefers a to b.
func (g *Graph) prefer(a, b edge, key uint64) bool {
	if a.node != b.node {
		x, y := g.score(a.node, key), g.score(b.node, key)
		return x > y || x == y && a.node < b.node
	}
	hash := func(e edge) uint64 { return Mix(hashString(string(g.snapshot.Links[e.link].ID)) ^ key) }
	x, y := hash(a), hash(b)
	return x > y || x == y && a.link < b.link
}
