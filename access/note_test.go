package access

import (
	"strconv"
	"testing"
	"time"
)

// TestNote: a use of a record is worth a write once a minute, each record for itself, and no more
// uses are remembered than a bound.
func TestNote(t *testing.T) {
	d := &Directory{noted: make(map[string]time.Time)}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		key   string
		after time.Duration
		want  bool
	}{
		{"a", 0, true}, {"a", useEvery - 1, false}, {"b", useEvery - 1, true}, {"a", useEvery, true},
		{"a", 2*useEvery - 1, false}, {"a", 2 * useEvery, true},
	} {
		if got := d.note(c.key, at.Add(c.after)); got != c.want {
			t.Errorf("a use of %s after %v is worth a write: %v, want %v", c.key, c.after, got, c.want)
		}
	}
	// The first stays remembered until there are as many as the bound: with a and b, these are.
	for i := range maxNoted - 2 {
		if d.note("a"+strconv.Itoa(i), at); d.note("a0", at) {
			t.Fatalf("with %d uses the first is forgotten", i+1)
		}
	}
	for i := range 3 * maxNoted {
		if d.note(strconv.Itoa(i), at); len(d.noted) > maxNoted {
			t.Fatalf("%d uses are remembered, want at most %d", len(d.noted), maxNoted)
		}
	}
}
