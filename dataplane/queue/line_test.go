package queue

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/p4"
)

// TestPortSpeedIsKept checks that in the long run the rate is that of the wire to the bit, whatever
// its speed divides into.
func TestPortSpeedIsKept(t *testing.T) {
	for _, speed := range []uint64{399_999_999_997, 100_000_000_000, 7_000_003} {
		l := line[int]{speed: speed}
		const frames, octets = 100_000, 4222
		for range frames {
			l.took(0, octets)
		}
		exact := float64(frames*(octets+frameOverhead)*8) / float64(speed) * 1e9
		if got := float64(l.free); got < exact-2 || got > exact+2 {
			t.Errorf("%d bits a second: %d frames take %v ns, want %v", speed, frames, got, exact)
		}
	}
}

// TestSpeedIsTakenAway: without a speed frames take no time: what waits for the end of a frame may
// leave at once, also on a port that holds packets because a queue of it is watched.
func TestSpeedIsTakenAway(t *testing.T) {
	for _, watched := range []bool{false, true} {
		m := New[int](Config{Priorities: 8, PauseBuffer: 1000, PauseSpeed: 1e9})
		if watched {
			m.Watch([]Setting{{Direction: p4.PfcDirectionEgress, Port: 1, Priority: 3}}, 0)
		}
		m.SetSpeed(1, 8)
		for range 2 {
			m.Push(Place[int]{Port: 1, Priority: 3, Octets: 100}, 0)
		}
		e, _, _ := m.Pop(0)
		m.Sent(1, 3, 0, int(e.Octets))
		if at, ok := m.Due(); !ok || at != (100+frameOverhead)*time.Second {
			t.Errorf("watched %v: after the first frame the next one is due at %v, %v", watched, at, ok)
		}
		if _, _, ok := m.Pop((100+frameOverhead)*time.Second - 1); ok || m.Len() != 1 {
			t.Errorf("watched %v: a frame leaves while another is on the wire; %d wait", watched, m.Len())
		}
		m.SetSpeed(1, 0)
		if _, _, ok := m.Pop(0); !ok {
			t.Errorf("watched %v: a packet waits for a port without a speed", watched)
		}
		m.Push(Place[int]{Port: 1, Priority: 3, Octets: 100}, 0)
		if held := m.port(1).line.waiting == 1; held != watched {
			t.Errorf("watched %v: packets are held by priority: %v", watched, held)
		}
	}
}

// TestDue: the next packet that waits for its queue's rate is due, of whatever priority.
func TestDue(t *testing.T) {
	for first := range 3 {
		m := New[int](Config{Priorities: 3})
		for prio := range 2 {
			m.SetRate(1, (first+prio)%3, uint64(100*(prio+1)))
			for range 2 {
				m.Push(Place[int]{Port: 1, Priority: (first + prio) % 3, Octets: 100}, 0)
			}
		}
		for range 2 { // the first of each queue
			if _, _, ok := m.Pop(0); !ok {
				t.Fatal("nothing leaves")
			}
		}
		for _, want := range []time.Duration{time.Second / 200, time.Second / 100} {
			if at, ok := m.Due(); !ok || at != want {
				t.Errorf("priority %d first: due at %v, %v, want %v", first, at, ok, want)
			}
			m.Pop(want)
		}
		if at, ok := m.Due(); ok {
			t.Errorf("priority %d first: due at %v without a packet", first, at)
		}
	}
}

// TestPriorities: a port has 32 queues at most, as in BMv2.
func TestPriorities(t *testing.T) {
	if MaxPriorities != 32 {
		t.Errorf("%d", MaxPriorities)
	}
	m := New[int](Config{Priorities: MaxPriorities})
	for prio := range MaxPriorities {
		m.Push(Place[int]{Packet: prio, Port: 1, Priority: prio}, 0)
	}
	for prio := MaxPriorities - 1; prio >= 0; prio-- {
		if e, _, ok := m.Pop(0); !ok || e.Packet != prio {
			t.Errorf("%+v, %v, want the packet of priority %d", e, ok, prio)
		}
	}
}

// TestBefore: packets leave by their time, and those of a time in the order in which they came.
func TestBefore(t *testing.T) {
	for _, c := range []struct {
		a, b Place[int]
		want bool
	}{
		{Place[int]{Leaves: 1, seq: 2}, Place[int]{Leaves: 2, seq: 1}, true},
		{Place[int]{Leaves: 2, seq: 1}, Place[int]{Leaves: 1, seq: 2}, false},
		{Place[int]{Leaves: 1, seq: 1}, Place[int]{Leaves: 1, seq: 2}, true},
		{Place[int]{Leaves: 1, seq: 2}, Place[int]{Leaves: 1, seq: 1}, false},
		{Place[int]{Leaves: 1, seq: 1}, Place[int]{Leaves: 1, seq: 1}, false},
	} {
		if got := c.a.before(&c.b); got != c.want {
			t.Errorf("%+v before %+v: %v", c.a, c.b, got)
		}
	}
}
