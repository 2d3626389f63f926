package controller

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sdn/weft/controller/entry"
	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/store"
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

	groups  map[string]*group
	byIndex map[uint16]*group
	devices map[string]*device
	timers  timers

	// epochs are the highest ones given or seen, by index; revision is the last
	// version given.
	epochs   map[uint16]uint32
	revision uint64
	events   uint64
	works    uint64
	queries  uint64

	settled  bool          // see Intervals.Settle
	settling time.Duration // when it is at the latest; 0: no topology yet
	changes  int           // topologies so far

	unrouted []string // devices whose routes are to be planned, in order
	routing  bool     // a timer is set to go on with them

	asked  map[branchKey][]*query
	polls  map[pollKey]bool
	check  map[uint16]bool // groups whose phase may be over
	status map[uint16]bool // groups whose status may have changed
	dirty  map[string]bool // devices with dirty units

	saves  map[string]bool // groups to be saved
	raised map[uint16]bool // indices whose epoch is to be saved
	meta   bool            // revision changed
	gone   []string        // keys to be deleted
	out    Ready
}

// Keys of the store.
const (
	groupPrefix = "groups/"
	epochPrefix = "epochs/"
	metaKey     = "controller"
)

type metaRecord struct {
	Revision uint64 `json:"revision"`
}

// NewCore returns a core that goes on where the records of an earlier one, with
// any prefix of keys, end. It knows no topology and no switch yet.
func NewCore(cfg Config, records []store.Record) (*Core, error) {
	c := &Core{
		start: cfg.Start, groups: make(map[string]*group), byIndex: make(map[uint16]*group), devices: make(map[string]*device),
		asked: make(map[branchKey][]*query), polls: make(map[pollKey]bool),
		epochs: make(map[uint16]uint32), raised: make(map[uint16]bool),
		check: make(map[uint16]bool), status: make(map[uint16]bool), dirty: make(map[string]bool), saves: make(map[string]bool),
	}
	if err := c.setInventory(cfg.Inventory); err != nil {
		return nil, err
	}
	c.net = plan.NewNetwork(topology.Empty(), c.inv)
	for _, r := range records {
		if err := c.load(r); err != nil {
			return nil, fmt.Errorf("record %s: %w", r.Key, err)
		}
	}
	for _, g := range c.ordered() {
		c.noteEpoch(g.index, g.highestEpoch())
		c.apply(g)
		c.watchStalls(g)
	}
	c.planLinks()
	c.settle()
	return c, nil
}

func (c *Core) load(r store.Record) error {
	name, isGroup := strings.CutPrefix(r.Key, groupPrefix)
	index, isEpoch := strings.CutPrefix(r.Key, epochPrefix)
	switch {
	case isEpoch:
		i, err := strconv.ParseUint(index, 10, 16)
		if err != nil {
			return err
		}
		epoch, err := strconv.ParseUint(string(r.Value), 10, 32)
		if err != nil {
			return err
		}
		c.epochs[uint16(i)] = max(c.epochs[uint16(i)], uint32(epoch))
	case r.Key == metaKey:
		var m metaRecord
		if err := json.Unmarshal(r.Value, &m); err != nil {
			return err
		}
		c.revision = max(c.revision, m.Revision)
	case isGroup:
		g, err := decodeGroup(name, r.Value)
		if err != nil {
			return err
		}
		if other := c.byIndex[g.index]; other != nil {
			return fmt.Errorf("index %d is that of %q too", g.index, other.name)
		}
		g.loaded = true
		c.groups[name], c.byIndex[g.index] = g, g
	}
	return nil
}

// Tick tells the time since the start, which does not go back; every other
// input happens at the time of the last Tick.
func (c *Core) Tick(now time.Duration) {
	c.now = max(c.now, now)
	c.timers.run(c.now)
	c.settle()
}

// Now returns the time of the last Tick.
func (c *Core) Now() time.Duration { return c.now }

// wall returns the wall-clock time.
func (c *Core) wall() time.Time { return c.start.Add(c.now).UTC() }

// Next returns the time at which Tick should be called at the latest.
func (c *Core) Next() (at time.Duration, ok bool) { return c.timers.next() }

// SetTopology replaces the topology. Groups whose trees it breaks are planned
// anew; the others stay as they are.
func (c *Core) SetTopology(s *topology.Snapshot) {
	if s == c.net.Snapshot {
		return
	}
	old := c.net.Snapshot
	c.net = plan.NewNetwork(s, c.inv)
	c.event(TopologyChanged, "", describeTopology(old, s), nil)
	c.awaitQuiet()
	c.replan()
	c.settle()
}

// awaitQuiet notes that the topology has changed, and when it is whole.
func (c *Core) awaitQuiet() {
	quiet := c.inv.Intervals.Settle.D()
	if c.settled || len(c.net.Snapshot.Nodes) == 0 {
		return
	}
	if quiet == 0 {
		c.settled = true
		c.release()
		return
	}
	if c.settling == 0 {
		c.settling = c.now + 10*quiet
	}
	c.changes++
	change := c.changes
	c.timers.set(min(c.now+quiet, c.settling), func() {
		if c.settled || c.changes != change && c.now < c.settling {
			return
		}
		c.settled = true
		c.release()
		c.replan()
	})
}

// release lets switches remove what they hold for nobody.
func (c *Core) release() {
	for name, d := range c.devices {
		d.settling = false
		d.dirty[linkUnit], d.dirty[routeUnit] = true, true
		c.dirty[name] = true
	}
}

// Settled reports whether the topology is taken for the whole network.
func (c *Core) Settled() bool { return c.settled }

func describeTopology(old, s *topology.Snapshot) string {
	msg := fmt.Sprintf("version %d: %d nodes, %d links, %d prefixes", s.Version, len(s.Nodes), len(s.Links), len(s.Prefixes))
	if s.Stale != nil && old.Stale == nil {
		msg += "; stale: " + s.Stale.Reason
	}
	return msg
}

// SetInventory replaces the inventory. Switches that are new are there to be
// connected; those it lacks are forgotten.
func (c *Core) SetInventory(inv inventory.Inventory) error {
	if err := c.setInventory(inv); err != nil {
		return err
	}
	c.net = plan.NewNetwork(c.net.Snapshot, c.inv)
	c.replan()
	c.settle()
	return nil
}

func (c *Core) setInventory(inv inventory.Inventory) error {
	if err := inv.Validate(); err != nil {
		return err
	}
	c.inv = &inv
	known := make(map[string]bool)
	for _, sw := range inv.Switches {
		if !sw.Managed() {
			continue
		}
		known[sw.Name] = true
		if d := c.devices[sw.Name]; d != nil {
			d.sw = sw
		} else {
			d := newDevice(sw)
			d.settling = !c.settled
			c.devices[sw.Name] = d
		}
	}
	for name := range c.devices {
		if !known[name] {
			delete(c.devices, name)
			delete(c.dirty, name)
		}
	}
	return nil
}

// Inventory returns the present inventory, which must not be changed.
func (c *Core) Inventory() *inventory.Inventory { return c.inv }

// Topology returns the present topology.
func (c *Core) Topology() *topology.Snapshot { return c.net.Snapshot }

// replan plans everything on the present network.
func (c *Core) replan() {
	c.planLinks()
	for _, g := range c.ordered() {
		if c.settled || !g.loaded {
			c.place(g, false)
		}
		c.apply(g) // switches may have come that were unknown before
	}
}

// planLinks plans what switches need to be part of the network, and has their
// routes planned.
func (c *Core) planLinks() {
	c.unrouted = slices.Sorted(maps.Keys(c.devices))
	for _, name := range c.unrouted {
		c.want(name, linkUnit, c.net.Links(&c.devices[name].sw))
	}
	c.planRoutes()
}

// routesAtOnce is for how many switches routes are planned before anything else
// is done: routes take long, and groups do not wait for those that change.
const routesAtOnce = 64

func (c *Core) planRoutes() {
	n := min(routesAtOnce, len(c.unrouted))
	for _, name := range c.unrouted[:n] {
		if d := c.devices[name]; d != nil {
			d.routed = true
			c.want(name, routeUnit, c.net.Routes(&d.sw))
		}
	}
	c.unrouted = c.unrouted[n:]
	if len(c.unrouted) > 0 && !c.routing {
		c.routing = true
		c.timers.set(c.now+1, func() { // with the next Tick
			c.routing = false
			c.planRoutes()
		})
	}
}

// want sets what a unit of a switch wants.
func (c *Core) want(sw string, unit int, entities []entry.Entity) {
	if d := c.devices[sw]; d != nil {
		d.want(unit, entities)
		c.dirty[sw] = true
	}
}

// ordered returns the groups by index.
func (c *Core) ordered() []*group {
	return slices.SortedFunc(maps.Values(c.groups), func(a, b *group) int { return cmp.Compare(a.index, b.index) })
}

// SwitchConnected tells that a switch takes writes and what it holds. A switch
// that connects again does so after SwitchDisconnected, or without.
func (c *Core) SwitchConnected(name string, contents Contents) {
	d := c.devices[name]
	if d == nil {
		return
	}
	again := d.connected
	d.connect(contents, c.now)
	c.dirty[name] = true
	c.seen(d, contents)
	if !again {
		c.event(SwitchChanged, name, fmt.Sprintf("connected, holds %d entities", len(contents.Entities)), nil)
	}
	c.concerned(name)
	c.audit(d)
	c.settle()
}

// audit reads the switch back now and then.
func (c *Core) audit(d *device) {
	every := c.inv.Intervals.Audit.D()
	d.audits++
	if every == 0 {
		return
	}
	connection := d.audits
	c.timers.set(c.now+every, func() {
		if d.connected && d.audits == connection {
			d.read = true
		}
	})
}

// seen learns from a switch which epochs were used, so that none is used again.
func (c *Core) seen(d *device, contents Contents) {
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
		if g == nil || g.target == nil || epoch < g.target.Epoch || g.wrote(d.sw.Name, epoch) {
			continue
		}
		c.raise(g)
	}
}

// noteEpoch remembers that an epoch has been used at an index.
func (c *Core) noteEpoch(index uint16, epoch uint32) {
	if epoch > c.epochs[index] {
		c.epochs[index], c.raised[index] = epoch, true
	}
}

// SwitchDisconnected tells that a switch cannot be reached, and why.
func (c *Core) SwitchDisconnected(name string, why error) {
	d := c.devices[name]
	if d == nil {
		return
	}
	reason := "disconnected"
	if why != nil {
		reason = why.Error()
	}
	changed := d.connected || d.reason != reason
	d.disconnect(reason, c.now)
	if changed {
		c.event(SwitchChanged, name, reason, nil)
	}
	c.concerned(name)
	c.settle()
}

// concerned notes that the groups on a switch have to be looked at.
func (c *Core) concerned(name string) {
	for _, g := range c.groups {
		if g.touches[name] || g.target.Node(name) != nil {
			c.check[g.index], c.status[g.index] = true, true
		}
	}
}

// Done tells the outcome of a Work. One that is not awaited any more is
// ignored.
func (c *Core) Done(r Result) {
	d := c.devices[r.Switch]
	if d == nil || d.busy == nil || d.busy.ID != r.ID {
		return
	}
	switch {
	case r.Err != nil:
		d.busy, d.sent = nil, nil
		c.timers.set(c.now+c.inv.Intervals.RetryMin.D(), func() {
			if d.connected && d.busy == nil {
				d.read = true
			}
		})
		d.read = false
		d.blocked = true
	case d.busy.Read:
		d.blocked = false
		d.connect(r.Contents, d.since)
		c.dirty[r.Switch] = true
		c.seen(d, r.Contents)
		c.audit(d)
		c.concerned(r.Switch)
	default:
		units := d.apply(r.Refused, c.now, c.inv.Intervals.RetryMin.D(), c.inv.Intervals.RetryMax.D())
		c.dirty[r.Switch] = true
		for i := range units {
			if i >= 0 {
				c.check[uint16(i)], c.status[uint16(i)] = true, true
			}
		}
		c.retries(d, r.Refused)
	}
	c.settle()
}

// retries wakes the core when refused updates may be tried again.
func (c *Core) retries(d *device, refusals []Refusal) {
	if len(refusals) == 0 {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(d.failed)) {
		if f := d.failed[k]; f.until > c.now {
			c.timers.set(f.until, func() {})
		}
	}
	for _, msg := range append(d.failures(linkUnit, 1), d.failures(routeUnit, 1)...) {
		c.event(SwitchChanged, d.sw.Name, msg, nil)
	}
}

// readied notes that a switch has what all groups need, which those that are
// being made wait for.
func (c *Core) readied(name string) {
	for _, g := range c.groups {
		if g.phase == making && g.touches[name] {
			c.check[g.index] = true
		}
	}
}

// settle computes what follows from what has changed, until nothing does.
func (c *Core) settle() {
	for len(c.dirty) > 0 || len(c.check) > 0 {
		for _, name := range slices.Sorted(maps.Keys(c.dirty)) {
			d := c.devices[name]
			for _, i := range slices.Sorted(maps.Keys(d.dirty)) {
				d.diff(i)
				if i >= 0 {
					c.check[uint16(i)], c.status[uint16(i)] = true, true
				} else if d.ready() {
					c.readied(d.sw.Name)
				}
			}
		}
		clear(c.dirty)
		for _, i := range slices.Sorted(maps.Keys(c.check)) {
			delete(c.check, i)
			if g := c.byIndex[i]; g != nil {
				c.advance(g)
			}
		}
	}
	for _, i := range slices.Sorted(maps.Keys(c.status)) {
		if g := c.byIndex[i]; g != nil {
			c.updateStatus(g)
		}
	}
	clear(c.status)
}

// Ready returns what is to be done now, and counts on its being done.
func (c *Core) Ready() Ready {
	r := c.out
	c.out = Ready{}
	r.Saves = c.takeSaves()
	for _, name := range slices.Sorted(maps.Keys(c.devices)) {
		if w, ok := c.work(c.devices[name]); ok {
			r.Works = append(r.Works, w)
		}
	}
	return r
}

func (c *Core) takeSaves() []store.Op {
	var out []store.Op
	if c.meta {
		out = append(out, store.Op{Key: metaKey, Value: encode(metaRecord{c.revision})})
		c.meta = false
	}
	for _, i := range slices.Sorted(maps.Keys(c.raised)) {
		out = append(out, store.Op{Key: epochPrefix + strconv.Itoa(int(i)), Value: strconv.AppendUint(nil, uint64(c.epochs[i]), 10)})
	}
	clear(c.raised)
	for _, key := range c.gone {
		out = append(out, store.Op{Key: key})
	}
	c.gone = nil
	for _, name := range slices.Sorted(maps.Keys(c.saves)) {
		if g := c.groups[name]; g != nil {
			out = append(out, store.Op{Key: groupPrefix + name, Value: g.encode()})
		}
	}
	clear(c.saves)
	return out
}

// work returns what a switch is to do now.
func (c *Core) work(d *device) (Work, bool) {
	if !d.connected {
		return Work{}, false
	}
	w := Work{Switch: d.sw.Name, Packets: d.out}
	d.out = nil
	if d.busy == nil {
		switch {
		case d.read:
			d.read, w.Read = false, true
		case !d.blocked:
			d.sent = d.next(c.now)
			w.Batches = batches(d.sent)
		}
	}
	if !w.Read && len(w.Batches) == 0 {
		return w, len(w.Packets) > 0
	}
	c.works++
	w.ID = c.works
	d.busy = &w
	for _, p := range d.sent {
		if epoch, ok := plan.EpochOf(p.Entity); ok && p.unit >= 0 {
			if g := c.byIndex[uint16(p.unit)]; g != nil {
				g.note(d.sw.Name, epoch)
			}
		}
	}
	return w, true
}

func (c *Core) event(t EventType, object, message string, g *intent.MulticastGroup) {
	c.events++
	c.out.Events = append(c.out.Events, Event{Seq: c.events, Time: c.wall(), Type: t, Object: object, Message: message, Group: g})
}

// Switches returns what is known about every switch of the inventory, in its
// order.
func (c *Core) Switches() []SwitchStatus {
	out := make([]SwitchStatus, 0, len(c.inv.Switches))
	for i := range c.inv.Switches {
		sw := &c.inv.Switches[i]
		s := SwitchStatus{Name: sw.Name, Address: sw.Address, DeviceID: sw.DeviceID, Managed: sw.Managed()}
		if node := c.net.Node(sw.Name); node != nil {
			s.Node = string(node.ID)
		}
		if d := c.devices[sw.Name]; d != nil {
			s.Connected, s.Reason, s.Since = d.connected, d.reason, c.start.Add(d.since).UTC()
			s.Entries, s.Pending = len(d.have), d.pendingCount()
			s.Synced = d.connected && s.Pending == 0 && !d.blocked
			for _, k := range slices.Sorted(maps.Keys(d.failed)) {
				if f := d.failed[k]; len(s.Errors) < 10 {
					s.Errors = append(s.Errors, describeUpdate(f.update)+": "+f.message)
				}
			}
		}
		out = append(out, s)
	}
	return out
}

// Held returns what the core believes a switch to hold, ordered by key.
func (c *Core) Held(sw string) []entry.Entity {
	d := c.devices[sw]
	if d == nil {
		return nil
	}
	var out []entry.Entity
	for _, k := range slices.Sorted(maps.Keys(d.have)) {
		out = append(out, d.have[k])
	}
	return out
}

// Wanted returns what a switch should hold, ordered by key.
func (c *Core) Wanted(sw string) []entry.Entity {
	d := c.devices[sw]
	if d == nil {
		return nil
	}
	all := make(map[entry.Key]entry.Entity)
	for _, u := range d.units {
		maps.Copy(all, u.want)
	}
	out := make([]entry.Entity, 0, len(all))
	for _, k := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[k])
	}
	return out
}

// env is what validation has to know.
func (c *Core) env(name string) intent.Env {
	return intent.Env{
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

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("controller: record cannot be written: %v", err)) // plain structs of our own
	}
	return b
}
