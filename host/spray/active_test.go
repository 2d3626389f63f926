package spray

import (
	"math/rand/v2"
	"testing"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/packet"
)

// used sends packets and returns how often each value was taken.
func used(t *testing.T, s *Set, packets int) map[int]int {
	t.Helper()
	n := make(map[int]int)
	for range packets {
		n[index(next(t, s).ID)]++
	}
	return n
}

// TestActiveByWindow: data is sent with one to two congestion windows of values, with all while the
// window is not known, and with no other ones while the window stays between.
func TestActiveByWindow(t *testing.T) {
	s := newSet(t, profile(100, 1), func(c *Config) { c.ReshuffleEvery = 0 })
	if n := s.Active(); n != 100 {
		t.Errorf("%d active before the window is known, want all 100", n)
	}
	for _, c := range []struct{ window, active int }{
		{20, 30}, // from above two windows
		{15, 30}, // two windows, just
		{14, 21}, // less
		{21, 21}, // one window, just
		{22, 33}, // more
		{0, 2},   // at least one packet
		{66, 99}, // one and a half
		{99, 99},
		{100, 100}, // all there are
	} {
		s.SetWindow(c.window)
		if n := s.Active(); n != c.active {
			t.Errorf("a window of %d: %d active, want %d", c.window, n, c.active)
		}
		if n := used(t, s, 10*c.active); len(n) != c.active {
			t.Errorf("a window of %d: %d values used, want %d", c.window, len(n), c.active)
		}
	}
	// A value gets its next turn after every other active value had a turn.
	s.SetWindow(10)
	for id, n := range used(t, s, 15*7) {
		if n != 7 {
			t.Errorf("value %d of 15 was used %d times in 7 rotations", id, n)
		}
	}
	all := newSet(t, profile(100, 1), func(c *Config) { c.AllActive = true })
	all.SetWindow(10)
	if n := all.Active(); n != 100 {
		t.Errorf("AllActive: %d active, want 100", n)
	}
}

// TestActiveStay: when the window grows and shrinks, the set keeps as many active values as
// possible, so that feedback on these values stays useful.
func TestActiveStay(t *testing.T) {
	s := newSet(t, profile(100, 2), func(c *Config) { c.ReshuffleEvery = 0 })
	s.SetWindow(20)
	few := used(t, s, 300)
	s.SetWindow(40)
	many := used(t, s, 600)
	if len(few) != 30 || len(many) != 60 {
		t.Fatalf("%d and %d values used, want 30 and 60", len(few), len(many))
	}
	for id := range few {
		if many[id] == 0 {
			t.Errorf("value %d went when there was room for more", id)
		}
	}
	s.SetWindow(10)
	for id := range used(t, s, 100) {
		if many[id] == 0 {
			t.Errorf("value %d came when there was room for less", id)
		}
	}
}

// TestActiveMinimum: no fewer are active than the profile asks to keep (ev_min_active), also when a
// new profile asks for more.
func TestActiveMinimum(t *testing.T) {
	p := profile(100, 1)
	p.MinActive = 40
	s := newSet(t, p, func(*Config) {})
	s.SetWindow(4)
	if n := s.Active(); n != 40 {
		t.Errorf("%d active, want MinActive, 40", n)
	}
	p.MinActive = 50
	if err := s.Replace(p); err != nil {
		t.Fatal(err)
	}
	if n := s.Active(); n != 50 {
		t.Errorf("%d active, want the new MinActive, 50", n)
	}
}

// TestActiveDrawnAnew: all values have their time, as the order is drawn anew.
func TestActiveDrawnAnew(t *testing.T) {
	s := newSet(t, profile(100, 2), func(c *Config) { c.ReshuffleEvery = 2 })
	s.SetWindow(8)
	if n := used(t, s, 3000); len(n) != s.Len() {
		t.Errorf("%d values of %d used in 3000 packets", len(n), s.Len())
	}
}

// TestActiveAlways: after any changes of values, ports and windows, one to two windows of values
// are active, if enough values exist, and at least one value on each port with a usable value.
// Every packet that can be sent goes with an active value.
func TestActiveAlways(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		n, ports := 1+rng.IntN(120), 1+rng.IntN(4)
		s := newSet(t, profile(n, ports), func(c *Config) {
			c.BadAfter, c.ReshuffleEvery, c.Seed = 1, 1+rng.IntN(3), rng.Uint64()
		})
		window := 0
		for range 400 {
			i := rng.IntN(s.Len())
			id := s.evs[i].path.ID
			switch rng.IntN(8) {
			case 0:
				window = 1 + rng.IntN(1+rng.IntN(90))
				s.SetWindow(window)
			case 1:
				s.Feedback(0, id, mrc.SignalLost)
			case 2:
				s.Feedback(0, id, mrc.SignalProbeOK)
			case 3:
				s.SetPorts(packet.PortMask(rng.Uint32()))
			case 4:
				if err := s.Deny(i); err != nil {
					t.Fatal(err)
				}
			case 5:
				if err := s.Allow(i); err != nil {
					t.Fatal(err)
				}
			case 6:
				s.SetPorts(AllPorts)
			}
			free := packet.PortMask(rng.Uint32())
			can := false
			for i := range s.evs {
				can = can || alive(s.evs[i].state) > 0 && s.ports.Has(s.evs[i].Port) && free.Has(s.evs[i].Port)
			}
			p, ok := s.Next(0, mrc.UseData, free)
			if ok != can || ok && !s.evs[index(p.ID)].active {
				t.Fatalf("sent: %v with %+v, want %v", ok, p, can)
			}
			active := s.Active()
			var by [packet.MaxPort + 1]int
			for i := range s.evs {
				if s.activeSlot(&s.evs[i]) {
					by[s.evs[i].Port]++
				}
			}
			for port, alive := range s.alive {
				if s.ports.Has(port) && alive > 0 && by[port] == 0 {
					t.Fatalf("%d usable values by port %d, none active", alive, port)
				}
			}
			if window == 0 && active != s.usable || active < min(window, s.usable) || window > 0 &&
				active > 2*window+ports {
				t.Fatalf("%d of %d active, with a window of %d packets and %d ports", active, s.usable, window,
					ports)
			}
		}
	}
}
