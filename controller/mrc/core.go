package mrc

import (
	"errors"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// Core is the state machine. Its methods must not be called concurrently; all of
// them are synchronous, and none blocks.
//
// The state is in parts that know little of each other. The core hands on what
// changes in one to the others.
type Core struct {
	*env
	cfg Config

	hosts    *hostSet
	profiles *profileSet
	drains   *drainSet
	suspects *suspectSet
	prober   *prober
}

// New returns a core that knows no topology and no host.
func New(cfg Config) (*Core, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	locates := suspect.Defaults()
	locates.Confidence = cfg.Suspects.Confidence
	locator, err := suspect.New(locates)
	if err != nil {
		return nil, err
	}
	c := &Core{env: &env{start: cfg.Start, mode: cfg.Format().Mode}, cfg: cfg}
	c.drains = &drainSet{env: c.env, linger: cfg.Restore.Linger.D()}
	c.state = fabric.New(&c.cfg.MRC, fabric.Outside{
		Drains: c.drains, Event: c.event, Moved: locator.Forget,
		Synced: func() { c.prober.begin() }, Renewed: c.renewed,
	})
	c.hosts = newHosts(c.env, wireOf(&cfg.Classes.DSCP))
	c.profiles = newProfiles(c.env, &c.cfg.MRC)
	c.suspects = &suspectSet{
		env: c.env, cfg: &c.cfg.Suspects, links: c.state.Links(), hosts: c.hosts, locator: locator,
		witnesses: newWitnesses(locates.Window), counts: make(map[topology.LinkID]linkCount),
		looks: make(map[topology.LinkID]*closerLook),
	}
	c.prober = &prober{
		env: c.env, cfg: &c.cfg.Probes, dscp: cfg.ProbeDSCP(), restore: &c.cfg.Restore,
		links: c.state.Links(), hosts: c.hosts, profiles: c.profiles, suspects: c.suspects,
		pending: make(map[uint32]*probe), spin: make(map[topology.LinkID]int),
	}
	return c, nil
}

// Tick sets the time, which does not go back; every other input happens at the
// time of the last Tick.
func (c *Core) Tick(now time.Duration) {
	c.now = max(c.now, now)
	c.state.Tick(now)
	if c.state.Fabric() == nil {
		return
	}
	c.prober.run(func() *topology.LostWays {
		c.settle()
		return c.state.Denial().Lost()
	})
	c.suspects.run(c.spare)
	c.runDrains()
}

// Now returns the time of the last Tick.
func (c *Core) Now() time.Duration { return c.now }

// Next returns the time at which Tick should be called at the latest.
func (c *Core) Next() (at time.Duration, ok bool) {
	if c.state.Fabric() == nil {
		return 0, false
	}
	at = c.state.Next(c.suspects.at)
	return max(c.prober.next(c.drains.next(at)), c.now), true
}

// Ready returns what is to be done now, and counts on its being done.
func (c *Core) Ready() Ready {
	c.settle()
	r := c.out
	c.out = Ready{}
	return r
}

// SetTopology sets what is advertised now; see [fabric.State.SetTopology].
func (c *Core) SetTopology(s *topology.Snapshot) { c.state.SetTopology(s) }

// InSync records that every peer has sent all it knows (End-of-RIB): from now on
// what is missing is down. Nothing is told to hosts before.
func (c *Core) InSync() { c.state.InSync() }

// SetPorts records all that a switch reports of its ports; see [fabric.State.SetPorts].
func (c *Core) SetPorts(node topology.NodeID, isUp map[uint32]bool) { c.state.SetPorts(node, isUp) }

// SetPortNumbers sets at which P4Runtime ports the links of a switch are, by
// their identifiers (TLV 258), where these are others than advertised.
func (c *Core) SetPortNumbers(node topology.NodeID, numbers map[uint32]uint32) {
	c.state.SetPortNumbers(node, numbers)
}

// Assignment returns the numbers of links that EVs are made of, which switches
// must be programmed with; nil before the topology is in sync.
func (c *Core) Assignment() *ev.Assignment { return c.state.Assignment() }

// PutHost adds a host, or replaces the one of its name.
func (c *Core) PutHost(h fabric.Host) error {
	at, err := c.state.PutHost(h)
	if err == nil {
		c.hosts.put(at)
	}
	return err
}

// RemoveHost removes a host: it is told to hold nothing, and no host sends to it any more.
func (c *Core) RemoveHost(name string) error {
	if err := c.state.RemoveHost(name); err != nil {
		return err
	}
	c.hosts.remove(name)
	c.drains.forget(name)
	return nil
}

// PortStatus records which ports of a host are up, as the host has it.
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

// settle computes what follows from what has changed.
func (c *Core) settle() {
	if !c.state.Settle() {
		return
	}
	changes := c.state.Take()
	if changes.Racks || c.hosts.regroup {
		senders := c.hosts.tidy()
		c.profiles.renew(senders, c.state.Racks(), changes.Stale)
		c.prober.setTurns(senders)
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
		c.hosts.dirty[name] = true
	}
	c.hosts.makeStates(c.profiles.cc)
	c.hosts.tell(c.prober.round.done)
}

// renewed takes a new fabric; before is the one before, nil for the first.
func (c *Core) renewed(before *fabric.Fabric) {
	if before == nil {
		c.suspects.at, c.prober.at = c.now+c.cfg.Suspects.Every.D(), c.now
	}
	for _, d := range c.drains.list {
		d.links, _ = c.find(d.Target)
		if before == nil { // of an earlier core
			c.applyDrain(d)
			c.awaitAll(d)
		}
	}
	c.prober.renewed()
	c.profiles.buildAll()
}

// Counters returns the counts so far.
func (c *Core) Counters() api.FabricCounters { return c.counters }

// Failure returns why there is no fabric, or none of the present topology.
func (c *Core) Failure() error { return c.state.Failure() }
