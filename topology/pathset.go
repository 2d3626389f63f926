package topology

import (
	"fmt"
	"iter"
)

// A PathRef names one path of a [PathSet]: the number of an ascent from the
// source leaf, and the number of the ascent from the destination leaf that the
// path descends by. Ascents count from 0 within a leaf and plane; see [Ascents]. Both
// are -1 for the path without links, from a leaf to itself.
type PathRef struct{ Up, Down int32 }

// ToItself is the path of a leaf to itself.
var ToItself = PathRef{Up: -1, Down: -1}

// A PathSet holds the equal-cost paths between two leaves in a plane: all up-down paths with the
// fewest links. A PathSet is a view of its [Clos]. Paths are ordered by apex (tier, then id), then
// by the links up, then by the links down; links are in the order of the snapshot.
type PathSet struct {
	c    *Clos
	s, d *member
	hops int // links of a path; -1: there is none
}

// Paths returns the paths from a leaf to a leaf in a plane; there may be none.
func (c *Clos) Paths(src, dst NodeID, plane int) (PathSet, error) {
	s, err := c.memberOf(src, plane)
	if err != nil {
		return PathSet{}, fmt.Errorf("source leaf: %w", err)
	}
	d, err := c.memberOf(dst, plane)
	if err != nil {
		return PathSet{}, fmt.Errorf("destination leaf: %w", err)
	}
	return c.pathSet(s, d), nil
}

func (c *Clos) memberOf(leaf NodeID, plane int) (*member, error) {
	v, ok := c.g.snapshot.nodeIndex[leaf]
	if !ok {
		return nil, fmt.Errorf("%s: %w", leaf, ErrUnknownNode)
	}
	i, ok := c.index[memberKey{v, int32(plane)}]
	if !ok {
		return nil, fmt.Errorf("%s in plane %d: %w", leaf, plane, ErrNotLeaf)
	}
	return &c.members[i], nil
}

// Pairs returns the paths of all pairs of different leaves that have a plane in
// common, ordered by plane, source and destination; sets without a path too.
func (c *Clos) Pairs() iter.Seq[PathSet] {
	return func(yield func(PathSet) bool) {
		for p := 1; p <= c.planes; p++ {
			members := c.membersIn(int32(p))
			for i := range members {
				for j := range members {
					if i != j && !yield(c.pathSet(&members[i], &members[j])) {
						return
					}
				}
			}
		}
	}
}

func (c *Clos) membersIn(plane int32) []member {
	return c.members[c.inPlane[plane]:c.inPlane[plane+1]]
}

func (c *Clos) pathSet(s, d *member) PathSet {
	p := PathSet{c: c, s: s, d: d, hops: -1}
	if s.dead || d.dead {
		return p
	}
	if s == d {
		p.hops = 0
		return p
	}
	for hops := 2; hops <= len(s.levels)+len(d.levels); hops++ {
		for up := 1; up < hops; up++ {
			if meets(s.level(up), d.level(hops-up)) {
				p.hops = hops
				return p
			}
		}
	}
	return p
}

var noLevel level

// level returns the ascents of a length.
func (m *member) level(length int) *level {
	if length < 1 || length > len(m.levels) {
		return &noLevel
	}
	return &m.levels[length-1]
}

// meets reports whether some ascent of a and some ascent of b have the same apex.
func meets(a, b *level) bool {
	for r := max(a.lo, b.lo); r < min(a.hi(), b.hi()); r++ {
		if a.start[r-a.lo] < a.start[r-a.lo+1] && b.start[r-b.lo] < b.start[r-b.lo+1] {
			return true
		}
	}
	return false
}

// Source returns the leaf the paths start from.
func (p PathSet) Source() *Node { return p.c.g.snapshot.Nodes[p.s.leaf] }

// Destination returns the leaf the paths lead to.
func (p PathSet) Destination() *Node { return p.c.g.snapshot.Nodes[p.d.leaf] }

// Plane returns the plane the paths are in.
func (p PathSet) Plane() int { return int(p.s.plane) }

// Hops returns the number of links in every path, -1 without a path.
func (p PathSet) Hops() int { return p.hops }

// Even reports whether all paths in the set climb and descend equally many links, for example where
// tiers are distances from the leaves.
func (p PathSet) Even() bool {
	for up := 1; up < p.hops; up++ {
		if down := p.hops - up; up != down && meets(p.s.level(up), p.d.level(down)) {
			return false
		}
	}
	return true
}

// Straight reports whether path i goes up by ascent i of the source leaf and down by ascent i of
// the destination leaf, as in a regular plane of two tiers.
func (p PathSet) Straight() bool {
	if p.hops != 2 || !p.s.single || !p.d.single {
		return false
	}
	a, b := p.s.level(1), p.d.level(1)
	return a.lo == b.lo && a.ascents() == b.ascents()
}

// Up returns the ascents from the source leaf.
func (p PathSet) Up() Ascents { return Ascents{p.c, p.s} }

// Down returns the ascents from the destination leaf, which paths take backwards.
func (p PathSet) Down() Ascents { return Ascents{p.c, p.d} }

// Len returns the number of paths.
func (p PathSet) Len() int {
	if p.hops == 0 {
		return 1
	}
	n := 0
	for up := 1; up < p.hops; up++ {
		a, b := p.s.level(up), p.d.level(p.hops-up)
		for r := max(a.lo, b.lo); r < min(a.hi(), b.hi()); r++ {
			n += int(a.start[r-a.lo+1]-a.start[r-a.lo]) * int(b.start[r-b.lo+1]-b.start[r-b.lo])
		}
	}
	return n
}

// All returns the paths in order. It allocates nothing for a path.
func (p PathSet) All() iter.Seq[PathRef] {
	return func(yield func(PathRef) bool) {
		if p.hops == 0 {
			yield(ToItself)
			return
		}
		for up := 1; up < p.hops; up++ {
			a, b := p.s.level(up), p.d.level(p.hops-up)
			for r := max(a.lo, b.lo); r < min(a.hi(), b.hi()); r++ {
				for i := a.start[r-a.lo]; i < a.start[r-a.lo+1]; i++ {
					for j := b.start[r-b.lo]; j < b.start[r-b.lo+1]; j++ {
						if !yield(PathRef{Up: a.first + i, Down: b.first + j}) {
							return
						}
					}
				}
			}
		}
	}
}

// At returns the path at a place in the order, 0 to Len - 1.
func (p PathSet) At(i int) (ref PathRef, ok bool) {
	switch {
	case i < 0 || p.hops < 0:
		return PathRef{}, false
	case p.hops == 0:
		return ToItself, i == 0
	}
	for up := 1; up < p.hops; up++ {
		a, b := p.s.level(up), p.d.level(p.hops-up)
		for r := max(a.lo, b.lo); r < min(a.hi(), b.hi()); r++ {
			width := int(b.start[r-b.lo+1] - b.start[r-b.lo])
			n := int(a.start[r-a.lo+1]-a.start[r-a.lo]) * width
			if i < n {
				return PathRef{
					Up:   a.first + a.start[r-a.lo] + int32(i/width),
					Down: b.first + b.start[r-b.lo] + int32(i%width),
				}, true
			}
			i -= n
		}
	}
	return PathRef{}, false
}

// Index returns the index of a path in the order; ok is false if the path is not in the set.
func (p PathSet) Index(ref PathRef) (i int, ok bool) {
	if p.hops == 0 {
		return 0, ref == ToItself
	}
	for up := 1; up < p.hops; up++ {
		a, b := p.s.level(up), p.d.level(p.hops-up)
		u, v := ref.Up-a.first, ref.Down-b.first
		for r := max(a.lo, b.lo); r < min(a.hi(), b.hi()); r++ {
			ua, ue := a.start[r-a.lo], a.start[r-a.lo+1]
			va, ve := b.start[r-b.lo], b.start[r-b.lo+1]
			if ua <= u && u < ue && va <= v && v < ve {
				return i + int(u-ua)*int(ve-va) + int(v-va), true
			}
			i += int(ue-ua) * int(ve-va)
		}
	}
	return 0, false
}

// AppendLinks appends the links of a path to dst, in the direction of travel.
func (p PathSet) AppendLinks(dst []*Link, ref PathRef) []*Link {
	links := p.c.g.snapshot.Links
	for _, l := range p.Up().Links(ref.Up) {
		dst = append(dst, links[l])
	}
	down := p.Down().Links(ref.Down)
	for i := len(down) - 1; i >= 0; i-- {
		dst = append(dst, links[p.c.g.reverse[down[i]]])
	}
	return dst
}

// Links returns the links of a path, in the direction of travel.
func (p PathSet) Links(ref PathRef) []*Link {
	return p.AppendLinks(make([]*Link, 0, max(p.hops, 0)), ref)
}
