package virtual

import (
	"slices"
	"testing"
	"time"
)

// TestRun: events and what advance asks for happen in the order of their times, and advance is
// called at each.
func TestRun(t *testing.T) {
	var c Clock
	var did []string
	c.After(2*time.Second, func() {
		did = append(did, "second")
		c.After(0, func() { did = append(did, "at once") })
	})
	c.At(time.Second, func() { did = append(did, "first") })
	c.At(time.Second, func() { did = append(did, "first too") })
	var calls []time.Duration
	advance := func(now time.Duration) (time.Duration, bool) {
		calls = append(calls, now)
		return 1500 * time.Millisecond, now < 1500*time.Millisecond
	}
	if c.Run(3*time.Second, advance, nil) || c.Now() != 3*time.Second {
		t.Errorf("at %v, want 3s and not done", c.Now())
	}
	if want := []string{"first", "first too", "second", "at once"}; !slices.Equal(did, want) {
		t.Errorf("did %q, want %q", did, want)
	}
	if want := []time.Duration{0, time.Second, 1500 * time.Millisecond,
		2 * time.Second}; !slices.Equal(calls, want) {
		t.Errorf("advanced at %v, want %v", calls, want)
	}
}

// TestRunEnds: a run ends when done says so, and leaves what is later.
func TestRunEnds(t *testing.T) {
	var c Clock
	n := 0
	for i := range 3 {
		c.At(time.Duration(i)*time.Second, func() { n++ })
	}
	if !c.Run(time.Hour, Idle, func() bool { return n == 2 }) || c.Now() != time.Second {
		t.Errorf("at %v after %d, want 1s after 2", c.Now(), n)
	}
	if c.Run(1500*time.Millisecond, Idle, nil); n != 2 || c.Now() != 1500*time.Millisecond {
		t.Errorf("at %v after %d, want 1.5s after 2", c.Now(), n)
	}
	if c.Run(time.Second, Idle, nil); c.Now() != 1500*time.Millisecond {
		t.Errorf("at %v: time went back", c.Now())
	}
	if c.Run(2*time.Second, Idle, nil); n != 3 { // the last is at the limit
		t.Errorf("%d events, want 3", n)
	}
}

type machine struct{ at time.Duration }

func (m *machine) Advance(now time.Duration) (time.Duration, bool) { return m.at, m.at > now }

// TestAll: of several machines the earliest counts.
func TestAll(t *testing.T) {
	all := All(&machine{3}, &machine{2}, &machine{5})
	for now, want := range map[time.Duration]time.Duration{0: 2, 2: 3, 4: 5} {
		if next, ok := all(now); !ok || next != want {
			t.Errorf("at %d: next %d, %v; want %d", now, next, ok, want)
		}
	}
	if _, ok := all(5); ok {
		t.Error("nothing is pending at 5")
	}
}
