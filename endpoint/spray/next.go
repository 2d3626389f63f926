package spray

import (
	"time"

	"github.com/weft-sdn/weft/endpoint/mrc"
	"github.com/weft-sdn/weft/packet"
)

// Next is the path of a packet that is sent now by one of these ports (GetSendParams of §9.3.2). ok is false when there is no usable value by them; when Usable is 0 too, every
// value is denied, assumed bad, or on a port that is down.
//
// For data it is the rotation of §11.2.2: the values in turn, in an order of the queue pair's own. A GOOD one is used. A SKIP one is passed over and becomes GOOD, but only one
// of them for each packet; after Config.MaxSkips of them the next is used although it is SKIP. All others are passed over as if they were not there. What is not data takes
// GOOD values in turn, those that nobody doubts first, and leaves states alone.
func (s *Set) Next(_ time.Duration, use mrc.Use, ports packet.PortMask) (p mrc.Path, ok bool) {
	ports &= s.ports
	if s.usable == 0 {
		return mrc.Path{}, false
	}
	if use != mrc.UseData {
		return s.nextControl(use, ports)
	}
	skips, shuffled := 0, false
	// Two rotations: when all that may be used are SKIP, the first met has become GOOD when its turn comes again.
	for steps := 2 * len(s.order); steps > 0; steps-- {
		e := &s.evs[s.order[s.next]]
		if s.advance(!shuffled) {
			shuffled = true
			steps = 2*len(s.order) + 1 // all of the new order is ahead
		}
		if alive(e.state) == 0 || !ports.Has(e.Port) {
			continue
		}
		if e.state == Skip && skips < s.cfg.MaxSkips {
			if skips == 0 {
				e.state = Good
			}
			skips++
			continue
		}
		e.counts.Sent++
		return e.path, true
	}
	return mrc.Path{}, false
}

// nextControl is Next for what is not data: GOOD values, or else SKIP ones; those that others doubt only when there is nothing else.
func (s *Set) nextControl(use mrc.Use, ports packet.PortMask) (mrc.Path, bool) {
	if s.cfg.Doubtful != nil {
		if p, ok := s.nextOf(use, ports, s.cfg.Doubtful); ok {
			return p, true
		}
	}
	return s.nextOf(use, ports, nil)
}

func (s *Set) nextOf(use mrc.Use, ports packet.PortMask, without func(index int) bool) (mrc.Path, bool) {
	for _, want := range [...]State{Good, Skip} {
		for range s.order {
			if s.control++; s.control >= len(s.order) {
				s.control = 0
			}
			i := s.order[s.control]
			e := &s.evs[i]
			if e.state != want || !ports.Has(e.Port) || without != nil && without(int(i)) {
				continue
			}
			if use == mrc.UseProbe {
				e.counts.Probes++
			}
			return e.path, true
		}
	}
	return mrc.Path{}, false
}

// advance goes on to the next value. Between rotations the order is drawn anew, if it may be and is due, so that it falls in step with nothing.
func (s *Set) advance(mayShuffle bool) (shuffled bool) {
	s.next++
	if s.next < len(s.order) {
		return false
	}
	s.next = 0
	s.rotations++
	if s.cfg.ReshuffleEvery == 0 || s.rotations < s.cfg.ReshuffleEvery || !mayShuffle {
		return false
	}
	s.rotations = 0
	s.shuffle()
	return true
}
