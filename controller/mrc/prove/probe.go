package prove

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/topology"
)

const (
	// probeEvery is how often probes are sent.
	probeEvery = 10 * time.Millisecond
	// probeGap lies between the probes of a request.
	probeGap = time.Millisecond
	// answerGrace is what a result may be late.
	answerGrace = 2 * time.Second
	// triesALink limits the number of paths examined to find a path that probes a link.
	triesALink = 256
	// tellingTime is the pause after new states for hosts before probes of EVs in turn resume. It
	// leaves time to the hosts and to the sender of the states: those probes can wait, a denial
	// cannot.
	tellingTime = 100 * time.Millisecond
)

// prober chooses the probes of hosts within a budget, and reports the results.
type prober struct {
	*env
	cfg      *inventory.Probes
	dscp     uint8
	restore  *inventory.Restore
	suspects *suspectSet

	pending map[uint32]*probe // by id
	id      uint32            // of the last probe
	tokens  float64           // probes that may be sent
	at      time.Duration     // of the last run
	// spin turns which paths probe a link.
	spin     map[topology.LinkID]int
	turns    []*Group       // that probe EVs in turn
	cursor   int            // in turns
	assuming map[*Host]bool // hosts that found an EV bad, and may still
	round    round
	wanted   wantedLinks
	looked   bool          // at the last run: closer looks had what there was
	toldAt   time.Duration // when hosts were told something last
	reported api.ProbeCount
}

// probe is a request that is under way.
type probe struct {
	host     *Host
	peer     string
	profile  *Profile
	ev       hostapi.EV
	links    []int32
	count    int
	at       time.Duration
	deadline time.Duration
	// telling reports whether a loss accuses the links: when it was sent, both hosts held a
	// state, and probes had come through over all links before.
	telling bool
	// look is the closer look that it is for, at the host of; nil: none.
	look *closerLook
	of   string
}

// path is an EV that may be probed: a path of a profile's port.
type path struct {
	profile *Profile
	port    uint8
	set     topology.PathSet
	ref     topology.PathRef
	links   []int32
}

// probes reports whether hosts are asked to probe at all.
func (pr *prober) probes() bool { return pr.cfg.On() && pr.mode != ev.ModeECMP }

// active reports whether there is a host that probes.
func (pr *prober) active() bool {
	if !pr.probes() {
		return false
	}
	for _, h := range pr.hosts {
		if h.connected && h.canProbe {
			return true
		}
	}
	return false
}

// run spends what probes may be sent by now: on links that wait to be
// restored, on links that were never tried, on EVs that hosts found bad, and on
// all EVs in turn.
func (pr *prober) run() {
	if pr.now < pr.at+probeEvery {
		return
	}
	pr.runRound()
	passed := pr.now - pr.at
	pr.at = pr.now
	for id, p := range pr.pending {
		if pr.now >= p.deadline {
			pr.Counters.LostProbes++
			pr.forget(id, p)
		}
	}
	if !pr.active() {
		for _, i := range pr.links.Waiting() {
			pr.links.SetUnprobeable(i, true)
		}
		return
	}
	lost := pr.Settle().Lost()
	pr.tokens = filled(pr.tokens, passed, pr.cfg.Rate)
	for _, i := range pr.links.Waiting() {
		if pr.tokens < 1 {
			break
		}
		if n := pr.links.Wants(i); n > 0 {
			pr.probeLink(i, n)
		}
	}
	if !pr.round.done {
		for i := range int32(pr.links.Len()) {
			if pr.tokens < 1 {
				break
			}
			if pr.links.Untried(i) {
				pr.probeLink(i, 1)
			}
		}
	}
	pr.probeWanted()
	pr.probeAssumed()
	if spent := pr.lookCloser(lost); !spent && pr.now >= pr.toldAt+tellingTime {
		pr.probeInTurn(lost)
	}
}

// filled returns the probes that may be sent after some seconds more.
func filled(tokens float64, passed time.Duration, rate int) float64 {
	return min(tokens+passed.Seconds()*float64(rate), max(1, float64(rate)/10))
}

// budget returns the probes that a host may be asked for by now: what is left to it, and to all.
func (pr *prober) budget(h *Host) float64 {
	if passed := pr.at - h.filledAt; passed > 0 {
		h.tokens, h.filledAt = filled(h.tokens, passed, pr.cfg.HostRate), pr.at
	}
	return min(h.tokens, pr.tokens)
}

// affordable returns how many of some probes a host is asked for: those in its budget, 1 at least.
func (pr *prober) affordable(h *Host, count int) int {
	return min(count, max(1, int(pr.budget(h))))
}

// next lowers a time to that of the next run.
func (pr *prober) next(at time.Duration) time.Duration {
	awaited := !pr.round.done && pr.round.begun()
	if pr.active() || awaited && !pr.probes() {
		at = min(at, pr.at+probeEvery)
	}
	if awaited {
		at = min(at, max(pr.round.ends, pr.at+probeEvery))
	}
	return at
}

// probeLink probes some path across a link, whose other links are in use or wait
// for a probe as well.
func (pr *prober) probeLink(i int32, count int) {
	l := pr.links.At(i)
	leaves, sending := crossing(l.Edge)
	spin, tries := pr.spin[l.ID], 0
	var last path
	var by *Host // of last; nil: there is none
	for n := range leaves {
		leaf := leaves[(spin+n)%len(leaves)]
		profiles := pr.Profiles.Count(leaf, sending)
		for k := range profiles {
			p := pr.Profiles.At(leaf, sending, (spin*7+k)%profiles)
			if p.evs.Held() == nil {
				continue
			}
			w, ok := pr.across(i, p, leaf, &tries)
			if !ok {
				if tries > triesALink && by == nil {
					pr.spin[l.ID]++
					return // goes on there next time
				}
				continue
			}
			h, full := pr.turn(p, w.port, 1)
			if h == nil {
				if full {
					return // when there is budget again
				}
				continue
			}
			if !pr.peerOf(h, p, w.port).connected { // it may not answer
				last, by = w, h
				continue
			}
			pr.sendAcross(i, h, w, count)
			return
		}
	}
	if by != nil {
		pr.sendAcross(i, by, last, count)
		return
	}
	pr.links.SetUnprobeable(i, true)
	pr.links.Defer(i, pr.now+pr.restore.Hold.D())
}

// sendAcross asks a host to probe a path across a link.
func (pr *prober) sendAcross(i int32, h *Host, w path, count int) {
	pr.links.SetUnprobeable(i, false)
	pr.spin[pr.links.At(i).ID]++
	pr.links.Defer(i, pr.now+pr.cfg.Timeout.D()+answerGrace)
	pr.send(h, w, pr.affordable(h, min(count, hostapi.MaxProbes)))
}

// across finds a path of a profile across a link.
func (pr *prober) across(i int32, p *Profile, leaf topology.NodeID, tries *int) (path, bool) {
	l, f := pr.links.At(i), pr.State.Fabric()
	spin := pr.spin[l.ID]
	ends := p.from.rack.At()
	if !l.Rises() {
		ends = p.to.At()
	}
	for port := range ends {
		if ends[port] != leaf {
			continue
		}
		set, ok := pr.pathsOf(p, uint8(port+1))
		if !ok {
			continue
		}
		n := set.Len()
		for k := range n {
			if *tries++; *tries > triesALink {
				break
			}
			ref, _ := set.At((k + spin) % n)
			if !f.Crosses(set, ref, i) {
				continue
			}
			w := path{profile: p, port: uint8(port + 1), set: set, ref: ref, links: f.PlacesOf(set, ref)}
			if pr.links.Open(w.links) {
				return w, true
			}
		}
	}
	return path{}, false
}

// turn returns a host that can probe a profile by a port now. full reports that a host exists, but
// no budget.
func (pr *prober) turn(p *Profile, port uint8, count float64) (h *Host, full bool) {
	hosts := p.from.hosts
	for n := range hosts {
		h := hosts[(p.from.turn+n)%len(hosts)]
		if !h.connected || !h.canProbe || !h.Usable().Has(int(port)) || pr.peerOf(h, p, port) == nil {
			continue
		}
		if pr.budget(h) < count {
			full = true
			continue
		}
		p.from.turn++
		return h, false
	}
	return nil, full
}

// peerOf returns the host that a host probes: a connected host, if there is one.
func (pr *prober) peerOf(h *Host, p *Profile, port uint8) *Host {
	var other *Host
	hosts := p.to.Hosts()
	for n := range hosts {
		o := pr.hosts[hosts[(h.peer+n)%len(hosts)].Name]
		switch {
		case o == h || !o.Usable().Has(int(port)):
		case o.connected:
			return o
		case other == nil:
			other = o
		}
	}
	return other
}

// send asks a host to probe a path.
func (pr *prober) send(h *Host, w path, count int) {
	p := w.profile
	enc, err := pr.State.Assignment().Encoder(w.set)
	if err != nil {
		return
	}
	wire := hostapi.EV{Value: enc.Value(w.ref), Port: w.port}
	v, err := p.evs.Held().Shrink(wire)
	if err != nil {
		v = wire
	}
	pr.sendEV(h, p, v, wire, w.links, count)
}

func (pr *prober) sendEV(h *Host, p *Profile, v, wire hostapi.EV, places []int32, count int) {
	peer := pr.peerOf(h, p, wire.Port)
	if peer == nil {
		return
	}
	h.peer++
	h.tokens -= float64(count) // of its budget, which was asked for
	pr.tokens -= float64(count)
	pr.id++
	if pr.id == 0 {
		pr.id = 1
	}
	took := time.Duration(count-1)*probeGap + pr.cfg.Timeout.D()
	pr.pending[pr.id] = &probe{
		host: h, peer: peer.Name, profile: p, ev: v, links: places, count: count, at: pr.now,
		deadline: pr.now + took + answerGrace,
		telling:  h.holds && peer.holds && pr.links.InUse(places) && pr.links.Proven(places),
	}
	pr.Probe(h.Name, &hostapi.Probe{
		ID: pr.id, Source: h.Address, Destination: peer.Address, Format: p.evs.Held().Format,
		EV: wire, DSCP: pr.dscp, Count: count, Interval: probeGap, Timeout: pr.cfg.Timeout.D(),
	})
}

// probeAssumed probes EVs that hosts found bad: they are worth knowing about.
func (pr *prober) probeAssumed() {
	if pr.tokens < 1 {
		return
	}
	var hosts []*Host
	for h := range pr.assuming {
		if len(h.assumed) > 0 && pr.hosts[h.Name] == h {
			hosts = append(hosts, h)
		} else {
			delete(pr.assuming, h)
		}
	}
	slices.SortFunc(hosts, func(a, b *Host) int { return cmp.Compare(a.Name, b.Name) })
	for _, h := range hosts {
		if !h.connected || !h.canProbe || pr.budget(h) < 1 || pr.now < h.assumedAt {
			continue
		}
		h.assumedAt = pr.now + pr.cfg.Timeout.D()
		key := h.nextAssumed()
		p := pr.Profiles.Named(key.profile)
		if p == nil || p.evs.Held() == nil || !h.Usable().Has(int(key.ev.Port)) {
			continue
		}
		if wire, err := p.evs.Held().Expand(key.ev); err == nil {
			pr.sendEV(h, p, key.ev, wire, pr.placesOfEV(p, key.ev), 1)
		}
	}
}

// placesOfEV are the links of an EV, none when a switch chooses.
func (pr *prober) placesOfEV(p *Profile, v hostapi.EV) []int32 {
	var out []int32
	for _, id := range pr.linksOf(p, v) {
		if i, ok := pr.State.Fabric().Place(id); ok {
			out = append(out, i)
		}
	}
	return out
}

// probeInTurn spends what is left on all EVs: the hosts of each leaf in turn, their
// profiles in turn, and one EV of each at a time.
func (pr *prober) probeInTurn(lost *topology.LostPaths) {
	idle := 0
	for idle < len(pr.turns) && pr.tokens >= 1 {
		s := pr.turns[pr.cursor%len(pr.turns)]
		pr.cursor++
		idle++
		for range s.profiles {
			p := s.profiles[s.cursor%len(s.profiles)]
			sent, full := pr.probeNext(p, lost)
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

// probeNext probes the next EV of a profile. full says to try it again when there is
// budget.
func (pr *prober) probeNext(p *Profile, lost *topology.LostPaths) (sent, full bool) {
	if p.evs.Held() == nil {
		return false, false
	}
	ports := len(p.from.rack.At())
	for range ports {
		port := uint8(p.next%ports + 1)
		set, ok := pr.pathsOf(p, port)
		if !ok {
			p.next++
			continue
		}
		ref, _ := set.At(p.next / ports % set.Len())
		if lost.Path(set, ref) {
			p.next++
			continue
		}
		h, full := pr.turn(p, port, 1)
		if full {
			return false, true
		}
		p.next++
		if h != nil {
			places := pr.State.Fabric().PlacesOf(set, ref)
			pr.send(h, path{profile: p, port: port, set: set, ref: ref, links: places}, 1)
			return true, false
		}
	}
	return false, false
}

// forget takes a request off the list without a result: links that wait for
// it are asked about again soon.
func (pr *prober) forget(id uint32, p *probe) {
	delete(pr.pending, id)
	for _, i := range p.links {
		pr.links.Hasten(i, pr.now+pr.cfg.Timeout.D())
	}
}

// gone forgets the requests to a host whose stream has ended.
func (pr *prober) gone(h *Host) {
	for id, p := range pr.pending {
		if p.host == h {
			pr.forget(id, p)
		}
	}
}

// renewed notes a new fabric: pending requests are no evidence about its links.
func (pr *prober) renewed() {
	for _, p := range pr.pending {
		p.links = nil
	}
	clear(pr.round.refused)
}

// Result records the result of a request to a host. The error is of kind ErrUnknownProbe or
// fabric.ErrMalformed.
func (p *Prover) Result(h *Host, r *hostapi.ProbeResult) error { return p.prober.result(h, r) }

func (pr *prober) result(h *Host, r *hostapi.ProbeResult) error {
	p := pr.pending[r.ID]
	switch {
	case p == nil || p.host != h:
		pr.Counters.UnknownProbes++
		return fmt.Errorf("host %s: probe %d: %w", h.Name, r.ID, ErrUnknownProbe)
	case r.Err != "":
		pr.round.refuse(p.links)
		pr.forget(r.ID, p)
		return nil
	case r.Sent < 1 || r.Sent > p.count || r.Received < 0 || r.Received > r.Sent:
		pr.Counters.BadCounts++
		pr.forget(r.ID, p)
		return fmt.Errorf("host %s: probe %d: sent %d, received %d, "+
			"want at most %d and no more received than sent: %w", h.Name, r.ID, r.Sent, r.Received, p.count,
			fabric.ErrMalformed)
	}
	pr.forget(r.ID, p)
	pr.reported.Sent += uint64(r.Sent)
	pr.reported.Answered += uint64(r.Received)
	p.note(pr.now, r)
	if p.look != nil && p.telling {
		p.look.note(p.of, suspect.Counts{Sent: uint64(r.Sent), Lost: uint64(r.Sent - r.Received)})
	}
	if len(p.links) == 0 {
		return nil
	}
	if p.telling && pr.links.InUse(p.links) {
		ids := make([]topology.LinkID, len(p.links))
		for k, i := range p.links {
			ids[k] = pr.State.Fabric().Edge(i).ID
		}
		path := pr.suspects.locator.Answered(pr.ends(h, p.profile.to, p.ev.Port, ids),
			pr.answers(p.profile, p.ev.Port))
		n := suspect.Counts{Sent: uint64(r.Sent), Lost: uint64(r.Sent - r.Received)}
		pr.suspects.accuse(h.Name, ids, n)
		pr.suspects.observe(path, n)
	}
	if peer := pr.hosts[p.peer]; r.Received == 0 && (peer == nil || !peer.connected) {
		return nil // nobody may be there to answer
	}
	for _, i := range p.links {
		pr.links.Result(i, p.at, r.Sent, r.Received)
	}
	return nil
}
