package mrc

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/prove"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// Config configures a Core: the configuration of the network, with the defaults of
// [inventory.DefaultMRC], and the additions of the process.
type Config struct {
	// MRC has a mode.
	inventory.MRC
	// Epoch is the epoch of the state versions sent to hosts. A version with another epoch comes from
	// an earlier controller.
	Epoch uint64
	// Start is the wall-clock time at which the core's time is 0: statuses and events have wall-clock
	// times.
	Start time.Time
	// Switches is set if switches follow drains: a drain then waits for the switches too; see
	// [Core.Drained] and [Core.Behind].
	Switches bool
	// Around is what surrounds the fabric; nil: jobs know neither the names of switches in the
	// inventory, nor since when streams are lost.
	Around Surroundings
}

// Validate returns an error of kind ErrConfig that names what cannot be used.
func (c *Config) Validate() error {
	if c.Epoch == 0 {
		return fmt.Errorf("%w: epoch 0, want another number after every start", ErrConfig)
	}
	if err := c.MRC.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return nil
}

var (
	// ErrConfig reports that a Config cannot be used.
	ErrConfig = errors.New("mrc")
	// ErrUnknownTarget reports an unknown link, node, plane or port.
	ErrUnknownTarget = errors.New("no such target")
	// ErrLastPath reports that a drain would take the last path between two hosts.
	ErrLastPath = errors.New("last path")
)

// Core is the state machine. Its methods must not be called concurrently; all of
// them are synchronous, and none blocks.
//
// The state is in parts that know little of each other. The core hands changes of one part to the
// other parts.
type Core struct {
	*env
	cfg Config

	hosts    *hostSet
	profiles *profileSet
	drains   *drainSet
	prover   *prove.Prover
	viewer   viewer
	reader   reader
}

// New returns a core that knows no topology and no host.
func New(cfg Config) (*Core, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Core{env: &env{start: cfg.Start, mode: cfg.Format().Mode}, cfg: cfg}
	c.reader = newReader(cfg.Around)
	c.drains = &drainSet{env: c.env, linger: cfg.Restore.Linger.D(), switches: cfg.Switches}
	c.state = fabric.New(&c.cfg.MRC, fabric.Outside{
		Drains: c.drains, Event: c.event, Renewed: c.renewed,
		Moved:  func(id topology.LinkID) { c.prover.Moved(id) },
		Synced: func() { c.beginRound() },
	})
	c.hosts = newHosts(c.env, wireOf(&cfg.Classes.DSCP))
	c.profiles = newProfiles(c.env, &c.cfg.MRC)
	var err error
	c.prover, err = prove.New(&c.cfg.MRC, prove.Outside{
		Epoch: cfg.Epoch, State: c.state, Profiles: c.profiles, Counters: &c.counters, Event: c.event,
		Settle:  func() *fabric.Denial { c.settle(); return c.state.Denial() },
		Awaited: c.hosts.awaited, LastPath: c.lastPath,
		Probe: func(host string, p *hostapi.Probe) {
			c.out.Probes = append(c.out.Probes, Probe{Host: host, Request: p})
		},
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Tick sets the time, which does not go back; every other input happens at the
// time of the last Tick.
func (c *Core) Tick(now time.Duration) {
	c.now = max(c.now, now)
	c.state.Tick(c.now)
	c.prover.Tick(c.now)
	c.runDrains()
	c.readPart()
}

// Now returns the time of the last Tick.
func (c *Core) Now() time.Duration { return c.now }

// Wall returns the wall-clock time of the last Tick.
func (c *Core) Wall() time.Time { return c.wall(c.now) }

// Event adds an event from the user of the core to the events of the next Ready.
func (c *Core) Event(t api.EventType, object, message string) { c.event(t, object, message) }

// Network returns the present fabric, nil before the first fabric, and the advertised topology.
func (c *Core) Network() (f *fabric.Fabric, now *topology.Snapshot) {
	return c.state.Fabric(), c.state.Advertised()
}

// Uplinks returns the advertised links up from tier 0, with the advertised names and ports of their
// switches.
func (c *Core) Uplinks() []fabric.Uplink {
	c.settle()
	return c.state.Fabric().Uplinks(c.state.Advertised(), nil)
}

// Next returns the time at which Tick should be called at the latest.
func (c *Core) Next() (at time.Duration, ok bool) {
	at, ok = c.reader.nextPart()
	if c.state.Fabric() != nil {
		if !ok {
			at = math.MaxInt64
		}
		at, ok = c.prover.Next(c.drains.next(c.state.Next(at))), true
	}
	return max(at, c.now), ok
}

// Ready returns the actions to take now, and assumes that the caller takes them.
func (c *Core) Ready() Ready {
	c.settle()
	r := c.out
	r.SelfProbes = c.prover.SelfPlans()
	c.out = Ready{}
	return r
}

// SetTopology sets what is advertised now; see [fabric.State.SetTopology].
func (c *Core) SetTopology(s *topology.Snapshot) { c.state.SetTopology(s) }

// InSync records that every peer has sent all it knows (End-of-RIB). From now on missing elements
// count as down. Before InSync, hosts learn nothing.
func (c *Core) InSync() { c.state.InSync() }

// SetPorts records all that a switch reports of its ports; see [fabric.State.SetPorts].
func (c *Core) SetPorts(node topology.NodeID, isUp map[uint32]bool) { c.state.SetPorts(node, isUp) }

// SetPortNumbers sets the P4Runtime ports of the links of a switch, by link identifier (TLV 258),
// where the ports differ from the advertised ports.
func (c *Core) SetPortNumbers(node topology.NodeID, numbers map[uint32]uint32) {
	c.state.SetPortNumbers(node, numbers)
}

// Assignment returns the link numbers in EVs, for the programming of switches; nil before the
// topology is in sync.
func (c *Core) Assignment() *ev.Assignment { return c.state.Assignment() }

// PutHost adds a host, or replaces the host of the same name.
func (c *Core) PutHost(h fabric.Host) error {
	at, err := c.state.PutHost(h)
	if err == nil {
		c.hosts.put(at, c.prover)
	}
	return err
}

// RemoveHost removes a host: it is told to hold nothing, and no host sends to it any more.
func (c *Core) RemoveHost(name string) error {
	if err := c.state.RemoveHost(name); err != nil {
		return err
	}
	c.hosts.remove(name, c.prover)
	c.drains.forget(name)
	return nil
}

// PortStatus records which ports of a host are up, according to the host.
func (c *Core) PortStatus(name string, up hostapi.PortMask) error {
	if _, err := c.hosts.find(name); err != nil {
		return err
	}
	err := c.state.PortStatus(name, up)
	if errors.Is(err, fabric.ErrMalformed) {
		c.counters.BadPorts++
	}
	return err
}

// PortErrors records the counters of errors of the ports of a host.
func (c *Core) PortErrors(name string, m *hostapi.PortErrors) error {
	h, err := c.hosts.find(name)
	if err != nil {
		return err
	}
	h.portErrors = *m
	return nil
}

// QueuePairs records the queue pairs that applications have made on a host.
func (c *Core) QueuePairs(name string, q *hostapi.QueuePairs) error {
	h, err := c.hosts.find(name)
	if err != nil {
		return err
	}
	h.queuePairs = *q
	return nil
}

// EVEvents records EVs that a host found bad, or good again. EVEvents counts a wrong entry and
// returns it as an error without any change; the remaining entries count.
func (c *Core) EVEvents(name string, m *hostapi.EVEvents) error {
	h, err := c.hosts.find(name)
	if err != nil {
		return err
	}
	return c.prover.EVEvents(h.Host, m)
}

// EVCounts records how many packets EVs carried, and how many of them were lost, since the host
// started. Impossible counts are errors: the core counts each error, and applies the rest of the
// message.
func (c *Core) EVCounts(name string, m *hostapi.EVCounts) error {
	h, err := c.hosts.find(name)
	if err != nil {
		return err
	}
	return c.prover.EVCounts(h.Host, m)
}

// ProbeResult records the result of a request.
func (c *Core) ProbeResult(name string, r *hostapi.ProbeResult) error {
	h, err := c.hosts.find(name)
	if err != nil {
		return err
	}
	return c.prover.Result(h.Host, r)
}

// SelfProbeCounts records what became of the probes of a host to itself.
func (c *Core) SelfProbeCounts(name string, m *hostapi.SelfProbeCounts) error {
	h, err := c.hosts.find(name)
	if err != nil {
		return err
	}
	err = c.prover.SelfProbeCounts(h.Host, m)
	c.runDrains()
	return err
}

// LinkCounts records the packets sent at one end of a link and received at the other, since both
// ends began to count. Read the sent count before the received count: otherwise packets that arrive
// between the two readings seem lost.
func (c *Core) LinkCounts(id topology.LinkID, sent, received uint64) error {
	if f := c.state.Fabric(); f == nil || f.Snapshot().Link(id) == nil {
		return fmt.Errorf("link %s: %w", id, ErrUnknownTarget)
	}
	c.prover.LinkCounts(id, sent, received)
	return nil
}

// Suspects returns the links that lose packets, the surest first, followed by the links denied for
// packet loss.
func (c *Core) Suspects() []api.Suspect { return c.prover.Suspects(c.wall) }

// lastPath returns why a link must not be denied because some hosts have no other path; empty: the
// link may be denied.
func (c *Core) lastPath(place int32) string {
	edge := c.state.Fabric().Edge(place)
	before := c.state.Denial()
	after := c.state.Denial(topology.Losses{Directed: []topology.LinkID{edge.ID}})
	at, leaves := c.profiles.crossing(edge)
	for _, leaf := range leaves {
		for _, p := range at[leaf] {
			if a, b := p.severed(before, after, nil); a != nil {
				return fmt.Sprintf("it is the last path from host %s to host %s", a.Name, b.Name)
			}
		}
	}
	return ""
}

// settle computes what follows from what has changed.
func (c *Core) settle() {
	if !c.state.Settle() {
		return
	}
	changes := c.state.Take()
	c.viewer.note(&changes)
	if changes.Racks || c.hosts.regroup || c.profiles.talk.changed {
		senders := c.hosts.tidy()
		c.profiles.renew(senders, c.state.Racks(), changes.Stale, c.hosts.rackOf)
		c.prover.SetTurns(groupsOf(senders))
	}
	for _, i := range changes.Links {
		c.profiles.linkChanged(c.state.Fabric().Edge(i))
	}
	for _, id := range changes.Leaves {
		c.profiles.leafChanged(id)
	}
	c.profiles.settle(c.state.Denial())
	if changes.Peers {
		c.hosts.dirtyAll()
	}
	for name := range changes.Hosts {
		c.hosts.touch(c.hosts.byName[name])
	}
	c.hosts.makeStates(c.profiles.cc)
	if c.profiles.talk.known() && c.hosts.tell(c.prover.Tried()) {
		c.prover.Told()
	}
}

// renewed takes a new fabric; before is the one before, nil for the first.
func (c *Core) renewed(before *fabric.Fabric) {
	c.drains.stale = true
	for _, d := range c.drains.list {
		d.links, _ = c.find(d.Target)
		if before == nil { // of an earlier core
			c.applyDrain(d)
			c.awaitAll(d)
		}
	}
	c.prover.Renewed(before)
	c.profiles.buildAll()
}

// Counters returns the counts so far.
func (c *Core) Counters() api.FabricCounters { return c.counters }

// Failure returns why there is no fabric, or none of the present topology.
func (c *Core) Failure() error { return c.state.Failure() }

// env holds the state that all parts of one core share.
type env struct {
	start    time.Time     // the wall-clock time at which now is 0
	now      time.Duration // of the present input
	state    *fabric.State
	mode     ev.Mode
	counters api.FabricCounters
	out      Ready // not taken yet
}

func (e *env) event(t api.EventType, object, message string, says ...api.EventFields) {
	ev := api.Event{Time: e.wall(e.now), Type: t, Object: object, Message: message}
	for _, f := range says {
		ev.EventFields = f
	}
	ev.About()
	for i := range ev.Objects {
		switch o := &ev.Objects[i]; o.Kind {
		case "link":
			o.Name = e.linkName(o.ID)
		case "node":
			o.Name = e.nodeName(topology.NodeID(o.ID))
		}
	}
	e.out.Events = append(e.out.Events, ev)
}

// linkName names a link by its ends, an end without a name by its id.
func (e *env) linkName(id string) string {
	ends := strings.Split(id, "~")
	for i, end := range ends {
		node, _, _ := strings.Cut(end, ",")
		ends[i] = cmp.Or(e.nodeName(topology.NodeID(node)), end)
	}
	return strings.Join(ends, " → ")
}

func (e *env) nodeName(id topology.NodeID) string {
	if e.state == nil || e.state.Advertised() == nil {
		return ""
	}
	return fabric.NameOf(e.state.Advertised(), id)
}

// wall returns the wall-clock time at a time of the core.
func (e *env) wall(at time.Duration) time.Time { return e.start.Add(at).UTC() }

// Ready has the tasks that a [Core] wants done. The caller that takes a Ready does all tasks.
type Ready struct {
	// Saves must be kept: they are what clients want. A Core alone has none.
	Saves []store.Op
	// Sets has the states that hosts should hold, by host.
	Sets []Set
	// Probes are to be made by hosts; the answers go to Core.ProbeResult.
	Probes []Probe
	// SelfProbes are plans of probes that hosts send to themselves; the counts go to
	// Core.SelfProbeCounts.
	SelfProbes []prove.SelfPlan
	// Events are for people, and wait until Saves are kept with all before.
	Events []api.Event
}

// Empty reports whether there is nothing to do.
func (r *Ready) Empty() bool {
	return len(r.Saves)+len(r.Sets)+len(r.Probes)+len(r.SelfProbes)+
		len(r.Events) == 0
}

// Set is what a host is to hold from now on.
type Set struct {
	Host string
	// Seq grows by one with every Set of a host; Core.Applied quotes it.
	Seq uint64
	// State is not changed any more, and shared by hosts; nil: nothing at all, as
	// the host has been removed.
	State *hostapi.State
}

// Probe is a request to a host.
type Probe struct {
	Host    string
	Request *hostapi.Probe
}
