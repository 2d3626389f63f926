package multicast

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/multicast/member"
	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
)

// group is a multicast group: the decisions of the controller about the resource, and their
// progress.
type group struct {
	name  string
	index uint16
	job   string // that it was made for; "": a client made it
	// item is the resource; nil when it was deleted, and something of the group may
	// still be in switches.
	item    *resource.Item[api.MulticastGroupSpec, *group]
	evicted map[netip.Addr]bool

	change
	member.Hosts        // that are connected
	token        string // of spec.connect, which has none
	// queued is the target that waits for switching to end.
	queued *tree.Placement
	// drained is when draining ends.
	drained time.Duration
	// planErr reports why the group cannot be planned on the present network.
	planErr *api.Error

	// installed is the placement that was complete last.
	installed *tree.Placement

	// touches holds the switches that may hold entries of the group.
	touches map[string]bool
	// loaded: the placements come from the store, so that an earlier core may
	// have written their epochs. writes are those this core wrote, by switch.
	loaded bool
	writes map[string]uint32
	// adopted: switches may hold a tree of the group that this controller did not
	// plan, and keep it until the group's own carries data.
	adopted bool

	pairs []api.QueuePair // those that the group is noted for in Feature.pairs

	status api.MulticastGroupStatus
	probe  probe
}

func newGroup(name string, index uint16) *group {
	return &group{
		name: name, index: index, evicted: make(map[netip.Addr]bool),
		touches: make(map[string]bool), writes: make(map[string]uint32),
	}
}

func (g *group) evictedList() []netip.Addr {
	var out []netip.Addr
	for a := range g.evicted {
		out = append(out, a)
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return out
}

// owner is the owner of what switches hold for the group.
func (g *group) owner() reconcile.Owner { return reconcile.Owner(g.index) }

// placements returns all that are in use.
func (g *group) placements() []*tree.Placement {
	var out []*tree.Placement
	for _, p := range []*tree.Placement{g.target, g.queued, g.resp, g.data, g.oldResp, g.oldData} {
		if p != nil && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

func (g *group) highestEpoch() (epoch uint32) {
	for _, p := range g.placements() {
		epoch = max(epoch, p.Epoch)
	}
	return epoch
}

// uses reports whether an address is the group's proxy address, or was and is
// still in switches.
func (g *group) uses(a netip.Addr) bool {
	return g.item != nil && g.item.Spec.ProxyAddress == a ||
		slices.ContainsFunc(g.placements(), func(p *tree.Placement) bool { return p.Proxy == a })
}

// latest returns the placement that was decided on last.
func (g *group) latest() *tree.Placement {
	if g.queued != nil {
		return g.queued
	}
	return g.target
}

// note remembers an epoch that is being written to a switch.
func (g *group) note(sw string, epoch uint32) { g.writes[sw] = max(g.writes[sw], epoch) }

// wrote reports whether an epoch found in a switch can come from this group.
func (g *group) wrote(sw string, epoch uint32) bool {
	if g.writes[sw] >= epoch {
		return true
	}
	return g.loaded && slices.ContainsFunc(g.placements(),
		func(p *tree.Placement) bool { return p.Epoch == epoch })
}

// resource returns the group as clients see it.
func (g *group) resource() api.MulticastGroup {
	return api.MulticastGroup{Name: g.name, Job: g.job, Version: g.item.Version,
		Created: g.item.Created, Spec: g.item.Spec.Clone(), Status: g.status}
}

// newPlacement places a group and takes an epoch when it needs a new one.
func (f *Feature) newPlacement(
	g *group, spec *api.MulticastGroupSpec, without map[netip.Addr]bool, reset bool,
) (*tree.Placement, error) {
	p, err := tree.Place(f.env.Net, f.wanted(g, spec, without, reset))
	if err != nil {
		return nil, err
	}
	return p, f.takeEpoch(g, p)
}

// wanted returns the request by which a group is placed.
func (f *Feature) wanted(
	g *group, spec *api.MulticastGroupSpec, without map[netip.Addr]bool, reset bool,
) tree.Request {
	spec, without = g.Fill(spec, without)
	r := tree.Request{Name: g.name, Group: g.index, Spec: spec, Without: without, Previous: g.latest(),
		Reset: reset}
	r.Epoch = f.nextEpoch(g.index, r.Previous)
	if turn, ok := g.liveTurn(); ok {
		r.Turn = 1 - turn
	} else if g.adopted {
		r.Turn = f.turnBeside(g, r)
	}
	return r
}

// takeEpoch takes the epoch of a new placement of a group. The error says that no epoch is left.
func (f *Feature) takeEpoch(g *group, p *tree.Placement) error {
	if p.Epoch == 0 || f.epochs[g.index] == lastEpoch && p.Epoch != lastEpoch {
		return errNoEpoch(g.index)
	}
	f.noteEpoch(g.index, p.Epoch)
	return nil
}

// lastEpoch is the highest epoch. After it an index can have no further epoch.
const lastEpoch = math.MaxUint32

// nextEpoch returns an epoch that no register of an index has seen. The epoch is greater than every
// epoch that this controller, or an earlier controller on the same store, has given to the index or
// found in a switch, and at least the number of seconds since 1970. An earlier controller with a
// lost store cannot have passed this number unless it raised the epoch of one group more than once
// a second all the time. The low 16 bits, which the responses carry, differ from the previous
// epoch. 0, which is no epoch, means that no epoch is left.
func (f *Feature) nextEpoch(index uint16, prev *tree.Placement) uint32 {
	e := uint64(f.epochs[index]) + 1
	if s := f.env.Wall().Unix(); s > int64(e) && s < 1<<32-1<<16 {
		e = uint64(s)
	}
	if prev != nil && uint16(e) == uint16(prev.Epoch) {
		e++
	}
	if e > lastEpoch {
		return 0
	}
	return uint32(e)
}

// noteEpoch remembers that an epoch has been used at an index.
func (f *Feature) noteEpoch(index uint16, epoch uint32) {
	if epoch > f.epochs[index] {
		f.epochs[index] = epoch
		f.raised.add(index)
	}
}

func errNoEpoch(index uint16) *api.Error {
	return &api.Error{Code: api.CodeNotPlannable, Message: fmt.Sprintf(
		"the epochs of index %d are used up (%d was found in a switch, or given); delete the group and "+
			"apply it again, which gives it another index", index, uint32(lastEpoch))}
}

// place plans a group on the present network, and moves it there.
func (f *Feature) place(g *group, reset bool) {
	if g.item != nil {
		f.placeAll([]*group{g}, reset)
	}
}

// placeAll places several groups. No group may be under removal.
func (f *Feature) placeAll(groups []*group, reset bool) {
	requests := make([]tree.Request, len(groups))
	for i, g := range groups {
		requests[i] = f.wanted(g, &g.item.Spec, g.evicted, reset)
	}
	placed := tree.PlaceAll(f.env.Net, requests)
	for i, g := range groups {
		r := placed[i]
		if r.Err == nil {
			r.Err = f.takeEpoch(g, r.Placement)
		}
		f.move(g, r.Placement, r.Err)
	}
}

// move moves a group to a placement; err says why it has none.
func (f *Feature) move(g *group, p *tree.Placement, err error) {
	f.status.add(g.index)
	if err != nil {
		if !errors.As(err, &g.planErr) {
			g.planErr = &api.Error{Code: api.CodeNotPlannable, Message: err.Error()}
		}
		return // what it has stays
	}
	g.planErr = nil
	if !reflect.DeepEqual(p, g.latest()) {
		f.aim(g, p)
	}
}

// aim turns a group to a new target, at once or when switching is over.
func (f *Feature) aim(g *group, p *tree.Placement) {
	if g.phase == switching && p != nil && !f.switched(g) {
		g.queued = p
	} else {
		g.queued = nil
		g.begin(p)
		f.apply(g)
	}
	f.save(g)
	f.status.add(g.index)
}

// switched reports whether the switch of the source is not known to be between
// two trees.
func (f *Feature) switched(g *group) bool {
	for _, p := range []*tree.Placement{g.target, g.oldData} {
		if p == nil {
			continue
		}
		if sw := p.Nodes[0].Switch; f.env.Switches.Connected(sw) &&
			!f.env.Switches.Of(sw, g.owner()).Clean() {
			return false
		}
	}
	return true
}

// apply sets what every switch should hold for a group in its phase.
func (f *Feature) apply(g *group) {
	for _, sw := range append(g.switches(), f.connectSwitches(g)...) {
		f.noteOn(sw, g)
	}
	for sw := range g.touches {
		entities := append(g.entities(sw), f.connectEntities(g, sw)...)
		if !f.env.Switches.Exists(sw) || len(entities) == 0 && (!f.env.Switches.Connected(sw) ||
			!f.env.Switches.Of(sw, g.owner()).Serves()) {
			delete(g.touches, sw)
		}
		f.env.Want.Set(sw, g.owner(), entities, nil)
	}
	f.check.add(g.index)
}

// raise gives a group a new epoch and leaves everything else as it is.
func (f *Feature) raise(g *group) {
	p := *g.latest()
	p.Epoch = f.nextEpoch(g.index, &p)
	if p.Epoch == 0 {
		g.planErr = errNoEpoch(g.index)
		f.status.add(g.index)
		return // what it has stays
	}
	f.noteEpoch(g.index, p.Epoch)
	f.aim(g, &p)
}

// advance enters the next phases of a group, as far as the switches have progressed.
func (f *Feature) advance(g *group) {
	for g.phase != steady && f.finished(g) {
		if g.phase == responding && g.leaves() {
			f.pollLeaves(g)
		}
		if g.phase == switching && g.queued != nil {
			p := g.queued
			g.queued = nil
			g.begin(p)
		} else {
			g.next()
		}
		if g.phase == draining {
			g.installed = g.target
			f.drain(g)
		}
		if g.phase == cleaning {
			f.disown(g)
		}
		if g.phase == steady && g.target == nil {
			f.forget(g)
			return
		}
		f.takePairs(g)
		f.save(g)
		f.status.add(g.index)
		f.apply(g)
	}
}

// finished reports whether the present phase is over.
func (f *Feature) finished(g *group) bool {
	if g.phase == draining && f.env.Now < g.drained {
		return false
	}
	for sw := range g.touches {
		switch {
		case !f.env.Switches.Connected(sw):
			// The group waits for a needed switch, but not for a switch that the tree leaves.
			if g.phase != cleaning && g.phase != draining && g.target.Node(sw) != nil {
				return false
			}
		case !f.env.Switches.Of(sw, g.owner()).Clean():
			return false
		case g.phase == making && g.target.Node(sw) != nil && !f.env.Underlay.Ready(sw):
			return false
		}
	}
	return true
}

// drain waits for the packets that are on their way in the old tree.
func (f *Feature) drain(g *group) {
	if g.oldData == nil {
		g.drained = f.env.Now
		return
	}
	g.drained = f.env.Now + f.inv().Intervals.Drain.D()
	index := g.index
	f.timers.Set(g.drained, func() { f.check.add(index) })
}

// forget ends a group that has left the switches.
func (f *Feature) forget(g *group) {
	for sw := range g.touches {
		f.env.Want.Set(sw, g.owner(), nil, nil)
	}
	f.leavePairs(g)
	delete(f.groups, g.name)
	delete(f.byIndex, g.index)
	f.unsaved[g.name] = true
}

// A queue pair belongs to one group, as the queue pair of the source or of a receiver, until the
// group has left the switches with the queue pair. Records from before this rule may break the
// rule: the groups continue, and are Degraded.

// takePairs notes the queue pairs of a group: the queue pairs in the spec, and the queue pairs of
// trees that may still carry data.
func (f *Feature) takePairs(g *group) {
	now := make(map[api.QueuePair]struct{})
	for _, p := range g.specPairs() {
		now[p] = struct{}{}
	}
	for _, p := range g.placements() {
		if p.Source.QPN != 0 {
			now[api.QueuePair{Address: p.Source.Address, QPN: p.Source.QPN}] = struct{}{}
		}
		for i := range p.Nodes {
			for _, b := range p.Nodes[i].Branches {
				if b.Receiver != nil {
					now[api.QueuePair{Address: b.Receiver.Address, QPN: b.Receiver.QPN}] = struct{}{}
				}
			}
		}
	}
	f.leavePairs(g)
	g.pairs = slices.Collect(maps.Keys(now))
	for _, p := range g.pairs {
		f.pairs[p] = append(f.pairs[p], g)
		f.notePair(p)
	}
}

// leavePairs forgets the queue pairs of a group.
func (f *Feature) leavePairs(g *group) {
	for _, p := range g.pairs {
		f.notePair(p)
		if f.pairs[p] = slices.DeleteFunc(f.pairs[p],
			func(o *group) bool { return o == g }); len(f.pairs[p]) == 0 {
			delete(f.pairs, p)
		}
	}
	g.pairs = nil
}

// notePair has the status of groups looked at that share a queue pair.
func (f *Feature) notePair(p api.QueuePair) {
	if len(f.pairs[p]) > 1 {
		for _, g := range f.pairs[p] {
			f.status.add(g.index)
		}
	}
}

// specPairs returns the queue pairs of the spec and of the connections of a group. A deleted group
// returns no queue pairs.
func (g *group) specPairs() []api.QueuePair {
	if g.item == nil {
		return nil
	}
	s, _ := g.Fill(&g.item.Spec, nil)
	out := []api.QueuePair{{Address: s.Source.Address, QPN: s.Source.QPN}}
	for i := range s.Receivers {
		out = append(out, api.QueuePair{Address: s.Receivers[i].Address, QPN: s.Receivers[i].QPN})
	}
	out = append(out, g.Pairs()...)
	return slices.DeleteFunc(out, func(p api.QueuePair) bool { return p.QPN == 0 })
}

// shared describes a queue pair of a group that another group uses too; "" means no shared queue
// pair. The text does not name the other group, because clients of this group may not see the other
// group.
func (f *Feature) shared(g *group) string {
	for _, p := range g.specPairs() {
		others := slices.ContainsFunc(f.pairs[p],
			func(o *group) bool { return o != g && slices.Contains(o.specPairs(), p) })
		if others {
			return fmt.Sprintf("queue pair %d of %s is another group's too", p.QPN, p.Address)
		}
	}
	return ""
}
