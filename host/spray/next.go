package spray

import (
	"math/bits"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/packet"
)

// Next returns the path of a packet to send now by one of these ports (GetSendParams of §9.3.2). ok
// is false if these ports have no usable value; if Usable is 0 too, every value is denied, assumed
// bad, or on a port that is down.
//
// Data packets follow the rotation of §11.2.2: the active values in turn, in the queue pair's own
// order. Next uses a GOOD value and passes over a SKIP value. The first SKIP value that a packet
// passes over becomes GOOD, and after Config.MaxSkips of them the packet takes the next value even
// if the value is SKIP. Next ignores unusable values, and a value whose port has no room keeps its
// turn. Control packets take GOOD values in turns of their own, starting with values not doubtful
// to any queue pair, and change no states.
func (s *Set) Next(_ time.Duration, use mrc.Use, ports packet.PortMask) (p mrc.Path, ok bool) {
	ports &= s.ports
	if !s.room(ports) {
		return mrc.Path{}, false
	}
	if use != mrc.UseData {
		return s.nextControl(use, ports)
	}
	if s.reshuffle(&s.data, s.cfg.ReshuffleEvery) {
		s.redraw()
	}
	s.choose()
	skips := 0
	// At least one value is usable. If all usable values are SKIP, the first value passed over is GOOD
	// at its next turn.
	for passed := 0; ; {
		e := &s.evs[s.data.at(passed)]
		switch {
		case passed == 0 && !s.activeSlot(e):
			s.data.turn(0)
		case !e.active || !ports.Has(e.Port):
			passed++
		case e.state == Skip && skips < s.cfg.MaxSkips:
			if skips == 0 {
				e.state = Good
			}
			skips++
			s.data.turn(passed)
		default:
			s.data.turn(passed)
			s.note(e)
			return e.path, true
		}
	}
}

// reshuffle draws a new order after so many rotations, 0 for never, so that neither other traffic
// nor packets that follow each other in the same pattern stay in step with the order (§9.3.2).
func (s *Set) reshuffle(r *rotation, every int) bool {
	if every == 0 || r.turns < every*len(s.evs) {
		return false
	}
	r.shuffle(&s.rng)
	return true
}

// Again implements mrc.Repeater: a path may be taken again while its value is GOOD and active.
func (s *Set) Again(id mrc.PathID) bool {
	i := index(id)
	if i >= len(s.evs) || s.evs[i].path.ID != id {
		return false // of a profile before
	}
	e := &s.evs[i]
	if e.state != Good || !s.activeSlot(e) {
		return false
	}
	s.note(e)
	return true
}

// note counts a data packet that takes a value.
func (s *Set) note(e *slot) {
	e.counts.Sent++
	s.balance.sent(s)
	s.used(e.Port)
}

// usableSlot reports whether packets can use a value when its port has room.
func (s *Set) usableSlot(e *slot) bool { return alive(e.state) > 0 && s.up(e) }

// activeSlot reports whether data packets can use a value when its port has room.
func (s *Set) activeSlot(e *slot) bool { return e.active && s.up(e) }

// room reports whether any of these ports has a usable value.
func (s *Set) room(ports packet.PortMask) bool {
	for ; ports != 0; ports &= ports - 1 {
		if s.alive[bits.TrailingZeros32(uint32(ports))] > 0 {
			return true
		}
	}
	return false
}

// nextControl is Next for control packets: nextControl takes GOOD values before SKIP values, and
// values doubtful to other queue pairs only as a last resort.
func (s *Set) nextControl(use mrc.Use, ports packet.PortMask) (mrc.Path, bool) {
	// In an order that stays, always the same one of the SACK and the ACK, which answer a packet sent
	// again, may take a lost path.
	s.reshuffle(&s.control, min(1, s.cfg.ReshuffleEvery))
	for !s.usableSlot(&s.evs[s.control.at(0)]) {
		s.control.turn(0)
	}
	if s.cfg.Doubtful != nil {
		if p, ok := s.nextOf(use, ports, s.cfg.Doubtful); ok {
			return p, true
		}
	}
	return s.nextOf(use, ports, nil)
}

func (s *Set) nextOf(use mrc.Use, ports packet.PortMask, without func(index int) bool) (mrc.Path,
	bool) {
	for _, want := range [...]State{Good, Skip} {
		for k := range s.evs {
			i := s.control.at(k)
			e := &s.evs[i]
			if e.state != want || !ports.Has(e.Port) || without != nil && without(i) {
				continue
			}
			s.control.turn(k)
			if use == mrc.UseProbe {
				e.counts.Probes++
			}
			return e.path, true
		}
	}
	return mrc.Path{}, false
}
