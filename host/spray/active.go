package spray

// Data packets use the active values (§11.2.1): one to two congestion windows of packets, so that
// feedback on a value arrives before its next turn but one. Ports get active values in proportion
// to their usable values, and at least one if any is usable. Other usable values wait until an
// active value fails or the set draws a new order; then the values with the first turns become
// active. If ports or windows ask for more values than exist, all values are active.
type active struct {
	window int  // packets of the congestion window; 0: unknown, all values are active
	goal   int  // number of active values, one to two windows
	valid  bool // the active values fit the goal and the states
}

// SetWindow sets the congestion window in packets; values below 1 count as 1. The change applies
// from the next packet.
func (s *Set) SetWindow(packets int) {
	if s.cfg.AllActive {
		return
	}
	a := &s.active
	a.window = max(1, packets)
	if least := max(a.window, s.minActive); a.goal < least || a.goal > max(2*a.window, s.minActive) {
		a.goal = max(a.window+(a.window+1)/2, s.minActive)
		a.valid = false
	}
}

// Active returns the number of values in use for data now.
func (s *Set) Active() (n int) {
	s.choose()
	for i := range s.evs {
		if s.activeSlot(&s.evs[i]) {
			n++
		}
	}
	return n
}

// choose activates usable values of each port up to the port's share of the goal. Active values
// stay active before waiting values become active; within both groups, earlier turns go first.
func (s *Set) choose() {
	if s.active.valid {
		return
	}
	s.active.valid = true
	var room [len(s.alive)]int
	for port, alive := range s.alive {
		switch {
		case alive == 0 || !s.ports.Has(port):
		case s.active.window == 0:
			room[port] = alive
		default:
			room[port] = min(alive, (s.active.goal*alive+s.usable-1)/s.usable)
		}
	}
	for _, was := range [...]bool{true, false} {
		for k := range s.evs {
			e := &s.evs[s.data.at(k)]
			if e.active != was {
				continue
			}
			if e.active = alive(e.state) > 0 && room[e.Port] > 0; e.active {
				room[e.Port]--
			}
		}
	}
}

// redraw deactivates all values, so that choose activates values by the new order.
func (s *Set) redraw() {
	for i := range s.evs {
		s.evs[i].active = false
	}
	s.active.valid = false
}
