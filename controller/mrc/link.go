package mrc

import (
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/internal/damping"
	"github.com/weft-sdn/weft/topology"
)

// A phase is where one direction of a link stands between failure and use:
//
//	  ┌────────────── not advertised, port down ──────────────┐
//	  ▼                                                       │
//	down ── is back ──▶ held ── back-off over ──▶ trying ── probes came through ──▶ up
//	                     ▲  ▲                       │                               │
//	                     │  └───── probe lost ──────┘                               │
//	                     └──────────────────── suspect, denied ─────────────────────┘
//
// Packets cross a link that is up and not drained; EVs over all others are denied.
type phase uint8

const (
	up phase = iota
	down
	held
	trying
)

// String names the phase.
func (p phase) String() string {
	return [...]string{"up", "down", "held", "trying"}[p]
}

// A link is the state of one direction of a link of the fabric.
type link struct {
	*edge

	phase    phase
	cause    string // why it is not up
	since    time.Duration
	until    time.Duration   // held: when the back-off is over
	failures damping.Backoff // of the link, and of probes over it
	bad      damping.Backoff // found to lose packets

	present  bool // advertised, as is its other direction, between nodes that may be crossed
	portDown bool // as a switch says
	drained  bool

	proven bool // a probe has come through since the start
	misses int  // probes in a row that did not
	trial  trial
	spin   int // turns which paths probe it
}

// A trial is the probing of a link.
type trial struct {
	next  time.Duration // not probed before
	need  int           // trying: probes that must come through, and got: that did
	got   int
	ready bool          // trying: probes came through, it is restored with others
	alone time.Duration // trying: since when no host can probe it; 0: one can
}

// out reports whether EVs over the link are denied.
func (l *link) out() bool { return l.phase != up || l.drained }

// linkSet holds the states of all links of the fabric.
type linkSet struct {
	*env
	restore  *inventory.Restore
	suspects *inventory.Suspects
	// probed reports whether hosts probe links before they are restored.
	probed bool
	// renewed is called with each link that goes out of use or comes back: what is
	// known of its losses is of the past.
	renewed func(topology.LinkID)

	all     []link             // by place in the fabric
	waiting map[int32]struct{} // that time moves on
	touched []int32            // that went out or came back since the last take
}

// adopt takes the links of env.fabric. Those that the fabric before had keep their
// state; a link that nobody has tried is held.
func (s *linkSet) adopt(before *fabric, drained func(*edge) bool) {
	all := make([]link, len(s.fabric.edges))
	clear(s.waiting)
	for i := range all {
		e := &s.fabric.edges[i]
		fresh := link{phase: up, present: true}
		if before != nil {
			if was, ok := before.place[e.ID]; ok {
				fresh = s.all[was]
			} else {
				fresh.phase, fresh.cause, fresh.since, fresh.until = held, "new", s.now, s.now
			}
		}
		fresh.edge, fresh.drained, fresh.trial.next, fresh.trial.alone = e, drained(e), 0, 0
		all[i] = fresh
		s.wait(int32(i), fresh.phase == held || fresh.phase == trying)
	}
	s.all, s.touched = all, nil
}

// change runs f, which changes a link, and notes whether it went out or came back.
func (s *linkSet) change(i int32, f func(l *link)) {
	l := &s.all[i]
	before := l.out()
	f(l)
	if l.out() != before {
		s.touched = append(s.touched, i)
	}
}

// take returns the links that went out or came back since the last call. The slice
// is good until the next change.
func (s *linkSet) take() []int32 {
	touched := s.touched
	s.touched = s.touched[:0]
	return touched
}

// enter moves a link to a phase.
func (s *linkSet) enter(i int32, p phase, cause string) {
	s.change(i, func(l *link) {
		was := l.phase
		l.phase, l.cause, l.since, l.trial.ready, l.trial.alone, l.trial.got = p, cause, s.now, false, 0, 0
		if p == up {
			l.cause, l.proven, l.misses = "", true, 0
		}
		s.wait(i, p == held || p == trying)
		if (was == up) != (p == up) {
			s.renewed(l.ID)
			verb := "denied: " + cause
			if p == up {
				verb = "restored"
			}
			s.event(api.EventLinkChanged, string(l.ID), verb)
		}
	})
}

// hold keeps a link that is back from being used for a while. Then as many probes as
// needed must come through.
func (s *linkSet) hold(i int32, cause string, d time.Duration, need int) {
	l := &s.all[i]
	l.until, l.trial.need = s.now+d, need
	s.enter(i, held, cause)
}

// deny takes a link out of use that loses packets, for longer every time.
func (s *linkSet) deny(i int32, cause string) {
	bad := &s.all[i].bad
	bad.Failed(s.now, 2*s.suspects.MaxHold.D())
	s.hold(i, cause, bad.Hold(s.suspects.Hold.D(), s.suspects.MaxHold.D()), s.suspects.Probes)
}

// fail takes a link out of use over which no probe comes.
func (s *linkSet) fail(i int32, cause string) {
	s.all[i].failures.Failed(s.now, s.restore.Calm.D())
	s.hold(i, cause, s.restore.Hold.D(), 1)
}

// setPresent and setPort say what is known of a link.
func (s *linkSet) setPresent(i int32, present bool) {
	if l := &s.all[i]; l.present != present {
		l.present = present
		s.look(i)
	}
}

func (s *linkSet) setPort(i int32, isDown bool) {
	s.all[i].portDown = isDown
	s.look(i)
}

// look moves a link after what is known of it has changed: present, portDown.
func (s *linkSet) look(i int32) {
	l := &s.all[i]
	gone := !l.present || l.portDown
	switch {
	case gone && l.phase != down:
		l.failures.Failed(s.now, s.restore.Calm.D())
		cause := "port down"
		if !l.present {
			cause = "not advertised"
		}
		s.enter(i, down, cause)
	case !gone && l.phase == down:
		s.hold(i, "was down", l.failures.Hold(s.restore.Hold.D(), s.restore.MaxHold.D()), 1)
	}
}

// setDrained sets whether a link is drained. One that no longer is comes back when a
// probe has come through.
func (s *linkSet) setDrained(i int32, drained bool) {
	s.change(i, func(l *link) {
		was := l.drained
		l.drained = drained
		if was && !drained && l.phase == up {
			s.hold(i, "was drained", 0, 1)
		}
	})
}

// wait keeps the list of links that time moves on.
func (s *linkSet) wait(i int32, on bool) {
	if on {
		s.waiting[i] = struct{}{}
	} else {
		delete(s.waiting, i)
	}
}

func (s *linkSet) inOrder() []int32 { return slices.Sorted(maps.Keys(s.waiting)) }

// run moves links on whose time has come; with restoring, those that are ready are
// used again.
func (s *linkSet) run(restoring bool) {
	for _, i := range s.inOrder() {
		l := &s.all[i]
		switch {
		case l.phase == held && s.now >= l.until:
			need := l.trial.need
			s.enter(i, trying, l.cause)
			l.trial.need, l.trial.next = max(need, 1), s.now
			l.trial.ready = !s.probed
		case l.phase == trying && l.trial.alone > 0 && s.now >= l.trial.alone+s.restore.MaxHold.D():
			l.trial.ready = true
		}
		if l.phase == trying && l.trial.ready && restoring {
			s.enter(i, up, "")
		}
	}
}

// next lowers a time to that of the next run, when links are restored at a time.
func (s *linkSet) next(at, restoreAt time.Duration) time.Duration {
	for i := range s.waiting {
		switch l := &s.all[i]; {
		case l.phase == held:
			at = min(at, max(l.until, s.now))
		case l.trial.ready:
			at = min(at, restoreAt)
		case l.trial.alone > 0:
			at = min(at, l.trial.alone+s.restore.MaxHold.D())
		}
	}
	return at
}

// result moves a link on when probes that were sent at a time came through or
// did not.
func (s *linkSet) result(i int32, at time.Duration, sent, received int) {
	l := &s.all[i]
	if at < l.since {
		return // it speaks of what was before
	}
	if received > 0 {
		l.proven, l.misses = true, 0
	} else {
		l.misses++
	}
	if l.phase != trying || l.trial.ready {
		return
	}
	if need := l.trial.need; received < sent && (need > 1 || received == 0) {
		cause, d := l.cause, time.Duration(0)
		if need > 1 {
			l.bad.Failed(s.now, 2*s.suspects.MaxHold.D())
			d = l.bad.Hold(s.suspects.Hold.D(), s.suspects.MaxHold.D())
		} else {
			l.failures.Failed(s.now, s.restore.Calm.D())
			d = l.failures.Hold(s.restore.Hold.D(), s.restore.MaxHold.D())
		}
		s.hold(i, cause, d, need)
		return
	}
	l.trial.got += received
	l.trial.ready = l.trial.got >= l.trial.need
}

// setUnprobeable notes that no host can probe a link, or that one can.
func (s *linkSet) setUnprobeable(i int32, alone bool) {
	switch l := &s.all[i]; {
	case !alone:
		l.trial.alone = 0
	case l.phase == trying && l.trial.alone == 0:
		l.trial.alone = max(s.now, 1)
	}
}

// lost are the links that EVs must not cross.
func (s *linkSet) lost() (out []topology.LinkID) {
	for i := range s.all {
		if l := &s.all[i]; l.out() {
			out = append(out, l.ID)
		}
	}
	return out
}

// open reports whether a probe may come through links.
func (s *linkSet) open(places []int32) bool {
	return !slices.ContainsFunc(places, func(i int32) bool {
		l := &s.all[i]
		return l.drained || l.phase != up && l.phase != trying
	})
}

// inUse reports whether links are all up: losses on others are no news.
func (s *linkSet) inUse(places []int32) bool {
	return !slices.ContainsFunc(places, func(i int32) bool { return s.all[i].phase != up })
}

// proven reports whether a probe has come through over each of some links. Over others
// none may get while switches are still being programmed, which makes none of them grey.
func (s *linkSet) proven(places []int32) bool {
	return !slices.ContainsFunc(places, func(i int32) bool { return !s.all[i].proven })
}

// count counts links that paths cross, and those that EVs must not cross.
func (s *linkSet) count(of func(*link) bool) (all, denied int) {
	for i := range s.all {
		l := &s.all[i]
		if len(l.leaves) == 0 || !of(l) {
			continue
		}
		all++
		if l.out() {
			denied++
		}
	}
	return all, denied
}
