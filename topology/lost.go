package topology

import (
	"iter"
	"math/bits"
)

// LostPaths reports which paths of a Clos cross a lost node or link. It is immutable.
type LostPaths struct {
	c *Clos
	// up and down have, by member, a bit for each ascent that is lost upward or downward; nil: none is
	// lost.
	up, down [][]uint64
	gone     []bool // by member
}

// Lost finds the ascents that losses touch. The time grows with the number of such ascents.
func (c *Clos) Lost(lost Losses) *LostPaths {
	w := &LostPaths{c: c, up: make([][]uint64, len(c.members)), down: make([][]uint64, len(c.members)),
		gone: c.lostMembers(lost)}
	both, directed := c.lostLinks(lost)
	for _, l := range both {
		w.lose(l)
		if r := c.g.reverse[l]; r >= 0 {
			w.lose(r)
		}
	}
	for _, l := range directed {
		w.lose(l)
	}
	return w
}

// lose marks the ascents that use a link in its direction.
func (w *LostPaths) lose(link int32) {
	ascents, reverse := w.up, w.c.g.reverse[link]
	if !w.c.up[link] {
		if reverse < 0 || !w.c.up[reverse] {
			return
		}
		ascents, link = w.down, reverse
	}
	for _, at := range w.c.ascentsOver(link) {
		if ascents[at.member] == nil {
			ascents[at.member] = make([]uint64, (w.c.members[at.member].total+63)/64)
		}
		ascents[at.member][at.ascent/64] |= 1 << (at.ascent % 64)
	}
}

// Of reports whether w belongs to a Clos. Questions to w must be about paths of that Clos.
func (w *LostPaths) Of(c *Clos) bool { return w.c == c }

// Touches reports whether some path of a set may be lost; when it is false, none is.
func (w *LostPaths) Touches(p PathSet) bool {
	s, d := p.s.number, p.d.number
	return w.gone[s] || w.gone[d] || w.up[s] != nil || w.down[d] != nil
}

// Path reports whether a path of a set is lost.
func (w *LostPaths) Path(p PathSet, ref PathRef) bool {
	s, d := p.s.number, p.d.number
	return w.gone[s] || w.gone[d] || has(w.up[s], ref.Up) || has(w.down[d], ref.Down)
}

// Straight returns, in order, the numbers of the lost paths of a straight set.
func (w *LostPaths) Straight(p PathSet) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		s, d := p.s.number, p.d.number
		n := p.s.level(1).ascents()
		all := w.gone[s] || w.gone[d]
		for at := int32(0); at < n; at += 64 {
			lost := word(w.up[s], at/64) | word(w.down[d], at/64)
			if all {
				lost = ^uint64(0)
			}
			for ; lost != 0; lost &= lost - 1 {
				i := at + int32(bits.TrailingZeros64(lost))
				if i >= n || !yield(i) {
					return
				}
			}
		}
	}
}

// word returns a word of a set, which may be nil.
func word(set []uint64, i int32) uint64 {
	if int(i) >= len(set) {
		return 0
	}
	return set[i]
}

func has(set []uint64, i int32) bool {
	return i >= 0 && int(i/64) < len(set) && set[i/64]>>(i%64)&1 != 0
}
