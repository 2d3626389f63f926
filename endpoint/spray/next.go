package spray

import (
	"math/bits"
	"time"

	"github.com/weft-sdn/weft/endpoint/mrc"
	"github.com/weft-sdn/weft/packet"
)

// Next is the path of a packet that is sent now by one of these ports (GetSendParams of §9.3.2). ok
// is false when there is no usable value by them; when Usable is 0 too, every value is denied,
// assumed bad, or on a port that is down.
//
// For data it is the rotation of §11.2.2: the active values in turn, in an order of the queue
// pair's own. A GOOD one is used. A SKIP one is passed over and becomes GOOD, but only one of them
// for each packet; after Config.MaxSkips of them the next is used although it is SKIP. Those that
// cannot be used are passed over as if they were not there, and one whose port has no room keeps
// its turn. What is not data takes GOOD values in turn, those that nobody doubts first, and leaves
// states alone.
func (s *Set) Next(_ time.Duration, use mrc.Use, ports packet.PortMask) (p mrc.Path, ok bool) {
	ports &= s.ports
	if !s.room(ports) {
		return mrc.Path{}, false
	}
	if use != mrc.UseData {
		return s.nextControl(use, ports)
	}
	if every := s.cfg.ReshuffleEvery; every > 0 && s.data.turns >= every*len(s.evs) {
		s.data.shuffle(&s.rng) // so that it falls in step with nothing
		s.redraw()
	}
	s.choose()
	skips := 0
	// One can be used at least. When all that can be are SKIP, the first met is GOOD when its turn
	// comes again.
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
			e.counts.Sent++
			s.balance.sent(s)
			s.used(e.Port)
			return e.path, true
		}
	}
}

// usableSlot reports whether a value can be used when its port has room.
func (s *Set) usableSlot(e *slot) bool { return alive(e.state) > 0 && s.up(e) }

// activeSlot reports whether data can be sent with a value when its port has room.
func (s *Set) activeSlot(e *slot) bool { return e.active && s.up(e) }

// room reports whether there is a value that can be used by one of these ports.
func (s *Set) room(ports packet.PortMask) bool {
	for ; ports != 0; ports &= ports - 1 {
		if s.alive[bits.TrailingZeros32(uint32(ports))] > 0 {
			return true
		}
	}
	return false
}

// nextControl is Next for what is not data: GOOD values, or else SKIP ones; those that others doubt
// only when there is nothing else.
func (s *Set) nextControl(use mrc.Use, ports packet.PortMask) (mrc.Path, bool) {
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
