package topology

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// dumbPaths returns all paths without a loop, ordered by cost and links.
func dumbPaths(g *Graph, from, to NodeID, m Metric) []*loopless {
	s := g.snapshot
	var all []*loopless
	seen := map[NodeID]bool{}
	var walk func(at NodeID, links []int32, cost uint64)
	walk = func(at NodeID, links []int32, cost uint64) {
		if at == to {
			all = append(all, &loopless{links: slices.Clone(links), cost: cost})
			return
		}
		if len(links) > 0 && s.Node(at).Overload {
			return
		}
		seen[at] = true
		defer delete(seen, at)
		for i, l := range s.Links {
			if l.Local == at && g.reverse[i] >= 0 && !seen[l.Remote] {
				walk(l.Remote, append(links, int32(i)), cost+uint64(g.costs[m][i]))
			}
		}
	}
	walk(from, nil, 0)
	slices.SortFunc(all, func(a, b *loopless) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	return all
}

func TestKShortestAgainstSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := randomNetwork(t, 6, 6, 4)
		for _, n := range w.Build().Nodes {
			n.Overload = rapid.IntRange(0, 9).Draw(t, string(n.ID)) == 0
		}
		s := w.Build()
		g := s.Graph()
		from, to := rapid.SampledFrom(s.Nodes).Draw(t, "from").ID, rapid.SampledFrom(s.Nodes).Draw(t,
			"to").ID
		k := rapid.IntRange(0, 60).Draw(t, "k")
		got, err := g.KShortest(from, to, k, MetricIGP)
		if err != nil {
			t.Fatalf("%v", err)
		}
		want := dumbPaths(g, from, to, MetricIGP)
		want = want[:min(k, len(want))]
		if len(got) != len(want) {
			t.Fatalf("%d paths, want %d", len(got), len(want))
		}
		for i, p := range got {
			for j, l := range p {
				if len(p) != len(want[i].links) || l != s.Links[want[i].links[j]] {
					t.Fatalf("path %d is%s, want links %v of cost %d", i, pathNames(p), want[i].links,
						want[i].cost)
				}
			}
		}
	})
}

func TestKShortestRefuses(t *testing.T) {
	g := figure1().Build().Graph()
	for _, ends := range [][2]NodeID{{"x", "n1"}, {"n1", "x"}} {
		if _, err := g.KShortest(ends[0], ends[1], 1, MetricIGP); !errors.Is(err, ErrUnknownNode) ||
			!strings.Contains(err.Error(), "x") {
			t.Errorf("%v: %v", ends, err)
		}
	}
	if _, err := g.KShortest("n1", "n2", 1, metrics); err == nil {
		t.Error("an unknown metric is taken")
	}
}
