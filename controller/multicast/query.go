package multicast

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/multicast/member"
	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/southbound/entry"
)

// branchKey is a branch of a group on a switch.
type branchKey struct {
	sw     string
	group  uint16
	branch uint8
}

// query is a pending question for the state of a group.
type query struct {
	id       uint64
	group    *group
	report   api.GroupState
	place    map[branchKey][2]int // of each branch in the report
	open     int                  // branches without an answer
	finished func(*query)
}

// Query asks the switches of a group for its state. The answer, a api.GroupState, comes
// under the id, when all have answered or after the state timeout. The error is an
// *api.Error.
func (f *Feature) Query(name string) (id uint64, err error) {
	item, err := resource.Find(f.resources, name)
	if err != nil {
		return 0, err
	}
	g := item.Decided
	q := f.ask(g, whole, func(q *query) {
		f.findStalls(g, &q.report)
		f.env.Answer(q.id, q.report)
	})
	return q.id, nil
}

// whole is every node and branch of a group.
const whole = math.MaxInt

// ask sends a STATE packet-out for each branch of a group: as many nodes, from the root on, and
// branches of each as most says.
func (f *Feature) ask(g *group, most int, finished func(*query)) *query {
	p := g.resp
	if p == nil {
		p = g.target
	}
	q := &query{id: f.env.Question(), group: g, place: make(map[branchKey][2]int), finished: finished}
	q.report = api.GroupState{Group: g.name, Epoch: p.Epoch}
	for i := range min(most, len(p.Nodes)) {
		q.report.Nodes = append(q.report.Nodes, f.askNode(q, p, &p.Nodes[i], i, most))
	}
	if q.open == 0 {
		f.finish(q)
	} else {
		f.timers.Set(f.env.Now+f.inv().Intervals.StateTimeout.D(), func() { f.finish(q) })
	}
	return q
}

func (f *Feature) askNode(
	q *query, p *tree.Placement, n *tree.PlacedNode, at, most int,
) api.GroupNodeState {
	node := api.GroupNodeState{Switch: n.Switch, LastPSN: -1}
	for j := range min(most, len(n.Branches)) {
		b := &n.Branches[j]
		state := api.GroupBranchState{Index: b.Index, AckPSN: -1, EPSN: -1}
		if b.Receiver != nil {
			state.Receiver = b.Receiver.Address
		} else {
			state.Child = p.Nodes[b.Child].Switch
		}
		node.Branches = append(node.Branches, state)
		if f.packetOut(n.Switch, entry.PacketOut{Op: entry.State, Group: p.Group, Branch: b.Index}) {
			key := branchKey{n.Switch, p.Group, b.Index}
			q.place[key] = [2]int{at, j}
			f.asked[key] = append(f.asked[key], q)
			q.open++
		}
	}
	return node
}

// askGap is the pause before a group is asked again whose switch of the source does not answer.
const askGap = 100 * time.Millisecond

// where is [member.Tree.Where] of a group.
func (f *Feature) where(g *group, with func(psn, msn uint32, idle bool)) {
	if g.installed == nil || len(g.installed.Nodes[0].Branches) == 0 {
		with(g.item.Spec.InitialPSN, 0, true)
		return
	}
	f.ask(g, whole, func(q *query) {
		if g.item == nil {
			return
		}
		n := q.report.Nodes[0]
		if !n.Answered { // the switch may be away
			f.timers.Set(f.env.Now+askGap, func() {
				if g.item != nil {
					f.where(g, with)
				}
			})
			return
		}
		// A switch counts packets of its present epoch only. Without one, g.Reached still holds.
		idle := q.report.Complete
		if n.LastPSN >= 0 {
			g.Reached = member.Place{PSN: uint32(n.LastPSN), MSN: g.Reached.MSN, Known: true}
			for _, b := range n.Branches {
				idle = idle && (!b.Valid || uint32(b.EPSN) == g.Reached.PSN)
			}
			known := false
			for _, n := range q.report.Nodes {
				for _, b := range n.Branches {
					if b.Valid && (!known || (b.MSN-g.Reached.MSN)&maxPSN >= 1<<23) {
						g.Reached.MSN, known = b.MSN, true
					}
				}
			}
		}
		psn, msn := g.item.Spec.InitialPSN, uint32(0)
		if g.Reached.Known {
			psn, msn = g.Reached.PSN, g.Reached.MSN
		}
		with(psn, msn, idle)
	})
}

// answered takes the answer to a STATE packet-out, for all who asked.
func (f *Feature) answered(sw string, p entry.PacketIn) {
	key := branchKey{sw, p.Group, p.Branch}
	waiting := f.asked[key]
	delete(f.asked, key)
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
			f.finish(q)
		}
	}
}

const maxPSN = 1<<24 - 1

// finish ends a query, once.
func (f *Feature) finish(q *query) {
	if q.finished == nil {
		return
	}
	for _, key := range slices.SortedFunc(maps.Keys(q.place), compareBranches) {
		f.asked[key] = slices.DeleteFunc(f.asked[key], func(o *query) bool { return o == q })
		if len(f.asked[key]) == 0 {
			delete(f.asked, key)
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
	return cmp.Or(cmp.Compare(a.sw, b.sw), cmp.Compare(a.group, b.group),
		cmp.Compare(a.branch, b.branch))
}

// pollKey is a group on a switch.
type pollKey struct {
	sw    string
	group uint16
}

// windowOpened polls a group after the end of a CNP window that a switch has opened, because
// perhaps no packet comes to end the window.
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

// Sample holds the counters of the root of a group's tree, the switch of the source.
type Sample struct {
	Group string
	// Switch and Port are where the packets of the source come in.
	Switch string
	Port   uint32
	// At is the time of the switch's answer within the state timeout. Zero: the switch did not answer,
	// and the three fields below do not count.
	At time.Time
	// PSN: in this epoch, all packets before PSN were acknowledged to the source, modulo 2^24. -1: no
	// packet was acknowledged yet.
	PSN   int64
	Epoch uint32
	// CNPs are those sent to the source, modulo 2^32.
	CNPs uint32
	// Stalled receivers hold the group up, as far as is known.
	Stalled int
}

// Samples asks the roots of the groups that are established. The answer, a []Sample by index of the
// group, comes under the id, when all have answered or after the state timeout.
func (f *Feature) Samples() (id uint64) {
	id = f.env.Question()
	samples := []Sample{}
	open := 1
	done := func() {
		if open--; open == 0 {
			f.env.Answer(id, samples)
		}
	}
	for _, g := range f.ordered() {
		if g.item == nil || g.phase != steady || g.resp == nil || len(g.resp.Nodes) == 0 {
			continue
		}
		root, at := &g.resp.Nodes[0], len(samples)
		samples = append(samples, Sample{Group: g.name, Switch: root.Switch, Port: root.UpstreamPort,
			PSN: -1, Epoch: g.resp.Epoch, Stalled: len(g.probe.stalled())})
		open++
		f.ask(g, 1, func(q *query) {
			if n := &q.report.Nodes[0]; n.Answered {
				s := &samples[at]
				s.At, s.PSN, s.CNPs = f.env.Wall(), n.LastPSN, n.CNPTotal
			}
			done()
		})
	}
	done()
	return id
}
