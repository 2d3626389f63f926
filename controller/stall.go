package controller

import (
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
)

// probe is what the core remembers of a group's receivers to find those that
// hold it up.
type probe struct {
	running   bool
	receivers []progress // those that are behind, ordered by address
}

// progress is where a receiver stood when it was last seen to move.
type progress struct {
	api.StalledReceiver
	since time.Duration
	seen  int           // how often it was found at the same place
	last  time.Duration // when it was found there last
}

// stalled returns the receivers that are behind and were found at the same
// place twice.
func (p *probe) stalled() []api.StalledReceiver {
	var out []api.StalledReceiver
	for i := range p.receivers {
		if p.receivers[i].seen > 1 {
			out = append(out, p.receivers[i].StalledReceiver)
		}
	}
	return out
}

// watchStalls asks a group for its state now and then, as often as it wants.
func (c *Core) watchStalls(g *group) {
	if g.probe.running || g.removed {
		return
	}
	every := c.stallInterval(g)
	if every == 0 {
		return
	}
	g.probe.running = true
	c.timers.Set(c.now+every, func() {
		g.probe.running = false
		if g.removed || c.groups[g.name] != g {
			return
		}
		if g.phase == steady {
			c.ask(g, func(q *query) { c.findStalls(g, &q.report); c.evict(g) })
		}
		c.watchStalls(g)
	})
}

// stallInterval returns how often a group is asked, 0 for never.
func (c *Core) stallInterval(g *group) time.Duration {
	every := c.inv.Intervals.Stall.D()
	if e := g.spec.EvictAfter.D(); e != 0 && (every == 0 || e/4 < every) {
		every = max(e/4, time.Millisecond)
	}
	return every
}

// findStalls looks for receivers that others have left behind and that do not
// move: what they hold up is the whole group.
func (c *Core) findStalls(g *group, r *api.GroupState) {
	var ahead int64 = -1
	for _, n := range r.Nodes {
		for _, b := range n.Branches {
			if b.Receiver.IsValid() && b.Valid && (ahead < 0 || before(ahead, b.AckPSN)) {
				ahead = b.AckPSN
			}
		}
	}
	var behind []progress
	for _, n := range r.Nodes {
		for _, b := range n.Branches {
			if !b.Receiver.IsValid() || !b.Answered || ahead < 0 || b.Valid && b.AckPSN == ahead {
				continue
			}
			p := progress{since: c.now, seen: 1, last: c.now}
			p.StalledReceiver = api.StalledReceiver{Address: b.Receiver, Switch: n.Switch, Branch: b.Index, Valid: b.Valid, Since: c.wall()}
			if b.Valid {
				p.AckPSN = uint32(b.AckPSN)
			}
			for i := range g.probe.receivers {
				if o := &g.probe.receivers[i]; o.Address == p.Address && o.Valid == p.Valid && o.AckPSN == p.AckPSN {
					p.since, p.Since, p.seen, p.last = o.since, o.Since, o.seen, o.last
					if c.now-o.last >= c.stallInterval(g)/2 { // answers that come together are one
						p.seen, p.last = o.seen+1, c.now
					}
				}
			}
			behind = append(behind, p)
		}
	}
	slices.SortFunc(behind, func(a, b progress) int { return a.Address.Compare(b.Address) })
	c.tellStalls(g, behind)
	g.probe.receivers = behind
	c.status[g.index] = true
}

// before orders PSNs modulo 2^24.
func before(a, b int64) bool {
	d := (b - a) & maxPSN
	return d >= 1 && d < 1<<23
}

func (c *Core) tellStalls(g *group, behind []progress) {
	was := g.probe.stalled()
	is := (&probe{receivers: behind}).stalled()
	has := func(list []api.StalledReceiver, r api.StalledReceiver) bool {
		return slices.ContainsFunc(list, func(o api.StalledReceiver) bool { return o.Address == r.Address })
	}
	for _, r := range is {
		if !has(was, r) {
			c.event(api.EventReceiverStalled, g.name, r.Address.String(), nil)
		}
	}
	for _, r := range was {
		if !has(is, r) {
			c.event(api.EventReceiverRecovered, g.name, r.Address.String(), nil)
		}
	}
}

// evict takes receivers out that have stalled a group for longer than it
// allows, but never all.
func (c *Core) evict(g *group) {
	after := g.spec.EvictAfter.D()
	if after == 0 || g.removed {
		return
	}
	changed := false
	for i := range g.probe.receivers {
		r := &g.probe.receivers[i]
		if r.seen < 2 || c.now-r.since < after || g.evicted[r.Address] || len(g.evicted)+1 >= len(g.spec.Receivers) {
			continue
		}
		g.evicted[r.Address] = true
		changed = true
		c.event(api.EventReceiverEvicted, g.name, r.Address.String(), nil)
	}
	if !changed {
		return
	}
	g.probe.receivers = slices.DeleteFunc(g.probe.receivers, func(p progress) bool { return g.evicted[p.Address] })
	c.place(g, false)
	c.saves[g.name] = true
}
