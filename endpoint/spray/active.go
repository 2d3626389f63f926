package spray

// The active values are those that data is sent with (§11.2.1): one to two congestion windows of
// packets, so that what is heard of a value is heard before its next turn but one. They are spread
// over the ports as the usable values are, with one at least by each port that has any. The others
// wait, usable too, for one of these to fail or for the order to be drawn anew, when those whose
// turns come first become active. Where ports or windows ask for more than there are, all are
// active.
type active struct {
	window int  // packets of the congestion window; 0: not known, and all are active
	goal   int  // of active values, from one to two windows
	valid  bool // those that are active fit the goal and the states
}

// SetWindow sets how many packets the congestion window holds; less than 1 is 1. The next packet is
// the first that it matters to.
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

// Active is the number of values that data is sent with now.
func (s *Set) Active() (n int) {
	s.choose()
	for i := range s.evs {
		if s.activeSlot(&s.evs[i]) {
			n++
		}
	}
	return n
}

// choose has as many usable values of each port active as its share of the goal is. Those that are
// active stay it before others become it, and of each those whose turns come first.
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

// redraw has others become active, in an order that has been drawn anew.
func (s *Set) redraw() {
	for i := range s.evs {
		s.evs[i].active = false
	}
	s.active.valid = false
}
