package queue

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/p4"
)

// TestAccounts: the counts of waiting packets match the packets that wait, whatever happens to the
// queues. Each packet leaves or is dropped once, and never leaves before its time. The packets of a
// queue leave in order of arrival.
func TestAccounts(t *testing.T) {
	const ports, prios = 3, 9
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 2))
		m := New[int](Config{Priorities: prios, PauseBuffer: 2000, PauseSpeed: 1e9})
		port := func() uint32 { return uint32(rng.IntN(ports)) * 600 } // the last one is found by the map
		wait := map[int]Place[int]{}
		gone := func(id int) Place[int] {
			e, ok := wait[id]
			if !ok {
				t.Fatalf("seed %d: packet %d leaves, and does not wait", seed, id)
			}
			delete(wait, id)
			return e
		}
		now, next := time.Duration(0), 0
		for range 400 {
			now += time.Duration(rng.IntN(2000))
			switch n := rng.IntN(100); {
			case n < 45:
				e := Place[int]{Packet: next, Port: port(), Priority: rng.IntN(prios),
					Octets: uint32(60 + rng.IntN(600))}
				next++
				if m.Admit(&e, port()) != 0 {
					break
				}
				if _, ok := m.Push(e, now); ok {
					wait[e.Packet] = e
				}
			case n < 80:
				e, depth, ok := m.Pop(now)
				if !ok {
					break
				}
				m.Sent(e.Port, e.Priority, now, int(e.Octets))
				was := gone(e.Packet)
				behind := 0
				for id, o := range wait {
					if o.Port != was.Port || o.Priority != was.Priority {
						continue
					}
					if behind++; id < e.Packet {
						t.Fatalf("seed %d: packet %d of a queue leaves before packet %d", seed, e.Packet, id)
					}
				}
				if depth != behind || e.Leaves > now {
					t.Fatalf("seed %d: at %v, %d left: %+v; want %d", seed, now, depth, e, behind)
				}
			case n < 85:
				m.Tick(now, func(id int) { gone(id) })
			case n < 90:
				m.Pause(port(), uint8(rng.Uint32()), &[PFCPriorities]uint16{2: 3, 3: 9, 5: 1, 7: 20}, now)
			case n < 93:
				m.SetSpeed(port(), uint64(rng.IntN(2))*1e9)
			case n < 96:
				var all []Setting
				for range rng.IntN(4) {
					all = append(all, Setting{Direction: p4.PfcDirection(rng.IntN(2)), Port: port(),
						Priority: rng.IntN(prios), Settings: Settings{XOFF: 500, XON: 200, Upstreams: 1,
							Watchdog: 3 * time.Microsecond, Rate: uint64(rng.IntN(2)) * 1e9,
							Action: p4.WatchdogAction(rng.IntN(3))}})
				}
				m.Watch(all, now)
			case n < 99:
				m.SetRate(port(), rng.IntN(prios), uint64(rng.IntN(3))*1e6)
			case rng.IntN(4) == 0:
				m.Clear()
				clear(wait)
			}
			accounts(t, &m, wait)
		}
		// All that waits leaves in the end, when it is due.
		for range 20_000 {
			for {
				e, _, ok := m.Pop(now)
				if !ok {
					break
				}
				m.Sent(e.Port, e.Priority, now, int(e.Octets))
				gone(e.Packet)
			}
			m.Tick(now, func(id int) { gone(id) })
			at, ok := m.Due()
			if !ok || len(wait) == 0 {
				break
			}
			now = max(now, at)
		}
		if len(wait) > 0 || m.Len() > 0 {
			t.Errorf("seed %d: %d packets never leave, of %d", seed, len(wait), m.Len())
		}
	}
}

// accounts compares what the queues count with the packets that wait.
func accounts(t *testing.T, m *Manager[int], wait map[int]Place[int]) {
	t.Helper()
	if m.Len() != len(wait) {
		t.Fatalf("%d packets wait, want %d", m.Len(), len(wait))
	}
	type sum struct {
		packets int
		octets  uint64
	}
	queues, arrived := map[[2]int]sum{}, map[*watch]sum{}
	for _, e := range wait {
		k := [2]int{int(e.Port), e.Priority}
		queues[k] = sum{queues[k].packets + 1, queues[k].octets + uint64(e.Octets)}
		if e.from != nil {
			arrived[e.from] = sum{arrived[e.from].packets + 1, arrived[e.from].octets + uint64(e.Octets)}
		}
	}
	for n, p := range m.ports {
		held := 0
		for i := range p.line.held {
			held += p.line.held[i].Len()
		}
		if held != p.line.waiting || (held > 0) != slices.Contains(m.busy, p) {
			t.Fatalf("port %d holds %d packets, and counts %d", n, held, p.line.waiting)
		}
		for prio, q := range p.q {
			want := queues[[2]int{int(n), prio}]
			if q.size != want.packets || q.octets != want.octets || q.counts.Longest < q.octets {
				t.Fatalf("port %d priority %d: %+v, want %+v", n, prio, q, want)
			}
			if q.watch != nil && (sum{q.watch.packets, q.watch.octets}) != want {
				t.Fatalf("port %d priority %d: watch %+v, want %+v", n, prio, *q.watch, want)
			}
		}
	}
	for _, w := range m.watches {
		if w.peak < w.octets {
			t.Fatalf("%d octets wait, and %d at most", w.octets, w.peak)
		}
		if w.direction == p4.PfcDirectionIngress && (sum{w.packets, w.octets}) != arrived[w] {
			t.Fatalf("arrived: watch %+v, want %+v", *w, arrived[w])
		}
	}
}

// TestClear: a restarted switch has no packets, pauses or watches, but keeps the settings and the
// counts of its queues.
func TestClear(t *testing.T) {
	const speed = 8
	m := New[int](Config{Priorities: 8, Depth: 10, PauseBuffer: 1000, PauseSpeed: 1e9})
	m.SetSpeed(1, speed)
	m.SetRate(2, 3, 5)
	m.Watch([]Setting{{Direction: p4.PfcDirectionEgress, Port: 3, Priority: 3},
		{Direction: p4.PfcDirectionIngress, Port: 4, Priority: 3}}, 0)
	m.Pause(2, 1<<3, &[PFCPriorities]uint16{3: 0xffff}, 0)
	for port := range uint32(4) {
		for i := range 3 {
			m.Push(Place[int]{Packet: i, Port: port + 1, Priority: 3, Octets: 100}, 0)
		}
	}
	m.Query(p4.PfcDirectionEgress, 1, 3)
	var before []State
	for s := range m.States() {
		s.Packets = 0
		before = append(before, s)
	}
	m.Clear()
	if _, _, ok := m.Pop(time.Hour); ok || m.Len() != 0 || m.Events() != 0 {
		t.Errorf("%d packets, %d events", m.Len(), m.Events())
	}
	if at, ok := m.Due(); ok {
		t.Errorf("due at %v", at)
	}
	for r := range m.Reports(0) {
		t.Errorf("%+v", r)
	}
	if after := slices.Collect(m.States()); !slices.Equal(after, before) {
		t.Errorf("%+v, want %+v", after, before)
	}
	accounts(t, &m, nil)
	if m.port(1).line.speed != speed || m.port(3).line.held != nil {
		t.Errorf("%+v, %+v", m.port(1).line, m.port(3).line)
	}
	// An emptied queue begins at 0 octets and takes as many packets as it may.
	for range 10 {
		if _, ok := m.Push(Place[int]{Port: 1, Priority: 3, Octets: 1}, 0); !ok {
			t.Error("an emptied queue is full")
		}
	}
	m.Query(p4.PfcDirectionEgress, 1, 3)
	_, r, err := p4.ParseTargetReport(m.AppendEvent(nil, 0))
	if err != nil || r.Packets != 10 || r.Octets != 10 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestPushPop: Push returns the packets in front, Pop the packets behind; a full queue refuses; a
// rate may be one packet a second; nothing waits for packets that may leave at once.
func TestPushPop(t *testing.T) {
	m := New[int](Config{Priorities: 3, Depth: 3})
	m.SetRate(2, 1, 1)
	for i := range 4 {
		if depth, ok := m.Push(Place[int]{Packet: i, Port: 1, Priority: 1}, 0); depth != min(i, 3) ||
			ok != (i < 3) {
			t.Errorf("packet %d: %d before it, %v", i, depth, ok)
		}
	}
	if at, ok := m.Due(); ok {
		t.Errorf("due at %v, with packets that may leave", at)
	}
	for i := range 4 {
		e, depth, ok := m.Pop(0)
		if ok != (i < 3) || ok && (e.Packet != i || e.Depth != i || depth != 2-i) || !ok && depth != 0 {
			t.Errorf("%+v, %d left, %v", e, depth, ok)
		}
	}
	for i := range 3 {
		m.Push(Place[int]{Packet: i, Port: 2, Priority: 1}, time.Minute)
	}
	for i := range 3 {
		at := time.Minute + time.Duration(i)*time.Second
		if due, ok := m.Due(); i > 0 && (!ok || due != at) {
			t.Errorf("packet %d: due at %v, %v", i, due, ok)
		}
		if i > 0 {
			if e, _, ok := m.Pop(at - 1); ok {
				t.Errorf("%+v leaves too soon", e)
			}
		}
		if e, _, ok := m.Pop(at); !ok || e.Packet != i || e.Leaves != at {
			t.Errorf("%+v, %v, want packet %d at %v", e, ok, i, at)
		}
	}
	// After a while of rest the rate holds from the next packet on.
	m.Push(Place[int]{Packet: 7, Port: 2, Priority: 1}, time.Hour)
	if _, _, ok := m.Pop(time.Hour); !ok {
		t.Error("a packet waits for a rate that is not used")
	}
	m.SetDepth(3, 0, 1)
	for i := range 2 {
		if _, ok := m.Push(Place[int]{Port: 3}, 0); ok != (i == 0) {
			t.Errorf("packet %d of a queue for one: %v", i, ok)
		}
	}
	m.Pop(0)
	// Among the packets whose time has come, the packet with the highest priority leaves first, then
	// the earliest packet.
	m.Push(Place[int]{Packet: 8, Port: 2, Priority: 1}, time.Hour) // from a second later on
	m.Push(Place[int]{Packet: 9, Port: 1, Priority: 1}, time.Hour+time.Minute)
	m.Push(Place[int]{Packet: 10, Port: 1, Priority: 0}, time.Hour)
	m.Push(Place[int]{Packet: 11, Port: 1, Priority: 2}, time.Hour+time.Minute)
	for _, want := range []int{11, 8, 9, 10} {
		if e, _, ok := m.Pop(time.Hour + time.Minute); !ok || e.Packet != want {
			t.Errorf("%+v, %v, want packet %d", e, ok, want)
		}
	}
}

// TestArrivalOrder: packets of a priority leave by their time, and at one time in the order in
// which they came, whether they waited for a rate or not.
func TestArrivalOrder(t *testing.T) {
	m := New[int](Config{Priorities: 1})
	const rated = 10
	for port := range uint32(rated) {
		m.SetRate(port, 0, 1)
		m.Push(Place[int]{Packet: -1, Port: port}, 0)
		m.Pop(0)
	}
	put := func(id int, port uint32, now time.Duration) {
		m.Push(Place[int]{Packet: id, Port: port}, now)
	}
	put(0, rated, 500*time.Millisecond)
	for i := range rated {
		put(i+1, uint32(i*7%rated), 600*time.Millisecond) // all from a second on
	}
	put(rated+1, rated, time.Second)
	put(rated+2, rated, time.Second+1)
	put(rated+3, 0, time.Second+2) // a second later
	for id := range rated + 4 {
		if e, _, ok := m.Pop(time.Minute); !ok || e.Packet != id {
			t.Errorf("%+v, %v, want packet %d", e, ok, id)
		}
	}
}

// TestPorts: queues of any port are found again; a list has those of low numbers only.
func TestPorts(t *testing.T) {
	m := New[int](Config{Priorities: 1})
	for _, n := range []uint32{1023, 0, 1024, 1 << 31, AllPorts - 1} {
		p := m.port(n)
		if m.port(n) != p || m.ports[n] != p {
			t.Errorf("port %d has queues twice", n)
		}
		if n < uint32(len(m.near)) != (n < 1024) || n < 1024 && m.near[n] != p || len(m.near) != 1024 {
			t.Errorf("port %d: a list of %d", n, len(m.near))
		}
	}
}

// TestChosen: what is set for a priority holds for that one, the lowest too, and for all by a
// negative number. States may be looked at in part.
func TestChosen(t *testing.T) {
	m := New[int](Config{Priorities: 3})
	m.SetDepth(1, 0, 5)
	m.SetRate(1, 0, 6)
	m.SetDepth(1, 1, 7)
	m.SetDepth(2, -2, 8)
	want := []State{
		{Port: 1, Depth: 5, Rate: 6}, {Port: 1, Priority: 1, Depth: 7}, {Port: 1, Priority: 2},
		{Port: 2, Depth: 8}, {Port: 2, Priority: 1, Depth: 8}, {Port: 2, Priority: 2, Depth: 8},
	}
	if got := slices.Collect(m.States()); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	for s := range m.States() {
		if s != want[0] {
			t.Errorf("%+v", s)
		}
		break
	}
}

// TestDueOfAll: of the watches, the wires and the rates, the earliest time is due.
func TestDueOfAll(t *testing.T) {
	for _, c := range []struct{ watch, other, wire, wire2, rate, rate0, want time.Duration }{
		{}, {watch: 5, want: 5}, {wire: 5, want: 5}, {rate: 5, want: 5}, {rate0: 5, want: 5},
		{watch: 5, other: 6, want: 5}, {watch: 6, other: 5, want: 5},
		{watch: 5, wire: 6, rate: 7, want: 5}, {watch: 6, wire: 5, rate: 7, want: 5},
		{watch: 7, wire: 6, rate: 5, want: 5}, {wire: 6, wire2: 5, want: 5}, {wire: 5, wire2: 6, want: 5},
		{rate: 5, rate0: 6, want: 5}, {rate: 6, rate0: 5, want: 5}, {wire: 6, rate0: 5, want: 5},
		{watch: 5, rate0: 6, want: 5},
	} {
		m := New[int](Config{Priorities: 2})
		for port, at := range []time.Duration{c.watch, c.other} {
			if at > 0 {
				w := m.watchIngress(uint32(port), 0)
				w.asserted, w.again, w.set.Upstreams = true, at, 1
			}
		}
		for i, at := range []time.Duration{c.wire, c.wire2} {
			if at > 0 {
				port := uint32(10 + i)
				m.SetSpeed(port, 1e9)
				m.Push(Place[int]{Port: port}, 0)
				m.port(port).line.free = at
			}
		}
		for prio, at := range []time.Duration{c.rate0, c.rate} {
			if at > 0 {
				m.SetRate(20, prio, uint64(time.Second/at))
				m.Push(Place[int]{Port: 20, Priority: prio}, 0)
				m.Push(Place[int]{Port: 20, Priority: prio}, 0)
				m.Pop(0)
			}
		}
		if at, ok := m.Due(); ok != (c.want > 0) || at != c.want {
			t.Errorf("%+v: due at %v, %v", c, at, ok)
		}
	}
}
