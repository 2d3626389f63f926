package topology

import (
	"slices"
	"sync"
	"sync/atomic"
)

// shunUnit is the cost of metric 1 in a graph that shuns links: a path has fewer than shunUnit
// shunned links, because a packet's hop limit has 8 bits.
const shunUnit = 1 << 8

// Shun returns the graph with other costs by MetricIGP: among the shortest paths, only the paths
// remain that cross the fewest of the given links. No path gets longer, so no packet takes a path
// that it would not have taken before; and a switch whose shortest paths all cross such links
// continues to use them. Links that the graph lacks do not count.
//
// A distance is Unit times the distance in the original graph, plus the number of such links.
// Metrics above the greatest wide metric of IS-IS, 2^24 - 1 (RFC 5305 section 3), count like that
// metric.
func (g *Graph) Shun(links []LinkID) *Graph {
	if len(links) == 0 {
		return g
	}
	shunned := make(map[LinkID]bool, len(links))
	for _, id := range links {
		shunned[id] = true
	}
	with := *g
	costs := slices.Clone(g.costs[MetricIGP])
	for i, l := range g.snapshot.Links {
		costs[i] = min(costs[i], 1<<24-1) * shunUnit
		if shunned[l.ID] {
			costs[i]++
		}
	}
	with.unit, with.costs[MetricIGP] = shunUnit, costs
	with.from[MetricIGP] = make([]atomic.Pointer[Paths], len(g.snapshot.Nodes))
	with.toward[MetricIGP] = make([]atomic.Pointer[Paths], len(g.snapshot.Nodes))
	with.twins[MetricIGP] = sync.OnceValue(func() *twins { return newTwins(&with, MetricIGP) })
	return &with
}

// Unit is what a metric of 1 costs by MetricIGP: 1, but for graphs that [Graph.Shun] returned.
func (g *Graph) Unit() uint64 { return g.unit }
