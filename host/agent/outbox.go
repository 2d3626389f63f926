package agent

import (
	"cmp"
	"slices"

	"github.com/weft-sdn/weft/api/hostapi"
)

// What an Outbox keeps at most.
const (
	maxEvents  = 8192
	maxResults = 8192
)

// evKey names an EV of a profile.
type evKey struct {
	profile string
	ev      hostapi.EV
}

// An Outbox is what a host has to say. It is bounded: of events and probe results the oldest go,
// and are counted; of everything else only the last state is kept. The zero value is not usable:
// see NewOutbox. It is not safe for concurrent use.
type Outbox struct {
	open      bool // a stream was welcomed
	maxEvents int  // in a message
	maxCounts int
	maxGroups int // 0: the controller takes none

	answer    hostapi.Up
	events    []hostapi.EVEvent
	dropped   uint64 // events, since the last message with events
	results   []hostapi.ProbeResult
	ports     hostapi.PortMask
	portsSet  bool // the endpoint has said what its ports are
	portsNews bool // and the controller has not been told

	queuePairs     hostapi.QueuePairs // the last
	queuePairsNews bool               // which the controller has not been told

	portErrors struct {
		last hostapi.PortErrors
		news bool // the controller has not been told
		most int  // in a message; 0: the controller takes none
	}

	bad    map[evKey]struct{} // EVs that are ASSUMED_BAD
	counts latest[evKey, hostapi.EVCount]
	told   map[evKey]hostapi.EVCount

	self struct { // self-probes by a plan
		latest[int, hostapi.SelfProbeCount]
		plan  hostapi.Version
		taken bool // the controller is to know that the host follows the plan
	}

	lost struct{ events, results uint64 }
}

// latest has the last value of each key that the controller has not been told.
type latest[K comparable, V any] struct {
	of    map[K]V
	order []K // as they came
}

func (l *latest[K, V]) put(k K, v V) {
	if _, waiting := l.of[k]; !waiting {
		l.order = append(l.order, k)
	}
	l.of[k] = v
}

// take removes the values that have waited longest, at most so many.
func (l *latest[K, V]) take(most int) (out []V) {
	for _, k := range l.order[:min(len(l.order), most)] {
		out = append(out, l.of[k])
		delete(l.of, k)
	}
	l.order = slices.Delete(l.order, 0, len(out))
	return out
}

// NewOutbox is an empty outbox, without a stream.
func NewOutbox() *Outbox {
	o := &Outbox{bad: make(map[evKey]struct{}), told: make(map[evKey]hostapi.EVCount)}
	o.counts.of, o.self.of = make(map[evKey]hostapi.EVCount), make(map[int]hostapi.SelfProbeCount)
	return o
}

// Open is the controller's welcome on a new stream.
func (o *Outbox) Open(w *hostapi.Welcome) {
	o.open, o.maxEvents, o.maxCounts, o.maxGroups = true, w.MaxEvents, w.MaxCounts, w.MaxGroups
	o.queuePairsNews = len(o.queuePairs.Groups) > 0
	o.portErrors.news, o.portErrors.most = len(o.portErrors.last.Errors) > 0, w.MaxPortErrors
	o.answer, o.portsNews = nil, o.portsSet
	clear(o.told)
}

// Close is the end of the stream. What was not sent waits for the next, but for the answer to an
// update.
func (o *Outbox) Close() { o.open, o.answer = false, nil }

// Answer queues the answer to an update after the host applied the update and holds state, or
// refused the update and holds the old state. After a snapshot the outbox reports bad EVs to the
// controller again, because the controller may have forgotten these EVs.
func (o *Outbox) Answer(m hostapi.Up, state *hostapi.State, snapshot bool) {
	o.answer = m
	if _, applied := m.(*hostapi.Applied); !applied {
		return
	}
	var bad []evKey
	for k := range o.bad {
		if p := state.Profile(k.profile); p == nil || !p.Events || !p.Has(k.ev) || p.IsDenied(k.ev) {
			delete(o.bad, k)
		} else if snapshot {
			bad = append(bad, k)
		}
	}
	slices.SortFunc(bad, func(a, b evKey) int {
		return cmp.Or(cmp.Compare(a.profile, b.profile), a.ev.Compare(b.ev))
	})
	for _, k := range bad {
		o.push(hostapi.EVEvent{Profile: k.profile, EV: k.ev, State: hostapi.EVAssumedBad})
	}
	for k := range o.told {
		if state.Profile(k.profile) == nil {
			delete(o.told, k)
		}
	}
}

// EVEvent is an EV that changed state.
func (o *Outbox) EVEvent(e hostapi.EVEvent) {
	k := evKey{e.Profile, e.EV}
	switch e.State {
	case hostapi.EVAssumedBad:
		o.bad[k] = struct{}{}
	case hostapi.EVGood:
		delete(o.bad, k)
	default:
		return // denials are the controller's own
	}
	o.push(e)
}

func (o *Outbox) push(e hostapi.EVEvent) {
	if len(o.events) == maxEvents {
		o.events = slices.Delete(o.events, 0, 1)
		o.dropped++
		o.lost.events++
	}
	o.events = append(o.events, e)
}

// Dropped adds events that the device lost before reporting.
func (o *Outbox) Dropped(n uint64) { o.dropped += n }

// Count queues the current counters of an EV, unless unchanged.
func (o *Outbox) Count(c hostapi.EVCount) {
	k := evKey{c.Profile, c.EV}
	if old, ok := o.told[k]; ok && old == c {
		return
	}
	o.counts.put(k, c)
}

// Ports is the host's ports that are up.
func (o *Outbox) Ports(up hostapi.PortMask) {
	if o.portsSet && up == o.ports {
		return
	}
	o.ports, o.portsSet, o.portsNews = up, true, true
}

// QueuePairs sets the present queue pairs of applications.
func (o *Outbox) QueuePairs(q hostapi.QueuePairs) {
	slices.SortFunc(q.Groups, func(a, b hostapi.QueuePairGroup) int {
		return a.Compare(b.QueuePairKey)
	})
	if q.LeftOut != o.queuePairs.LeftOut || !slices.Equal(q.Groups, o.queuePairs.Groups) {
		o.queuePairs, o.queuePairsNews = q, true
	}
}

// PortErrors sets the present counters of errors of the host's ports that are not 0. If there are
// more than the controller takes, the controller gets the first, and the number of the others.
func (o *Outbox) PortErrors(e hostapi.PortErrors) {
	if e.LeftOut != o.portErrors.last.LeftOut || !slices.Equal(e.Errors, o.portErrors.last.Errors) {
		e.Errors = slices.Clone(e.Errors)
		o.portErrors.last, o.portErrors.news = e, true
	}
}

// nextQueuePairs is the message, with the largest groups where there are too many.
func (o *Outbox) nextQueuePairs() *hostapi.QueuePairs {
	o.queuePairsNews = false
	m := &hostapi.QueuePairs{Groups: slices.Clone(o.queuePairs.Groups),
		LeftOut: o.queuePairs.LeftOut}
	if len(m.Groups) > o.maxGroups {
		slices.SortStableFunc(m.Groups, func(a, b hostapi.QueuePairGroup) int {
			return b.Count - a.Count
		})
		for _, g := range m.Groups[o.maxGroups:] {
			m.LeftOut += g.Count
		}
		m.Groups = m.Groups[:o.maxGroups]
	}
	return m
}

// SelfProbeCounts queues the present counters of targets of self-probes; an empty list says that
// the host follows the plan. It drops queued counters of an earlier plan.
func (o *Outbox) SelfProbeCounts(c *hostapi.SelfProbeCounts) {
	o.self.taken = o.self.taken || len(c.Counts) == 0
	if c.Version != o.self.plan {
		o.self.plan, o.self.order = c.Version, nil
		clear(o.self.of)
	}
	for _, n := range c.Counts {
		o.self.put(n.Target, n)
	}
}

// Result is the answer to a probe request.
func (o *Outbox) Result(r hostapi.ProbeResult) {
	if len(o.results) == maxResults {
		o.results = slices.Delete(o.results, 0, 1)
		o.lost.results++
	}
	o.results = append(o.results, r)
}

// Next takes the next message to send, nil when there is none: answers first, then what ports and
// EVs are in, then results and counters.
func (o *Outbox) Next() hostapi.Up {
	if !o.open {
		return nil
	}
	switch {
	case o.answer != nil:
		m := o.answer
		o.answer = nil
		return m
	case o.portsNews:
		o.portsNews = false
		return &hostapi.PortStatus{Up: o.ports}
	case o.queuePairsNews && o.maxGroups > 0:
		return o.nextQueuePairs()
	case o.portErrors.news && o.portErrors.most > 0:
		o.portErrors.news = false
		m := o.portErrors.last
		n := min(len(m.Errors), o.portErrors.most)
		return &hostapi.PortErrors{Errors: m.Errors[:n], LeftOut: m.LeftOut + len(m.Errors) - n}
	case len(o.events) > 0 || o.dropped > 0:
		n := min(len(o.events), o.maxEvents)
		m := &hostapi.EVEvents{Events: slices.Clone(o.events[:n]), Dropped: o.dropped}
		o.events = slices.Delete(o.events, 0, n)
		o.dropped = 0
		return m
	case o.self.taken || len(o.self.order) > 0:
		o.self.taken = false
		return &hostapi.SelfProbeCounts{Version: o.self.plan, Counts: o.self.take(o.maxCounts)}
	case len(o.results) > 0:
		r := o.results[0]
		o.results = slices.Delete(o.results, 0, 1)
		return &r
	case len(o.counts.order) > 0:
		m := &hostapi.EVCounts{Counts: o.counts.take(o.maxCounts)}
		for _, c := range m.Counts {
			o.told[evKey{c.Profile, c.EV}] = c
		}
		return m
	}
	return nil
}
