package controller

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/timers"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// Config is what a Core starts with.
type Config struct {
	Inventory inventory.Inventory
	// Start is the wall-clock time at which the time given to Tick is 0.
	Start time.Time
}

// Core is the controller's state machine. Its methods must not be called
// concurrently; all of them are synchronous, and none blocks.
type Core struct {
	start time.Time
	now   time.Duration
	inv   *inventory.Inventory
	net   *plan.Network

	groups   map[string]*group
	byIndex  map[uint16]*group
	switches *reconcile.Reconciler
	underlay map[string]*underlaySwitch
	timers   timers.Timers

	epochs   map[uint16]uint32 // the highest ones given or seen, by index
	versions *resource.Versions
	events   uint64
	queries  uint64

	settled  bool          // see Intervals.Settle
	settling time.Duration // when it is at the latest; 0: no topology yet
	changes  int           // topologies so far
	adoption adoption
	entropy  entropy

	unrouted []string // devices whose routes are to be planned, in order
	routing  bool     // a timer is set to go on with them

	asked  map[branchKey][]*query
	polls  map[pollKey]bool
	check  map[uint16]bool // groups whose phase may be over
	status map[uint16]bool // groups whose status may have changed

	lossless lossless

	saves  map[string]bool // groups to be saved
	raised map[uint16]bool // indices whose epoch is to be saved
	gone   []string        // keys to be deleted
	out    Ready
}

// NewCore returns a core that goes on where the records of an earlier one, with
// any prefix of keys, end. It knows no topology and no switch yet.
func NewCore(cfg Config, records []store.Record) (*Core, error) {
	c := &Core{
		start: cfg.Start, versions: resource.NewVersions(versionsKey), groups: make(map[string]*group), byIndex: make(map[uint16]*group), underlay: make(map[string]*underlaySwitch),
		asked: make(map[branchKey][]*query), polls: make(map[pollKey]bool),
		epochs: make(map[uint16]uint32), raised: make(map[uint16]bool),
		check: make(map[uint16]bool), status: make(map[uint16]bool), saves: make(map[string]bool),
	}
	c.switches = reconcile.New(reconcile.Config{Owner: ownerOf, Rank: rank, Frozen: c.frozen, Keeps: c.keeps, Writing: c.writing})
	if err := c.setInventory(cfg.Inventory); err != nil {
		return nil, err
	}
	if cfg.Inventory.Intervals.Adopt > 0 {
		c.adoption = adoption{on: true, found: make(map[uint16]bool), proxies: make(map[netip.Addr]uint16)}
	}
	c.net = plan.NewNetwork(topology.Empty(), c.inv)
	var err error
	if c.lossless, err = newLossless(c.inv.PFCConfig(), c.versions); err != nil {
		return nil, err
	}
	for _, r := range records {
		if err := c.load(r); err != nil {
			return nil, fmt.Errorf("record %s: %w", r.Key, err)
		}
	}
	c.setEdges()
	for _, g := range c.ordered() {
		c.noteEpoch(g.index, g.highestEpoch())
		c.apply(g)
		c.watchStalls(g)
	}
	c.planLinks()
	c.settle()
	return c, nil
}

// Tick tells the time since the start, which does not go back; every other
// input happens at the time of the last Tick.
func (c *Core) Tick(now time.Duration) {
	c.now = max(c.now, now)
	c.switches.Tick(c.now)
	c.timers.Run(c.now)
	c.lossless.pfc.Tick(c.now)
	c.settle()
}

// Now returns the time of the last Tick.
func (c *Core) Now() time.Duration { return c.now }

// wall returns the wall-clock time.
func (c *Core) wall() time.Time { return c.start.Add(c.now).UTC() }

// Next returns the time at which Tick should be called at the latest.
func (c *Core) Next() (at time.Duration, ok bool) {
	for _, next := range []func() (time.Duration, bool){c.switches.Next, c.timers.Next, c.lossless.pfc.Next} {
		if t, also := next(); also && (!ok || t < at) {
			at, ok = t, true
		}
	}
	return at, ok
}

// want sets what a unit of a switch wants.
func (c *Core) want(sw string, unit int, entities []entry.Entity) {
	c.switches.Want(sw, reconcile.Owner(unit), entities, nil)
}

// ordered returns the groups by index.
func (c *Core) ordered() []*group {
	return slices.SortedFunc(maps.Values(c.groups), func(a, b *group) int { return cmp.Compare(a.index, b.index) })
}

// SwitchConnected tells that a switch takes writes and what it holds. A switch
// that connects again does so after SwitchDisconnected, or without.
func (c *Core) SwitchConnected(name string, contents entry.Contents) {
	again := c.switches.Connected(name)
	if !c.switches.Connect(name, contents) {
		return
	}
	c.learnEpochs(name, contents)
	if !again {
		c.event(api.EventSwitchChanged, name, fmt.Sprintf("connected, holds %d entities", len(contents.Entities)), nil)
	}
	c.concerned(name)
	if !c.underlay[name].routed && c.awaitsEVs() { // it only had to be known what it has
		c.unrouted = append(c.unrouted, name)
		c.planRoutes()
	}
	c.settle()
}

// learnEpochs learns from a switch which epochs were used, so that none is used again.
func (c *Core) learnEpochs(sw string, contents entry.Contents) {
	highest := make(map[uint16]uint32)
	for _, e := range contents.Entities {
		epoch, ok := plan.EpochOf(e)
		if i := plan.GroupOf(e); ok && i >= 0 {
			highest[uint16(i)] = max(highest[uint16(i)], epoch)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(highest)) {
		epoch := highest[i]
		c.noteEpoch(i, epoch)
		// The registers behind an epoch that this core did not write may speak of
		// another membership.
		g := c.byIndex[i]
		if g == nil || g.target == nil || epoch < g.target.Epoch || g.wrote(sw, epoch) {
			continue
		}
		c.raise(g)
	}
	c.findGroups(contents)
}

// SwitchDisconnected tells that a switch cannot be reached, and why.
func (c *Core) SwitchDisconnected(name string, why error) {
	if !c.switches.Exists(name) {
		return
	}
	reason := "disconnected"
	if why != nil {
		reason = why.Error()
	}
	if c.switches.Disconnect(name, reason) {
		c.event(api.EventSwitchChanged, name, reason, nil)
	}
	c.concerned(name)
	c.settle()
}

// concerned notes that the groups on a switch have to be looked at.
func (c *Core) concerned(name string) {
	c.lossless.stale = true
	for _, g := range c.groups {
		if g.touches[name] || g.target.Node(name) != nil {
			c.check[g.index], c.status[g.index] = true, true
		}
	}
}

// Done takes the outcome of a Task. One that is not awaited any more is ignored.
func (c *Core) Done(r reconcile.Result) {
	read := c.switches.Reading(r.Switch)
	if !c.switches.Done(r) {
		return
	}
	switch {
	case r.Err != nil:
	case read:
		c.learnEpochs(r.Switch, r.Contents)
		c.concerned(r.Switch)
	case len(r.Refused) > 0:
		for _, o := range []reconcile.Owner{linkUnit, routeUnit} {
			for _, msg := range c.switches.Failures(r.Switch, o, 1) {
				c.event(api.EventSwitchChanged, r.Switch, msg, nil)
			}
		}
	}
	c.settle()
}

// markReady has the groups looked at that wait for a switch to have what every
// group needs.
func (c *Core) markReady(name string) {
	for _, g := range c.groups {
		if g.phase == making && g.touches[name] {
			c.check[g.index] = true
		}
	}
}

// settle computes what follows from what has changed, until nothing does.
func (c *Core) settle() {
	c.settleUnits()
	for c.settleLossless() {
		c.settleUnits()
	}
	for _, i := range slices.Sorted(maps.Keys(c.status)) {
		if g := c.byIndex[i]; g != nil {
			c.updateStatus(g)
		}
	}
	clear(c.status)
	c.updateLossless()
}

// settleUnits computes what switches have to write, and moves groups on.
func (c *Core) settleUnits() {
	for c.switches.Dirty() || len(c.check) > 0 {
		c.switches.Diff(func(sw string, o reconcile.Owner) {
			if o == pfcUnit {
				c.lossless.stale = true
			}
			if o >= 0 {
				c.check[uint16(o)], c.status[uint16(o)] = true, true
			} else if c.isReady(sw) {
				c.markReady(sw)
			}
		})
		for _, i := range slices.Sorted(maps.Keys(c.check)) {
			delete(c.check, i)
			if g := c.byIndex[i]; g != nil {
				c.advance(g)
			}
		}
	}
}

// Ready returns what must be done now, and counts on its being done.
func (c *Core) Ready() Ready {
	r := c.out
	c.out = Ready{}
	r.Saves = c.takeSaves()
	r.Tasks = c.switches.Tasks()
	return r
}

// writing records the epochs that this core writes.
func (c *Core) writing(sw string, o reconcile.Owner, e entry.Entity) {
	if o < 0 {
		return
	}
	if epoch, ok := plan.EpochOf(e); ok {
		if g := c.byIndex[uint16(o)]; g != nil {
			g.note(sw, epoch)
		}
	}
}

func (c *Core) event(t api.EventType, object, message string, g *api.MulticastGroup) {
	c.events++
	c.out.Events = append(c.out.Events, api.Event{Seq: c.events, Time: c.wall(), Type: t, Object: object, Message: message, Group: g})
}

// env is what validation has to know.
func (c *Core) env(name string) api.GroupEnv {
	return api.GroupEnv{
		Limits: c.inv.Limits, Host: c.net.HostName, Taken: c.net.Taken,
		OtherGroup: func(a netip.Addr) (string, bool) {
			for _, g := range c.ordered() {
				if g.name != name && g.uses(a) {
					return g.name, true
				}
			}
			return "", false
		},
	}
}
