package spray

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/host/mrc"
)

// TestStates is table 9-3.
func TestStates(t *testing.T) {
	used := func(s *Set, id mrc.PathID) bool {
		for range 2 * s.Len() {
			if next(t, s).ID == id {
				return true
			}
		}
		return false
	}
	t.Run("GOOD", func(t *testing.T) {
		s := newSet(t, profile(4, 1), nil)
		for i := range 4 {
			wantState(t, s, i, Good) // by default
			if !used(s, s.evs[i].path.ID) {
				t.Errorf("EV %d is GOOD and was not used", i)
			}
		}
	})
	t.Run("DENIED", func(t *testing.T) {
		p := profile(4, 1)
		p.EVs[1].Denied = true // configured so
		s := newSet(t, p, nil)
		id := s.evs[1].path.ID
		wantState(t, s, 1, Denied)
		for _, signal := range []mrc.Signal{mrc.SignalArrived, mrc.SignalMarked, mrc.SignalTimeout,
			mrc.SignalBad, mrc.SignalProbeOK} {
			for range 5 {
				s.Feedback(0, id, signal)
			}
			wantState(t, s, 1, Denied)
		}
		if used(s, id) {
			t.Error("used")
		}
		if err := s.Allow(1); err != nil || !used(s, id) {
			t.Errorf("not used after it was allowed: %v", err)
		}
		if err := s.Deny(4); !errors.Is(err, ErrIndex) || !strings.Contains(err.Error(), "want 0 to 3") {
			t.Errorf("denied one that does not exist: %v", err)
		}
		if err := s.Allow(-1); !errors.Is(err, ErrIndex) {
			t.Errorf("allowed one that does not exist: %v", err)
		}
	})
	t.Run("SKIP", func(t *testing.T) {
		for signal, want := range map[mrc.Signal]State{
			mrc.SignalMarked: Skip, mrc.SignalTrimmed: Skip, mrc.SignalTrimmedLastHop: Good,
			mrc.SignalRefused: Good, mrc.SignalArrived: Good, mrc.SignalLost: Good,
		} {
			s := newSet(t, profile(4, 1), nil)
			s.Feedback(0, s.evs[2].path.ID, signal)
			if got, _ := s.State(2); got != want {
				t.Errorf("%v makes a GOOD value %v, want %v", signal, got, want)
			}
		}
		s := newSet(t, profile(4, 1), nil)
		id := s.evs[2].path.ID
		s.Feedback(0, id, mrc.SignalMarked)
		for range 3 {
			if next(t, s).ID == id {
				t.Error("used before it was skipped")
			}
		}
		if !used(s, id) {
			t.Error("not used again after it was skipped")
		}
	})
	t.Run("ASSUMED_BAD", func(t *testing.T) {
		var events []Event
		s := newSet(t, profile(4, 1), func(c *Config) {
			c.Notify = func(e Event) { events = append(events, e) }
		})
		id := s.evs[2].path.ID
		for range 2 {
			s.Feedback(5, id, mrc.SignalTimeout)
		}
		s.Feedback(6, id, mrc.SignalArrived)
		for range 2 {
			s.Feedback(7, id, mrc.SignalLost)
		}
		wantState(t, s, 2, Good) // never three in a row
		s.Feedback(8, id, mrc.SignalTimeout)
		wantState(t, s, 2, AssumedBad)
		if used(s, id) {
			t.Error("used")
		}
		s.Feedback(9, id, mrc.SignalProbeMarked)
		wantState(t, s, 2, Skip)
		s.Feedback(10, id, mrc.SignalBad)
		wantState(t, s, 2, AssumedBad)
		s.Feedback(11, id, mrc.SignalArrived) // an old packet's: no proof
		wantState(t, s, 2, AssumedBad)
		s.Feedback(12, id, mrc.SignalProbeOK)
		wantState(t, s, 2, Good)
		want := []Event{{At: 8, Kind: BecameBad}, {At: 9, Kind: Recovered}, {At: 10, Kind: BecameBad},
			{At: 12, Kind: Recovered}}
		for i := range want {
			want[i].Index, want[i].EV = 2, s.evs[2].EV
		}
		if !slices.Equal(events, want) {
			t.Errorf("events %v, want %v", events, want)
		}
	})
}

// TestCounts: each signal raises only its own counters, for a packet or a probe.
func TestCounts(t *testing.T) {
	for signal, want := range map[mrc.Signal]Counts{
		mrc.SignalArrived: {Arrived: 1}, mrc.SignalMarked: {Arrived: 1, Marked: 1},
		mrc.SignalBad: {Arrived: 1}, mrc.SignalTrimmed: {Trimmed: 1}, mrc.SignalTrimmedLastHop: {},
		mrc.SignalRefused: {}, mrc.SignalLost: {Lost: 1}, mrc.SignalTimeout: {Lost: 1},
		mrc.SignalProbeOK: {ProbesOK: 1}, mrc.SignalProbeMarked: {ProbesOK: 1},
		mrc.SignalProbeLost: {ProbesLost: 1},
	} {
		s := newSet(t, profile(4, 1), nil)
		s.Feedback(0, s.evs[2].path.ID, signal)
		if got := s.evs[2].counts; got != want {
			t.Errorf("%v counts as %+v, want %+v", signal, got, want)
		}
	}
}

func TestMinActive(t *testing.T) {
	p := profile(4, 1)
	p.MinActive = 2
	s := newSet(t, p, func(c *Config) { c.BadAfter = 1 })
	for i := range 4 {
		s.Feedback(0, s.evs[i].path.ID, mrc.SignalTimeout)
	}
	if s.Usable() != 2 {
		t.Fatalf("%d usable, want 2: a host leaves itself MinActive", s.Usable())
	}
	// The controller is not bounded.
	for i := range 4 {
		if err := s.Deny(i); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := s.Next(0, mrc.UseData, AllPorts); ok || s.Usable() != 0 {
		t.Error("a path, with every value denied")
	}
	for _, use := range []mrc.Use{mrc.UseControl, mrc.UseProbe} {
		if _, ok := s.Next(0, use, AllPorts); ok {
			t.Error("a path, with every value denied")
		}
	}
}

// TestMarksCount: for the comparison of ports (Balance), a marked packet counts as one mark, a
// trimmed packet as two marks, and a packet trimmed at the last hop, refused or lost as no mark.
func TestMarksCount(t *testing.T) {
	for signal, marks := range map[mrc.Signal]int{mrc.SignalArrived: 0, mrc.SignalMarked: 1,
		mrc.SignalTrimmed: 2, mrc.SignalTrimmedLastHop: 0, mrc.SignalRefused: 0, mrc.SignalLost: 0,
		mrc.SignalTimeout: 0} {
		s := newSet(t, profile(4, 1), nil)
		p := next(t, s)
		s.Feedback(0, p.ID, signal)
		if b := s.balance; b.packets[1] != 1 || b.marks[1] != marks || b.flying != 0 {
			t.Errorf("%v: %d packets, %d marks, %d under way; want 1, %d, 0", signal, b.packets[1],
				b.marks[1], b.flying, marks)
		}
	}
}

// TestBadOnesCount: the set counts ASSUMED_BAD values as states change, because without such a
// value no probe can be due.
func TestBadOnesCount(t *testing.T) {
	s := newSet(t, profile(4, 2), func(c *Config) { c.BadAfter = 1 })
	for step, c := range []struct {
		index  int
		signal mrc.Signal
		bad    int
	}{{1, mrc.SignalLost, 1}, {2, mrc.SignalLost, 2}, {1, mrc.SignalLost, 2},
		{1, mrc.SignalProbeOK, 1}, {1, mrc.SignalProbeOK, 1}, {2, mrc.SignalProbeOK, 0}} {
		s.Feedback(0, s.evs[c.index].path.ID, c.signal)
		if _, ok := s.NextProbe(); s.bad != c.bad || ok != (c.bad > 0) {
			t.Errorf("step %d: %d are bad, a probe is due %v; want %d", step, s.bad, ok, c.bad)
		}
	}
}
