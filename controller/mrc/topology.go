package mrc

import (
	"time"

	"github.com/weft-sdn/weft/topology"
)

// SetTopology tells what is advertised now. A snapshot that is incomplete says
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

// InSync tells that every peer has sent all it knows (End-of-RIB): from now on
// what is missing is down. Nothing is told to hosts before.
func (c *Core) InSync() {
	if !c.synced {
		c.synced, c.remade = true, true
		c.roundEnds = c.now + c.cfg.FirstRound
	}
}

// lookAtAll looks at every link after the topology has changed.
func (c *Core) lookAtAll() {
	f := c.fabric
	present := make([]bool, len(f.links))
	crossable := make(map[topology.NodeID]bool, len(c.current.Nodes))
	for _, n := range c.current.Nodes {
		tier, _ := f.clos.Tier(n.ID)
		crossable[n.ID] = !n.Overload || tier == 0
	}
	i := 0
	for _, l := range c.current.Links { // in the order of the fabric's
		for i < len(f.links) && f.links[i].ID != l.ID {
			i++
		}
		if i == len(f.links) {
			break // not in the fabric yet
		}
		present[i] = crossable[l.Local] && crossable[l.Remote]
	}
	for i := range f.links {
		l := &f.links[i]
		here := present[i] && l.reverse >= 0 && present[l.reverse]
		if here != l.present {
			l.present = here
			c.look(int32(i))
		}
	}
	c.lookAtNodes()
}

// lookAtNodes finds the leaves that are not there: EVs from a leaf to itself
// cross nothing else. One that is back is held as a link is.
func (c *Core) lookAtNodes() {
	for _, leaf := range c.fabric.clos.Leaves() {
		here := c.current.Node(leaf.ID) != nil
		state := c.leafStates[leaf.ID]
		switch {
		case !here && (state == nil || !state.gone):
			if state == nil {
				state = &leafState{}
				c.leafStates[leaf.ID] = state
			}
			state.gone = true
			state.failures.failed(c.now, c.cfg.Calm)
			c.touchedLeaves = append(c.touchedLeaves, leaf.ID)
		case here && state != nil && state.gone:
			state.gone = false
			state.until = max(1, c.now+state.failures.hold(c.cfg.Hold, c.cfg.MaxHold))
		}
	}
}

// leafState is of a leaf that was missing.
type leafState struct {
	gone     bool
	until    time.Duration // is back, and held until then; 0: it is not
	failures backoff
	drained  bool
}
