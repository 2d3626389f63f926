package spray

import (
	"slices"
	"testing"

	"github.com/weft-sdn/weft/host/mrc"
)

// TestMovedValues: a value at a different index in the new profile keeps state and counts, each
// value once; with an unrelated profile the value starts afresh.
func TestMovedValues(t *testing.T) {
	s := newSet(t, profile(4, 2), func(c *Config) { c.BadAfter = 1 })
	var old []mrc.Path
	for range 8 {
		old = append(old, next(t, s))
	}
	for _, p := range old {
		if p.EV < 2 {
			s.Feedback(0, p.ID, mrc.SignalLost)
		}
	}
	p := profile(4, 2)
	slices.Reverse(p.EVs)
	p.EVs = append(p.EVs, p.EVs[7]) // value 0 twice
	if err := s.Replace(p); err != nil {
		t.Fatal(err)
	}
	for i, v := range p.EVs {
		want, sent := Good, uint64(1)
		switch {
		case i == 8:
			sent = 0 // the second
		case v.Value < 2:
			want = AssumedBad
		}
		wantState(t, s, i, want)
		if c, _ := s.Counts(i); c.Sent != sent {
			t.Errorf("value %v at %d: %+v, want %d sent", v.Value, i, c, sent)
		}
	}
	if s.Usable() != 7 {
		t.Errorf("%d usable, want 7", s.Usable())
	}
	// Feedback on packets sent before does not affect the value now at the same index.
	for _, path := range old {
		s.Feedback(0, path.ID, mrc.SignalLost)
	}
	if s.Usable() != 7 {
		t.Errorf("%d usable after old feedback", s.Usable())
	}
	if err := s.Restart(p); err != nil {
		t.Fatal(err)
	}
	for i := range p.EVs {
		wantState(t, s, i, Good)
		if c, _ := s.Counts(i); c != (Counts{}) {
			t.Errorf("value %d: %+v", i, c)
		}
	}
}

// TestMovedInto: a value keeps its counts in a profile of fewer values, and of more.
func TestMovedInto(t *testing.T) {
	all := profile(4, 1).EVs
	for _, places := range [][]int{{3}, {3, 1}, {2, 0}, {1, 0, 2, 3, 3}} {
		s := newSet(t, Profile{EVs: all}, nil)
		s.Feedback(0, s.evs[3].path.ID, mrc.SignalTrimmed)
		var p Profile
		for _, i := range places {
			p.EVs = append(p.EVs, all[i])
		}
		if err := s.Replace(p); err != nil {
			t.Fatal(err)
		}
		if i := slices.Index(places, 3); i >= 0 {
			if c, _ := s.Counts(i); c.Trimmed != 1 {
				t.Errorf("values %v: value 3 has %+v", places, c)
			}
		}
	}
}

// TestMovedRoutes: SRv6 route values are equal if their segments are equal.
func TestMovedRoutes(t *testing.T) {
	var p Profile
	for i := range 4 {
		v, err := NewSRv6([32]byte{0xfc, 15: byte(i + 1), 16: byte(i % 2 * 0xfc)}, 1)
		if err != nil {
			t.Fatal(err)
		}
		p.EVs = append(p.EVs, v)
	}
	s := newSet(t, p, nil)
	for range 4 {
		next(t, s)
	}
	again := Profile{}
	for i := 3; i >= 0; i-- {
		v, _ := NewSRv6([32]byte{0xfc, 15: byte(i + 1), 16: byte(i % 2 * 0xfc)}, 1)
		again.EVs = append(again.EVs, v)
	}
	again.EVs[0].Port = 2 // another path
	if err := s.Replace(again); err != nil {
		t.Fatal(err)
	}
	for i, sent := range []uint64{0, 1, 1, 1} {
		if c, _ := s.Counts(i); c.Sent != sent {
			t.Errorf("route %d: %d sent, want %d", i, c.Sent, sent)
		}
	}
}

// TestDoubtful: control packets avoid values that other queue pairs found bad, while any good value
// remains.
func TestDoubtful(t *testing.T) {
	doubted := map[int]bool{0: true, 2: true}
	s := newSet(t, profile(2, 2), func(c *Config) {
		c.Doubtful = func(i int) bool {
			return doubted[i]
		}
	})
	for range 20 {
		if p, ok := s.Next(0, mrc.UseControl, AllPorts); !ok || p.EV == 0 || p.EV == 2 {
			t.Fatalf("%+v, %v", p, ok)
		}
	}
	seen := map[int]bool{}
	for range 8 {
		seen[int(next(t, s).EV)] = true
	}
	if len(seen) != 4 {
		t.Errorf("data by %v, want all: nothing is doubted for data", seen)
	}
	doubted[1], doubted[3] = true, true
	if p, ok := s.Next(0, mrc.UseControl, AllPorts); !ok || p.Port == 0 {
		t.Errorf("%+v, %v for answers when all are doubted, want one of them", p, ok)
	}
}
