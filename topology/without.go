package topology

import "sync"

// Losses lists the lost parts of a Clos, or parts to treat as lost. Parts unknown to the Clos do
// not count.
type Losses struct {
	// Links are lost in both directions, whichever is named.
	Links []LinkID
	// Directed are lost in their own direction.
	Directed []LinkID
	// Ports are the ports of the switches' ends of links, lost in both directions.
	Ports []NodePort
	Nodes []NodeID
	// Planes are lost with all their links.
	Planes []int
}

// A NodePort is a device port of a node.
type NodePort struct {
	Node NodeID
	Port uint32
}

// lostLinks returns the indexes of the links lost in both directions, and of the links lost in one
// direction.
func (c *Clos) lostLinks(lost Losses) (both, directed []int32) {
	s := c.g.snapshot
	places := func(ids []LinkID) (out []int32) {
		for _, id := range ids {
			if l := s.links.get(id); l != nil {
				if i := c.g.PlaceOf(l); i >= 0 {
					out = append(out, i)
				}
			}
		}
		return out
	}
	both, directed = places(lost.Links), places(lost.Directed)
	for _, p := range lost.Ports {
		for _, l := range s.LinksFrom(p.Node) {
			if l.LocalPort == p.Port {
				if i := c.g.PlaceOf(l); i >= 0 {
					both = append(both, i)
				}
			}
		}
	}
	for _, id := range lost.Nodes {
		if v, ok := s.nodeIndex[id]; ok {
			for _, e := range c.g.out.of(v) {
				both = append(both, e.link)
			}
		}
	}
	return both, directed
}

// lostMembers reports, by member, which members are lost themselves.
func (c *Clos) lostMembers(lost Losses) []bool {
	gone := make([]bool, len(c.members))
	leaves := make(map[int32]bool)
	for _, id := range lost.Nodes {
		if v, ok := c.g.snapshot.nodeIndex[id]; ok {
			leaves[v] = true
		}
	}
	planes := make(map[int32]bool)
	for _, p := range lost.Planes {
		planes[int32(p)] = true
	}
	for i := range c.members {
		m := &c.members[i]
		gone[i] = m.dead || leaves[m.leaf] || planes[m.plane]
	}
	return gone
}

// Without returns the Clos without the lost nodes and links. Tiers and planes stay unchanged, and
// the result shares unaffected parts, so the cost is that of the paths of the leaves below the
// losses. Links are used in both directions or not at all, so a link lost in one direction is lost.
func (c *Clos) Without(lost Losses) *Clos {
	out := *c
	out.dead = make([]bool, len(c.up))
	copy(out.dead, c.dead)
	touched := make([]bool, len(c.members))
	lose := func(link int32) {
		if link < 0 || !c.up[link] || out.dead[link] {
			return
		}
		out.dead[link] = true
		for _, at := range c.ascentsOver(link) {
			touched[at.member] = true
		}
	}
	both, directed := c.lostLinks(lost)
	for _, l := range append(both, directed...) {
		lose(l)
		lose(c.g.reverse[l])
	}
	gone := c.lostMembers(lost)
	out.members = append([]member(nil), c.members...)
	for i := range out.members {
		m := &out.members[i]
		m.dead = gone[i]
		if touched[i] {
			found := make([][]int32, len(m.levels))
			for k := range m.levels {
				found[k] = m.levels[k].links
			}
			out.setLevels(m, found)
		}
	}
	out.crossing = sync.OnceValue(out.newCrossings)
	return &out
}
