package topology

// LostWays reports which paths of a Clos cross something that is lost. It is
// immutable.
type LostWays struct {
	c *Clos
	// up and down are, by member, a bit for each way that is lost as a way up or
	// as one down; nil: none is.
	up, down [][]uint64
	gone     []bool // by member
}

// Lost finds the ways that losses touch, which takes as long as there are such
// ways.
func (c *Clos) Lost(lost Losses) *LostWays {
	w := &LostWays{c: c, up: make([][]uint64, len(c.members)), down: make([][]uint64, len(c.members)),
		gone: c.lostMembers(lost)}
	both, oneWay := c.lostLinks(lost)
	for _, l := range both {
		w.lose(l)
		if r := c.g.reverse[l]; r >= 0 {
			w.lose(r)
		}
	}
	for _, l := range oneWay {
		w.lose(l)
	}
	return w
}

// lose marks the ways that use a link in its direction.
func (w *LostWays) lose(link int32) {
	ways, reverse := w.up, w.c.g.reverse[link]
	if !w.c.up[link] {
		if reverse < 0 || !w.c.up[reverse] {
			return
		}
		ways, link = w.down, reverse
	}
	for _, at := range w.c.waysOver(link) {
		if ways[at.member] == nil {
			ways[at.member] = make([]uint64, (w.c.members[at.member].total+63)/64)
		}
		ways[at.member][at.way/64] |= 1 << (at.way % 64)
	}
}

// Of reports whether these are ways of a Clos, which the paths asked about must
// be of too.
func (w *LostWays) Of(c *Clos) bool { return w.c == c }

// Touches reports whether some path of a set may be lost; when it is false, none is.
func (w *LostWays) Touches(p PathSet) bool {
	s, d := p.s.number, p.d.number
	return w.gone[s] || w.gone[d] || w.up[s] != nil || w.down[d] != nil
}

// Path reports whether a path of a set is lost.
func (w *LostWays) Path(p PathSet, ref PathRef) bool {
	s, d := p.s.number, p.d.number
	return w.gone[s] || w.gone[d] || has(w.up[s], ref.Up) || has(w.down[d], ref.Down)
}

func has(set []uint64, i int32) bool {
	return i >= 0 && int(i/64) < len(set) && set[i/64]>>(i%64)&1 != 0
}
