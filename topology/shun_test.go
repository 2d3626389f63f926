package topology

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// shortest returns, by node, the cost of the shortest paths to a root, the least number of given
// links on these paths, and the first links of the paths with this number: what Shun is about, from
// its words.
func shortest(
	g *Graph, root int32, shunned map[LinkID]bool,
) (cost, crossed []uint64, first [][]*Link) {
	cost = bellmanFord(g, root, MetricIGP, true)
	s := g.snapshot
	crossed = make([]uint64, len(cost))
	first = make([][]*Link, len(cost))
	order := make([]int32, len(cost))
	for v := range order {
		order[v] = int32(v)
	}
	slices.SortFunc(order, func(a, b int32) int {
		if cost[a] < cost[b] {
			return -1
		}
		return 1
	})
	for _, v := range order {
		if v == root || cost[v] == unreached {
			continue
		}
		crossed[v] = unreached
		for _, l := range s.LinksFrom(s.Nodes[v].ID) {
			u, ok := s.nodeIndex[l.Remote]
			if !ok || !g.Usable(l) || u != root && s.Nodes[u].Overload || cost[u] == unreached ||
				cost[u]+uint64(max(l.IGPMetric, 1)) != cost[v] {
				continue
			}
			n := crossed[u]
			if shunned[l.ID] {
				n++
			}
			if n < crossed[v] {
				crossed[v], first[v] = n, nil
			}
			if n == crossed[v] {
				first[v] = append(first[v], l)
			}
		}
	}
	return cost, crossed, first
}

// TestShun: among the shortest paths, only those that cross the fewest shunned links remain, and no
// path gets longer; the original graph stays unchanged.
func TestShun(t *testing.T) {
	fewer := 0
	rapid.Check(t, func(t *rapid.T) {
		w := randomNetwork(t, 10, 20, 3)
		if rapid.Bool().Draw(t, "clos") {
			w, _ = clos(2, 2, 2, 2)
		}
		s := w.Build()
		g := s.Graph()
		shunned := map[LinkID]bool{"gone": true}
		ids := []LinkID{"gone"}
		for _, l := range s.Links {
			if rapid.IntRange(0, 4).Draw(t, "shunned") == 0 {
				shunned[l.ID], ids = true, append(ids, l.ID)
			}
		}
		for _, node := range s.Nodes { // the graph before knows its paths
			g.Toward(node.ID, MetricIGP)
		}
		with := g.Shun(ids)
		for v, node := range s.Nodes {
			var before, after FirstHops
			before.Find(g, node.ID, MetricIGP)
			after.Find(with, node.ID, MetricIGP)
			for root := range int32(len(s.Nodes)) {
				cost, crossed, first := shortest(g, root, shunned)
				d, ok := after.Distance(root)
				if ok != (cost[v] != unreached) || ok && d != cost[v]*with.Unit()+crossed[v] {
					t.Fatalf("from %d to %d it is %d, want %d, and %d links", v, root, d, cost[v], crossed[v])
				}
				if got := after.Sets[after.Of[root]]; !slices.Equal(got, first[v]) {
					t.Fatalf("from %d to %d by %v, want %v", v, root, got, first[v])
				}
				toward, _ := with.Toward(s.Nodes[root].ID, MetricIGP)
				if got := toward.Links(node.ID); !slices.Equal(got, first[v]) {
					t.Fatalf("toward %d from %d by %v, want %v", root, v, got, first[v])
				}
				if len(after.Sets[after.Of[root]]) < len(before.Sets[before.Of[root]]) {
					fewer++
				}
			}
		}
	})
	if fewer == 0 {
		t.Error("nothing was left alone")
	}
}

// TestShunNothing: without links, Shun changes nothing, and metrics up to the greatest of IS-IS
// keep their order.
func TestShunNothing(t *testing.T) {
	w, _ := clos(1, 2, 2, 0)
	g := w.Build().Graph()
	if g.Shun(nil) != g || g.Unit() != 1 {
		t.Error("a graph without shunned links is another one")
	}
	b := g.Snapshot().Builder()
	for i, metric := range []uint32{1<<24 - 2, 1<<24 - 1, 1 << 24} {
		l := *g.Snapshot().Links[i]
		l.IGPMetric = metric
		b.SetLink(l)
	}
	s := b.Build()
	costs := s.Graph().Shun([]LinkID{s.Links[1].ID}).costs[MetricIGP]
	if costs[0]+shunUnit+1 != costs[1] || costs[2]+1 != costs[1] || costs[2] < costs[0] {
		t.Errorf("costs %v", costs[:3])
	}
}
