package topology

import (
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/internal/heap"
)

// KShortest returns the k cheapest paths without a loop from one node to
// another, fewer when there are fewer: the cheapest first, those of one cost in
// the order of their links in the snapshot. Parallel links make different
// paths. From a node to itself leads one path, without links. It is for graphs
// that are no Clos; see [Graph.Clos].
//
// The algorithm is Yen's with Lawler's rule (a path found by leaving another at
// a node leaves its own successors to the nodes after it): k shortest-path
// computations for each node on a path.
func (g *Graph) KShortest(from, to NodeID, k int, m Metric) ([][]*Link, error) {
	s, ok := g.snapshot.nodeIndex[from]
	if !ok {
		return nil, fmt.Errorf("%s: %w", from, ErrUnknownNode)
	}
	d, ok := g.snapshot.nodeIndex[to]
	if !ok {
		return nil, fmt.Errorf("%s: %w", to, ErrUnknownNode)
	}
	if m >= metrics {
		return nil, fmt.Errorf("%v, want a known metric", m)
	}
	y := yen{
		g: g, costs: g.costs[m], to: d,
		cut:    make([]bool, len(g.snapshot.Nodes)),
		barred: make([]bool, len(g.snapshot.Links)),
	}
	var out [][]*Link
	for _, p := range y.run(s, k) {
		links := make([]*Link, len(p.links))
		for i, l := range p.links {
			links[i] = g.snapshot.Links[l]
		}
		out = append(out, links)
	}
	return out, nil
}

// A loopless is a path without a loop, by links.
type loopless struct {
	links []int32
	cost  uint64
	// from is where it leaves the path it was derived from: its first from
	// links are that path's.
	from int
}

func (p *loopless) before(o *loopless) bool {
	return p.cost < o.cost || p.cost == o.cost && slices.Compare(p.links, o.links) < 0
}

type yen struct {
	g      *Graph
	costs  []uint32
	to     int32
	cut    []bool // by node: on the part of the path that is kept
	barred []bool // by link: as the first after it
}

// run returns the paths from a node.
func (y *yen) run(from int32, k int) []loopless {
	if k < 1 {
		return nil
	}
	var first loopless
	if !y.extend(&first, from) {
		return nil
	}
	found := []loopless{first}
	var rest []loopless // a heap
	for len(found) < k {
		y.successors(from, &found[len(found)-1], found, &rest)
		if len(rest) == 0 {
			break
		}
		found = append(found, heap.Pop(&rest, (*loopless).before))
	}
	return found
}

// successors adds, for each node of p from the node where p left its origin, the best path that
// leaves p there and is not yet in found.
func (y *yen) successors(from int32, p *loopless, found []loopless, rest *[]loopless) {
	links := y.g.snapshot.Links
	clear(y.cut)
	node, cost := from, uint64(0)
	for i, l := range p.links {
		if i >= p.from {
			var barred []int32
			for _, f := range found {
				if len(f.links) > i && slices.Equal(f.links[:i], p.links[:i]) {
					barred = append(barred, f.links[i])
				}
			}
			for _, b := range barred {
				y.barred[b] = true
			}
			next := loopless{links: slices.Clone(p.links[:i]), cost: cost, from: i}
			if y.extend(&next, node) {
				heap.Push(rest, next, (*loopless).before)
			}
			for _, b := range barred {
				y.barred[b] = false
			}
		}
		y.cut[node] = true
		cost += uint64(y.costs[l])
		node = y.g.snapshot.nodeIndex[links[l].Remote]
	}
}

// extend completes a path, whose last node is at, by the cheapest path to the
// destination, of equal ones the first in the order of links.
func (y *yen) extend(p *loopless, at int32) bool {
	dist := y.distances(at)
	if dist[at] == unreached {
		return false
	}
	p.cost += dist[at]
	for first := true; at != y.to; first = false {
		for _, e := range y.g.out.of(at) {
			if first && y.barred[e.link] || y.cut[e.node] || dist[e.node] == unreached {
				continue
			}
			if e.node != y.to && !y.g.transit[e.node] {
				continue
			}
			if dist[at] == dist[e.node]+uint64(y.costs[e.link]) {
				p.links = append(p.links, e.link)
				at = e.node
				break
			}
		}
	}
	return true
}

// distances returns how far nodes are from the destination, without nodes that
// are cut, and without the barred links out of start.
func (y *yen) distances(start int32) []uint64 {
	dist := make([]uint64, len(y.cut))
	for i := range dist {
		dist[i] = unreached
	}
	q := newQueue(len(dist))
	dist[y.to] = 0
	q.push(y.to, dist)
	for len(q.heap) > 0 {
		v := q.pop(dist)
		if v == start {
			break
		}
		if v != y.to && !y.g.transit[v] {
			continue
		}
		for _, e := range y.g.in.of(v) {
			if y.cut[e.node] || e.node == start && y.barred[e.link] {
				continue
			}
			if d := dist[v] + uint64(y.costs[e.link]); d < dist[e.node] {
				dist[e.node] = d
				q.push(e.node, dist)
			}
		}
	}
	return dist
}
