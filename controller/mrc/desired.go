package mrc

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// crossing are the profiles with EVs that may cross a link: those of hosts below
// it that send, when paths climb by it, and else that are sent to.
func (c *Core) crossing(l *link) (at map[topology.NodeID][]*profile, leaves []topology.NodeID) {
	if l.rises {
		return c.bySource, l.leaves
	}
	return c.byDest, l.leaves
}

// losses are what EVs must not cross.
func (c *Core) losses() topology.Losses {
	var lost topology.Losses
	for i := range c.fabric.links {
		if l := &c.fabric.links[i]; l.out() {
			lost.OneWay = append(lost.OneWay, l.ID)
		}
	}
	for id, s := range c.leafStates {
		if s.gone || s.drained || s.until > 0 {
			lost.Nodes = append(lost.Nodes, id)
		}
	}
	for _, d := range c.drains {
		if d.Plane > 0 {
			lost.Planes = append(lost.Planes, d.Plane)
		}
	}
	return lost
}

// deny finds what profiles come to after links have changed.
func (c *Core) deny() {
	for _, i := range c.touched {
		at, leaves := c.crossing(&c.fabric.links[i])
		for _, leaf := range leaves {
			for _, p := range at[leaf] {
				c.dirty[p] = true
			}
		}
	}
	for _, leaf := range c.touchedLeaves {
		for _, p := range c.bySource[leaf] {
			c.dirty[p] = true
		}
		for _, p := range c.byDest[leaf] {
			c.dirty[p] = true
		}
	}
	c.touched, c.touchedLeaves = c.touched[:0], c.touchedLeaves[:0]
	if len(c.dirty) == 0 {
		return
	}
	lost := c.fabric.clos.Lost(c.losses())
	for _, p := range slices.SortedFunc(maps.Keys(c.dirty), func(a, b *profile) int { return cmp.Compare(a.name, b.name) }) {
		if c.under(p, lost) {
			p.from.dirty = true
		}
	}
	clear(c.dirty)
}

// mask finds the hosts that lack a port: all their peers are told.
func (c *Core) mask() {
	c.remask = false
	var peers []hostapi.PeerPorts
	for _, h := range c.hosts {
		var all hostapi.PortMask
		for i := range h.ports {
			if h.ports[i].attached {
				all |= hostapi.Ports(i)
			}
		}
		if h.usable != all {
			peers = append(peers, hostapi.PeerPorts{Peer: h.Address, Ports: h.usable})
		}
	}
	slices.SortFunc(peers, func(a, b hostapi.PeerPorts) int { return a.Peer.Compare(b.Peer) })
	if slices.Equal(peers, c.peers) {
		return
	}
	c.peers = peers
	for _, s := range c.senders {
		s.dirty = true
	}
}

// states makes the states of senders whose parts have changed. The parts are in
// order and valid as they are made, so the state is.
func (c *Core) states() {
	for _, s := range c.senders {
		if !s.dirty {
			continue
		}
		s.dirty = false
		state := &hostapi.State{CC: c.cc, Peers: c.peers, Wire: c.cfg.Wire, Profiles: make([]*hostapi.Profile, 0, len(s.inTurn))}
		for _, p := range s.inTurn {
			if p.outcome.Profile != nil {
				state.Profiles = append(state.Profiles, p.outcome.Profile)
			}
		}
		s.state = state
		for _, h := range s.hosts {
			c.unset[h.Name] = true
		}
	}
}

// setAll tells hosts what they are to hold, if that is something else now. A host
// that holds what an earlier controller told it is left alone until the links
// have been tried: EVs may be denied there that would seem good.
func (c *Core) setAll() {
	for _, name := range slices.Sorted(maps.Keys(c.unset)) {
		h := c.hosts[name]
		if h == nil || h.sender == nil {
			delete(c.unset, name)
			continue
		}
		if h.foreign && !c.roundDone {
			continue
		}
		delete(c.unset, name)
		state := h.sender.state
		if h.denied != 0 {
			if h.mineOf != state {
				own := *state
				own.DeniedPorts = h.denied
				h.mine, h.mineOf = &own, state
			}
			state = h.mine
		}
		if state == h.state {
			continue
		}
		h.state, h.told, h.foreign = state, true, false
		h.seq++
		c.out.Sets = append(c.out.Sets, Set{Host: name, Seq: h.seq, State: state})
		c.toldAt = c.now
	}
}

// runPorts moves on the ports of hosts and the leaves whose time has come.
func (c *Core) runPorts() {
	for _, name := range slices.Sorted(maps.Keys(c.heldPorts)) {
		h := c.hosts[name]
		waits := false
		if h != nil {
			for i := range h.ports {
				p := &h.ports[i]
				if p.held && !p.linkDown && !p.agentDown {
					if c.now >= p.until {
						p.held = false
					} else {
						waits = true
					}
				}
			}
			c.lookAtHost(h)
		}
		if !waits {
			delete(c.heldPorts, name)
		}
	}
	for id, s := range c.leafStates {
		if !s.gone && s.until > 0 && c.now >= s.until {
			s.until = 0
			c.touchedLeaves = append(c.touchedLeaves, id)
		}
	}
}

func (c *Core) leavesWait() bool {
	for _, s := range c.leafStates {
		if !s.gone && s.until > 0 {
			return true
		}
	}
	return false
}
