package spray

import (
	"time"

	"github.com/weft-sdn/weft/host/mrc"
)

// Feedback takes the outcome of a packet sent by a path (§9.3.1). Marked by a switch or trimmed on
// its way, the value is SKIP; not so trimmed at the last hop, which is on every path. The
// responder's "always skip", and Config.BadAfter losses in a row, make it ASSUMED_BAD, as far as
// the profile's MinActive lets them. The answer to a probe makes it usable again.
func (s *Set) Feedback(now time.Duration, id mrc.PathID, signal mrc.Signal) {
	e := s.slot(id)
	if e == nil {
		return
	}
	switch signal {
	case mrc.SignalArrived:
		s.balance.heard(s, e.Port, 0)
		e.arrived()
	case mrc.SignalMarked:
		s.balance.heard(s, e.Port, 1)
		e.arrived()
		e.counts.Marked++
		e.skip()
	case mrc.SignalBad:
		e.arrived()
		s.assumeBad(now, e)
	case mrc.SignalTrimmed:
		s.balance.heard(s, e.Port, trimmed)
		e.losses = 0
		e.counts.Trimmed++
		e.skip()
	case mrc.SignalTrimmedLastHop, mrc.SignalRefused:
		s.balance.heard(s, e.Port, 0)
		e.losses = 0 // the path is innocent
	case mrc.SignalLost, mrc.SignalTimeout:
		s.balance.heard(s, e.Port, 0)
		e.counts.Lost++
		e.losses++
		if e.losses >= s.cfg.BadAfter {
			s.assumeBad(now, e)
		}
	case mrc.SignalProbeOK:
		s.recover(now, e)
	case mrc.SignalProbeMarked:
		s.recover(now, e)
		e.skip()
	case mrc.SignalProbeLost:
		e.counts.ProbesLost++
	}
}

// Took takes how long a packet sent by a path took.
func (s *Set) Took(id mrc.PathID, d time.Duration) {
	if e := s.slot(id); e != nil {
		s.balance.took(e.Port, d)
	}
}

func (e *slot) arrived() {
	e.counts.Arrived++
	e.losses = 0
}

// skip has the value passed over once, if it would be used.
func (e *slot) skip() {
	if e.state == Good {
		e.state = Skip
	}
}

// assumeBad takes a value out of use, if enough others are left.
func (s *Set) assumeBad(now time.Duration, e *slot) {
	left := s.usable
	if s.up(e) {
		left--
	}
	if alive(e.state) == 0 || left < s.minActive {
		return
	}
	i := index(e.path.ID)
	s.set(i, AssumedBad)
	e.probeWait = s.cfg.ProbeInterval
	e.probeAt = now + e.probeWait
	s.notify(now, BecameBad, i)
}

// recover is the answer to a probe.
func (s *Set) recover(now time.Duration, e *slot) {
	e.counts.ProbesOK++
	e.losses = 0
	if e.state == AssumedBad {
		i := index(e.path.ID)
		s.set(i, Good)
		s.notify(now, Recovered, i)
	}
}

func (s *Set) notify(now time.Duration, kind EventKind, index int) {
	if s.cfg.Notify != nil {
		s.cfg.Notify(Event{At: now, Kind: kind, Index: index, EV: s.evs[index].EV})
	}
}
