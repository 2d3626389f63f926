package mrc

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

const (
	// probeEvery is how often probes are sent.
	probeEvery = 10 * time.Millisecond
	// probeGap lies between the probes of a request.
	probeGap = time.Millisecond
	// answerGrace is what a result may be late.
	answerGrace = 2 * time.Second
	// triesALink bounds the paths that are looked at for one that probes a link.
	triesALink = 256
	// tellingTime is left to hosts that have been told something, and to whoever tells
	// them, before EVs are probed in turn again: those probes can wait, a denial cannot.
	tellingTime = 100 * time.Millisecond
	// provenMisses is how many probes in a row make a link of the first round bad.
	provenMisses = 3
)

// probe is a request that is under way.
type probe struct {
	host     *host
	peer     string
	profile  *profile
	ev       hostapi.EV
	links    []int32
	count    int
	at       time.Duration
	deadline time.Duration
	// telling says that a loss accuses the links: when it was sent, both hosts held a
	// state, and probes had come through over all links before.
	telling bool
}

// way is an EV that may be probed: a path of a profile's port.
type way struct {
	profile *profile
	port    uint8
	set     topology.PathSet
	ref     topology.PathRef
	links   []int32
}

// probing reports whether there is anybody who probes.
func (c *Core) probing() bool {
	if c.cfg.ProbeRate == 0 || c.cfg.HostProbeRate == 0 || c.cfg.Format.Mode == ev.ModeECMP {
		return false
	}
	for _, s := range c.senders {
		for _, h := range s.hosts {
			if h.connected && h.canProbe {
				return true
			}
		}
	}
	return false
}

// runProbes spends what probes may be sent by now: on links that wait to be
// restored, on links that were never tried, on EVs that hosts found bad, and on
// all EVs in turn.
func (c *Core) runProbes() {
	if c.now < c.probedAt+probeEvery {
		return
	}
	c.runRound()
	passed := (c.now - c.probedAt).Seconds()
	c.probedAt = c.now
	for id, p := range c.pending {
		if c.now >= p.deadline {
			c.counters.LostProbes++
			c.forgetProbe(id, p)
		}
	}
	if !c.synced || !c.probing() {
		for _, i := range c.waitingLinks() {
			c.isAlone(&c.fabric.links[i], true)
		}
		return
	}
	c.settle()
	fill := func(tokens float64, rate int) float64 {
		return min(tokens+passed*float64(rate), max(1, float64(rate)/10))
	}
	c.tokens = fill(c.tokens, c.cfg.ProbeRate)
	for _, h := range c.hosts {
		h.tokens = fill(h.tokens, c.cfg.HostProbeRate)
	}
	lost := c.fabric.clos.Lost(c.losses())
	for _, i := range c.waitingLinks() {
		if l := &c.fabric.links[i]; c.tokens >= 1 && l.phase == trying && !l.ready && !l.drained && c.now >= l.next {
			c.probeLink(i, l.need-l.got)
		}
	}
	if !c.roundDone {
		for i := range c.fabric.links {
			if c.tokens < 1 {
				break
			}
			if l := &c.fabric.links[i]; l.phase == up && !l.proven && !l.drained && c.now >= l.next && len(l.leaves) > 0 {
				c.probeLink(int32(i), 1)
			}
		}
	}
	c.probeAssumed()
	if c.now >= c.toldAt+tellingTime {
		c.probeInTurn(lost)
	}
}

// isAlone notes that no host can probe a link, or that one can.
func (c *Core) isAlone(l *link, alone bool) {
	switch {
	case !alone:
		l.alone = 0
	case l.phase == trying && l.alone == 0:
		l.alone = max(c.now, 1)
	}
}

// runRound ends the first round: when every link in use was tried, or its time is
// over. A link over which no probe came is taken for bad, unless that goes for
// most: then it is the probes that are. While no host waits for the round a link
// has all its time: at a first start switches may still be being programmed.
func (c *Core) runRound() {
	if c.roundDone || !c.synced {
		return
	}
	proven, bad, open := 0, 0, 0
	awaited := c.roundAwaited()
	for i := range c.fabric.links {
		l := &c.fabric.links[i]
		switch {
		case l.phase != up || l.drained || len(l.leaves) == 0:
		case l.proven:
			proven++
		case l.misses >= provenMisses:
			bad++
		default:
			open++
		}
	}
	if (open > 0 || bad > 0 && !awaited) && c.now < c.roundEnds {
		return
	}
	c.roundDone = true
	if bad >= proven {
		return
	}
	for i := range c.fabric.links {
		if l := &c.fabric.links[i]; l.phase == up && !l.proven && l.misses >= provenMisses {
			l.failures.failed(c.now, c.cfg.Calm)
			c.hold(int32(i), "no probe came through", c.cfg.Hold, 1)
		}
	}
}

// roundAwaited reports whether a host holds what an earlier controller told it, and
// is told nothing before the first round is over.
func (c *Core) roundAwaited() bool {
	for _, h := range c.hosts {
		if h.foreign {
			return true
		}
	}
	return false
}

// probeLink probes some path across a link, whose other links are in use or wait
// for a probe as well.
func (c *Core) probeLink(i int32, count int) {
	l := &c.fabric.links[i]
	at, leaves := c.crossing(l)
	tries := 0
	for n := range leaves {
		leaf := leaves[(int(l.spin)+n)%len(leaves)]
		profiles := at[leaf]
		for k := range profiles {
			p := profiles[(int(l.spin)*7+k)%len(profiles)]
			if p.err != nil {
				continue
			}
			w, ok := c.across(i, p, leaf, &tries)
			if !ok {
				if tries > triesALink {
					l.spin++
					return // goes on there next time
				}
				continue
			}
			h, full := c.prober(p, w.port, 1)
			if h == nil {
				if full {
					return // when there is budget again
				}
				continue
			}
			c.isAlone(l, false)
			l.spin++
			l.next = c.now + c.cfg.ProbeTimeout + answerGrace
			c.send(h, w, min(count, hostapi.MaxProbes, max(1, int(h.tokens)), max(1, int(c.tokens))))
			return
		}
	}
	c.isAlone(l, true)
	l.next = c.now + c.cfg.Hold
}

// across finds a path of a profile across a link.
func (c *Core) across(i int32, p *profile, leaf topology.NodeID, tries *int) (way, bool) {
	l := &c.fabric.links[i]
	ends := p.from.rack.at
	if !l.rises {
		ends = p.to.at
	}
	for port := range ends {
		if ends[port] != leaf {
			continue
		}
		set, ok := c.pathSet(p, uint8(port+1))
		if !ok || set.Hops() == 0 {
			continue
		}
		n := set.Len()
		for k := range n {
			if *tries++; *tries > triesALink {
				return way{}, false
			}
			ref, _ := set.At((k + int(l.spin)) % n)
			if !crosses(set, ref, i, c.fabric.links[i].rises, l.reverse) {
				continue
			}
			w := way{profile: p, port: uint8(port + 1), set: set, ref: ref, links: c.placesOf(set, ref)}
			if c.open(w.links) {
				return w, true
			}
		}
	}
	return way{}, false
}

// crosses reports whether a path takes a link, up or down.
func crosses(set topology.PathSet, ref topology.PathRef, place int32, rises bool, reverse int32) bool {
	if rises {
		return slices.Contains(set.Up().Links(ref.Up), place)
	}
	return slices.Contains(set.Down().Links(ref.Down), reverse)
}

// placesOf are the links of a path.
func (c *Core) placesOf(set topology.PathSet, ref topology.PathRef) []int32 {
	var out []int32
	out = append(out, set.Up().Links(ref.Up)...)
	for _, l := range set.Down().Links(ref.Down) {
		out = append(out, c.fabric.links[l].reverse)
	}
	return out
}

// open reports whether a probe may come through links.
func (c *Core) open(links []int32) bool {
	for _, i := range links {
		if l := &c.fabric.links[i]; l.drained || l.phase != up && l.phase != trying {
			return false
		}
	}
	return true
}

// prober returns a host that can probe a profile by a port now. full says that
// there is one, but no budget.
func (c *Core) prober(p *profile, port uint8, count float64) (h *host, full bool) {
	hosts := p.from.hosts
	for n := range hosts {
		h := hosts[(p.from.turn+n)%len(hosts)]
		if !h.connected || !h.canProbe || !h.usable.Has(int(port)) || c.peerOf(h, p, port) == nil {
			continue
		}
		if c.tokens < count || h.tokens < count {
			full = true
			continue
		}
		p.from.turn++
		return h, false
	}
	return nil, full
}

// peerOf returns whom a host probes: one that is connected, if there is one.
func (c *Core) peerOf(h *host, p *profile, port uint8) *host {
	var other *host
	for n := range p.to.hosts {
		o := p.to.hosts[(h.peer+n)%len(p.to.hosts)]
		switch {
		case o == h || !o.usable.Has(int(port)):
		case o.connected:
			return o
		case other == nil:
			other = o
		}
	}
	return other
}

// send asks a host to probe a way.
func (c *Core) send(h *host, w way, count int) {
	p := w.profile
	enc, err := c.fabric.assign.Encoder(w.set)
	if err != nil {
		return
	}
	wire := hostapi.EV{Value: enc.Value(w.ref), Port: w.port}
	v, err := p.outcome.Profile.Shrink(wire)
	if err != nil {
		v = wire
	}
	c.sendEV(h, p, v, wire, w.links, count)
}

func (c *Core) sendEV(h *host, p *profile, v, wire hostapi.EV, links []int32, count int) {
	peer := c.peerOf(h, p, wire.Port)
	if peer == nil || p.outcome.Profile == nil {
		return
	}
	h.peer++
	h.tokens -= float64(count)
	c.tokens -= float64(count)
	c.probeID++
	if c.probeID == 0 {
		c.probeID = 1
	}
	took := time.Duration(count-1)*probeGap + c.cfg.ProbeTimeout
	c.pending[c.probeID] = &probe{
		host: h, peer: peer.Name, profile: p, ev: v, links: links, count: count, at: c.now, deadline: c.now + took + answerGrace,
		telling: h.applied > 0 && peer.applied > 0 && c.inUse(links) && c.proven(links),
	}
	c.out.Probes = append(c.out.Probes, Probe{Host: h.Name, Request: &hostapi.Probe{
		ID: c.probeID, Source: h.Address, Destination: peer.Address, Format: p.outcome.Profile.Format, EV: wire, DSCP: c.cfg.ProbeDSCP,
		Count: count, Interval: probeGap, Timeout: c.cfg.ProbeTimeout,
	}})
}

// probeAssumed probes EVs that hosts found bad: they are worth knowing about.
func (c *Core) probeAssumed() {
	if c.tokens < 1 {
		return
	}
	var names []string
	for name, h := range c.hosts {
		if len(h.assumed) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		h := c.hosts[name]
		if !h.connected || !h.canProbe || h.tokens < 1 || c.tokens < 1 || c.now < h.assumedAt {
			continue
		}
		h.assumedAt = c.now + c.cfg.ProbeTimeout
		// The first not before the last one probed, in order.
		keys := slices.SortedFunc(maps.Keys(h.assumed), counterKey.compare)
		i := slices.IndexFunc(keys, func(k counterKey) bool { return k.compare(h.assumedLast) > 0 })
		key := keys[max(i, 0)]
		h.assumedLast = key
		p := c.byName[key.profile]
		if p == nil || p.outcome.Profile == nil || !h.usable.Has(int(key.ev.Port)) {
			continue
		}
		if wire, err := p.outcome.Profile.Expand(key.ev); err == nil {
			c.sendEV(h, p, key.ev, wire, c.placesOfEV(p, key.ev), 1)
		}
	}
}

// placesOfEV are the links of an EV, none when a switch chooses.
func (c *Core) placesOfEV(p *profile, v hostapi.EV) []int32 {
	var out []int32
	for _, id := range c.linksOf(p, v) {
		out = append(out, c.fabric.place[id])
	}
	return out
}

// probeInTurn spends what is left on all EVs: the hosts of each leaf in turn, their
// profiles in turn, and one EV of each at a time.
func (c *Core) probeInTurn(lost *topology.LostWays) {
	idle := 0
	for idle < len(c.inTurn) && c.tokens >= 1 {
		s := c.inTurn[c.cursor%len(c.inTurn)]
		c.cursor++
		idle++
		for range s.inTurn {
			p := s.inTurn[s.cursor%len(s.inTurn)]
			sent, full := c.probeNext(p, lost)
			if full {
				break // the same profile, when there is budget
			}
			s.cursor++
			if sent {
				idle = 0
				break
			}
		}
	}
}

// probeNext probes the next EV of a profile. full says that it is to be tried again,
// when there is budget.
func (c *Core) probeNext(p *profile, lost *topology.LostWays) (sent, full bool) {
	if p.outcome.Profile == nil || p.err != nil {
		return false, false
	}
	ports := len(p.from.rack.at)
	for range ports {
		port := uint8(p.next%ports + 1)
		set, ok := c.pathSet(p, port)
		if !ok || set.Len() == 0 {
			p.next++
			continue
		}
		ref, _ := set.At(p.next / ports % set.Len())
		if lost.Touches(set) && lost.Path(set, ref) {
			p.next++
			continue
		}
		h, full := c.prober(p, port, 1)
		if full {
			return false, true
		}
		p.next++
		if h != nil {
			c.send(h, way{profile: p, port: port, set: set, ref: ref, links: c.placesOf(set, ref)}, 1)
			return true, false
		}
	}
	return false, false
}

// forgetProbe takes a request off the list without a result: links that wait for
// it are asked about again soon.
func (c *Core) forgetProbe(id uint32, p *probe) {
	delete(c.pending, id)
	for _, i := range p.links {
		if int(i) < len(c.fabric.links) {
			c.fabric.links[i].next = min(c.fabric.links[i].next, c.now+c.cfg.ProbeTimeout)
		}
	}
}

// ProbeResult tells what came of a request.
func (c *Core) ProbeResult(name string, r *hostapi.ProbeResult) error {
	h, err := c.host(name)
	if err != nil {
		return err
	}
	p := c.pending[r.ID]
	switch {
	case p == nil || p.host != h:
		c.counters.UnknownProbes++
		return fmt.Errorf("host %s: probe %d: %w", name, r.ID, ErrUnknownProbe)
	case r.Err != "":
		c.forgetProbe(r.ID, p)
		return nil
	case r.Sent < 1 || r.Sent > p.count || r.Received < 0 || r.Received > r.Sent:
		c.counters.BadCounts++
		c.forgetProbe(r.ID, p)
		return fmt.Errorf("host %s: probe %d: sent %d, received %d, want at most %d and no more received than sent: %w", name, r.ID, r.Sent, r.Received, p.count, ErrMalformed)
	}
	c.forgetProbe(r.ID, p)
	c.cell(p, r)
	if len(p.links) > 0 {
		ids := make([]topology.LinkID, len(p.links))
		for k, i := range p.links {
			ids[k] = c.fabric.links[i].ID
		}
		if p.telling && c.inUse(p.links) {
			path := c.locator.Path(c.ends(h, p.profile.to, p.ev.Port, ids))
			c.locator.Observe(c.now, path, suspect.Counts{Sent: uint64(r.Sent), Lost: uint64(r.Sent - r.Received)})
		}
		for _, i := range p.links {
			c.probed(i, p.at, r.Sent, r.Received)
		}
	}
	return nil
}

// inUse reports whether links are all up: losses on others are no news.
func (c *Core) inUse(links []int32) bool {
	return !slices.ContainsFunc(links, func(i int32) bool { return c.fabric.links[i].phase != up })
}

// proven reports whether a probe has come through over each of some links. Over others
// none may get while switches are still being programmed, which makes none of them grey.
func (c *Core) proven(links []int32) bool {
	return !slices.ContainsFunc(links, func(i int32) bool { return !c.fabric.links[i].proven })
}

// Cell is what probes of an EV have shown.
type Cell struct {
	Profile     string
	Source      string // the host that probed last, and whom
	Destination string
	EV          hostapi.EV
	At          time.Duration
	// Sent and Received count the probes, of which Loss is a moving average.
	Sent, Received uint64
	Loss           float64
	// RTTs are of the last probes that were answered.
	RTTMin, RTTMean, RTTMax time.Duration
}

// lossWeight is the weight of a probe in the moving average.
const lossWeight = 1.0 / 16

// cell notes a result in the matrix.
func (c *Core) cell(p *probe, r *hostapi.ProbeResult) {
	if p.profile.cells == nil {
		p.profile.cells = make(map[hostapi.EV]*Cell)
	}
	cell := p.profile.cells[p.ev]
	loss := float64(r.Sent-r.Received) / float64(r.Sent)
	if cell == nil {
		cell = &Cell{Profile: p.profile.name, EV: p.ev, Loss: loss}
		p.profile.cells[p.ev] = cell
	}
	cell.Source, cell.Destination, cell.At = p.host.Name, p.peer, c.now
	cell.Sent += uint64(r.Sent)
	cell.Received += uint64(r.Received)
	keep := math.Pow(1-lossWeight, float64(r.Sent))
	cell.Loss = keep*cell.Loss + (1-keep)*loss
	if r.Received > 0 {
		cell.RTTMin, cell.RTTMean, cell.RTTMax = r.RTTMin, r.RTTMean, r.RTTMax
	}
}
