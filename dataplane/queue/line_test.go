package queue

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/p4"
)

// TestPortSpeedIsKept checks that the long-term rate equals the wire's rate to the bit, also for
// speeds that do not divide evenly.
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

// TestSpeedIsTakenAway: without a speed, frames take no time. Packets that wait for the end of a
// frame may leave at once, even on a port that holds packets because somebody watches a queue
// there.
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

// TestDue: the next packet that waits for its queue's rate is due, regardless of priority.
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

// TestBefore: packets leave by time, and packets with equal times leave in order of arrival.
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

// TestWire: a frame is on the wire for its octets, the preamble, the check sequence and the gap
// after it; the next one, of the highest priority that may leave, follows at once. A frame that
// comes to an idle wire begins at once. Ports have wires of their own.
func TestWire(t *testing.T) {
	for _, speed := range []uint64{1, 8, 3_000_000} {
		m := New[int](Config{Priorities: 4})
		takes := func(octets uint64) time.Duration {
			return time.Duration((octets + 24) * 8 * uint64(time.Second) / speed)
		}
		m.SetSpeed(1, speed)
		m.SetSpeed(2, speed)
		put := func(id int, port uint32, prio int, now time.Duration) {
			m.Push(Place[int]{Packet: id, Port: port, Priority: prio, Octets: 100}, now)
		}
		take := func(id int, at, now time.Duration) {
			t.Helper()
			if due, ok := m.Due(); !ok || due != at {
				t.Errorf("%d bit/s: due at %v, %v, want %v", speed, due, ok, at)
			}
			e, _, ok := m.Pop(now)
			if !ok || e.Packet != id || e.Leaves != at {
				t.Errorf("%d bit/s: %+v, %v, want packet %d at %v", speed, e, ok, id, at)
			}
			m.Sent(e.Port, e.Priority, e.Leaves, 110) // longer than it came
		}
		const begin = time.Minute
		put(1, 1, 1, begin)
		take(1, begin, begin)
		put(2, 1, 0, begin)
		put(3, 1, 3, begin)
		put(4, 1, 2, begin)
		free := begin + takes(110)
		put(5, 2, 0, begin+5)
		take(5, begin+5, begin+5)
		take(3, free, free+7) // late
		m.Sent(2, 0, begin+5, 1000)
		if e, _, ok := m.Pop(free + takes(110) - 1); ok {
			t.Errorf("%d bit/s: %+v leaves while another frame is on the wire", speed, e)
		}
		free += takes(110)
		take(4, free, free)
		free = begin + time.Duration(3*134*8*uint64(time.Second)/speed) // 1/3 of a nanosecond adds up
		put(6, 2, 0, free)
		take(2, free, free)
		if due, ok := m.Due(); !ok || due != begin+5+takes(110+24+1000) {
			t.Errorf("%d bit/s: due at %v, %v, want port 2", speed, due, ok)
		}
		// Another speed begins with a whole nanosecond, and holds for what comes after it.
		m.SetSpeed(1, 16)
		if l := m.port(1).line; l.rest != 0 || l.speed != 16 || l.free <= free {
			t.Errorf("%+v", l)
		}
		m.SetSpeed(2, 0)
		if e, _, ok := m.Pop(free); !ok || e.Packet != 6 {
			t.Errorf("%d bit/s: %+v, %v, want the packet that no wire holds", speed, e, ok)
		}
	}
}

// TestNext: among the packets of a port that may leave first, the packet of the highest priority
// leaves, even if a packet of a lower priority could have left earlier on an idle wire.
func TestNext(t *testing.T) {
	for _, c := range []struct {
		free   time.Duration
		leaves [3]time.Duration // by priority, 0: none waits
		prio   int
		at     time.Duration
	}{
		{9, [3]time.Duration{}, -1, 0},
		{9, [3]time.Duration{5, 5, 5}, 2, 9},
		{9, [3]time.Duration{5, 8, 9}, 2, 9},
		{9, [3]time.Duration{5, 9, 10}, 1, 9},
		{9, [3]time.Duration{9, 10, 10}, 0, 9},
		{9, [3]time.Duration{12, 11, 11}, 2, 11},
		{9, [3]time.Duration{5, 0, 0}, 0, 9},
		{0, [3]time.Duration{5, 6, 7}, 0, 5},
		{0, [3]time.Duration{0, 6, 6}, 2, 6},
	} {
		m := New[int](Config{Priorities: 3})
		m.SetSpeed(1, 1e9)
		p := m.port(1)
		p.line.free = c.free
		for prio, at := range c.leaves {
			if at > 0 {
				p.line.hold(Place[int]{Priority: prio, Leaves: at})
			}
		}
		if prio, at := p.next(); prio != c.prio || prio >= 0 && at != c.at {
			t.Errorf("%+v: priority %d at %v", c, prio, at)
		}
	}
}
