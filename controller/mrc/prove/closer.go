package prove

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/suspect"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/topology"
)

// Bounds of closer looks.
const (
	lookProbes = 8                // of a request
	lookKept   = 30 * time.Second // after its rack was suspected last
	// The look names a host's link when loss at the host's own rate is e^lookSure times as likely as
	// loss at the rate of the remaining hosts.
	lookSure = 9.2
	lookLost = 3 // probes at least
)

// A closerLook is at a rack whose link to some host loses packets: what hosts count by EV does not
// say which host, but a probe has one on each side.
type closerLook struct {
	end    hostEnd
	counts map[string]suspect.Counts // by host
	last   time.Duration             // when the rack was suspected last
	turn   int                       // requests so far
	round  int                       // among the paths: each gets as many requests as there are hosts
}

// note counts probes of a host.
func (l *closerLook) note(host string, n suspect.Counts) {
	c := l.counts[host]
	c.Sent += n.Sent
	c.Lost += n.Lost
	l.counts[host] = c
}

// guilty returns the hosts, by name, whose links lose more probes than the links of the remaining
// hosts.
func (l *closerLook) guilty() (names []string) {
	for name, c := range l.counts {
		if l.sureness(name, c) >= lookSure {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, natural.Compare)
	return names
}

// sureness returns the logarithm of a likelihood ratio for the losses of a host: the host's own
// loss rate against the rate of the remaining hosts. It is 0 if the host loses no more than the
// remaining hosts.
func (l *closerLook) sureness(name string, c suspect.Counts) float64 {
	sent, lost := 1.0, 0.5
	for o, n := range l.counts {
		if o != name {
			sent, lost = sent+float64(n.Sent), lost+float64(n.Lost)
		}
	}
	own, others := float64(c.Lost)/float64(c.Sent), lost/sent
	if c.Lost < lookLost || own <= 2*others {
		return 0
	}
	kept := 0.0
	if c.Lost < c.Sent {
		kept = float64(c.Sent-c.Lost) * math.Log((1-own)/(1-others))
	}
	return float64(c.Lost)*math.Log(own/others) + kept
}

// Looked returns the sent and lost probes of closer looks under way: by the link of the rack, as
// suspects name the link, and by host.
func (p *Prover) Looked() map[topology.LinkID]map[string]suspect.Counts {
	out := make(map[topology.LinkID]map[string]suspect.Counts)
	for id, l := range p.suspects.looks {
		out[id] = maps.Clone(l.counts)
	}
	return out
}

// closer replaces links of racks with the links of hosts found by closer looks, and begins and ends
// closer looks.
func (s *suspectSet) closer(found []suspect.Suspect) (out []suspect.Suspect) {
	for _, x := range found {
		end, ok := s.endOf(&x)
		if !ok || end.host != "" {
			out = append(out, x)
			continue
		}
		l := s.looks[x.Links[0]]
		if l == nil {
			l = &closerLook{end: end, counts: make(map[string]suspect.Counts)}
			s.looks[x.Links[0]] = l
		}
		l.last = s.now
		guilty := l.guilty()
		for _, name := range guilty {
			c, h := l.counts[name], s.hosts[name]
			if h == nil {
				continue
			}
			out = append(out, suspect.Suspect{
				Links:      []topology.LinkID{s.named.host(h.Attached, end.port, end.receiving)},
				Loss:       float64(c.Lost) / float64(c.Sent),
				Confidence: 1 - math.Exp(-l.sureness(name, c)), Sent: c.Sent, Lost: c.Lost, Paths: 1,
			})
		}
		if len(guilty) == 0 {
			out = append(out, x)
		}
	}
	for id, l := range s.looks {
		if s.now >= l.last+lookKept {
			delete(s.looks, id)
		}
	}
	return out
}

// lookCloser sends probes to, or from, the hosts of each rack under a closer look. Senders take
// turns, and so do the hosts that each sender probes. While no host is found, lookCloser may spend
// the whole budget every second time, and reports whether it did.
func (pr *prober) lookCloser(lost *topology.LostPaths) (spent bool) {
	ids := make([]topology.LinkID, 0, len(pr.suspects.looks))
	for id := range pr.suspects.looks {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, natural.Compare)
	urgent := false
	for _, id := range ids {
		l := pr.suspects.looks[id]
		urgent = urgent || len(l.guilty()) == 0
	}
	pr.looked = !pr.looked && urgent
	for sent := true; sent; sent = sent && pr.looked {
		sent = false
		for _, id := range ids {
			sent = pr.tokens >= 1 && pr.look(pr.suspects.looks[id], lost) || sent
		}
	}
	return pr.looked
}

// look sends probes for a look.
func (pr *prober) look(l *closerLook, lost *topology.LostPaths) (sent bool) {
	leaf, sending := l.end.leaf, !l.end.receiving
	count := pr.Profiles.Count(leaf, sending)
	for n := range count {
		p := pr.Profiles.At(leaf, sending, (l.round+n)%count)
		if pr.lookAlong(l, p, l.round/count, lost) {
			return true
		}
	}
	return false
}

// lookAlong sends probes by a profile, on one of its paths.
func (pr *prober) lookAlong(
	l *closerLook, p *Profile, nth int, lost *topology.LostPaths,
) (sent bool) {
	at := p.from.rack
	if l.end.receiving {
		at = p.to
	}
	if at.Name() != l.end.rack || p.from.rack == p.to || p.evs.Held() == nil {
		return false // answers within the rack cross the links of two of its hosts
	}
	set, ok := pr.pathsOf(p, l.end.port)
	if !ok {
		return false
	}
	ref, _ := set.At(nth % set.Len())
	if lost.Touches(set) && lost.Path(set, ref) {
		return false
	}
	h, _ := pr.turn(p, l.end.port, 1)
	if h == nil {
		return false
	}
	if l.turn++; l.turn%len(at.Hosts()) == 0 {
		l.round++
	}
	before := pr.id
	w := path{
		profile: p, port: l.end.port, set: set, ref: ref,
		links: pr.State.Fabric().PlacesOf(set, ref),
	}
	pr.send(h, w, pr.affordable(h, lookProbes))
	if pr.id == before {
		return false
	}
	probe := pr.pending[pr.id]
	probe.look, probe.of = l, h.Name
	if l.end.receiving {
		probe.of = probe.peer
	}
	return true
}
