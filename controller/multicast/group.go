package multicast

import (
	"errors"
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
