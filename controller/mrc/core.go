package mrc

import (
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
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

	synced  bool
	remade  bool  // the fabric must be made anew
	failure error // why it could not

	ports    *switchPorts
	links    *linkSet
	leaves   *leafSet
	hosts    *hostSet
	profiles *profileSet
	drains   *drainSet
	suspects *suspectSet
	prober   *prober

	restoreAt time.Duration // when links and ports that are ready are restored
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
	c := &Core{env: &env{start: cfg.Start, mode: cfg.Format().Mode, current: topology.Empty()}, cfg: cfg, ports: newSwitchPorts()}
	c.drains = &drainSet{env: c.env, linger: cfg.Restore.Linger.D()}
	c.links = &linkSet{
		env: c.env, restore: &c.cfg.Restore, suspects: &c.cfg.Suspects, probed: cfg.Probes.Rate != 0, renewed: locator.Forget,
		waiting: make(map[int32]struct{}),
	}
	c.leaves = &leafSet{env: c.env, restore: &c.cfg.Restore, states: make(map[topology.NodeID]*leaf)}
	c.hosts = newHosts(c.env, &c.cfg, c.ports, c.drains.port)
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
	c.now = max(c.now, now)
	if c.fabric == nil {
		return
	}
	restoring := c.now >= c.restoreAt
	c.links.run(restoring)
	if restoring {
		c.hosts.runPorts()
		c.leaves.run()
		every := c.cfg.Restore.Every.D()
		c.restoreAt = (c.now/every + 1) * every
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
	at = c.links.next(c.suspects.at, c.restoreAt)
	if len(c.hosts.held) > 0 || c.leaves.waiting() {
		at = min(at, c.restoreAt)
	}
	return max(c.prober.next(c.drains.next(at)), c.now), true
}

// Ready returns what is to be done now, and counts on its being done.
func (c *Core) Ready() Ready {
	c.settle()
	r := c.out
	c.out = Ready{}
	return r
}

// PutHost adds a host, or replaces the one of its name.
func (c *Core) PutHost(h Host) error {
	fresh, err := c.hosts.put(h, c.current)
	if err != nil {
		return err
	}
	for _, leaf := range h.At {
		if fresh && leaf != "" && (c.fabric == nil || !c.fabric.isLeaf(leaf)) {
			c.remade = true
		}
	}
	return nil
}

// RemoveHost removes a host: it is told to hold nothing, and no host sends to it any more.
func (c *Core) RemoveHost(name string) error {
	if err := c.hosts.remove(name); err != nil {
		return err
	}
	c.drains.forget(name)
	return nil
}

// SetPorts records all that a switch reports of its ports: whether they are up, at the
// ends of links or towards hosts, by their P4Runtime numbers. It replaces what
// was known; of a port that is missing nothing is. The switch need not be
// advertised, or not yet, and ports that nothing of ours is behind do no harm.
func (c *Core) SetPorts(node topology.NodeID, isUp map[uint32]bool) {
	affected, ok := c.ports.set(node, isUp)
	if !ok {
		return
	}
	c.lookAtPorts(node)
	for _, port := range affected {
		c.hosts.lookAt(nodePort{node, port})
	}
}

// SetPortNumbers sets at which P4Runtime ports the links of a switch are, by
// their identifiers (TLV 258), where these are others than advertised.
func (c *Core) SetPortNumbers(node topology.NodeID, numbers map[uint32]uint32) {
	if c.ports.setNumbers(node, numbers) {
		c.lookAtPorts(node)
	}
}

// lookAtPorts looks at the links of a node after a change of its ports.
func (c *Core) lookAtPorts(node topology.NodeID) {
	if c.fabric == nil {
		return
	}
	for _, l := range c.fabric.snap.LinksFrom(node) {
		i := c.fabric.place[l.ID]
		c.lookAtPort(i)
		if r := c.fabric.edges[i].reverse; r >= 0 {
			c.lookAtPort(r)
		}
	}
}

func (c *Core) lookAtPort(i int32) { c.links.setPort(i, c.ports.linkDown(c.fabric.edges[i].Link)) }

// losses are what EVs must not cross.
func (c *Core) losses() topology.Losses {
	return topology.Losses{OneWay: c.links.lost(), Nodes: c.leaves.lost(), Planes: c.drains.planes()}
}

func (c *Core) lost() *topology.LostWays { return c.fabric.clos.Lost(c.losses()) }

// settle computes what follows from what has changed.
func (c *Core) settle() {
	if !c.synced {
		return
	}
	c.makeFabric()
	if c.fabric == nil {
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

// makeFabric makes the fabric anew when it has grown.
func (c *Core) makeFabric() {
	if !c.remade || !c.synced {
		return
	}
	c.remade = false
	before, snap := c.fabric, topology.Empty()
	if before != nil {
		snap = before.snap
	}
	snap = whole(snap, c.current)
	f, err := newFabric(snap, c.hosts.leaves(snap), &c.cfg, before)
	c.failure = err
	if err != nil {
		c.event(api.EventFabricChanged, "", err.Error())
		return
	}
	c.fabric, c.hosts.regroup = f, true
	c.links.adopt(before, c.drains.link)
	for i := range f.edges {
		c.lookAtPort(int32(i))
	}
	if before == nil {
		c.restoreAt, c.suspects.at, c.prober.at = c.now, c.now+c.cfg.Suspects.Every.D(), c.now
	}
	c.lookAtAll()
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

// Assignment returns the numbers of links that EVs are made of, which switches
// must be programmed with; nil before the topology is in sync.
func (c *Core) Assignment() *ev.Assignment {
	if c.fabric == nil {
		return nil
	}
	return c.fabric.assign
}
