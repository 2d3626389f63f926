package topology

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Every path of a random fabric, link by link, against what is said to be lost.
func TestLostPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := randomFabric(t)
		s := f.Build()
		if len(s.Links) == 0 {
			return
		}
		c := mustClos(t, s, ClosRequest{Leaves: f.leaves})
		lost := Losses{
			Links: []LinkID{"unknown"}, Directed: []LinkID{"unknown"}, Nodes: []NodeID{"unknown"},
			Ports: []NodePort{{"unknown", 1}, {s.Links[0].Local, 1 << 20}}, Planes: []int{77},
		}
		gone := map[LinkID]bool{}
		goneNodes := map[NodeID]bool{}
		both := func(l *Link) {
			gone[l.ID] = true
			if r := c.g.Reverse(l); r != nil {
				gone[r.ID] = true
			}
		}
		pick := func(what string) *Link { return rapid.SampledFrom(s.Links).Draw(t, what) }
		if rapid.Bool().Draw(t, "a link") {
			l := pick("link")
			lost.Links = append(lost.Links, l.ID)
			both(l)
		}
		if rapid.Bool().Draw(t, "one way") {
			l := pick("direction")
			lost.Directed = append(lost.Directed, l.ID)
			gone[l.ID] = true
		}
		if rapid.Bool().Draw(t, "a port") {
			l := pick("port's link")
			lost.Ports = append(lost.Ports, NodePort{l.Local, l.LocalPort})
			both(l)
		}
		if rapid.Bool().Draw(t, "a node") {
			n := rapid.SampledFrom(s.Nodes).Draw(t, "node").ID
			lost.Nodes = append(lost.Nodes, n)
			goneNodes[n] = true
		}
		plane := rapid.IntRange(0, 2).Draw(t, "plane")
		lost.Planes = append(lost.Planes, plane)
		w := c.Lost(lost)
		check := func(p PathSet) {
			for ref := range p.All() {
				want := p.Plane() == plane || goneNodes[p.Source().ID] || goneNodes[p.Destination().ID]
				for _, l := range p.Links(ref) {
					want = want || gone[l.ID] || goneNodes[l.Local] || goneNodes[l.Remote]
				}
				if got := w.Path(p, ref); got != want {
					t.Fatalf("%+v: path%s is lost: %v, want %v", lost, pathNames(p.Links(ref)), got, want)
				}
				if want && !w.Touches(p) {
					t.Fatalf("%+v: %s to %s is not touched", lost, p.Source().ID, p.Destination().ID)
				}
			}
		}
		for p := range c.Pairs() {
			check(p)
		}
		for _, leaf := range f.leaves {
			p, err := c.Paths(leaf, leaf, c.Plane(leaf))
			if err != nil {
				t.Fatalf("%v", err)
			}
			check(p)
		}
		if !w.Of(c) || w.Of(c.Without(Losses{})) {
			t.Fatalf("losses do not know their Clos")
		}
	})
}

func TestWithoutPlane(t *testing.T) {
	f := newFabric(2, 2, 2, 1)
	c := mustClos(t, f.Build(), ClosRequest{Leaves: f.leaves}).Without(Losses{Planes: []int{2},
		Directed: []LinkID{}})
	var got []string
	for p := range c.Pairs() {
		got = append(got, fmt.Sprintf("%s %s %d", p.Source().ID, p.Destination().ID, p.Len()))
	}
	want := []string{"p1-leaf-000 p1-leaf-001 2", "p1-leaf-001 p1-leaf-000 2",
		"p2-leaf-000 p2-leaf-001 0", "p2-leaf-001 p2-leaf-000 0"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
