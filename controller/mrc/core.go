package mrc

import (
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/topology"
)

// Core is the state machine. Its methods must not be called concurrently; all of
// them are synchronous, and none blocks.
//
// The state is in parts that know little of each other. The core hands on what
// changes in one to the others.
type Core struct {
	*fabricState
	cfg Config

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
	c := &Core{cfg: cfg, drains: &drainSet{linger: cfg.Restore.Linger.D()}}
	c.fabricState = newFabricState(&c.cfg, outside{
		drainedLink: c.drains.link, drainedPort: c.drains.port, moved: locator.Forget,
		synced: func() { c.prober.begin() }, renewed: c.renewed,
	})
	c.drains.env = c.env
	c.profiles = newProfiles(c.env, &c.cfg.MRC)
	c.suspects = &suspectSet{env: c.env, cfg: &c.cfg.Suspects, links: c.links, hosts: c.hosts, locator: locator, witnesses: newWitnesses(locates.Window), counts: make(map[topology.LinkID]linkCount), looks: make(map[topology.LinkID]*closerLook)}
	c.prober = &prober{
		env: c.env, cfg: &c.cfg.Probes, dscp: cfg.ProbeDSCP(), restore: &c.cfg.Restore, links: c.links, hosts: c.hosts, profiles: c.profiles, suspects: c.suspects,
		pending: make(map[uint32]*probe),
	}
	return c, nil
}

// Tick sets the time, which does not go back; every other input happens at the
// time of the last Tick.
func (c *Core) Tick(now time.Duration) {
	c.fabricState.Tick(now)
	if c.fabric == nil {
		return
	}
	c.prober.run(func() *topology.LostWays {
		c.settle()
		return c.lost()
	})
	c.suspects.run(c.spare)
	c.runDrains()
}

// Now returns the time of the last Tick.
func (c *Core) Now() time.Duration { return c.now }

// Next returns the time at which Tick should be called at the latest.
func (c *Core) Next() (at time.Duration, ok bool) {
	if c.fabric == nil {
		return 0, false
	}
	at = c.next(c.suspects.at)
	return max(c.prober.next(c.drains.next(at)), c.now), true
}

// Ready returns what is to be done now, and counts on its being done.
func (c *Core) Ready() Ready {
	c.settle()
	r := c.out
	c.out = Ready{}
	return r
}

// RemoveHost removes a host: it is told to hold nothing, and no host sends to it any more.
func (c *Core) RemoveHost(name string) error {
	if err := c.hosts.remove(name); err != nil {
		return err
	}
	c.drains.forget(name)
	return nil
}

// settle computes what follows from what has changed.
func (c *Core) settle() {
	if !c.settled() {
		return
	}
	if c.hosts.regroup {
		senders, racks, stale := c.hosts.tidy()
		c.profiles.renew(senders, racks, stale)
		c.prober.setTurns(senders)
	}
	for _, i := range c.links.take() {
		c.profiles.linkChanged(&c.fabric.edges[i])
	}
	for _, id := range c.leaves.take() {
		c.profiles.leafChanged(id)
	}
	c.profiles.settle(c.lost)
	if c.hosts.remask {
		c.hosts.mask()
	}
	c.hosts.makeStates(c.profiles.cc)
	c.hosts.tell(c.prober.round.done)
}

// losses are what EVs must not cross.
func (c *Core) losses() topology.Losses {
	l := c.fabricState.losses()
	l.Planes = c.drains.planes()
	return l
}

func (c *Core) lost() *topology.LostWays { return c.fabric.clos.Lost(c.losses()) }

// renewed takes a new fabric; before is the one before, nil for the first.
func (c *Core) renewed(before *fabric) {
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

// Failure is why there is no fabric, or none of the present topology.
func (c *Core) Failure() error { return c.failure }
