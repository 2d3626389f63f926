package spray

import (
	"errors"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/packet"
)

// profile has n values on each of so many ports: value i is i, on port i mod ports + 1.
func profile(n, ports int) Profile {
	p := Profile{}
	for i := range n * ports {
		p.EVs = append(p.EVs, EV{Value: packet.EV(i), Port: i%ports + 1})
	}
	return p
}

func newSet(t testing.TB, p Profile, change func(*Config)) *Set {
	t.Helper()
	cfg := DefaultConfig(7)
	cfg.ReshuffleEvery = 0
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg, p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func next(t testing.TB, s *Set) mrc.Path {
	t.Helper()
	p, ok := s.Next(0, mrc.UseData, AllPorts)
	if !ok {
		t.Fatal("no path")
	}
	return p
}

func wantState(t testing.TB, s *Set, i int, want State) {
	t.Helper()
	if got, err := s.State(i); err != nil || got != want {
		t.Errorf("EV %d is %v, %v, want %v", i, got, err, want)
	}
}

// TestRotation: without feedback every value is used once before one is used again, for data and
// for answers, whatever is reshuffled when: answers after each rotation.
func TestRotation(t *testing.T) {
	for _, use := range []mrc.Use{mrc.UseData, mrc.UseControl} {
		for _, every := range []int{0, 1, 3} {
			s := newSet(t, profile(16, 2), func(c *Config) { c.ReshuffleEvery = every })
			var orders [][]mrc.PathID
			for range 12 {
				var order []mrc.PathID
				for range s.Len() {
					p, _ := s.Next(0, use, AllPorts)
					order = append(order, p.ID)
				}
				orders = append(orders, slices.Clone(order))
				slices.Sort(order)
				if len(slices.Compact(order)) != s.Len() {
					t.Fatalf("use %d, reshuffled every %d: a value was used twice in a rotation", use, every)
				}
			}
			if every > 0 && use == mrc.UseControl {
				every = 1
			}
			for i := range orders[1:] {
				same := slices.Equal(orders[i], orders[i+1])
				if want := every == 0 || (i+1)%every != 0; same != want {
					t.Errorf("use %d, reshuffled every %d: rotation %d equals the one before: %v", use, every,
						i+1, same)
				}
			}
		}
	}
}

// TestSkipOncePerPacket is §11.2.2: a SKIP value that is met is reset to GOOD and the next tried,
// and one packet resets one value only.
func TestSkipOncePerPacket(t *testing.T) {
	s := newSet(t, profile(4, 1), nil)
	var ids []mrc.PathID
	for range 4 {
		ids = append(ids, next(t, s).ID)
	}
	skip := func(i int) { s.Feedback(0, ids[i], mrc.SignalMarked) }
	skip(0)
	skip(1)
	wantState(t, s, index(ids[0]), Skip)
	if p := next(t, s); p.ID != ids[2] {
		t.Errorf("sent by %d, want the first GOOD one, %d", p.ID, ids[2])
	}
	wantState(t, s, index(ids[0]), Good)
	wantState(t, s, index(ids[1]), Skip)
	if next(t, s).ID != ids[3] || next(t, s).ID != ids[0] || next(t, s).ID != ids[2] {
		t.Error("the rotation did not go on behind the value used, over the one still SKIP")
	}
	wantState(t, s, index(ids[1]), Good)
	// All SKIP: the set resets the first value, passes over the other values, and uses the first value
	// at its next turn.
	for i := range ids {
		skip(i)
	}
	if p := next(t, s); p.ID != ids[3] {
		t.Errorf("sent by %d, want %d, whose turn it was", p.ID, ids[3])
	}
	for i, want := range []State{Skip, Skip, Skip, Good} {
		wantState(t, s, index(ids[i]), want)
	}
}

func TestSkipsAreBounded(t *testing.T) {
	s := newSet(t, profile(8, 1), func(c *Config) { c.MaxSkips = 3 })
	var ids []mrc.PathID
	for range 8 {
		ids = append(ids, next(t, s).ID)
	}
	for i := range 6 {
		s.Feedback(0, ids[i], mrc.SignalMarked)
	}
	if p := next(t, s); p.ID != ids[3] {
		t.Errorf("sent by %d, want %d after 3 skips", p.ID, ids[3])
	}
	wantState(t, s, index(ids[0]), Good)
	wantState(t, s, index(ids[3]), Skip)
}

// TestPlanes is §9.3.2 and §11.5: values of several ports; a port that is busy or down is passed
// over.
func TestPlanes(t *testing.T) {
	s := newSet(t, profile(4, 2), nil)
	for range 8 {
		if p, ok := s.Next(0, mrc.UseData, packet.PortMask(0).With(2)); !ok || p.Port != 2 {
			t.Fatalf("port %d, %v, want the free one, 2", p.Port, ok)
		}
	}
	if _, ok := s.Next(0, mrc.UseData, 0); ok || s.Usable() != 8 {
		t.Error("a path without a free port")
	}
	s.Feedback(0, s.evs[1].path.ID, mrc.SignalMarked)
	s.SetPorts(AllPorts &^ packet.PortMask(0).With(2))
	if s.Usable() != 4 {
		t.Errorf("%d usable with one of two ports down, want 4", s.Usable())
	}
	for range 8 {
		if p := next(t, s); p.Port != 1 {
			t.Fatal("sent by the port that is down")
		}
	}
	wantState(t, s, 1, Skip) // kept
	s.SetPorts(0)
	if _, ok := s.Next(0, mrc.UseData, AllPorts); ok || s.Usable() != 0 {
		t.Error("a path with all ports down")
	}
	s.SetPorts(AllPorts)
	if s.Usable() != 8 {
		t.Error("not all usable with the ports back")
	}
	seen := map[int]bool{}
	for i := range s.Len() {
		// The path of a packet names its plane, and so does the stored EV.
		p := next(t, s)
		ev, err := s.At(index(p.ID))
		if err != nil || p.Port != ev.Port || p.EV != ev.Value {
			t.Errorf("packet %d: path %+v of EV %+v", i, p, ev)
		}
		seen[p.Port] = true
	}
	if len(seen) != 2 {
		t.Error("not both ports used")
	}
}

func TestReplace(t *testing.T) {
	var events int
	s := newSet(t, profile(6, 1), func(c *Config) {
		c.BadAfter, c.Notify = 1, func(Event) {
			events++
		}
	})
	ids := make([]mrc.PathID, 6)
	for i := range ids {
		ids[i] = s.evs[i].path.ID
	}
	for range 6 {
		next(t, s)
	}
	s.Feedback(0, ids[0], mrc.SignalMarked)
	s.Feedback(0, ids[1], mrc.SignalTimeout)
	s.Feedback(0, ids[3], mrc.SignalTimeout)
	if err := s.Deny(4); err != nil {
		t.Fatal(err)
	}
	p := profile(6, 1)
	p.EVs[3].Value = 1000   // another path
	p.EVs[5].Denied = true  // denied
	p.EVs[0].Denied = false // as before
	before := s.data
	before.ring = slices.Clone(before.ring)
	if err := s.Replace(p); err != nil {
		t.Fatal(err)
	}
	for i, want := range []State{Skip, AssumedBad, Good, Good, Good, Denied} {
		wantState(t, s, i, want)
	}
	if !slices.Equal(before.ring, s.data.ring) || s.data.front != before.front {
		t.Error("the rotation began anew, with as many values as before")
	}
	// Feedback on the old value at index 3 does not affect the new value.
	s.Feedback(0, ids[3], mrc.SignalTimeout)
	wantState(t, s, 3, Good)
	if c, _ := s.Counts(3); c != (Counts{}) {
		t.Errorf("counts %+v of a new value", c)
	}
	if c, _ := s.Counts(1); c.Sent != 1 || c.Lost != 1 {
		t.Errorf("counts %+v of an unchanged value", c)
	}
	// Fewer, then more again.
	if err := s.Replace(profile(2, 1)); err != nil {
		t.Fatal(err)
	}
	s.Feedback(0, ids[5], mrc.SignalTimeout) // gone
	if err := s.Replace(profile(9, 1)); err != nil {
		t.Fatal(err)
	}
	s.Feedback(0, ids[5], mrc.SignalTimeout)
	wantState(t, s, 5, Good)
	wantState(t, s, 1, AssumedBad)
	if s.Len() != 9 || s.Usable() != 8 || events != 2 {
		t.Errorf("%d values, %d usable, %d events", s.Len(), s.Usable(), events)
	}
	// A bad one changes nothing.
	for name, bad := range map[string]Profile{
		"none":           {},
		"too many":       {EVs: make([]EV, MaxEVs+1)},
		"port 0":         {EVs: []EV{{Port: 0}}},
		"port 32":        {EVs: []EV{{Port: 32}}},
		"minActive":      {EVs: []EV{{Port: 1}}, MinActive: 2},
		"minActive < 0 ": {EVs: []EV{{Port: 1}}, MinActive: -1},
	} {
		if err := s.Replace(bad); !errors.Is(err, ErrProfile) || s.Len() != 9 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSRv6: containers become the outer header; the inner one carries the index.
func TestSRv6(t *testing.T) {
	var one, two [32]byte
	one[0], one[1] = 0x5f, 1
	two = one
	two[16], two[17] = 0x5f, 2
	a, err := NewSRv6(one, 1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewSRv6(two, 2)
	if err != nil {
		t.Fatal(err)
	}
	if a.Route.SRH != nil || b.Route.SRH == nil || b.Route.SRH.SegmentsLeft != 1 ||
		b.Route.SRH.LastEntry != 0 {
		t.Errorf("routes %+v, %+v", a.Route, b.Route)
	}
	s := newSet(t, Profile{EVs: []EV{a, b}}, nil)
	for range 2 {
		if p := next(t, s); int(p.EV.SrcPort()) != index(p.ID) || p.EV.FlowLabel() != 0 ||
			p.Route == nil {
			t.Errorf("path %+v, want its index in the source port", p)
		}
	}
	// The same containers again are the same value.
	s.Feedback(0, s.evs[1].path.ID, mrc.SignalMarked)
	c, err := NewSRv6(two, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Replace(Profile{EVs: []EV{b, c}}); err != nil {
		t.Fatal(err)
	}
	wantState(t, s, 0, Good)
	wantState(t, s, 1, Skip)
	if _, err := NewSRv6([32]byte{}, 1); !errors.Is(err, ErrProfile) {
		t.Errorf("no container: %v", err)
	}
}

// TestQPsDiffer: queue pairs with the same profile and other seeds begin elsewhere, in another
// order; the same seed is the same run.
func TestQPsDiffer(t *testing.T) {
	order := func(seed uint64) (o []mrc.PathID) {
		s := newSet(t, profile(64, 2), func(c *Config) { c.Seed = seed })
		for range 128 {
			o = append(o, next(t, s).ID)
		}
		return o
	}
	if !slices.Equal(order(1), order(1)) {
		t.Error("one seed, two orders")
	}
	first := map[mrc.PathID]int{}
	for seed := range uint64(128) {
		o := order(seed)
		first[o[0]]++
		same := 0
		for i, id := range order(seed + 1) {
			if o[i] == id {
				same++
			}
		}
		if same > 12 {
			t.Errorf("seeds %d and %d agree in %d of 128 places", seed, seed+1, same)
		}
	}
	for id, n := range first {
		if n > 8 {
			t.Errorf("%d of 128 queue pairs begin with path %d", n, id)
		}
	}
}

func TestAuto(t *testing.T) {
	p := Auto(5, 32, 2)
	if err := p.Validate(); err != nil || len(p.EVs) != 64 || p.MinActive != 1 {
		t.Fatalf("%d values, %v", len(p.EVs), err)
	}
	seen, ports := map[packet.EV]bool{}, map[int]int{}
	for _, ev := range p.EVs {
		seen[ev.Value] = true
		ports[ev.Port]++
		if ev.Value.SrcPort() < 0xC000 {
			t.Errorf("source port %#x", ev.Value.SrcPort())
		}
	}
	if len(seen) != 64 || ports[1] != 32 || ports[2] != 32 {
		t.Errorf("%d values of 64 differ, by port %v", len(seen), ports)
	}
}

func TestConfigRefuses(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"MaxSkips":         func(c *Config) { c.MaxSkips = 0 },
		"ReshuffleEvery":   func(c *Config) { c.ReshuffleEvery = -1 },
		"BadAfter":         func(c *Config) { c.BadAfter = 0 },
		"ProbeInterval":    func(c *Config) { c.ProbeInterval = 0 },
		"ProbeMaxInterval": func(c *Config) { c.ProbeMaxInterval = c.ProbeInterval - 1 },
	} {
		cfg := DefaultConfig(1)
		change(&cfg)
		if _, err := New(cfg, profile(1, 1)); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(DefaultConfig(1), Profile{}); !errors.Is(err, ErrProfile) {
		t.Errorf("empty profile: %v", err)
	}
}

func TestAllocatesNothing(t *testing.T) {
	s := newSet(t, profile(64, 2), func(c *Config) { c.ReshuffleEvery = 1 })
	if n := testing.AllocsPerRun(2000, func() {
		p := next(t, s)
		s.Feedback(0, p.ID, mrc.SignalMarked)
		s.Feedback(0, p.ID, mrc.SignalTimeout)
		s.Next(0, mrc.UseControl, AllPorts)
		s.Probe(0, AllPorts)
		s.NextProbe()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
