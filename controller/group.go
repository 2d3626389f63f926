package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
)

// group is a multicast group.
type group struct {
	name    string
	index   uint16
	version uint64
	created time.Time
	spec    api.MulticastGroupSpec // complete
	evicted map[netip.Addr]bool

	change
	// queued is the target that waits for switching to end.
	queued *plan.Placement
	// removed: there is no such resource any more, but something of it may still
	// be in switches.
	removed bool
	// drained is when draining ends.
	drained time.Duration
	// planErr says why the group cannot be planned on the present network.
	planErr *api.Error

	// installed is the placement that was complete last.
	installed *plan.Placement

	// touches are the switches whose unit of this group is not known to be empty.
	touches map[string]bool
	// loaded: the placements come from the store, so that an earlier core may
	// have written their epochs. writes are those this core wrote, by switch.
	loaded bool
	writes map[string]uint32
	// adopted: switches may hold a tree of the group that this controller did not
	// plan, and keep it until the group's own carries data.
	adopted bool

	status api.MulticastGroupStatus
	probe  probe
}

func newGroup(name string, index uint16) *group {
	return &group{
		name: name, index: index, evicted: make(map[netip.Addr]bool),
		touches: make(map[string]bool), writes: make(map[string]uint32),
	}
}

// groupRecord is a group in the store. Placements that are the same are kept
// once; the others are places in Placements, -1 for none.
type groupRecord struct {
	Index      uint16                 `json:"index"`
	Version    uint64                 `json:"version"`
	Created    time.Time              `json:"created"`
	Spec       api.MulticastGroupSpec `json:"spec"`
	Evicted    []netip.Addr           `json:"evicted,omitempty"`
	Removed    bool                   `json:"removed,omitempty"`
	Adopted    bool                   `json:"adopted,omitempty"`
	Phase      phase                  `json:"phase"`
	Placements []*plan.Placement      `json:"placements"`
	Target     int                    `json:"target"`
	Queued     int                    `json:"queued"`
	Resp       int                    `json:"resp"`
	Data       int                    `json:"data"`
	OldResp    int                    `json:"oldResp"`
	OldData    int                    `json:"oldData"`
}

func (g *group) encode() []byte {
	r := groupRecord{
		Index: g.index, Version: g.version, Created: g.created, Spec: g.spec, Removed: g.removed, Phase: g.phase,
		Evicted: g.evictedList(), Adopted: g.adopted,
	}
	put := func(p *plan.Placement) int {
		if p == nil {
			return -1
		}
		if i := slices.Index(r.Placements, p); i >= 0 {
			return i
		}
		r.Placements = append(r.Placements, p)
		return len(r.Placements) - 1
	}
	r.Target, r.Queued = put(g.target), put(g.queued)
	r.Resp, r.Data, r.OldResp, r.OldData = put(g.resp), put(g.data), put(g.oldResp), put(g.oldData)
	return resource.Encode(r)
}

func decodeGroup(name string, b []byte) (*group, error) {
	var r groupRecord
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, err
	}
	if r.Phase > cleaning {
		return nil, fmt.Errorf("phase %d", r.Phase)
	}
	g := newGroup(name, r.Index)
	g.version, g.created, g.spec, g.removed, g.phase = r.Version, r.Created, r.Spec, r.Removed, r.Phase
	g.adopted = r.Adopted
	for _, a := range r.Evicted {
		g.evicted[a] = true
	}
	for _, f := range []struct {
		to *(*plan.Placement)
		at int
	}{{&g.target, r.Target}, {&g.queued, r.Queued}, {&g.resp, r.Resp}, {&g.data, r.Data}, {&g.oldResp, r.OldResp}, {&g.oldData, r.OldData}} {
		if f.at >= len(r.Placements) || f.at < -1 {
			return nil, fmt.Errorf("placement %d of %d", f.at, len(r.Placements))
		}
		if f.at >= 0 {
			*f.to = r.Placements[f.at]
		}
	}
	if g.latest() == nil && !g.removed {
		return nil, errors.New("no placement")
	}
	switch g.phase {
	case steady, draining, cleaning:
		g.installed = g.target
	case switching:
		g.installed = g.oldData
	default:
		g.installed = g.data
	}
	return g, nil
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
func (g *group) placements() []*plan.Placement {
	var out []*plan.Placement
	for _, p := range []*plan.Placement{g.target, g.queued, g.resp, g.data, g.oldResp, g.oldData} {
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
	return !g.removed && g.spec.ProxyAddress == a ||
		slices.ContainsFunc(g.placements(), func(p *plan.Placement) bool { return p.Proxy == a })
}

// latest returns the placement that was decided on last.
func (g *group) latest() *plan.Placement {
	if g.queued != nil {
		return g.queued
	}
	return g.target
}

// note remembers an epoch that is being written to a switch.
func (g *group) note(sw string, epoch uint32) { g.writes[sw] = max(g.writes[sw], epoch) }

// wrote reports whether an epoch found in a switch can be one of this group's.
func (g *group) wrote(sw string, epoch uint32) bool {
	if g.writes[sw] >= epoch {
		return true
	}
	return g.loaded && slices.ContainsFunc(g.placements(), func(p *plan.Placement) bool { return p.Epoch == epoch })
}

// resource returns the group as clients see it.
func (g *group) resource() api.MulticastGroup {
	r := api.MulticastGroup{Name: g.name, Version: g.version, Created: g.created, Spec: g.spec.Clone(), Status: g.status}
	r.Status.Conditions = slices.Clone(g.status.Conditions)
	return r
}

// newPlacement places a group and takes an epoch when it needs a new one.
func (c *Core) newPlacement(g *group, spec *api.MulticastGroupSpec, without map[netip.Addr]bool, reset bool) (*plan.Placement, error) {
	r := plan.Request{Name: g.name, Group: g.index, Spec: spec, Without: without, Previous: g.latest(), Reset: reset}
	r.Epoch = c.nextEpoch(g.index, r.Previous)
	if turn, ok := g.liveTurn(); ok {
		r.Turn = 1 - turn
	} else if g.adopted {
		r.Turn = c.turnBeside(g, r)
	}
	p, err := c.net.Place(r)
	if err != nil {
		return nil, err
	}
	if p.Epoch == 0 || c.epochs[g.index] == lastEpoch && p.Epoch != lastEpoch {
		return nil, errNoEpoch(g.index)
	}
	c.noteEpoch(g.index, p.Epoch)
	return p, nil
}

// place plans a group on the present network, and moves it there.
func (c *Core) place(g *group, reset bool) {
	if g.removed {
		return
	}
	p, err := c.newPlacement(g, &g.spec, g.evicted, reset)
	c.status[g.index] = true
	if err != nil {
		g.planErr = nil
		if !errors.As(err, &g.planErr) {
			g.planErr = &api.Error{Code: api.CodeNotPlannable, Message: err.Error()}
		}
		return // what it has stays
	}
	g.planErr = nil
	if !reflect.DeepEqual(p, g.latest()) {
		c.aim(g, p)
	}
}

// aim turns a group to a new target, at once or when switching is over.
func (c *Core) aim(g *group, p *plan.Placement) {
	if g.phase == switching && p != nil && !c.switched(g) {
		g.queued = p
	} else {
		g.queued = nil
		g.begin(p)
		c.apply(g)
	}
	c.saves[g.name] = true
	c.status[g.index] = true
}

// switched reports whether the switch of the source is not known to be between
// two trees.
func (c *Core) switched(g *group) bool {
	for _, p := range []*plan.Placement{g.target, g.oldData} {
		if p == nil {
			continue
		}
		if sw := p.Nodes[0].Switch; c.switches.Connected(sw) && !c.switches.Clean(sw, g.owner()) {
			return false
		}
	}
	return true
}

// apply tells every switch what it should hold for a group in its phase.
func (c *Core) apply(g *group) {
	for _, sw := range g.switches() {
		g.touches[sw] = true
	}
	for sw := range g.touches {
		entities := g.entities(sw)
		if !c.switches.Exists(sw) || len(entities) == 0 && (!c.switches.Connected(sw) || !c.switches.Serves(sw, g.owner())) {
			delete(g.touches, sw)
		}
		c.want(sw, int(g.index), entities)
	}
	c.check[g.index] = true
}

// raise gives a group a new epoch and leaves everything else as it is.
func (c *Core) raise(g *group) {
	p := *g.latest()
	p.Epoch = c.nextEpoch(g.index, &p)
	if p.Epoch == 0 {
		g.planErr = errNoEpoch(g.index)
		c.status[g.index] = true
		return // what it has stays
	}
	c.noteEpoch(g.index, p.Epoch)
	c.aim(g, &p)
}

// advance enters the next phase of a group, and those after it, as far as the
// switches have got.
func (c *Core) advance(g *group) {
	for g.phase != steady && c.finished(g) {
		if g.phase == responding && g.leaves() {
			c.pollLeaves(g)
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
			c.drain(g)
		}
		if g.phase == cleaning {
			c.disown(g)
		}
		if g.phase == steady && g.target == nil {
			c.forget(g)
			return
		}
		c.saves[g.name], c.status[g.index] = true, true
		c.apply(g)
		if g.diffs(c) {
			return // settle comes back when the differences are known
		}
	}
}

// diffs reports whether some switch has differences of the group's to compute.
func (g *group) diffs(c *Core) bool {
	for sw := range g.touches {
		if c.switches.Connected(sw) && !c.switches.Computed(sw, g.owner()) {
			return true
		}
	}
	return false
}

// finished reports whether the present phase is over.
func (c *Core) finished(g *group) bool {
	if g.phase == draining && c.now < g.drained {
		return false
	}
	for sw := range g.touches {
		switch {
		case !c.switches.Connected(sw):
			// What is being left need not be reached, what is needed must be.
			if g.phase != cleaning && g.phase != draining && g.target.Node(sw) != nil {
				return false
			}
		case !c.switches.Clean(sw, g.owner()):
			return false
		case g.phase == making && g.target.Node(sw) != nil && !c.isReady(sw):
			return false
		}
	}
	return true
}

// drain waits for the packets that are on their way in the old tree.
func (c *Core) drain(g *group) {
	if g.oldData == nil {
		g.drained = c.now
		return
	}
	g.drained = c.now + c.inv.Intervals.Drain.D()
	index := g.index
	c.timers.Set(g.drained, func() { c.check[index] = true })
}

// forget ends a group that has been removed.
func (c *Core) forget(g *group) {
	for sw := range g.touches {
		c.want(sw, int(g.index), nil)
	}
	delete(c.groups, g.name)
	delete(c.byIndex, g.index)
	delete(c.saves, g.name)
	c.gone = append(c.gone, groupPrefix+g.name)
}
