package queue

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/drop"
)

// TestCounts checks what a queue counts: what left as it left, what found no room as it came, in the
// queue and in the buffer of a pause, and the most that waited.
func TestCounts(t *testing.T) {
	m := New[int](Config{Priorities: 8, Depth: 2})
	put := func(octets uint32) {
		m.Push(Place[int]{Port: 1, Priority: 3, Octets: octets}, 0)
	}
	of := func() Counts {
		for s := range m.States() {
			if s.Port == 1 && s.Priority == 3 {
				return s.Counts
			}
		}
		return Counts{}
	}
	put(100)
	put(200)
	put(400) // no room
	if want := (Counts{Dropped: 1, DroppedOctets: 400, Longest: 300}); of() != want {
		t.Errorf("%+v, want %+v", of(), want)
	}
	for range 2 {
		e, _, ok := m.Pop(0)
		if !ok {
			t.Fatal("nothing leaves")
		}
		m.Sent(e.Port, e.Priority, 0, int(e.Octets)+10) // encapsulated
	}
	if want := (Counts{Sent: 2, SentOctets: 320, Dropped: 1, DroppedOctets: 400, Longest: 300}); of() != want {
		t.Errorf("%+v, want %+v", of(), want)
	}

	m = New[int](Config{Priorities: 8, PauseBuffer: 150, PauseSpeed: 1e9})
	m.Pause(1, 1<<3, &[PFCPriorities]uint16{3: 0xffff}, 0)
	for range 2 {
		e := Place[int]{Port: 1, Priority: 3, Octets: 100}
		if reason := m.Admit(&e, 2); reason == drop.None {
			m.Push(e, time.Nanosecond)
		}
	}
	if want := (Counts{Dropped: 1, DroppedOctets: 100, Longest: 100}); of() != want {
		t.Errorf("paused: %+v, want %+v", of(), want)
	}
}
