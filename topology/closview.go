package topology

// Graph returns the graph that was asked.
func (c *Clos) Graph() *Graph { return c.g }

// Planes returns the number of planes. They count from 1.
func (c *Clos) Planes() int { return c.planes }

// Tiers returns the number of tiers that have a node.
func (c *Clos) Tiers() int {
	top := -1
	for _, t := range c.tier {
		top = max(top, int(t))
	}
	return top + 1
}

// Tier returns the tier of a node, 0 for leaves; ok is false for nodes that no
// links lead to from a leaf, and for those the graph lacks.
func (c *Clos) Tier(id NodeID) (tier int, ok bool) {
	v, ok := c.g.snapshot.nodeIndex[id]
	if !ok || c.tier[v] < 0 {
		return 0, false
	}
	return int(c.tier[v]), true
}

// Plane returns the plane of a node, 0 when it is in none or in several.
func (c *Clos) Plane(id NodeID) int {
	if v, ok := c.g.snapshot.nodeIndex[id]; ok {
		return int(c.plane[v])
	}
	return 0
}

// Nodes returns the nodes that are in a tier, ordered by tier and id.
func (c *Clos) Nodes() []*Node {
	nodes := make([]*Node, len(c.tier))
	n := 0
	for v, t := range c.tier {
		if t >= 0 {
			nodes[c.rank[v]] = c.g.snapshot.Nodes[v]
			n++
		}
	}
	return nodes[:n]
}

// Leaves returns the leaves in the order of their ids.
func (c *Clos) Leaves() []*Node {
	nodes := make([]*Node, len(c.leaves))
	for i, v := range c.leaves {
		nodes[i] = c.g.snapshot.Nodes[v]
	}
	return nodes
}

// PlanesOf returns the planes that a leaf is in, ascending.
func (c *Clos) PlanesOf(leaf NodeID) []int {
	v, ok := c.g.snapshot.nodeIndex[leaf]
	if !ok {
		return nil
	}
	var planes []int
	for p := 1; p <= c.planes; p++ {
		if _, ok := c.index[memberKey{v, int32(p)}]; ok {
			planes = append(planes, p)
		}
	}
	return planes
}

// LinkPlane returns the plane of a link that paths use, 0 for others.
func (c *Clos) LinkPlane(id LinkID) int {
	i := int32(c.g.snapshot.LinkPlace(id))
	if i < 0 || !c.up[i] && (c.g.reverse[i] < 0 || !c.up[c.g.reverse[i]]) {
		return 0
	}
	if c.planeRule == PlanesByAdminGroup {
		return int(c.linkPlane(i))
	}
	return int(c.plane[c.linkTo[i]])
}

// Up returns the links by which paths climb from a node, in the order of the
// snapshot.
func (c *Clos) Up(id NodeID) []*Link {
	return c.linksWhere(id, func(l int32) bool { return c.up[l] && (c.dead == nil || !c.dead[l]) })
}

// Down returns the links by which paths descend from a node, in the order of
// the snapshot.
func (c *Clos) Down(id NodeID) []*Link {
	return c.linksWhere(id, func(l int32) bool {
		r := c.g.reverse[l]
		return c.up[r] && (c.dead == nil || !c.dead[r])
	})
}

func (c *Clos) linksWhere(id NodeID, keep func(link int32) bool) []*Link {
	v, ok := c.g.snapshot.nodeIndex[id]
	if !ok {
		return nil
	}
	var links []*Link
	for _, e := range c.g.out.of(v) {
		if keep(e.link) {
			links = append(links, c.g.snapshot.Links[e.link])
		}
	}
	return links
}

// Reverse returns the other direction of a link, both by place in the links of
// the snapshot; it is nil for links that no path uses.
func (c *Clos) Reverse(link int32) *Link {
	if r := c.g.reverse[link]; r >= 0 {
		return c.g.snapshot.Links[r]
	}
	return nil
}
