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
	item, err := f.resources.Find(name)
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
		// Switches know of the packets of their epoch alone: where none has come, it is as it was.
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
