package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/discovery"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/multicast"
	"github.com/weft-sdn/weft/controller/networks"
	"github.com/weft-sdn/weft/controller/orphan"
	"github.com/weft-sdn/weft/controller/pfc"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/port"
	"github.com/weft-sdn/weft/controller/project"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/controller/underlay"
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
	switches *reconcile.Reconciler
	// advertised is the topology that was learned, configured the inventory as it is written. Env.Net
	// has both with what switches report of their ports.
	advertised *topology.Snapshot
	configured *inventory.Inventory

	// features are those below, in the order in which they are called.
	features  []feature.Feature
	ports     *port.Feature
	underlay  *underlay.Feature
	multicast *multicast.Feature
	pfc       *pfc.Feature
	orphans   *orphan.Feature
	networks  *networks.Feature
	projects  *project.Feature
	discovery *discovery.Feature
}

// NewCore returns a core that goes on where the records of an earlier one end. It
// knows no topology and no switch yet.
func NewCore(cfg Config, records []store.Record) (*Core, error) { return newCore(cfg, records, nil) }

// newCore also gives the features what restore has, one function a feature.
func newCore(cfg Config, records []store.Record, restore []func(feature.Feature)) (*Core, error) {
	if err := cfg.Inventory.Validate(); err != nil {
		return nil, err
	}
	c := &Core{advertised: topology.Empty(), configured: &cfg.Inventory}
	c.switches = reconcile.New(reconcile.Config{
		Owner: func(e entry.Entity) reconcile.Owner { return reconcile.Owner(plan.OwnerOf(e)) },
		Rank:  plan.Rank, Frozen: c.frozen, Keeps: c.keeps, Writing: c.writing,
		Guarded: func(o reconcile.Owner) bool { return plan.Intended(int(o)) }, Object: c.object, Wall: c.env.Wall,
	})
	c.env = feature.Env{Start: cfg.Start, Switches: c.switches, Versions: resource.NewVersions(versionsKey)}
	c.env.Net = plan.NewNetwork(c.advertised, c.configured)
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
	c.settle()
	return c, nil
}

func (c *Core) load(r store.Record) error {
	for _, load := range []func(store.Record) (bool, error){c.env.Versions.Load, c.switches.Load} {
		if ok, err := load(r); ok {
			return err
		}
	}
	for _, f := range c.features {
		if ok, err := f.Load(r); ok {
			return err
		}
	}
	return nil
}

// records returns the records of everything, as the store has them once all saves are done.
func (c *Core) records() []store.Record {
	out := append(c.switches.Records(), c.env.Versions.Record())
	for _, f := range c.features {
		out = append(out, f.Records()...)
	}
	return out
}

// Tick sets the time since the start, which does not go back; every other input
// happens at the time of the last Tick.
func (c *Core) Tick(now time.Duration) {
	c.env.Now = max(c.env.Now, now)
	c.switches.Tick(c.env.Now)
	for _, f := range c.features {
		f.Tick()
	}
	if c.ports.Moved() {
		c.setNetwork(c.advertised, c.configured)
		return
	}
	c.settle()
}

// Now returns the time of the last Tick.
func (c *Core) Now() time.Duration { return c.env.Now }

// Next returns the time at which Tick should be called at the latest.
func (c *Core) Next() (at time.Duration, ok bool) {
	at, ok = c.switches.Next()
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
	c.env.Event(api.EventTopologyChanged, "", describeTopology(c.advertised, s), nil)
	c.setNetwork(s, c.configured)
}

func describeTopology(old, s *topology.Snapshot) string {
	msg := fmt.Sprintf("version %d: %d nodes, %d links, %d prefixes", s.Version, len(s.Nodes), len(s.Links), len(s.Prefixes))
	if s.Stale != nil && old.Stale == nil {
		msg += "; stale: " + s.Stale.Reason
	}
	return msg
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
	c.env.Net = c.network(s, inv).WithEdges(c.env.Net.Edges()).WithIsolated(c.env.Net.Isolated())
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
	c.switches.SetIntervals(reconcile.Intervals{Audit: i.Audit.D(), RetryMin: i.RetryMin.D(), RetryMax: i.RetryMax.D()})
	c.switches.SetSwitches(managed)
}

// Inventory returns the present inventory, which must not be changed.
func (c *Core) Inventory() *inventory.Inventory { return c.env.Inventory() }

// Topology returns the present topology, as it is advertised.
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
	if !c.switches.Connect(name, contents) {
		return
	}
	if !again {
		c.env.Event(api.EventSwitchChanged, name, fmt.Sprintf("connected, holds %d entities", len(contents.Entities)), nil)
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
		reason = why.Error()
	}
	if c.switches.Disconnect(name, reason) {
		c.env.Event(api.EventSwitchChanged, name, reason, nil)
	}
	c.switchEvent(name, feature.SwitchEvent{Kind: feature.Disconnected})
	c.settle()
}

// Done takes the outcome of a task. One that is not awaited any more is ignored.
func (c *Core) Done(r reconcile.Result) {
	read := c.switches.Reading(r.Switch)
	if !c.switches.Done(r) {
		return
	}
	switch {
	case r.Err != nil:
	case read:
		c.switchEvent(r.Switch, feature.SwitchEvent{Kind: feature.ReadBack, Contents: r.Contents})
	case len(r.Refused) > 0:
		c.switchEvent(r.Switch, feature.SwitchEvent{Kind: feature.Refused})
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

// settle computes what follows from what has changed, until nothing does.
func (c *Core) settle() {
	for more := true; more; {
		if c.env.Renew {
			c.env.Renew = false
			for _, f := range c.features {
				f.SetNetwork()
			}
		}
		c.switches.Diff(func(sw string, o reconcile.Owner) {
			c.switchEvent(sw, feature.SwitchEvent{Kind: feature.Progress, Owner: o})
		})
		more = false
		for _, f := range c.features {
			more = f.Settle() || more
		}
		more = more || c.switches.Dirty() || c.env.Renew
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
	for _, r := range c.switches.TakeRemovals(complete) {
		if strings.HasPrefix(r.Object, orphan.Prefix) {
			continue // its own event said so
		}
		why := ""
		for _, f := range c.features {
			why = cmp.Or(why, f.Removal(r.Owner))
		}
		object := cmp.Or(r.Object, c.object(r.Owner))
		c.env.Event(api.EventEntriesRemoved, object, fmt.Sprintf("%d entries of %s removed from %s: %s", r.Entities, object, feature.Names(r.Switches), why), nil)
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

func (c *Core) writing(sw string, o reconcile.Owner, e entry.Entity) {
	c.switchEvent(sw, feature.SwitchEvent{Kind: feature.Writing, Owner: o, Entity: e})
}

// Saves returns the writes that keep what has changed since the last call.
func (c *Core) Saves() []store.Op {
	out := c.env.Versions.Changes()
	for _, f := range c.features {
		out = append(out, f.Changes()...)
	}
	return append(out, c.switches.Changes()...)
}

// Hold reports that Saves are being kept under a number. What follows from the changes that they
// keep is in no Task before Kept. What follows from topology and inventory alone is.
func (c *Core) Hold(n uint64) { c.switches.Hold(n) }

// Kept records up to which number Saves have been kept.
func (c *Core) Kept(n uint64) { c.switches.Kept(n) }

// Ready returns what must be done now, and counts on its being done.
func (c *Core) Ready() Ready {
	r := Ready{Saves: c.Saves()}
	c.Hold(0) // for whoever keeps Saves before carrying out Tasks
	r.Events, r.Answers = c.env.Take()
	r.Tasks, r.PortTasks = c.switches.Tasks(), c.ports.Tasks()
	return r
}
