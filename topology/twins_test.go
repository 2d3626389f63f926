package topology

import (
	"testing"

	"pgregory.net/rapid"
)

// searched is from how many nodes a graph knows the shortest paths.
func searched(g *Graph, m Metric) (n int) {
	for v := range g.from[m] {
		if g.from[m][v].Load() != nil {
			n++
		}
	}
	return n
}

// TestTwins: a twin's distances and first links equal those of the node itself, in fabrics with
// missing, costlier or forbidden parts.
func TestTwins(t *testing.T) {
	fewer := 0
	rapid.Check(t, func(t *rapid.T) {
		draw := func(low, high int, what string) int { return rapid.IntRange(low, high).Draw(t, what) }
		w, _ := clos(draw(1, 3, "pods"), draw(1, 4, "leaves"), draw(1, 3, "aggs"), draw(1, 6, "cores"))
		s := w.Build()
		b := s.Builder()
		for range draw(0, 3, "changes") {
			l := *s.Links[draw(0, len(s.Links)-1, "link")]
			switch draw(0, 3, "change") {
			case 0:
				b.RemoveLink(l.ID)
			case 1:
				l.IGPMetric = uint32(draw(1, 30, "metric"))
				b.SetLink(l)
			case 2:
				l.ID, l.LocalID, l.RemoteID = "", 100+l.LocalID, 100+l.RemoteID
				b.SetLink(l)
				l.ID, l.Local, l.Remote, l.LocalID, l.RemoteID = "", l.Remote, l.Local, l.RemoteID, l.LocalID
				b.SetLink(l)
			default:
				n := *s.Node(l.Local)
				n.Overload = true
				b.SetNode(n)
			}
		}
		g := b.Build().Graph()
		for v := range g.snapshot.Nodes {
			new(FirstHops).Find(g, g.snapshot.Nodes[v].ID, MetricIGP)
		}
		if n, classes := searched(g, MetricIGP), len(g.twins[MetricIGP]().some); n > classes {
			t.Fatalf("paths were searched from %d nodes of %d classes", n, classes)
		} else if classes < len(g.snapshot.Nodes) {
			fewer++
		}
		for v := range g.snapshot.Nodes {
			d := g.twins[MetricIGP]().distances(int32(v))
			for u, want := range g.pathsFrom(int32(v), MetricIGP).dist {
				if got := d.to(int32(u)); got != want {
					t.Fatalf("from %d to %d it is %d, want %d", v, u, got, want)
				}
			}
			checkFirstHops(t, g, int32(v), MetricIGP)
		}
	})
	if fewer == 0 {
		t.Error("no graph had twins")
	}
}

// TestTwinsOfFabric: one search covers all leaves in a pod, and one search all switches above the
// leaves with equal cores.
func TestTwinsOfFabric(t *testing.T) {
	w, _ := clos(3, 16, 4, 8)
	g := w.Build().Graph()
	for v := range g.snapshot.Nodes {
		new(FirstHops).Find(g, g.snapshot.Nodes[v].ID, MetricIGP)
	}
	if got, want := searched(g, MetricIGP), 3+3*4+4; got != want {
		t.Errorf("paths were searched from %d nodes, want %d: pods, switches above them, cores by plane",
			got, want)
	}
}
