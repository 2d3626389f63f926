package mrc

import "github.com/weft-sdn/weft/topology"

// SetTopology sets what is advertised now. A snapshot that is incomplete says
// nothing: what it lacks may be there all the same. One that is only stale
// counts: a switch that has died takes its BGP session with it, and what its
// neighbours withdraw is lost.
func (c *Core) SetTopology(s *topology.Snapshot) {
	if s.Incomplete() {
		return
	}
	c.current = s
	switch {
	case !c.synced:
	case c.fabric == nil || !c.fabric.has(s):
		c.remade = true
		c.makeFabric()
	default:
		c.lookAtAll()
	}
}

// InSync records that every peer has sent all it knows (End-of-RIB): from now on
// what is missing is down. Nothing is told to hosts before.
func (c *Core) InSync() {
	if !c.synced {
		c.synced, c.remade = true, true
		c.prober.begin()
	}
}

// lookAtAll looks at every link and leaf after the topology has changed.
func (c *Core) lookAtAll() {
	f := c.fabric
	present := make([]bool, len(f.edges))
	crossable := make(map[topology.NodeID]bool, len(c.current.Nodes))
	for _, n := range c.current.Nodes {
		tier, _ := f.clos.Tier(n.ID)
		crossable[n.ID] = !n.Overload || tier == 0
	}
	i := 0
	for _, l := range c.current.Links { // in the order of the fabric's
		for i < len(f.edges) && f.edges[i].ID != l.ID {
			i++
		}
		if i == len(f.edges) {
			break // not in the fabric yet
		}
		present[i] = crossable[l.Local] && crossable[l.Remote]
	}
	for i := range f.edges {
		reverse := f.edges[i].reverse
		c.links.setPresent(int32(i), present[i] && reverse >= 0 && present[reverse])
	}
	for _, leaf := range f.clos.Leaves() {
		c.leaves.setPresent(leaf.ID, c.current.Node(leaf.ID) != nil)
	}
}
