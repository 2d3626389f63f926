package queue

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/drop"
	"github.com/weft-sdn/weft/p4"
)

// TestCounts checks the counts of a queue: packets that left, by their size on leaving; packets
// without room, by their size on arrival, in the queue and in the buffer of a pause; and the most
// that waited.
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
	if want := (Counts{Sent: 2, SentOctets: 320, Dropped: 1, DroppedOctets: 400,
		Longest: 300}); of() != want {
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

// TestMarksAtTheirOctet: a queue sends XOFF above the XOFF mark and not at it, and XON at the XON
// mark and not above it; a buffer takes exactly its size in octets.
func TestMarksAtTheirOctet(t *testing.T) {
	const port, prio = 1, 3
	m := New[int](Config{Priorities: 8, PauseBuffer: 1000, PauseSpeed: 1e9})
	m.Watch([]Setting{{Direction: p4.PfcDirectionEgress, Port: port, Priority: prio,
		Settings: Settings{Buffer: 300, XOFF: 200, XON: 100, Upstreams: 1}}}, 0)
	m.Pause(port, 1<<prio, &[PFCPriorities]uint16{prio: 0xffff}, 0)
	put := func(octets uint32) drop.Reason {
		e := Place[int]{Port: port, Priority: prio, Octets: octets}
		reason := m.Admit(&e, 2)
		if reason == drop.None {
			m.Push(e, time.Nanosecond)
		}
		return reason
	}
	signals := func() (xoff, xon uint64) {
		for r := range m.Reports(time.Nanosecond) {
			if r.Port == port && r.Priority == prio {
				return r.XOFFsSent, r.XONsSent
			}
		}
		return 0, 0
	}
	expect := func(what string, xoff, xon uint64) {
		t.Helper()
		if a, b := signals(); a != xoff || b != xon {
			t.Errorf("%s: %d XOFF and %d XON, want %d and %d", what, a, b, xoff, xon)
		}
	}
	put(100)
	put(99)
	put(1)
	expect("at XOFF's mark", 0, 0)
	put(1)
	expect("one octet above it", 1, 0)
	if r := put(100); r != drop.PauseBufferFull {
		t.Errorf("one octet more than the buffer has: %v", r)
	}
	if r := put(99); r != drop.None {
		t.Errorf("as many octets as the buffer has: %v", r)
	}
	for r := range m.Reports(time.Nanosecond) {
		if r.Overflows != 1 {
			t.Errorf("%d packets that found no room, want 1", r.Overflows)
		}
	}
	m.Pause(port, 1<<prio, &[PFCPriorities]uint16{}, 2*time.Nanosecond)
	leave := func() {
		if _, _, ok := m.Pop(time.Second); !ok {
			t.Fatal("nothing leaves")
		}
	}
	leave() // 200 of 300 wait
	leave() // 101
	expect("one octet above XON's mark", 1, 0)
	leave() // 100
	expect("at XON's mark", 1, 1)
}

// TestAllPorts: a setting for all ports holds for existing ports and for ports added later; a
// setting for one port holds for that port only.
func TestAllPorts(t *testing.T) {
	const all, one, later, last = -1, 1, 2, 3
	m := New[int](Config{Priorities: 2, Depth: 10, Rate: 10})
	expect := func(what string, port uint32, depth int, rate uint64) {
		t.Helper()
		if q := m.port(port).q[1]; q.depth != depth || q.rate != rate {
			t.Errorf("%s: depth %d, rate %d at port %d; want %d, %d", what, q.depth, q.rate, port, depth,
				rate)
		}
	}
	expect("as configured", one, 10, 10)
	m.SetDepth(AllPorts, all, 20)
	m.SetRate(AllPorts, all, 20)
	expect("set for all", one, 20, 20)
	expect("set for all", later, 20, 20)
	m.SetDepth(one, all, 30)
	m.SetRate(one, all, 30)
	expect("set for it", one, 30, 30)
	expect("set for another", later, 20, 20)
	expect("set for another, before it was there", last, 20, 20)
}

// TestStormsCountOnce: a storm is one however long it lasts, and by itself no reason to send XOFF.
func TestStormsCountOnce(t *testing.T) {
	const port, prio, watchdog = 1, 3, time.Millisecond
	m := New[int](Config{Priorities: 8, PauseBuffer: 1000, PauseSpeed: 1})
	m.Watch([]Setting{{Direction: p4.PfcDirectionEgress, Port: port, Priority: prio,
		Settings: Settings{XOFF: 200, XON: 100, Upstreams: 1, Watchdog: watchdog,
			Action: p4.WatchdogActionReport}}}, 0)
	m.Pause(port, 1<<prio, &[PFCPriorities]uint16{prio: 0xffff}, 0)
	m.Push(Place[int]{Port: port, Priority: prio, Octets: 100}, 0)
	for i := range 5 {
		m.Tick(watchdog+time.Duration(i)*time.Hour, nil)
		for r := range m.Reports(time.Nanosecond) {
			if r.Storms != 1 || r.XOFFsSent != 0 {
				t.Errorf("after %d hours: %d storms, %d XOFF sent; want 1 and 0", i, r.Storms, r.XOFFsSent)
			}
		}
	}
	if m.Events() != 1 {
		t.Errorf("%d events, want 1", m.Events())
	}
}

// TestStormDrops: a watchdog that drops takes waiting packets out of the queue, and refuses new
// packets while the storm lasts; the queue counts both.
func TestStormDrops(t *testing.T) {
	const port, prio, watchdog = 1, 3, time.Millisecond
	m := New[int](Config{Priorities: 8, PauseBuffer: 1000, PauseSpeed: 1})
	m.Watch([]Setting{{Direction: p4.PfcDirectionEgress, Port: port, Priority: prio,
		Settings: Settings{Watchdog: watchdog, Action: p4.WatchdogActionDrop}}}, 0)
	m.Pause(port, 1<<prio, &[PFCPriorities]uint16{prio: 0xffff}, 0)
	for i := range 3 {
		m.Push(Place[int]{Packet: i, Port: port, Priority: prio, Octets: 100}, 0)
	}
	var dropped []int
	m.Tick(watchdog, func(p int) { dropped = append(dropped, p) })
	if !slices.Equal(dropped, []int{0, 1, 2}) || m.Len() != 0 {
		t.Errorf("dropped %v, %d wait", dropped, m.Len())
	}
	if r := m.Admit(&Place[int]{Port: port, Priority: prio, Octets: 100}, 2); r != drop.Storm {
		t.Errorf("a packet in the storm: %v", r)
	}
	for r := range m.Reports(watchdog) {
		if r.StormDrops != 4 || r.Packets != 0 || r.Octets != 0 {
			t.Errorf("%+v, want 4 drops, and nothing that waits", r)
		}
	}
	for s := range m.States() {
		if s.Priority == prio && (s.Dropped != 4 || s.DroppedOctets != 400) {
			t.Errorf("the queue counts %+v, want 4 packets dropped of 400 octets", s.Counts)
		}
	}
}

// TestFree: a packet may pass by a queue only where nothing would hold or count it there.
func TestFree(t *testing.T) {
	for name, set := range map[string]func(m *Manager[int]){
		"":                 func(*Manager[int]) {},
		"a rate":           func(m *Manager[int]) { m.SetRate(1, 3, 10) },
		"a speed":          func(m *Manager[int]) { m.SetSpeed(1, 10) },
		"a pause":          func(m *Manager[int]) { m.Pause(1, 1<<3, &[PFCPriorities]uint16{3: 1}, 0) },
		"a packet":         func(m *Manager[int]) { m.Push(Place[int]{Port: 9, Priority: 3}, 0) },
		"a watch of its":   func(m *Manager[int]) { m.watchIngress(2, 3) },
		"another's rate":   func(m *Manager[int]) { m.SetRate(4, 3, 10); m.SetRate(1, 4, 10) },
		"another's watch":  func(m *Manager[int]) { m.watchIngress(4, 3); m.watchIngress(2, 4) },
		"another's speed":  func(m *Manager[int]) { m.SetSpeed(2, 10) },
		"a rate that went": func(m *Manager[int]) { m.SetRate(1, 3, 10); m.SetRate(1, 3, 0) },
	} {
		m := New[int](Config{Priorities: 9})
		set(&m)
		want := name == "" || name == "a rate that went" || name[:min(8, len(name))] == "another'"
		if m.Free(1, 3, 2) != want {
			t.Errorf("with %s: free %v, want %v", name, !want, want)
		}
		if m.Len() == 0 && m.port(1).line.held == nil && !m.Free(1, 8, 2) {
			t.Errorf("with %s: a priority without PFC is not free", name)
		}
	}
}

// TestPauseFramesAreCounted: frames that hold a priority, and frames that let it go on.
func TestPauseFramesAreCounted(t *testing.T) {
	m := New[int](Config{Priorities: 8, PauseBuffer: 1000, PauseSpeed: 1e9})
	for i := range 3 {
		m.Pause(1, 1<<3, &[PFCPriorities]uint16{3: 0xffff}, time.Duration(i))
	}
	m.Pause(1, 1<<3, &[PFCPriorities]uint16{}, 10)
	m.Pause(1, 1<<4, &[PFCPriorities]uint16{}, 11)
	m.Pause(1, 1<<4, &[PFCPriorities]uint16{}, 12)
	for r := range m.Reports(20) {
		var xoff, xon uint64
		switch r.Priority {
		case 3:
			xoff, xon = 3, 1
		case 4:
			xoff, xon = 0, 2
		}
		if r.XOFFsReceived != xoff || r.XONsReceived != xon {
			t.Errorf("priority %d: %d XOFF and %d XON received, want %d and %d", r.Priority, r.XOFFsReceived,
				r.XONsReceived, xoff, xon)
		}
	}
}
