package selfprobe

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/weft-sdn/weft/topology"
)

// Run returns the verdicts in force, those of black holes first. open reports whether the control
// plane has a link up in use, in both directions; what hosts lose elsewhere accuses nothing.
func (j *Judge) Run(now time.Duration, open func(place int32) bool) []Verdict {
	j.now, j.heard = max(j.now, now), false
	for i := range j.moved {
		if l := j.links[i]; l != nil && l.open != open(i) {
			l.open = !l.open
			j.forget(i)
		}
	}
	clear(j.moved)
	j.said = slices.DeleteFunc(j.said, func(v Verdict) bool { return j.cleared(&v) })
	for _, leaf := range slices.Sorted(maps.Keys(j.hotLeaves)) {
		if !j.judgeLeaf(leaf) {
			delete(j.hotLeaves, leaf)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(j.hot)) {
		l := j.links[i]
		if l == nil {
			delete(j.hot, i)
			continue
		}
		kind := j.bad(l)
		if kind == 0 {
			if l.bad = 0; l.test.sum == 0 && !slices.ContainsFunc(l.targets,
				func(t *targetEvidence) bool { return t.dead }) {
				delete(j.hot, i)
			}
			continue
		}
		if l.bad == 0 || l.kind != kind {
			l.bad, l.kind = max(j.now, 1), kind
		}
		if !j.named(l) && j.now >= l.settles() {
			j.judgeLink(l)
		}
	}
	slices.SortStableFunc(j.said, func(a, b Verdict) int { return cmp.Compare(a.Kind, b.Kind) })
	return slices.Clone(j.said)
}

// Next lowers a time to that of the next Run.
func (j *Judge) Next(at time.Duration) time.Duration {
	if j.heard {
		return min(at, j.now)
	}
	for i := range j.hot {
		if l := j.links[i]; l != nil && l.bad > 0 && !j.named(l) {
			at = min(at, max(l.settles(), j.now))
		}
	}
	for leaf := range j.hotLeaves {
		for _, s := range j.seats[leaf] {
			if s.bad > 0 && j.now < s.settles() {
				at = min(at, s.settles())
			}
		}
	}
	return at
}

// settles returns when the evidence about a bad link is complete: the other links of a switch have
// been probed as often, and a link that loses all is known from one that loses some, which waits
// for a report of every host.
func (l *linkEvidence) settles() time.Duration {
	wait := time.Duration(0)
	for _, t := range l.targets {
		h := t.seat.host
		if w := h.round; l.kind == Grey {
			wait = max(wait, (DeadAfter+1)*w+h.report)
		} else {
			wait = max(wait, w)
		}
	}
	return l.bad + wait + apart
}

// settles is the same for the cable of a host.
func (s *seatEvidence) settles() time.Duration {
	if s.target.dead {
		return s.bad + s.host.round + apart
	}
	return s.bad + (DeadAfter+1)*s.host.round + s.host.report
}

// named reports whether a verdict of its kind, or worse, covers a bad link.
func (j *Judge) named(l *linkEvidence) bool {
	e := j.f.Edge(l.place)
	return slices.ContainsFunc(j.said, func(v Verdict) bool {
		return v.Kind <= l.kind && (slices.Contains(v.Links, l.place) || v.Node != "" &&
			(v.Node == e.Local || v.Node == e.Remote))
	})
}

// telling reports whether a target says something about the last link of its climb: the cable
// below has passed probes, and is not dead, and no link on the way is bad.
func (j *Judge) telling(t *targetEvidence) bool {
	s := t.seat
	if s.target == nil || s.target.dead || !s.test.proven || s.test.sum >= Threshold ||
		j.now > t.heard+s.host.stale {
		return false
	}
	for _, i := range t.climb[:max(0, len(t.climb)-1)] {
		below := j.links[i]
		if below == nil || !below.open || below.test.sum > 2*perLoss || j.quorate(below) {
			return false
		}
	}
	return true
}

// quorate reports whether enough hosts call a link dead.
func (j *Judge) quorate(l *linkEvidence) bool {
	if !l.open || !l.test.proven {
		return false
	}
	all, dead := 0, 0
	for _, t := range l.targets {
		if j.telling(t) {
			all++
			if t.dead {
				dead++
			}
		}
	}
	return dead > 0 && 2*dead >= all && (dead >= 2 || all == 1)
}

// excess returns the losses of a target that losses on the way to the leaf do not explain.
func (t *targetEvidence) excess() uint64 {
	below := float64(t.lostBelow)
	return uint64(max(0, float64(t.lost)-below-2*math.Sqrt(below)))
}

// grey returns the probes over a link that count, those lost, and how many hosts lost some; all is
// the number of hosts that tell.
func (j *Judge) grey(l *linkEvidence) (sent, lost uint64, hosts, all int) {
	for _, t := range l.targets {
		if !j.telling(t) {
			continue
		}
		all++
		x := t.excess()
		sent, lost = sent+t.sent, lost+x
		if x > 0 {
			hosts++
		}
	}
	return sent, lost, hosts, all
}

// bad returns what the probes over a link say; 0: it is well.
func (j *Judge) bad(l *linkEvidence) Kind {
	switch {
	case !l.open || !l.test.proven:
		return 0
	case j.quorate(l):
		return BlackHole
	case l.test.sum < Threshold:
		return 0
	}
	sent, lost, hosts, all := j.grey(l)
	if float64(lost)*perLoss-float64(sent-min(lost, sent))*perPass >= Threshold &&
		(hosts >= 2 || all == 1) {
		return Grey
	}
	return 0
}

// suffers reports whether a link loses probes as another of its switch does: it is dead too, or has
// lost some.
func (j *Judge) suffers(l *linkEvidence, k Kind) bool {
	if k == BlackHole {
		return j.quorate(l)
	}
	_, lost, _, _ := j.grey(l)
	return lost > 0 || j.bad(l) != 0
}

// judgeLink names a bad link, or the switch whose links are all bad.
func (j *Judge) judgeLink(l *linkEvidence) {
	kind, e := l.kind, j.f.Edge(l.place)
	v := Verdict{Kind: kind, Link: l.place, Links: []int32{l.place}, Named: j.now}
	for _, node := range []topology.NodeID{e.Remote, e.Local} {
		bad := j.suffering(node, kind)
		if len(bad) < 2 {
			continue
		}
		v.Link, v.Node, v.Links = -1, node, bad
		break
	}
	hosts, all := make(map[string]bool), 0
	for _, i := range v.Links {
		for _, t := range j.links[i].targets {
			if !j.telling(t) {
				continue
			}
			all++
			sent, lost := t.sent, t.excess()
			if kind == BlackHole && t.dead {
				sent, lost = uint64(t.last.Misses), uint64(t.last.Misses)
			}
			v.Sent, v.Lost = v.Sent+sent, v.Lost+lost
			if lost > 0 {
				hosts[t.seat.host.name] = true
				since := t.since
				if kind == Grey {
					since = j.links[i].test.since
				}
				if v.Since == 0 || since < v.Since {
					v.Since = since
				}
			}
		}
	}
	v.Hosts, v.Single = len(hosts), all == 1
	j.say(v)
}

// suffering returns the links of a switch with a fault of this kind, if most of its links have it.
func (j *Judge) suffering(node topology.NodeID, k Kind) (bad []int32) {
	all := 0
	for _, i := range j.nodes[node] {
		l := j.links[i]
		if !l.open || !l.test.proven {
			continue
		}
		if _, _, _, telling := j.grey(l); telling == 0 {
			continue
		}
		all++
		if j.suffers(l, k) {
			bad = append(bad, i)
		}
	}
	if 3*len(bad) < 2*all {
		return nil
	}
	return bad
}

// say puts a verdict in force, in place of those that it explains.
func (j *Judge) say(v Verdict) {
	j.said = slices.DeleteFunc(j.said, func(o Verdict) bool {
		return o.Same(&v) || v.Node != "" && o.Link >= 0 && slices.Contains(v.Links, o.Link) ||
			v.Node != "" && o.Host != "" && slices.ContainsFunc(j.seats[v.Node], func(s *seatEvidence) bool {
				return s.host.name == o.Host && s.port == o.Port
			})
	})
	j.said = append(j.said, v)
}

// judgeLeaf names a leaf that sends little back, or the cable of a single host of it; false: the
// probes to it are well.
func (j *Judge) judgeLeaf(leaf topology.NodeID) (hot bool) {
	seats := j.seats[leaf]
	for _, s := range seats {
		dead := s.test.proven && s.target.dead && s.host.answers()
		switch hot = hot || s.test.sum > 0 || s.target.dead; {
		case !dead && s.test.sum < Threshold:
			s.bad = 0
		case s.bad == 0:
			s.bad = max(j.now, 1)
		}
	}
	for _, s := range seats {
		if s.bad == 0 || j.now < s.settles() {
			continue
		}
		v := Verdict{Kind: Grey, Link: -1, Host: s.host.name, Port: s.port, Named: j.now}
		if s.target.dead {
			v.Kind = BlackHole
		}
		bad, all := s.alike(seats, v.Kind)
		if v.Single = all == 1; len(bad) >= 2 && 3*len(bad) >= 2*all {
			v.Host, v.Port, v.Node, v.Links = "", 0, leaf, j.nodes[leaf]
		} else {
			bad = []*seatEvidence{s}
		}
		if v.Hosts = len(bad); slices.ContainsFunc(j.said, func(o Verdict) bool {
			return o.Node == leaf && o.Kind <= v.Kind
		}) {
			return true
		}
		if slices.ContainsFunc(j.said, func(o Verdict) bool { return o.Same(&v) && o.Kind <= v.Kind }) {
			continue // it is in force
		}
		for _, b := range bad {
			sent, lost, since := b.test.sent, b.test.lost, b.test.since
			if v.Kind == BlackHole {
				sent, lost, since = uint64(b.target.last.Misses), uint64(b.target.last.Misses), b.target.since
			}
			v.Sent, v.Lost = v.Sent+sent, v.Lost+lost
			if v.Since == 0 || since < v.Since {
				v.Since = since
			}
		}
		j.say(v)
	}
	return hot
}

// alike returns the cables of a leaf that lose probes as one cable does, and the number of cables
// that ever passed a probe.
func (s *seatEvidence) alike(seats []*seatEvidence, k Kind) (bad []*seatEvidence, all int) {
	for _, o := range seats {
		if !o.test.proven {
			continue
		}
		all++
		if k == BlackHole && o.target.dead || k == Grey && !o.target.dead && o.test.sum > 0 {
			bad = append(bad, o)
		}
	}
	return bad, all
}

// answers reports whether another port of a host gets probes back, or the host has no other port:
// a host whose ports all went dead at once has a fault of its own.
func (h *hostEvidence) answers() bool {
	other := 0
	for _, s := range h.seats {
		if s.target != nil && !s.target.dead {
			return true
		}
		other++
	}
	return other == 1
}

// cleared reports whether a verdict holds no longer.
func (j *Judge) cleared(v *Verdict) bool {
	enough := uint64(clearPasses)
	if v.Lost > 0 {
		enough = max(enough, clearFactor*v.Sent/v.Lost)
	}
	if v.Host != "" {
		h := j.hosts[v.Host]
		return h == nil || h.seats[v.Port] == nil || h.seats[v.Port].test.passes >= enough
	}
	if v.Node != "" && len(v.Links) == 0 {
		return !slices.ContainsFunc(j.seats[v.Node], func(s *seatEvidence) bool {
			return s.test.passes < enough
		})
	}
	return !slices.ContainsFunc(v.Links, func(i int32) bool {
		l := j.links[i]
		return l != nil && l.open && l.test.passes < enough
	})
}
