package topology

import "iter"

// crossings holds, for each upward link, the ascents over the link.
type crossings struct {
	start   []int32
	ascents []memberAscent
}

type memberAscent struct{ member, ascent int32 }

func (c *Clos) newCrossings() *crossings {
	x := &crossings{start: make([]int32, len(c.up)+1)}
	each := func(visit func(link int32, at memberAscent)) {
		for i := range c.members {
			m := &c.members[i]
			for k := range m.levels {
				l, length := &m.levels[k], k+1
				for at, link := range l.links {
					visit(link, memberAscent{int32(i), l.first + int32(at/length)})
				}
			}
		}
	}
	each(func(link int32, _ memberAscent) { x.start[link+1]++ })
	for i := range c.up {
		x.start[i+1] += x.start[i]
	}
	x.ascents = make([]memberAscent, x.start[len(c.up)])
	next := append([]int32(nil), x.start...)
	each(func(link int32, at memberAscent) {
		x.ascents[next[link]] = at
		next[link]++
	})
	return x
}

// Crossing returns the paths that cross a link in its direction, each with the
// set it is in. It looks at the paths of leaves below the link only. The
// opposite direction of the link is another link.
func (c *Clos) Crossing(id LinkID) iter.Seq2[PathSet, PathRef] {
	return func(yield func(PathSet, PathRef) bool) {
		i := int32(c.g.snapshot.LinkPlace(id))
		if i < 0 {
			return
		}
		if c.up[i] {
			c.cross(i, false, yield)
		} else if r := c.g.reverse[i]; r >= 0 && c.up[r] {
			c.cross(r, true, yield)
		}
	}
}

func (c *Clos) ascentsOver(link int32) []memberAscent {
	x := c.crossing()
	return x.ascents[x.start[link]:x.start[link+1]]
}

// cross visits the paths whose ascent uses an upward link; with down, the paths whose descent
// reverses an ascent over the link.
func (c *Clos) cross(link int32, down bool, yield func(PathSet, PathRef) bool) {
	for _, at := range c.ascentsOver(link) {
		near := &c.members[at.member]
		length, rank := c.apexOf(near, at.ascent)
		members := c.membersIn(near.plane)
		for j := range members {
			far := &members[j]
			if far == near {
				continue
			}
			s, d := near, far
			if down {
				s, d = far, near
			}
			p := c.pathSet(s, d)
			if p.hops <= length {
				continue
			}
			l := far.level(p.hops - length)
			from, end := l.to(rank)
			for v := from; v < end; v++ {
				ref := PathRef{Up: at.ascent, Down: l.first + v}
				if down {
					ref = PathRef{Up: ref.Down, Down: ref.Up}
				}
				if !yield(p, ref) {
					return
				}
			}
		}
	}
}

// apexOf returns an ascent's number of links and the rank of its apex.
func (c *Clos) apexOf(m *member, ascent int32) (length int, rank int32) {
	links := Ascents{c, m}.Links(ascent)
	return len(links), c.rank[c.linkTo[links[len(links)-1]]]
}
