package topology

// Ways are the ways up from a leaf in a plane, of all lengths: those of one
// link first. They count from 0.
type Ways struct {
	c *Clos
	m *member
}

// Ways returns the ways up from a leaf in a plane.
func (c *Clos) Ways(leaf NodeID, plane int) (Ways, error) {
	m, err := c.memberOf(leaf, plane)
	return Ways{c, m}, err
}

// Leaf returns the leaf the ways start from.
func (w Ways) Leaf() *Node { return w.c.g.snapshot.Nodes[w.m.leaf] }

// Plane returns the plane of the ways.
func (w Ways) Plane() int { return int(w.m.plane) }

// Len returns the number of ways.
func (w Ways) Len() int { return int(w.m.total) }

// Links returns the links of a way, from the leaf up, as places in the links of
// the snapshot. The result belongs to the Clos. It is nil for a way that there
// is not, as for -1.
func (w Ways) Links(way int32) []int32 {
	if way < 0 || way >= w.m.total {
		return nil
	}
	for i := range w.m.levels {
		l := &w.m.levels[i]
		if n := int32(i + 1); way < l.first+l.ways() {
			at := (way - l.first) * n
			return l.links[at : at+n : at+n]
		}
	}
	return nil
}

// Apex returns the node that a way ends in, nil for a way that there is not.
func (w Ways) Apex(way int32) *Node {
	links := w.Links(way)
	if links == nil {
		return nil
	}
	return w.c.g.snapshot.Nodes[w.c.linkTo[links[len(links)-1]]]
}

// Level returns the first way of a number of links and the first after them.
func (w Ways) Level(links int) (from, end int32) {
	l := w.m.level(links)
	return l.first, l.first + l.ways()
}
