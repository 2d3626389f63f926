package multicast

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

// windowOpened polls a group when the window of CNPs that a switch has opened
// is over, for no other packet may come and end it.
func (f *Feature) windowOpened(sw string, p entry.PacketIn) {
	g := f.byIndex[p.Group]
	key := pollKey{sw, p.Group}
	if g == nil || f.polls[key] {
		return
	}
	placement := g.resp
	if g.target != nil && g.target.Epoch == p.Epoch {
		placement = g.target
	}
	if placement == nil || placement.Epoch != p.Epoch || placement.Node(sw) == nil {
		return
	}
	f.polls[key] = true
	f.timers.Set(f.env.Now+placement.CNPWindow+f.inv().Intervals.CNPTick.D(), func() {
		delete(f.polls, key)
		f.poll(sw, p.Group)
	})
}

// poll makes a switch send what has become due for a group.
func (f *Feature) poll(sw string, group uint16) {
	f.packetOut(sw, entry.PacketOut{Op: entry.Poll, Group: group})
}

func (f *Feature) packetOut(sw string, p entry.PacketOut) bool { return f.env.Want.Send(sw, p) }

// pollLeaves polls every switch of a group after a removal, because the removal may have made an
// ACK due that no packet triggers. pollLeaves starts at the leaves and takes one step for each
// depth, so that each switch has heard from the child switches.
func (f *Feature) pollLeaves(g *group) {
	depths := g.target.Depths()
	deepest := slices.Max(depths)
	for i, sw := range g.target.Switches() {
		index := g.index
		f.timers.Set(f.env.Now+f.inv().Intervals.PollGap.D()*time.Duration(deepest-depths[i]),
			func() { f.poll(sw, index) })
	}
}
