package controller

import (
	"slices"
	"time"

	"github.com/weft-sdn/weft/southbound/entry"
)

// pollKey is a group on a switch.
type pollKey struct {
	sw    string
	group uint16
}

// PacketIn takes what a switch reports.
func (c *Core) PacketIn(sw string, p entry.PacketIn) {
	switch p.Reason {
	case entry.CNPWindow:
		c.windowOpened(sw, p)
	case entry.StateAnswer:
		c.answered(sw, p)
	case entry.Routed:
		c.routedHere(sw, p)
	case entry.Queue:
		c.queueReported(sw, p)
	}
	c.settle()
}

// windowOpened polls a group when the window of CNPs that a switch has opened
// is over, for no other packet may come and end it.
func (c *Core) windowOpened(sw string, p entry.PacketIn) {
	g := c.byIndex[p.Group]
	key := pollKey{sw, p.Group}
	if g == nil || c.polls[key] {
		return
	}
	placement := g.resp
	if g.target != nil && g.target.Epoch == p.Epoch {
		placement = g.target
	}
	if placement == nil || placement.Epoch != p.Epoch || placement.Node(sw) == nil {
		return
	}
	c.polls[key] = true
	c.timers.Set(c.now+placement.CNPWindow+c.inv.Intervals.CNPTick.D(), func() {
		delete(c.polls, key)
		c.poll(sw, p.Group)
	})
}

// poll makes a switch send what has become due for a group.
func (c *Core) poll(sw string, group uint16) {
	c.packetOut(sw, entry.PacketOut{Op: entry.Poll, Group: group})
}

func (c *Core) packetOut(sw string, p entry.PacketOut) bool { return c.switches.Send(sw, p) }

// pollLeaves polls every switch of a group after a removal, which may have made
// an ACK due that no packet will bring: from the leaves up, one step for each
// depth, so that each switch has heard from its children.
func (c *Core) pollLeaves(g *group) {
	depths := g.target.Depths()
	deepest := slices.Max(depths)
	for i, sw := range g.target.Switches() {
		index := g.index
		c.timers.Set(c.now+c.inv.Intervals.PollGap.D()*time.Duration(deepest-depths[i]), func() { c.poll(sw, index) })
	}
}
