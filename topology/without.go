package topology

import "sync"

// Losses are links and nodes that are gone, or are to be treated so.
type Losses struct {
	// Links are lost in both directions, whichever is named.
	Links []LinkID
	Nodes []NodeID
}

// Without returns the Clos that is left when links and nodes are lost. Tiers
// and planes stay as they are, and what the losses do not touch is shared, so
// this costs as much as the paths of the leaves below them. What the Clos does
// not know is no loss to it.
func (c *Clos) Without(lost Losses) *Clos {
	s := c.g.snapshot
	out := *c
	out.dead = make([]bool, len(s.Links))
	copy(out.dead, c.dead)
	touched := make([]bool, len(c.members))
	lose := func(link int32) {
		if link < 0 || !c.up[link] || out.dead[link] {
			return
		}
		out.dead[link] = true
		for _, at := range c.waysOver(link) {
			touched[at.member] = true
		}
	}
	for _, id := range lost.Links {
		if i, ok := s.linkIndex[id]; ok {
			lose(i)
			lose(c.g.reverse[i])
		}
	}
	gone := make(map[int32]bool)
	for _, id := range lost.Nodes {
		v, ok := s.nodeIndex[id]
		if !ok {
			continue
		}
		gone[v] = true
		for _, e := range c.g.out.of(v) {
			lose(e.link)
			lose(c.g.reverse[e.link])
		}
	}
	out.members = append([]member(nil), c.members...)
	for i := range out.members {
		m := &out.members[i]
		m.dead = m.dead || gone[m.leaf]
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
