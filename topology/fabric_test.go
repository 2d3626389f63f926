package topology

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"
)

// A fabric is a network built as a Clos.
type fabric struct {
	*network
	leaves []NodeID
}

// newFabric builds planes of two tiers: leaves and spines, width parallel links
// between each and each. A leaf is in one plane.
func newFabric(planes, leaves, spines, width int) *fabric {
	f := &fabric{network: newNetwork()}
	for p := range planes {
		for s := range spines {
			f.SetNode(Node{ID: NodeID(fmt.Sprintf("p%d-spine-%03d", p+1, s))})
		}
		for l := range leaves {
			leaf := NodeID(fmt.Sprintf("p%d-leaf-%03d", p+1, l))
			f.SetNode(Node{ID: leaf})
			f.leaves = append(f.leaves, leaf)
			for s := range spines {
				for range width {
					f.connect(leaf, NodeID(fmt.Sprintf("p%d-spine-%03d", p+1, s)), 10, 10)
				}
			}
		}
	}
	slices.Sort(f.leaves)
	return f
}

// randomFabric draws planes of two or three tiers with different fan-outs,
// parallel and missing links, links within a tier, and overloaded nodes.
func randomFabric(t *rapid.T) *fabric {
	f := &fabric{network: newNetwork()}
	add := func(format string, args ...any) NodeID {
		id := NodeID(fmt.Sprintf(format, args...))
		f.SetNode(Node{ID: id, Overload: rapid.IntRange(0, 19).Draw(t, "overload") == 0})
		return id
	}
	join := func(a, b NodeID) {
		for range rapid.SampledFrom([]int{1, 1, 1, 1, 2, 3, 0}).Draw(t, "links") {
			f.connect(a, b, 10, 10)
		}
	}
	three := rapid.Bool().Draw(t, "three tiers")
	for p := range rapid.IntRange(1, 2).Draw(t, "planes") {
		var middle, leaves []NodeID
		pods := 1
		if three {
			pods = rapid.IntRange(1, 3).Draw(t, "pods")
		}
		for pod := range pods {
			first := len(middle)
			for i := range rapid.IntRange(1, 3).Draw(t, "spines") {
				middle = append(middle, add("p%d-b-%d-%d", p, pod, i))
			}
			for i := range rapid.IntRange(1, 3).Draw(t, "leaves") {
				leaf := add("p%d-a-%d-%d", p, pod, i)
				leaves = append(leaves, leaf)
				for _, m := range middle[first:] {
					join(leaf, m)
				}
			}
		}
		if three {
			for i := range rapid.IntRange(1, 3).Draw(t, "cores") {
				core := add("p%d-c-%d", p, i)
				for _, m := range middle {
					join(m, core)
				}
			}
		}
		for range rapid.IntRange(0, 1).Draw(t, "odd links") {
			a, b := rapid.SampledFrom(leaves).Draw(t, "a"),
				rapid.SampledFrom(append(leaves, middle...)).Draw(t, "b")
			if a != b {
				join(a, b)
			}
		}
		f.leaves = append(f.leaves, leaves...)
	}
	slices.Sort(f.leaves)
	return f
}

// pathNames writes a path as its links.
func pathNames(links []*Link) string {
	out := ""
	for _, l := range links {
		out += " " + string(l.ID)
	}
	return out
}

// A dumbClos finds what Clos finds by trying everything.
type dumbClos struct {
	s    *Snapshot
	out  map[NodeID][]*Link // that have another direction
	tier map[NodeID]int
}

// newDumbClos relaxes distances from the leaves until none changes.
func newDumbClos(s *Snapshot, leaves []NodeID) *dumbClos {
	d := &dumbClos{s: s, out: map[NodeID][]*Link{}, tier: map[NodeID]int{}}
	reverse := pairLinks(s.Links, 0, nowhere(s.Links), nowhere(s.Links))
	for i, l := range s.Links {
		if reverse[i] >= 0 {
			d.out[l.Local] = append(d.out[l.Local], l)
		}
	}
	for _, l := range leaves {
		d.tier[l] = 0
	}
	for changed := true; changed; {
		changed = false
		for at, links := range d.out {
			t, ok := d.tier[at]
			for _, l := range links {
				if now, known := d.tier[l.Remote]; ok && (!known || now > t+1) {
					d.tier[l.Remote], changed = t+1, true
				}
			}
		}
	}
	return d
}

// paths walks all ways from src to dst that climb and then descend, and returns
// the shortest ones.
func (d *dumbClos) paths(src, dst NodeID, lost func(*Link) bool) []string {
	var found [][]*Link
	var walk func(at NodeID, climbing bool, path []*Link)
	walk = func(at NodeID, climbing bool, path []*Link) {
		if at == dst {
			found = append(found, slices.Clone(path))
			return
		}
		if len(path) > 0 && d.s.Node(at).Overload {
			return
		}
		for _, l := range d.out[at] {
			if lost != nil && lost(l) {
				continue
			}
			switch up := d.tier[l.Remote] - d.tier[at]; {
			case up > 0 && climbing:
				walk(l.Remote, true, append(path, l))
			case up < 0:
				walk(l.Remote, false, append(path, l))
			}
		}
	}
	walk(src, true, nil)
	best := -1
	for _, p := range found {
		if best < 0 || len(p) < best {
			best = len(p)
		}
	}
	var names []string
	for _, p := range found {
		if len(p) == best {
			names = append(names, pathNames(p))
		}
	}
	return names
}
