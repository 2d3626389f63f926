package multicast

import (
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/multicast/member"
)

// probe holds the progress of a group's receivers, to find receivers that stall the group.
type probe struct {
	running   bool
	receivers []progress // those that are behind, ordered by address
}

// progress is the position of a receiver at the last observed move.
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

// watchStalls asks a group for its state repeatedly, at the interval of the group.
func (f *Feature) watchStalls(g *group) {
	if g.probe.running || g.item == nil {
		return
	}
	every := f.stallInterval(g)
	if every == 0 {
		return
	}
	g.probe.running = true
	f.timers.Set(f.env.Now+every, func() {
		g.probe.running = false
		if g.item == nil {
			return
		}
		if g.phase == steady {
			f.ask(g, whole, func(q *query) { f.findStalls(g, &q.report); f.evict(g) })
		}
		f.watchStalls(g)
	})
}

// stallInterval returns how often a group is asked, 0 for never.
func (f *Feature) stallInterval(g *group) time.Duration {
	every := f.inv().Intervals.Stall.D()
	if e := g.item.Spec.EvictAfter.D(); e != 0 && (every == 0 || e/4 < every) {
		every = max(e/4, time.Millisecond)
	}
	return every
}

// findStalls looks for receivers that are behind other receivers and do not move: such receivers
// stall the whole group.
func (f *Feature) findStalls(g *group, r *api.GroupState) {
	if g.item == nil {
		return // deleted while it was asked
	}
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
			p := progress{since: f.env.Now, seen: 1, last: f.env.Now}
			p.StalledReceiver = api.StalledReceiver{Address: b.Receiver, Switch: n.Switch, Branch: b.Index,
				Valid: b.Valid, Since: f.env.Wall()}
			if b.Valid {
				p.AckPSN = uint32(b.AckPSN)
			}
			for i := range g.probe.receivers {
				if o := &g.probe.receivers[i]; o.Address == p.Address && o.Valid == p.Valid &&
					o.AckPSN == p.AckPSN {
					p.since, p.Since, p.seen, p.last = o.since, o.Since, o.seen, o.last
					if f.env.Now-o.last >= f.stallInterval(g)/2 { // answers that come together are one
						p.seen, p.last = o.seen+1, f.env.Now
					}
				}
			}
			behind = append(behind, p)
		}
	}
	slices.SortFunc(behind, func(a, b progress) int { return a.Address.Compare(b.Address) })
	f.tellStalls(g, behind)
	g.probe.receivers = behind
	f.status.add(g.index)
}

// before orders PSNs modulo 2^24.
func before(a, b int64) bool {
	d := (b - a) & maxPSN
	return d >= 1 && d < 1<<23
}

func (f *Feature) tellStalls(g *group, behind []progress) {
	was := g.probe.stalled()
	is := (&probe{receivers: behind}).stalled()
	has := func(list []api.StalledReceiver, r api.StalledReceiver) bool {
		return slices.ContainsFunc(list,
			func(o api.StalledReceiver) bool { return o.Address == r.Address })
	}
	for _, r := range is {
		if !has(was, r) {
			f.tellReceiver(api.EventReceiverStalled, g, r.Address)
		}
	}
	for _, r := range was {
		if !has(is, r) {
			f.tellReceiver(api.EventReceiverRecovered, g, r.Address)
		}
	}
}

// evict takes receivers out that have stalled a group for longer than it
// allows, but never all.
func (f *Feature) evict(g *group) {
	if g.item == nil || g.item.Spec.EvictAfter == 0 {
		return
	}
	after := g.item.Spec.EvictAfter.D()
	changed := false
	for i := range g.probe.receivers {
		r := &g.probe.receivers[i]
		if r.seen < 2 || f.env.Now-r.since < after || g.evicted[r.Address] ||
			len(g.evicted)+1 >= len(g.item.Spec.Receivers)+len(g.Guests(&g.item.Spec)) {
			continue
		}
		g.evicted[r.Address] = true
		changed = true
		f.tellReceiver(api.EventReceiverEvicted, g, r.Address)
	}
	if !changed {
		return
	}
	g.probe.receivers = slices.DeleteFunc(g.probe.receivers,
		func(p progress) bool { return g.evicted[p.Address] })
	f.place(g, false)
	f.save(g)
}

// tellReceiver announces a change of a receiver of a group.
func (f *Feature) tellReceiver(t api.EventType, g *group, a netip.Addr) {
	f.env.Event(t, g.name, a.String(), nil,
		api.EventFields{Objects: member.Objects(f, g.name, api.RoleReceiver, a)})
}
