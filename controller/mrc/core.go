package mrc

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/topology"
)

// Core is the state machine. Its methods must not be called concurrently; all of
// them are synchronous, and none blocks.
type Core struct {
	cfg Config
	now time.Duration

	current *topology.Snapshot // what is advertised
	synced  bool
	fabric  *fabric
	remade  bool  // the fabric is to be made anew
	failure error // why it could not

	hosts       map[string]*host
	byAddress   map[netip.Addr]*host
	hostsByPort map[nodePort][]string
	racks       map[string]*rack
	senders     map[string]*sender
	profiles    []*profile // by name
	byName      map[string]*profile
	bySource    map[topology.NodeID][]*profile
	byDest      map[topology.NodeID][]*profile
	reracked    bool // senders and profiles are to be looked at

	ports         map[topology.NodeID]map[uint32]bool   // up, by P4Runtime port, as switches say
	portNumbers   map[topology.NodeID]map[uint32]uint32 // P4Runtime ports by link identifier, where they differ
	leafStates    map[topology.NodeID]*leafState
	waiting       map[int32]struct{} // links that time moves on
	heldPorts     map[string]bool    // hosts with ports that time moves on
	restoreAt     time.Duration
	touched       []int32 // links whose EVs may have changed
	touchedLeaves []topology.NodeID
	dirty         map[*profile]bool
	unset         map[string]bool // hosts whose state may have changed
	remask        bool            // peers' ports have changed
	peers         []hostapi.PeerPorts

	drains []*drain

	overrides map[string]Override // by profile
	cc        []*hostapi.CCProfile

	locator   *suspect.Locator
	suspects  []Suspect
	suspectAt time.Duration
	switches  map[topology.LinkID]linkCount

	pending   map[uint32]*probe
	probeID   uint32
	tokens    float64
	probedAt  time.Duration
	inTurn    []*sender     // that probe
	cursor    int           // in inTurn
	toldAt    time.Duration // when hosts were told something last
	roundEnds time.Duration
	roundDone bool

	counters api.FabricCounters
	out      Ready
}

// New returns a core that knows no topology and no host.
func New(cfg Config) (*Core, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	locator, err := suspect.New(cfg.Suspect)
	if err != nil {
		return nil, err
	}
	return &Core{
		overrides: make(map[string]Override), cc: cfg.CC,
		cfg: cfg, current: topology.Empty(), locator: locator,
		hosts: make(map[string]*host), byAddress: make(map[netip.Addr]*host), hostsByPort: make(map[nodePort][]string),
		racks: make(map[string]*rack), senders: make(map[string]*sender), byName: make(map[string]*profile),
		ports: make(map[topology.NodeID]map[uint32]bool), portNumbers: make(map[topology.NodeID]map[uint32]uint32), leafStates: make(map[topology.NodeID]*leafState), waiting: make(map[int32]struct{}),
		heldPorts: make(map[string]bool), dirty: make(map[*profile]bool), unset: make(map[string]bool),
		switches: make(map[topology.LinkID]linkCount), pending: make(map[uint32]*probe),
	}, nil
}

// Tick tells the time, which does not go back; every other input happens at the
// time of the last Tick.
func (c *Core) Tick(now time.Duration) {
	c.now = max(c.now, now)
	if c.fabric == nil {
		return
	}
	restore := c.now >= c.restoreAt
	c.runLinks(restore)
	if restore {
		c.runPorts()
		c.restoreAt = (c.now/c.cfg.RestoreEvery + 1) * c.cfg.RestoreEvery
	}
	c.runProbes()
	c.runSuspects()
	c.runDrains()
}

// Now returns the time of the last Tick.
func (c *Core) Now() time.Duration { return c.now }

// Next returns the time at which Tick should be called at the latest.
func (c *Core) Next() (at time.Duration, ok bool) {
	if c.fabric == nil {
		return 0, false
	}
	at = c.suspectAt
	if c.probing() {
		at = min(at, c.probedAt+probeEvery)
	}
	for i := range c.waiting {
		switch l := &c.fabric.links[i]; {
		case l.phase == held:
			at = min(at, max(l.until, c.now))
		case l.ready:
			at = min(at, c.restoreAt)
		case l.alone > 0:
			at = min(at, l.alone+c.cfg.MaxHold)
		}
	}
	if len(c.heldPorts) > 0 || c.leavesWait() {
		at = min(at, c.restoreAt)
	}
	for _, d := range c.drains {
		if len(d.waits) == 0 && !d.done {
			at = min(at, d.until)
		}
	}
	if !c.roundDone {
		at = min(at, max(c.roundEnds, c.probedAt+probeEvery))
	}
	return max(at, c.now), true
}

// Ready returns what is to be done now, and counts on its being done.
func (c *Core) Ready() Ready {
	c.settle()
	r := c.out
	c.out = Ready{}
	return r
}

// settle computes what follows from what has changed.
func (c *Core) settle() {
	if !c.synced {
		return
	}
	c.makeFabric()
	if c.fabric == nil {
		return
	}
	if c.reracked {
		c.rerack()
	}
	c.deny()
	if c.remask {
		c.mask()
	}
	c.states()
	c.setAll()
}

// makeFabric makes the fabric anew when it has grown.
func (c *Core) makeFabric() {
	if !c.remade || !c.synced {
		return
	}
	c.remade = false
	before := topology.Empty()
	if c.fabric != nil {
		before = c.fabric.snap
	}
	f, err := c.newFabric(whole(before, c.current))
	c.failure = err
	if err != nil {
		c.event(api.EventFabricChanged, "", err.Error())
		return
	}
	first := c.fabric == nil
	c.fabric, c.reracked, c.touched = f, true, nil
	clear(c.waiting)
	for i := range f.links {
		l := &f.links[i]
		l.drained = c.linkDrained(l)
		c.wait(int32(i), l.phase == held || l.phase == trying)
		c.lookAtPort(int32(i))
	}
	if first {
		c.restoreAt, c.suspectAt, c.probedAt = c.now, c.now+c.cfg.SuspectEvery, c.now
	}
	c.lookAtAll()
	for _, d := range c.drains {
		d.links, _ = c.find(d.Target)
		if first { // of an earlier core
			c.applyDrains(d)
			c.awaitAll(d)
		}
	}
	for _, p := range c.pending {
		p.links = nil // of the fabric before
	}
	for _, p := range c.profiles {
		c.build(p)
		c.dirty[p] = true
	}
}

// rerack makes the senders and profiles that hosts need, and drops others.
func (c *Core) rerack() {
	c.reracked = false
	for key, r := range c.racks {
		if len(r.hosts) == 0 {
			delete(c.racks, key)
			continue
		}
		if r.stale {
			r.stale, r.dests = false, r.destinations()
			for _, p := range c.profiles {
				if p.to == r && p.err == nil {
					p.built = c.finish(p, p.built)
					if p.explicit != nil {
						p.explicit = c.finish(p, p.explicit)
					}
					c.dirty[p] = true
				}
			}
		}
	}
	for key, s := range c.senders {
		if len(s.hosts) == 0 {
			delete(c.senders, key)
		}
	}
	var all []*profile
	racks := slices.SortedFunc(maps.Values(c.racks), func(a, b *rack) int { return cmp.Compare(a.name, b.name) })
	senders := slices.SortedFunc(maps.Values(c.senders), func(a, b *sender) int { return cmp.Compare(a.key, b.key) })
	for _, s := range senders {
		for to := range s.profiles {
			if c.racks[to.key] != to {
				delete(s.profiles, to)
				s.dirty = true
			}
		}
		s.inTurn = s.inTurn[:0]
		for _, r := range racks {
			p := s.profiles[r]
			if p == nil {
				p = &profile{name: s.profileTo(r), from: s, to: r}
				c.build(p)
				s.profiles[r] = p
				c.dirty[p], s.dirty = true, true
			}
			all = append(all, p)
			s.inTurn = append(s.inTurn, p)
		}
		slices.SortFunc(s.inTurn, func(a, b *profile) int { return cmp.Compare(a.name, b.name) })
	}
	slices.SortFunc(all, func(a, b *profile) int { return natural.Compare(a.name, b.name) })
	c.profiles, c.byName = all, make(map[string]*profile, len(all))
	c.bySource, c.byDest = make(map[topology.NodeID][]*profile), make(map[topology.NodeID][]*profile)
	for _, p := range all {
		c.byName[p.name] = p
		for _, leaf := range distinct(p.from.rack.at) {
			c.bySource[leaf] = append(c.bySource[leaf], p)
		}
		for _, leaf := range distinct(p.to.at) {
			c.byDest[leaf] = append(c.byDest[leaf], p)
		}
	}
	for p := range c.dirty {
		if c.byName[p.name] != p {
			delete(c.dirty, p)
		}
	}
	c.inTurn, c.cursor = senders, 0
}

// distinct are the leaves of an attachment, each once.
func distinct(at []topology.NodeID) []topology.NodeID {
	out := slices.DeleteFunc(slices.Clone(at), func(leaf topology.NodeID) bool { return leaf == "" })
	slices.Sort(out)
	return slices.Compact(out)
}

// destinations are what the hosts of a rack are reached by.
func (r *rack) destinations() []netip.Prefix {
	var out []netip.Prefix
	for _, h := range r.hosts {
		out = append(out, netip.PrefixFrom(h.Address, 128))
		out = append(out, h.Prefixes...)
	}
	slices.SortFunc(out, func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	return slices.Compact(out)
}

func (c *Core) waitingLinks() []int32 { return slices.Sorted(maps.Keys(c.waiting)) }
