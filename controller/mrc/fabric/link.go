package fabric

import (
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/internal/damping"
	"github.com/weft-sdn/weft/topology"
)

// A Phase is where one direction of a link stands between failure and use:
//
//	  ┌────────────── not advertised, port down ──────────────┐
//	  ▼                                                       │
//	down ── is back ──▶ held ── back-off over ──▶ trying ── probes came through ──▶ up
//	                     ▲  ▲                       │                               │
//	                     │  └───── probe lost ──────┘                               │
//	                     └──────────────────── suspect, denied ─────────────────────┘
//
// Packets cross a link that is Up and not drained; EVs over all others are denied.
type Phase uint8

const (
	Up Phase = iota
	Down
	Held
	Trying
)

// String returns the name of the phase as the API has it.
func (p Phase) String() string {
	return [...]string{"up", "down", "held", "trying"}[p]
}

// Reasons to hold a link that has not failed.
const (
	causeNew     = "new"
	causeDrained = "was drained"
)

// lostTrials is the number of consecutive lost probes that make a link count as failed.
const lostTrials = 3

// A Link holds the state of one direction of a fabric link.
type Link struct {
	*Edge
	*past // shared by all links that were always up; see own

	tryAt  time.Duration // not probed before
	heard  time.Duration // when the last result of a probe came; 0: none has
	misses int32         // probes in a row that did not come through

	phase    Phase
	present  bool // advertised, as is its other direction, between nodes that may be crossed
	portDown bool // as a switch says
	drained  bool
	proven   bool // a probe has come through since the start
}

// past is what a link that was not always up has beside.
type past struct {
	cause    string // why it is not up
	since    time.Duration
	until    time.Duration   // held: when the back-off is over
	failures damping.Backoff // of the link, and of probes over it
	bad      damping.Backoff // found to lose packets
	trial    trial
}

// never is the past of links that were always up: a fabric has a million of them. It is not
// written.
var never past

// own returns the past of the link alone, which may be written.
func (l *Link) own() *past {
	if l.past == &never {
		l.past = new(past)
	}
	return l.past
}

// A trial is the probing of a link.
type trial struct {
	need  int // trying: probes that must come through, and got: that did
	got   int
	ready bool          // trying: probes came through, it is restored with others
	alone time.Duration // trying: since when no host can probe it; 0: one can
}

// Phase returns the phase of the link, Cause the reason for not being up, and Since the core time
// at which the phase began.
func (l *Link) Phase() Phase         { return l.phase }
func (l *Link) Cause() string        { return l.cause }
func (l *Link) Since() time.Duration { return l.since }

// Until returns when the back-off of a link that is held ends, in the time of the core; 0: it is
// not held, or has no back-off.
func (l *Link) Until() time.Duration {
	if l.phase != Held {
		return 0
	}
	return l.until
}

// Returning reports whether the link is being probed before use without a failure: the link is new,
// or was drained.
func (l *Link) Returning() bool {
	return (l.phase == Held || l.phase == Trying) && (l.cause == causeNew || l.cause == causeDrained)
}

// Drained reports whether a drain covers the link.
func (l *Link) Drained() bool { return l.drained }

// Proven reports whether a probe has come through since the start, and Misses counts the probes in
// a row that did not.
func (l *Link) Proven() bool { return l.proven }
func (l *Link) Misses() int  { return int(l.misses) }

// Heard returns when the last result of a probe came, in the time of the core; 0: none has.
func (l *Link) Heard() time.Duration { return l.heard }

// Links holds the states of all links of the fabric, by place.
type Links struct {
	*env
	restore  *inventory.Restore
	suspects *inventory.Suspects
	// probed reports whether hosts probe links before they are restored.
	probed bool
	// renewed is called with each link that goes out of use or comes back: the evidence of its losses
	// is outdated.
	renewed func(topology.LinkID)

	all     []Link             // by place in the fabric
	waiting map[int32]struct{} // that time moves on
	denied  map[int32]struct{} // that EVs must not cross
	touched []int32            // that went out or came back since the last take
}

// adopt takes the links of env.fabric. Links of the former fabric keep their state; a link that
// nobody has tried is held.
func (s *Links) adopt(before *Fabric, drained func(*Edge) bool) {
	all := make([]Link, len(s.fabric.edges))
	clear(s.waiting)
	clear(s.denied)
	for i := range all {
		e := &s.fabric.edges[i]
		fresh := Link{past: &never, phase: Up, present: true}
		if before != nil {
			if was, ok := before.Place(e.ID); ok {
				fresh = s.all[was]
			} else {
				fresh.phase = Held
				p := fresh.own()
				p.cause, p.since, p.until = causeNew, s.now, s.now
			}
		}
		fresh.Edge, fresh.drained, fresh.tryAt = e, drained(e), 0
		if fresh.trial.alone != 0 {
			fresh.own().trial.alone = 0
		}
		all[i] = fresh
		if fresh.Denied() {
			s.denied[int32(i)] = struct{}{}
		}
		s.wait(int32(i), fresh.phase == Held || fresh.phase == Trying)
	}
	s.all, s.touched = all, nil
}

// change runs f, which changes a link, and notes whether it went out or came back.
func (s *Links) change(i int32, f func(l *Link)) {
	l := &s.all[i]
	before := l.Denied()
	f(l)
	if l.Denied() == before {
		return
	}
	s.touched = append(s.touched, i)
	if before {
		delete(s.denied, i)
	} else {
		s.denied[i] = struct{}{}
	}
}

// take returns the links that went out or came back since the last call. The slice
// is good until the next change.
func (s *Links) take() []int32 {
	touched := s.touched
	s.touched = s.touched[:0]
	return touched
}

// enter moves a link to a phase.
func (s *Links) enter(i int32, p Phase, cause string) {
	s.change(i, func(l *Link) {
		was, past := l.phase, l.own()
		l.phase, past.cause, past.since = p, cause, s.now
		past.trial.ready, past.trial.alone, past.trial.got = false, 0, 0
		if p == Up {
			past.cause, l.proven, l.misses = "", true, 0
		}
		s.wait(i, p == Held || p == Trying)
		if (was == Up) != (p == Up) {
			s.renewed(l.ID)
			verb, says := "denied: "+cause, api.EventFields{State: api.StateDenied, Reason: cause}
			switch {
			case p == Up:
				verb, says = "restored", api.EventFields{State: api.StateUsed}
			case l.Returning():
				verb, says.State = "probed before it is used: "+cause, api.StateProbed
			}
			s.event(api.EventLinkChanged, string(l.ID), verb, says)
		}
	})
}

// hold keeps a link that is back from being used for a while. Then as many probes as
// needed must come through.
func (s *Links) hold(i int32, cause string, d time.Duration, need int) {
	p := s.all[i].own()
	p.until, p.trial.need = s.now+d, need
	s.enter(i, Held, cause)
}

// Deny takes a link out of use that loses packets, for longer every time.
func (s *Links) Deny(i int32, cause string) {
	bad := &s.all[i].own().bad
	bad.Failed(s.now, 2*s.suspects.MaxHold.D())
	s.hold(i, cause, bad.Hold(s.suspects.Hold.D(), s.suspects.MaxHold.D()), s.suspects.Probes)
}

// Fail takes a link out of use over which no probe comes.
func (s *Links) Fail(i int32, cause string) {
	s.all[i].own().failures.Failed(s.now, s.restore.Calm.D())
	s.hold(i, cause, s.restore.Hold.D(), 1)
}

// setPresent and setPort say what is known of a link.
func (s *Links) setPresent(i int32, present bool) {
	if l := &s.all[i]; l.present != present {
		l.present = present
		s.look(i)
	}
}

func (s *Links) setPort(i int32, isDown bool) {
	s.all[i].portDown = isDown
	s.look(i)
}

// look moves a link after a change of present or portDown.
func (s *Links) look(i int32) {
	l := &s.all[i]
	gone := !l.present || l.portDown
	switch {
	case gone && l.phase != Down:
		l.own().failures.Failed(s.now, s.restore.Calm.D())
		cause := "port down"
		if !l.present {
			cause = "not advertised"
		}
		s.enter(i, Down, cause)
	case !gone && l.phase == Down:
		s.hold(i, "was down", l.failures.Hold(s.restore.Hold.D(), s.restore.MaxHold.D()), 1)
	}
}

// setDrained sets whether a link is drained. One that no longer is comes back when a
// probe has come through.
func (s *Links) setDrained(i int32, drained bool) {
	s.change(i, func(l *Link) {
		was := l.drained
		l.drained = drained
		if was && !drained && l.phase == Up {
			s.hold(i, causeDrained, 0, 1)
		}
	})
}

// wait keeps the list of links that time moves on.
func (s *Links) wait(i int32, on bool) {
	if on {
		s.waiting[i] = struct{}{}
	} else {
		delete(s.waiting, i)
	}
}

// Waiting returns the places, in order, of the links that are held or tried.
func (s *Links) Waiting() []int32 { return slices.Sorted(maps.Keys(s.waiting)) }

// Len returns the number of links.
func (s *Links) Len() int { return len(s.all) }

// At returns the link at a place; it is good until the fabric is made anew.
func (s *Links) At(i int32) *Link { return &s.all[i] }

// Wants returns how many probes must still come through before the link is restored, if the link
// may be probed now; else 0.
func (s *Links) Wants(i int32) int {
	l := &s.all[i]
	if l.phase != Trying || l.trial.ready || l.drained || s.now < l.tryAt {
		return 0
	}
	return l.trial.need - l.trial.got
}

// Untried reports whether a link that is in use has not been proven since the start, and may be
// probed now.
func (s *Links) Untried(i int32) bool {
	l := &s.all[i]
	return l.phase == Up && !l.proven && !l.drained && s.now >= l.tryAt && l.crossed()
}

// Idle reports whether a link in use may be probed now, and the last result of a probe is as old as
// an age.
func (s *Links) Idle(i int32, age time.Duration) bool {
	l := &s.all[i]
	return !l.Denied() && l.crossed() && s.now >= l.tryAt &&
		(l.heard == 0 || s.now >= l.heard+age)
}

// Defer has a link not be probed before a time, and Hasten at that time at the latest.
func (s *Links) Defer(i int32, at time.Duration) { s.all[i].tryAt = at }

// Hasten is described at Defer. A place that the fabric does not have is ignored.
func (s *Links) Hasten(i int32, at time.Duration) {
	if int(i) < len(s.all) {
		s.all[i].tryAt = min(s.all[i].tryAt, at)
	}
}

// run advances links whose time has come; with restoring, run puts ready links back into use.
func (s *Links) run(restoring bool) {
	for _, i := range s.Waiting() {
		l := &s.all[i]
		switch {
		case l.phase == Held && s.now >= l.until:
			need := l.trial.need
			s.enter(i, Trying, l.cause)
			l.tryAt = s.now
			l.own().trial.need, l.own().trial.ready = max(need, 1), !s.probed
		case l.trial.alone > 0 && s.now >= l.trial.alone+s.restore.MaxHold.D():
			l.own().trial.ready = true
		}
		if l.trial.ready && restoring {
			s.enter(i, Up, "")
		}
	}
}

// next lowers a time to that of the next run, when links are restored at a time.
func (s *Links) next(at, restoreAt time.Duration) time.Duration {
	for i := range s.waiting {
		switch l := &s.all[i]; {
		case l.phase == Held:
			at = min(at, max(l.until, s.now))
		case l.trial.ready:
			at = min(at, restoreAt)
		case l.trial.alone > 0:
			at = min(at, l.trial.alone+s.restore.MaxHold.D())
		}
	}
	return at
}

// Result moves a link on when probes that were sent at a time came through or
// did not.
func (s *Links) Result(i int32, at time.Duration, sent, received int) {
	l := &s.all[i]
	if at < l.since {
		return // it speaks of what was before
	}
	l.heard = max(s.now, 1)
	if received > 0 {
		l.proven, l.misses = true, 0
	} else {
		l.misses++
	}
	if l.phase != Trying || l.trial.ready {
		return
	}
	if need := l.trial.need; received < sent && (need > 1 || received == 0) {
		cause, d := l.cause, time.Duration(0)
		if need > 1 {
			l.own().bad.Failed(s.now, 2*s.suspects.MaxHold.D())
			d = l.bad.Hold(s.suspects.Hold.D(), s.suspects.MaxHold.D())
		} else {
			l.own().failures.Failed(s.now, s.restore.Calm.D())
			d = l.failures.Hold(s.restore.Hold.D(), s.restore.MaxHold.D())
			if l.Returning() && l.misses >= lostTrials {
				cause = "no probe came through"
			}
		}
		s.hold(i, cause, d, need)
		return
	}
	t := &l.own().trial
	t.got += received
	t.ready = t.got >= t.need
}

// SetUnprobeable notes that no host can probe a link, or that one can.
func (s *Links) SetUnprobeable(i int32, alone bool) {
	switch l := &s.all[i]; {
	case !alone && l.trial.alone != 0:
		l.own().trial.alone = 0
	case alone && l.phase == Trying && l.trial.alone == 0:
		l.own().trial.alone = max(s.now, 1)
	}
}

// lost returns the denied links that meet a condition.
func (s *Links) lost(of func(*Link) bool) (out []topology.LinkID) {
	for _, i := range slices.Sorted(maps.Keys(s.denied)) {
		if l := &s.all[i]; of(l) {
			out = append(out, l.ID)
		}
	}
	return out
}

// Denied returns the links that EVs must not cross. The map is the caller's.
func (s *Links) Denied() map[topology.LinkID]bool {
	out := make(map[topology.LinkID]bool, len(s.denied))
	for i := range s.denied {
		out[s.all[i].ID] = true
	}
	return out
}

func (l *Link) isDown() bool { return l.phase == Down }

// Open reports whether a probe may come through links.
func (s *Links) Open(places []int32) bool {
	return !slices.ContainsFunc(places, func(i int32) bool {
		l := &s.all[i]
		return l.drained || l.phase != Up && l.phase != Trying
	})
}

// InUse reports whether the given links are all up: losses on links in other phases are no news.
func (s *Links) InUse(places []int32) bool {
	return !slices.ContainsFunc(places, func(i int32) bool { return s.all[i].phase != Up })
}

// Proven reports whether a probe has come through over each of some links. A link without a
// successful probe is not grey: its switches may still be awaiting programming.
func (s *Links) Proven(places []int32) bool {
	return !slices.ContainsFunc(places, func(i int32) bool { return !s.all[i].proven })
}

// Count counts links that paths cross, and those that EVs must not cross.
func (s *Links) Count(of func(*Link) bool) (all, denied int) {
	for i := range s.all {
		l := &s.all[i]
		if !l.crossed() || !of(l) {
			continue
		}
		all++
		if l.Denied() {
			denied++
		}
	}
	return all, denied
}
