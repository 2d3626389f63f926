package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/discovery"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/job"
	"github.com/weft-sdn/weft/controller/leases"
	"github.com/weft-sdn/weft/controller/maintenance"
	"github.com/weft-sdn/weft/controller/multicast"
	"github.com/weft-sdn/weft/controller/neighbor"
	"github.com/weft-sdn/weft/controller/networks"
	"github.com/weft-sdn/weft/controller/notification"
	"github.com/weft-sdn/weft/controller/orphan"
	"github.com/weft-sdn/weft/controller/pfc"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/port"
	"github.com/weft-sdn/weft/controller/project"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/controller/silence"
	"github.com/weft-sdn/weft/controller/underlay"
	"github.com/weft-sdn/weft/internal/plain"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// versionsKey is the key of the record of the last version.
const versionsKey = "versions"

// Config is what a Core starts with.
type Config struct {
	Inventory inventory.Inventory
	// Start is the wall-clock time at which the time given to Tick is 0.
	Start time.Time
}

// Core is the controller's state machine. Its methods must not be called
// concurrently; all of them are synchronous, and none blocks.
type Core struct {
	env      feature.Env
	switches reconcile.State
	events   reconcile.Events
	// advertised is the learned topology, configured the inventory as written. Env.Net combines both
	// with the port reports of switches.
	advertised *topology.Snapshot
	configured *inventory.Inventory
	kept       uint64 // up to which number the store has all writes

	// features lists the features below, in the order of the calls.
	features  []feature.Feature
	ports     *port.Feature
	underlay  *underlay.Feature
	multicast *multicast.Feature
	pfc       *pfc.Feature
	orphans   *orphan.Feature
	networks  *networks.Feature
	projects  *project.Feature
	jobs      *job.Feature
	leases    *leases.Feature

	finders
	maintenances *maintenance.Feature
	silences     *silence.Feature
	told         *notification.Feature
}

// finders find links and hosts by the frames that arrive.
type finders struct {
	discovery *discovery.Feature
	neighbors *neighbor.Feature
}

// NewCore returns a core that goes on where the records of an earlier one end. It
// knows no topology and no switch yet.
func NewCore(cfg Config, records []store.Record) (*Core, error) {
	return newCore(cfg, records, nil)
}

// newCore also gives the features what restore has, one function a feature.
func newCore(cfg Config, records []store.Record, restore []func(feature.Feature)) (*Core, error) {
	if err := cfg.Inventory.Validate(); err != nil {
		return nil, err
	}
	c := &Core{advertised: topology.Empty(), configured: &cfg.Inventory}
	want, state, events, err := reconcile.New(reconcile.Config{
		Owner: ownerOf, Rank: plan.Rank, Frozen: c.frozen, Keeps: c.keeps, Object: c.object,
		Start:    cfg.Start,
		Intended: func(o reconcile.Owner) bool { return plan.Intended(int(o)) },
	}, records)
	if err != nil {
		return nil, err
	}
	c.switches, c.events = state, events
	c.env = feature.Env{Start: cfg.Start, Want: want, Switches: state,
		Versions: resource.NewVersions(versionsKey),
		Fabric: &fabricview.View{Why: "the paths of the fabric are not known yet",
			NoLosses: "the controller has just started"}}
	if !cfg.Inventory.MRC.On() {
		c.env.Fabric.Why = "the configuration has no MRC fabric"
		c.env.Fabric.NoLosses = c.env.Fabric.Why
	}
	c.env.Net, c.env.Whole = plan.NewNetwork(c.advertised, c.configured), whole{c}
	c.setSwitches()
	if err := c.compose(); err != nil {
		return nil, err
	}
	for _, r := range records {
		if err := c.load(r); err != nil {
			return nil, fmt.Errorf("record %s: %w", r.Key, err)
		}
	}
	for i, f := range restore {
		f(c.features[i])
	}
	c.tellProjects()
	for _, f := range c.features {
		f.Start()
	}
	if cfg.Inventory.Neighbors.On() {
		c.env.Net, c.env.Renew = c.network(c.advertised, c.configured), true
	}
	c.settle()
	return c, nil
}

// ownerOf returns whose an entity is.
func ownerOf(e entry.Entity) reconcile.Owner { return reconcile.Owner(plan.OwnerOf(e)) }

func (c *Core) load(r store.Record) error {
	if ok, err := c.env.Versions.Load(r); ok {
		return err
	}
	for _, f := range c.features {
		if ok, err := f.Load(r); ok {
			return err
		}
	}
	return nil
}

// records returns all records in the form that the store has after all saves.
func (c *Core) records() []store.Record {
	out := append(c.events.Records(), c.env.Versions.Record())
	for _, f := range c.features {
		out = append(out, f.Records()...)
	}
	return out
}

// Tick sets the time since the start, which does not go back; every other input
// happens at the time of the last Tick.
func (c *Core) Tick(now time.Duration) {
	c.env.Now = max(c.env.Now, now)
	c.events.Tick(c.env.Now)
	for _, f := range c.features {
		f.Tick()
	}
	for _, name := range c.leases.Gone() {
		c.took(leases.Kind.Record, name, nil)
	}
	if ports, hosts := c.ports.Moved(), c.neighbors.Moved(); ports || hosts {
		c.setNetwork(c.advertised, c.configured)
		return
	}
	c.settle()
}

// Now returns the time of the last Tick.
func (c *Core) Now() time.Duration { return c.env.Now }

// Next returns the time at which Tick should be called at the latest.
func (c *Core) Next() (at time.Duration, ok bool) {
	at, ok = c.events.Next()
	for _, f := range c.features {
		if t, also := f.Next(); also && (!ok || t < at) {
			at, ok = t, true
		}
	}
	return at, ok
}

// SetTopology replaces the topology.
func (c *Core) SetTopology(s *topology.Snapshot) {
	if s == c.advertised {
		return
	}
	message, says := describeTopology(c.advertised, s)
	c.env.Event(api.EventTopologyChanged, "", message, nil, says)
	c.setNetwork(s, c.configured)
}

// SetFabric takes a view of the MRC fabric that is newer than the view before.
func (c *Core) SetFabric(v *fabricview.View) {
	if v.Revision > c.env.Fabric.Revision {
		c.env.Fabric = v
		c.settle()
	}
}

func describeTopology(old, s *topology.Snapshot) (string, api.EventFields) {
	says := api.EventFields{Numbers: &api.EventNumbers{Nodes: new(len(s.Nodes)),
		Links: new(len(s.Links)), Prefixes: new(len(s.Prefixes))}}
	msg := fmt.Sprintf("version %d: %d nodes, %d links, %d prefixes", s.Version, len(s.Nodes),
		len(s.Links), len(s.Prefixes))
	if s.Stale != nil && old.Stale == nil {
		msg += "; stale: " + s.Stale.Reason
		says.Reason = s.Stale.Reason
	}
	return msg, says
}

// SetInventory replaces the inventory. New switches may connect from now on; those it
// lacks are forgotten.
func (c *Core) SetInventory(inv inventory.Inventory) error {
	if err := inv.Validate(); err != nil {
		return err
	}
	c.setNetwork(c.advertised, &inv)
	return nil
}

func (c *Core) setNetwork(s *topology.Snapshot, inv *inventory.Inventory) {
	c.advertised, c.configured = s, inv
	c.env.Net = c.network(s, inv).WithEdges(c.env.Net.Edges()).WithIsolated(c.env.Net.Isolated()).
		WithDrained(c.env.Net.Drained())
	c.setSwitches()
	for _, f := range c.features {
		f.SetNetwork()
	}
	c.settle()
}

// setSwitches takes over the switches and intervals of the inventory.
func (c *Core) setSwitches() {
	inv := c.env.Inventory()
	managed := make(map[string]bool)
	for i := range inv.Switches {
		if sw := &inv.Switches[i]; sw.Managed() {
			managed[sw.Name] = true
		}
	}
	i := &inv.Intervals
	c.events.SetSwitches(managed, reconcile.Intervals{
		Audit: i.Audit.D(), RetryMin: i.RetryMin.D(), RetryMax: i.RetryMax.D(),
	})
}

// Inventory returns the present inventory, which must not be changed.
func (c *Core) Inventory() *inventory.Inventory { return c.env.Inventory() }

// Topology returns the present topology, as advertised.
func (c *Core) Topology() *topology.Snapshot { return c.advertised }

// SwitchConnected reports that a switch takes writes, and what it holds. A switch may
// connect again with or without SwitchDisconnected in between.
func (c *Core) SwitchConnected(name string, contents entry.Contents) {
	c.switchConnected(name, contents)
	c.settle()
}

// switchConnected is SwitchConnected without what follows from it: settle must be called.
func (c *Core) switchConnected(name string, contents entry.Contents) {
	again := c.switches.Connected(name)
	if !c.events.Connect(name, contents) {
		return
	}
	if !again {
		c.env.Event(api.EventSwitchChanged, name, fmt.Sprintf("connected, holds %d entities",
			len(contents.Entities)), nil, api.EventFields{State: api.StateConnected,
			Numbers: &api.EventNumbers{Entities: new(len(contents.Entities))}})
	}
	c.switchEvent(name, feature.SwitchEvent{Kind: feature.ReadBack, Contents: contents})
}

// SwitchDisconnected reports that a switch cannot be reached, and why.
func (c *Core) SwitchDisconnected(name string, why error) {
	if !c.switches.Exists(name) {
		return
	}
	reason := "disconnected"
	if why != nil {
		reason = plain.Error(why)
	}
	if c.events.Disconnect(name, reason) {
		c.env.Event(api.EventSwitchChanged, name, reason, nil,
			api.EventFields{State: api.StateDown, Reason: reason})
	}
	c.switchEvent(name, feature.SwitchEvent{Kind: feature.Disconnected})
	c.settle()
}

// Done takes the outcome of a task. Done ignores an outcome that the core no longer awaits.
func (c *Core) Done(r reconcile.Result) {
	switch c.events.Done(r) {
	case reconcile.Unawaited:
		return
	case reconcile.Unknown:
	case reconcile.Read:
		c.switchEvent(r.Switch, feature.SwitchEvent{Kind: feature.ReadBack, Contents: r.Contents})
	case reconcile.Wrote:
		if len(r.Refused) > 0 {
			c.switchEvent(r.Switch, feature.SwitchEvent{Kind: feature.Refused})
		}
	}
	c.settle()
}

// PacketIn takes a packet that a switch sends to the controller.
func (c *Core) PacketIn(sw string, p entry.PacketIn) {
	c.switchEvent(sw, feature.SwitchEvent{Kind: feature.GotPacket, PacketIn: &p})
	c.settle()
}

// Digest takes a list of reports of a switch.
func (c *Core) Digest(sw string, d entry.Digest) {
	c.switchEvent(sw, feature.SwitchEvent{Kind: feature.GotDigest, Digest: &d})
	c.settle()
}

func (c *Core) switchEvent(sw string, e feature.SwitchEvent) {
	for _, f := range c.features {
		f.SwitchEvent(sw, e)
	}
}

// settle computes the consequences of changes, until nothing changes any more.
func (c *Core) settle() {
	for more := true; more; {
		if c.env.Renew {
			c.env.Renew = false
			for _, f := range c.features {
				f.SetNetwork()
			}
		}
		more = c.events.Diff(func(sw string, o reconcile.Owner) {
			c.switchEvent(sw, feature.SwitchEvent{Kind: feature.Progress, Owner: o})
		})
		for _, f := range c.features {
			more = f.Settle() || more
		}
		more = more || c.env.Renew
	}
	for _, sw := range c.events.OrphansChanged() {
		c.switchEvent(sw, feature.SwitchEvent{Kind: feature.OrphansChanged})
	}
	for _, f := range c.features {
		f.Report()
	}
	c.reportRemovals()
}

// reportRemovals has an event for each removal that is complete.
func (c *Core) reportRemovals() {
	complete := func(o reconcile.Owner) bool {
		return !slices.ContainsFunc(c.features, func(f feature.Feature) bool { return f.Moving(o) })
	}
	for _, r := range c.events.Removals(complete) {
		if strings.HasPrefix(r.Object, orphan.Prefix) {
			continue // its own event said so
		}
		why := ""
		for _, f := range c.features {
			why = cmp.Or(why, f.Removal(r.Owner))
		}
		object := cmp.Or(r.Object, c.object(r.Owner))
		c.env.Event(api.EventEntriesRemoved, object, fmt.Sprintf("%d entries of %s removed from %s: %s",
			r.Entities, object, feature.Names(r.Switches), why), nil)
	}
}

func (c *Core) frozen(sw string, o reconcile.Owner) bool {
	for _, f := range c.features {
		if f.Frozen(sw, o) {
			return true
		}
	}
	return false
}

func (c *Core) keeps(sw string, o reconcile.Owner, e entry.Entity) bool {
	for _, f := range c.features {
		if f.Keeps(sw, o, e) {
			return true
		}
	}
	return false
}

// object names the resources that an owner's entities are of.
func (c *Core) object(o reconcile.Owner) string {
	for _, f := range c.features {
		if object := f.Object(o); object != "" {
			return object
		}
	}
	return ""
}

// Kept takes that the store has all writes up to a number.
func (c *Core) Kept(n uint64) { c.kept = n }

// Ready returns the work to do now, and relies on the caller to do the work. The caller stores the
// Saves under the number n. Tasks that follow from the changes in Saves wait until Kept reports n.
// Tasks that follow only from topology and inventory do not wait. With n 0 no task waits: the
// caller stores the Saves before any other work.
func (c *Core) Ready(n uint64) Ready {
	r := Ready{Saves: c.env.Versions.Changes()}
	for _, f := range c.features {
		r.Saves = append(r.Saves, f.Changes()...)
	}
	if r.Saves = append(r.Saves, c.events.Changes()...); len(r.Saves) == 0 {
		n = 0
	}
	r.Tasks, r.PortTasks = c.events.Tasks(n, c.kept), c.ports.Tasks()
	for i := range r.Tasks {
		c.writing(&r.Tasks[i])
	}
	r.Events, r.Answers = c.env.Take()
	if described, ok := c.networks.Take(); ok {
		r.Networks = append([]topology.Source{}, described...)
	}
	if found, ok := c.discovery.Take(); ok {
		r.Discovered = append([]topology.Source{}, found...)
	}
	r.Projects, _ = c.projects.Take()
	if jobs, held := c.jobs.Changed(), c.maintenances.Changed(); jobs || held {
		c.env.Wanted++
		r.Wants = &fabricview.Wants{Seq: c.env.Wanted, Jobs: c.jobs.Wants(),
			Held: c.maintenances.Held()}
	}
	r.Posts = c.told.Posts()
	for _, w := range []feature.Work{c.jobs.Work(), c.maintenances.Work()} {
		if w != nil {
			r.Work = append(r.Work, w)
		}
	}
	return r
}

// Worked takes the outcome of a Work of Ready.
func (c *Core) Worked(then func()) {
	then()
	c.settle()
}

// writing has the features know what a task is about to write.
func (c *Core) writing(t *reconcile.Task) {
	for o, e := range t.Writes() {
		c.switchEvent(t.Switch, feature.SwitchEvent{Kind: feature.Writing, Owner: o, Entity: e})
	}
}
