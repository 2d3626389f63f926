package topology

// Ascents are what leads up from a leaf in a plane, rows of links of all lengths: those of one
// link first. They count from 0.
type Ascents struct {
	c *Clos
	m *member
}

// Ascents returns the ascents from a leaf in a plane.
func (c *Clos) Ascents(leaf NodeID, plane int) (Ascents, error) {
	m, err := c.memberOf(leaf, plane)
	return Ascents{c, m}, err
}

// Leaf returns the leaf the ascents start from.
func (w Ascents) Leaf() *Node { return w.c.g.snapshot.Nodes[w.m.leaf] }

// Plane returns the plane of the ascents.
func (w Ascents) Plane() int { return int(w.m.plane) }

// Len returns the number of ways.
func (w Ascents) Len() int { return int(w.m.total) }

// Links returns the links of an ascent, from the leaf up, as indexes in the links of the snapshot.
// The result belongs to the Clos. Links returns nil for an ascent that does not exist, such as -1.
func (w Ascents) Links(ascent int32) []int32 {
	if ascent < 0 || ascent >= w.m.total {
		return nil
	}
	for i := range w.m.levels {
		l := &w.m.levels[i]
		if n := int32(i + 1); ascent < l.first+l.ascents() {
			at := (ascent - l.first) * n
			return l.links[at : at+n : at+n]
		}
	}
	return nil
}

// Apex returns the last node of an ascent, nil for an unknown ascent.
func (w Ascents) Apex(ascent int32) *Node {
	links := w.Links(ascent)
	if links == nil {
		return nil
	}
	return w.c.g.snapshot.Nodes[w.c.linkTo[links[len(links)-1]]]
}

// Level returns the first ascent of a number of links and the first after them.
func (w Ascents) Level(links int) (from, end int32) {
	l := w.m.level(links)
	return l.first, l.first + l.ascents()
}
