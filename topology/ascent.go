package topology

import (
	"fmt"
	"slices"
)

// A member is a leaf in a plane, with its ascents there.
type member struct {
	leaf, plane int32
	number      int32 // its place among the members
	dead        bool
	// levels[i] holds the ascents of i + 1 links.
	levels []level
	total  int32
	// single reports whether all ascents have one link, and one leads to each apex from the first to
	// the last.
	single bool
}

// A level holds the ascents of one length, ordered by apex and then by links.
type level struct {
	links []int32 // rows of the length, from the leaf up
	// start is where the ascents to each apex start. It covers the apexes of
	// ranks lo to lo + len(start) - 2.
	lo    int32
	start []int32
	// first is the number of the first ascent within the member.
	first int32
}

func (l *level) ascents() int32 {
	if len(l.start) == 0 {
		return 0
	}
	return l.start[len(l.start)-1]
}

// hi is the rank after the last that start covers.
func (l *level) hi() int32 { return l.lo + max(int32(len(l.start)), 1) - 1 }

// to returns the ascents to an apex.
func (l *level) to(rank int32) (from, end int32) {
	if rank < l.lo || rank >= l.hi() {
		return 0, 0
	}
	return l.start[rank-l.lo], l.start[rank-l.lo+1]
}

func (c *Clos) climbAll() error {
	w := ascending{c: c}
	for i := range c.members {
		m := &c.members[i]
		if err := w.member(m); err != nil {
			return err
		}
	}
	return nil
}

// ascending enumerates the ascents from leaves. It keeps its memory from leaf
// to leaf.
type ascending struct {
	c      *Clos
	plane  int32
	ascent []int32
	found  [][]int32 // by length less 1: rows of links
	count  int
}

// member enumerates the ascents from a member.
func (w *ascending) member(m *member) error {
	w.plane, w.ascent, w.count = m.plane, w.ascent[:0], 0
	for i := range w.found {
		w.found[i] = w.found[i][:0]
	}
	if !w.climb(m.leaf) {
		return fmt.Errorf("leaf %s: over %d ways up in plane %d: %w", w.c.g.snapshot.Nodes[m.leaf].ID,
			w.c.maxAscents, m.plane, ErrTooManyPaths)
	}
	w.c.setLevels(m, w.found)
	return nil
}

// climb adds all ascents that continue from a node; false: the ascents are too many.
func (w *ascending) climb(v int32) bool {
	for _, e := range w.c.g.out.of(v) {
		if !w.c.up[e.link] || w.c.planeRule == PlanesByAdminGroup && w.c.linkPlane(e.link) != w.plane {
			continue
		}
		if w.count++; w.count > w.c.maxAscents {
			return false
		}
		w.ascent = append(w.ascent, e.link)
		n := len(w.ascent)
		if len(w.found) < n {
			w.found = append(w.found, nil)
		}
		w.found[n-1] = append(w.found[n-1], w.ascent...)
		if !w.climb(e.node) {
			return false
		}
		w.ascent = w.ascent[:n-1]
	}
	return true
}

// setLevels orders ascents by their apex, and keeps those that are not dead. found
// holds them by length less 1 and is not kept.
func (c *Clos) setLevels(m *member, found [][]int32) {
	m.levels, m.total, m.single = nil, 0, false
	for i, links := range found {
		length := i + 1
		l := level{first: m.total}
		lo, hi := int32(len(c.rank)), int32(-1)
		n := 0
		for at := 0; at < len(links); at += length {
			if c.alive(links[at : at+length]) {
				r := c.rank[c.linkTo[links[at+length-1]]]
				lo, hi = min(lo, r), max(hi, r)
				n++
			}
		}
		if n > 0 {
			l.lo, l.start = lo, make([]int32, hi-lo+2)
			l.links = make([]int32, n*length)
			for at := 0; at < len(links); at += length {
				if c.alive(links[at : at+length]) {
					l.start[c.rank[c.linkTo[links[at+length-1]]]-lo+1]++
				}
			}
			for r := 1; r < len(l.start); r++ {
				l.start[r] += l.start[r-1]
			}
			next := slices.Clone(l.start)
			for at := 0; at < len(links); at += length {
				if ascent := links[at : at+length]; c.alive(ascent) {
					r := c.rank[c.linkTo[ascent[length-1]]] - lo
					copy(l.links[int(next[r])*length:], ascent)
					next[r]++
				}
			}
		}
		m.levels = append(m.levels, l)
		m.total += int32(n)
	}
	for n := len(m.levels); n > 0 && m.levels[n-1].ascents() == 0; n-- {
		m.levels = m.levels[:n-1]
	}
	if len(m.levels) == 1 {
		m.single = true
		for r, at := range m.levels[0].start {
			m.single = m.single && int(at) == r
		}
	}
}

func (c *Clos) alive(ascent []int32) bool {
	if c.dead != nil {
		for _, l := range ascent {
			if c.dead[l] {
				return false
			}
		}
	}
	return true
}
