package controller

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/entry"
	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/controller/plan"
)

// branchKey is a branch of a group on a switch.
type branchKey struct {
	sw     string
	group  uint16
	branch uint8
}

// query is a question for the state of a group that is under way.
type query struct {
	id       uint64
	group    *group
	report   StateReport
	place    map[branchKey][2]int // of each branch in the report
	open     int                  // branches without an answer
	finished func(*query)
}

// QueryState asks the switches of a group for its state. The answer comes with
// Ready, when all have answered or after the state timeout, under the id. The
// error is an *intent.Error.
func (c *Core) QueryState(name string) (id uint64, err error) {
	g, err := c.find(name, Precondition{})
	if err != nil {
		return 0, err
	}
	q := c.ask(g, func(q *query) {
		c.findStalls(g, &q.report)
		c.out.States = append(c.out.States, q.report)
	})
	c.settle()
	return q.id, nil
}

// ask sends a STATE packet-out for each branch of a group.
func (c *Core) ask(g *group, finished func(*query)) *query {
	p := g.resp
	if p == nil {
		p = g.target
	}
	c.queries++
	q := &query{id: c.queries, group: g, place: make(map[branchKey][2]int), finished: finished}
	q.report = StateReport{ID: q.id, Group: g.name, Epoch: p.Epoch}
	for i := range p.Nodes {
		q.report.Nodes = append(q.report.Nodes, c.askNode(q, p, &p.Nodes[i], i))
	}
	if q.open == 0 {
		c.finish(q)
	} else {
		c.timers.set(c.now+c.inv.Intervals.StateTimeout.D(), func() { c.finish(q) })
	}
	return q
}

func (c *Core) askNode(q *query, p *plan.Placement, n *plan.PlacedNode, at int) NodeState {
	node := NodeState{Switch: n.Switch, LastPSN: -1}
	for j := range n.Branches {
		b := &n.Branches[j]
		state := BranchState{Index: b.Index, AckPSN: -1, EPSN: -1}
		if b.Receiver != nil {
			state.Receiver = b.Receiver.Address
		} else {
			state.Child = p.Nodes[b.Child].Switch
		}
		node.Branches = append(node.Branches, state)
		if c.packetOut(n.Switch, entry.PacketOut{Op: entry.State, Group: p.Group, Branch: b.Index}) {
			key := branchKey{n.Switch, p.Group, b.Index}
			q.place[key] = [2]int{at, j}
			c.asked[key] = append(c.asked[key], q)
			q.open++
		}
	}
	return node
}

// answered takes the answer to a STATE packet-out, for all who asked.
func (c *Core) answered(sw string, p entry.PacketIn) {
	key := branchKey{sw, p.Group, p.Branch}
	waiting := c.asked[key]
	delete(c.asked, key)
	for _, q := range waiting {
		at := q.place[key]
		node := &q.report.Nodes[at[0]]
		node.Answered = true
		node.CNPTotal = p.CNPTotal
		if p.LastKnown {
			node.LastPSN = int64(p.LastPSN)
		}
		b := &node.Branches[at[1]]
		b.Answered, b.Valid, b.Epoch, b.MSN, b.CNPCount = true, p.Valid, p.Epoch, p.MSN, p.CNPCount
		if p.Valid {
			b.AckPSN, b.EPSN = int64(p.AckPSN), int64((p.AckPSN+1)&maxPSN)
			b.NAKPending = p.NAKPending
			if p.RNR {
				timer := p.RNRTimer
				b.RNRTimer = &timer
			}
		} else {
			b.MSN, b.CNPCount = 0, 0
		}
		q.open--
		if q.open == 0 {
			c.finish(q)
		}
	}
}

const maxPSN = 1<<24 - 1

// finish ends a query, once.
func (c *Core) finish(q *query) {
	if q.finished == nil {
		return
	}
	for _, key := range slices.SortedFunc(maps.Keys(q.place), compareBranches) {
		c.asked[key] = slices.DeleteFunc(c.asked[key], func(o *query) bool { return o == q })
		if len(c.asked[key]) == 0 {
			delete(c.asked, key)
		}
	}
	q.report.Complete = true
	for i := range q.report.Nodes {
		for j := range q.report.Nodes[i].Branches {
			q.report.Complete = q.report.Complete && q.report.Nodes[i].Branches[j].Answered
		}
	}
	finished := q.finished
	q.finished = nil
	finished(q)
}

func compareBranches(a, b branchKey) int {
	return cmp.Or(cmp.Compare(a.sw, b.sw), cmp.Compare(a.group, b.group), cmp.Compare(a.branch, b.branch))
}

// probe is what the core remembers of a group's receivers to find those that
// hold it up.
type probe struct {
	running   bool
	receivers []progress // those that are behind, ordered by address
}

// progress is where a receiver stood when it was last seen to move.
type progress struct {
	intent.StalledReceiver
	since time.Duration
	seen  int           // how often it was found at the same place
	last  time.Duration // when it was found there last
}

// stalled returns the receivers that are behind and were found at the same
// place twice.
func (p *probe) stalled() []intent.StalledReceiver {
	var out []intent.StalledReceiver
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
	c.timers.set(c.now+every, func() {
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
func (c *Core) findStalls(g *group, r *StateReport) {
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
			p.StalledReceiver = intent.StalledReceiver{Address: b.Receiver, Switch: n.Switch, Branch: b.Index, Valid: b.Valid, Since: c.wall()}
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
	has := func(list []intent.StalledReceiver, r intent.StalledReceiver) bool {
		return slices.ContainsFunc(list, func(o intent.StalledReceiver) bool { return o.Address == r.Address })
	}
	for _, r := range is {
		if !has(was, r) {
			c.event(ReceiverStalled, g.name, r.Address.String(), nil)
		}
	}
	for _, r := range was {
		if !has(is, r) {
			c.event(ReceiverStallEnded, g.name, r.Address.String(), nil)
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
		c.event(ReceiverEvicted, g.name, r.Address.String(), nil)
	}
	if !changed {
		return
	}
	g.probe.receivers = slices.DeleteFunc(g.probe.receivers, func(p progress) bool { return g.evicted[p.Address] })
	c.place(g, false)
	c.saves[g.name] = true
}
