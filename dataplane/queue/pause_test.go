package queue

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/drop"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// frames takes all events, as frames without their reports.
func (m *Manager[P]) frames(t *testing.T, now time.Duration) (all []p4.TargetFrame) {
	t.Helper()
	for m.Events() > 0 {
		b := m.AppendEvent(nil, now)
		f, rest, err := p4.ParseTargetFrame(b)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		switch f.Op {
		case p4.TargetOpState, p4.TargetOpStorm, p4.TargetOpStormOver:
			want = p4.QueueReportLen
		}
		if len(rest) != want {
			t.Errorf("%+v: %d octets follow, want %d", f, len(rest), want)
		}
		all = append(all, f)
	}
	return all
}

func sameFrames(t *testing.T, what string, got []p4.TargetFrame, want ...p4.TargetFrame) {
	t.Helper()
	same := len(got) == len(want)
	for i := range got {
		same = same && got[i] == want[i]
	}
	if !same {
		t.Errorf("%s: frames %+v, want %+v", what, got, want)
	}
}

// TestEvents: XOFF goes to each node upstream, at once and after each refresh, and XON once; a late
// look sends one XOFF. Without a node upstream there is nothing to wait for.
func TestEvents(t *testing.T) {
	const port, prio, refresh = 5, 3, 10 * time.Microsecond
	for upstreams := range 3 {
		for _, direction := range []p4.PfcDirection{p4.PfcDirectionIngress, p4.PfcDirectionEgress} {
			m := New[int](Config{Priorities: 8, PauseBuffer: 1000, PauseSpeed: 1e9})
			m.Watch([]Setting{{Direction: direction, Port: port, Priority: prio,
				Settings: Settings{XOFF: 100, XON: 50, Upstreams: upstreams, Refresh: refresh}}}, 0)
			all := func(op p4.TargetOp) (list []p4.TargetFrame) {
				for i := range upstreams {
					list = append(list, p4.TargetFrame{Op: op, Direction: direction, Port: port, Priority: prio,
						Upstream: uint8(i)})
				}
				return list
			}
			e := Place[int]{Port: port, Priority: prio, Octets: 101}
			m.Admit(&e, port)
			m.Push(e, 7)
			sameFrames(t, "above the mark", m.frames(t, 7), all(p4.TargetOpXoff)...)
			for i, at := range []time.Duration{7 + refresh, 7 + 2*refresh, time.Second} {
				if due, ok := m.watchesDue(); ok != (upstreams > 0) || ok && due != min(at, 7+3*refresh) {
					t.Errorf("%d upstreams: due at %v, %v; want %v", upstreams, due, ok, at)
				}
				m.Tick(min(at, 7+3*refresh)-1, nil)
				sameFrames(t, "before it is due", m.frames(t, at))
				m.Tick(at, nil)
				sameFrames(t, "again", m.frames(t, at), all(p4.TargetOpXoff)...)
				for r := range m.Reports(at + 9) {
					want := p4.QueueReport{Asserted: true, Packets: 1, Octets: 101, Peak: 101, XOFFSent: 9,
						XOFFReceived: p4.NeverYet, XONReceived: p4.NeverYet, XONSent: p4.NeverYet,
						XOFFsSent: uint64((i + 2) * upstreams)}
					if upstreams == 0 {
						want.XOFFSent = p4.NeverYet
					}
					if r.QueueReport != want || r.Direction != direction || r.Port != port || r.Priority != prio {
						t.Errorf("%+v, want %+v", r, want)
					}
				}
			}
			m.Pop(time.Second + 1)
			sameFrames(t, "empty", m.frames(t, time.Second), all(p4.TargetOpXon)...)
			for r := range m.Reports(time.Second + 5) {
				if r.Asserted || r.XONsSent != uint64(upstreams) || upstreams > 0 && r.XONSent != 4 ||
					r.Packets != 0 || r.Octets != 0 || r.Peak != 101 {
					t.Errorf("%+v", r)
				}
			}
			if due, ok := m.Due(); ok {
				t.Errorf("due at %v after XON", due)
			}
		}
	}
}

// TestQuery: Query reports any queue with PFC, watched or not, and does not start to watch the
// queue.
func TestQuery(t *testing.T) {
	m := New[int](Config{Priorities: 10, PauseBuffer: 1000, PauseSpeed: 1e9})
	m.Push(Place[int]{Port: 1, Priority: 7, Octets: 300}, 0)
	m.watchIngress(2, 3)
	m.watchEgress(2, 4)
	for _, port := range []uint32{1, 2} {
		e := Place[int]{Port: 2, Priority: 2 + int(port), Octets: 50}
		if r := m.Admit(&e, 2); r != drop.None {
			t.Fatal(r)
		}
		m.Push(e, 0)
	}
	in, out := p4.PfcDirectionIngress, p4.PfcDirectionEgress
	for _, c := range []struct {
		direction p4.PfcDirection
		port      uint32
		prio      int
		packets   uint32
		octets    uint64
	}{
		{out, 1, 7, 1, 300}, {in, 1, 7, 0, 0}, {out, 1, 6, 0, 0}, {out, 3, 0, 0, 0},
		{out, 2, 3, 1, 50}, {in, 2, 3, 1, 50}, {out, 2, 4, 1, 50}, {in, 2, 4, 0, 0},
	} {
		if !m.Query(c.direction, c.port, c.prio) || m.Events() != 1 {
			t.Fatalf("%+v: %d events", c, m.Events())
		}
		f, r, err := p4.ParseTargetReport(m.AppendEvent(nil, 0))
		want := p4.TargetFrame{Op: p4.TargetOpState, Direction: c.direction, Port: uint16(c.port),
			Priority: uint8(c.prio)}
		if err != nil || f != want || r.Packets != c.packets || r.Octets != c.octets {
			t.Errorf("%+v: %+v, %+v, %v", c, f, r, err)
		}
	}
	if m.Query(out, 1, 8) || m.Events() != 0 {
		t.Error("a queue without PFC is reported")
	}
	if all := slices.Collect(m.Reports(0)); len(all) != 2 || all[0].Direction != in ||
		all[1].Direction != out {
		t.Errorf("%+v", all)
	}
	for r := range m.Reports(0) {
		if r.Direction != in {
			t.Errorf("%+v", r)
		}
		break
	}
	few := New[int](Config{Priorities: 2})
	few.Pause(1, 0xFF, &[PFCPriorities]uint16{1, 1, 1, 1, 1, 1, 1, 1}, 0)
	if n := len(few.watches); n != 2 {
		t.Errorf("a frame pauses %d queues of 2", n)
	}
	if few.Query(out, 1, 2) || !few.Query(out, 1, 1) {
		t.Error("a switch of 2 queues a port reports another one, or not its own")
	}
}

// TestAdmitWithoutPFC: no watch counts a packet of a priority above 7; watches of other ports and
// priorities do not count a packet either.
func TestAdmitWithoutPFC(t *testing.T) {
	m := New[int](Config{Priorities: 9, PauseBuffer: 10})
	m.watchIngress(2, 3)
	m.watchEgress(1, 3)
	for _, c := range []struct {
		port, arrived uint32
		prio          int
		want          drop.Reason
		counted       bool
	}{
		{1, 2, 8, drop.None, false}, {1, 2, 7, drop.None, false}, {4, 2, 3, drop.None, true},
		{4, 4, 3, drop.None, false}, {1, 2, 3, drop.PauseBufferFull, false},
	} {
		e := Place[int]{Port: c.port, Priority: c.prio, Octets: 11}
		if r := m.Admit(&e, c.arrived); r != c.want || (e.from != nil) != c.counted {
			t.Errorf("%+v: %v, counted %v", c, r, e.from != nil)
		}
	}
}

// TestMark: a queue sends XOFF once when it rises above its mark, and XON once when it falls to its
// mark, or loses its mark for XOFF.
func TestMark(t *testing.T) {
	for _, c := range []struct {
		asserted         bool
		xoff, xon, holds uint64
		xoffs, xons      uint64
	}{
		{false, 0, 0, 5, 0, 0}, {false, 1, 0, 1, 0, 0}, {false, 1, 0, 2, 1, 0}, {false, 9, 5, 9, 0, 0},
		{false, 9, 5, 10, 1, 0}, {false, 9, 5, 4, 0, 0}, {true, 9, 5, 10, 0, 0}, {true, 9, 5, 6, 0, 0},
		{true, 9, 5, 5, 0, 1}, {true, 9, 5, 0, 0, 1}, {true, 0, 5, 10, 0, 1}, {true, 1, 0, 1, 0, 0},
	} {
		m := New[int](Config{})
		w := &watch{asserted: c.asserted, octets: c.holds,
			set: Settings{XOFF: c.xoff, XON: c.xon, Upstreams: 1, Refresh: 7}}
		for range 2 {
			m.mark(w, 3)
		}
		if w.xoffTx != c.xoffs || w.xonTx != c.xons || m.Events() != int(c.xoffs+c.xons) ||
			w.asserted != (c.xoffs == 1 || c.asserted && c.xons == 0) || c.xoffs == 1 && w.again != 10 {
			t.Errorf("%+v: %+v", c, *w)
		}
	}
}

// TestPauses: a pause holds its queue for the time in the latest frame, at the speed of the port; 0
// ends the pause. Priorities not named in the frame go on.
func TestPauses(t *testing.T) {
	const prio, quanta = 3, 10
	for _, speed := range []uint64{0, 4e9} {
		m := New[int](Config{Priorities: 8, PauseBuffer: 1000, PauseSpeed: 1e9})
		m.SetSpeed(1, speed)
		lasts := packet.PauseTime(quanta, max(speed, 1e9))
		if speed > 0 {
			lasts = packet.PauseTime(quanta, speed)
		}
		report := func(now time.Duration) Report {
			for r := range m.Reports(now) {
				return r
			}
			return Report{}
		}
		pause := func(quanta uint16, now time.Duration) {
			m.Pause(1, 1<<prio, &[PFCPriorities]uint16{prio: quanta, 4: 7}, now)
		}
		pause(quanta, 1000)
		m.Push(Place[int]{Packet: 1, Port: 1, Priority: prio}, 1000)
		m.Push(Place[int]{Packet: 2, Port: 1, Priority: 4}, 1000)
		if e, _, ok := m.Pop(1000); !ok || e.Packet != 2 {
			t.Errorf("speed %d: %+v, %v, want the packet that is not paused", speed, e, ok)
		}
		until := 1000 + lasts
		if r := report(1500); r.Paused != until-1500 || r.PausedFor != 500 || r.XOFFReceived != 500 ||
			r.XONReceived != p4.NeverYet {
			t.Errorf("speed %d: %+v", speed, r)
		}
		pause(quanta, 2000) // made longer
		until = 2000 + lasts
		if r := report(2500); r.Paused != until-2500 || r.PausedFor != 1500 || r.XOFFReceived != 500 {
			t.Errorf("speed %d: made longer: %+v", speed, r)
		}
		if at, ok := m.Due(); !ok || at != until {
			t.Errorf("speed %d: due at %v, %v, want %v", speed, at, ok, until)
		}
		if e, _, ok := m.Pop(until - 1); ok {
			t.Errorf("speed %d: %+v leaves in the pause", speed, e)
		}
		if r := report(until); r.Paused != 0 || r.PausedFor != 0 {
			t.Errorf("speed %d: over: %+v", speed, r)
		}
		pause(quanta, until) // another one
		if r := report(until + 5); r.PausedFor != 5 {
			t.Errorf("speed %d: another: %+v", speed, r)
		}
		pause(0, until+10)
		if r := report(until + 15); r.Paused != 0 || r.XONReceived != 5 || r.XOFFReceived != 15 {
			t.Errorf("speed %d: ended: %+v", speed, r)
		}
		if e, _, ok := m.Pop(until + 10); !ok || e.Packet != 1 || e.Leaves != until+10 {
			t.Errorf("speed %d: %+v, %v after the pause", speed, e, ok)
		}
		pause(0, until+20) // nothing to end: a pause that is over does not last until now
		if w := m.watches[0]; w.until != until+10 {
			t.Errorf("speed %d: paused until %v", speed, w.until)
		}
	}
}

// TestWatchdog: a storm begins when a pause has held a queue with packets for the watchdog's time,
// without a packet that left, and ends that long after the last command to pause; what the action
// is decides whether packets wait, leave or are dropped.
func TestWatchdog(t *testing.T) {
	const prio, watchdog = 3, 100 * time.Microsecond
	for _, action := range []p4.WatchdogAction{p4.WatchdogActionReport, p4.WatchdogActionDrop,
		p4.WatchdogActionRelease} {
		m := New[int](Config{Priorities: 8, PauseBuffer: 10_000, PauseSpeed: 1e9})
		m.Watch([]Setting{{Direction: p4.PfcDirectionEgress, Port: 1, Priority: prio,
			Settings: Settings{Watchdog: watchdog, Action: action}}}, 0)
		frame := func(op p4.TargetOp) p4.TargetFrame {
			return p4.TargetFrame{Op: op, Direction: p4.PfcDirectionEgress, Port: 1, Priority: prio}
		}
		pause := func(quanta uint16, now time.Duration) {
			m.Pause(1, 1<<prio, &[PFCPriorities]uint16{prio: quanta}, now)
		}
		due := func(what string, want time.Duration) {
			t.Helper()
			if at, ok := m.watchesDue(); ok != (want > 0) || at != want {
				t.Errorf("%v: %s: due at %v, %v; want %v", action, what, at, ok, want)
			}
		}
		pause(1000, 0) // 512 us
		due("without packets", 0)
		first := Place[int]{Packet: 1, Port: 1, Priority: prio, Octets: 100}
		if r := m.Admit(&first, 2); r != drop.None {
			t.Errorf("%v: a packet before the storm: %v", action, r)
		}
		m.Push(first, 50*time.Microsecond)
		begins := 150 * time.Microsecond
		due("with one", begins)
		m.Tick(begins-1, nil)
		sameFrames(t, "too soon", m.frames(t, begins))
		if _, _, ok := m.Pop(begins - 1); ok {
			t.Errorf("%v: a packet leaves in a pause, without a storm", action)
		}
		var dropped []int
		m.Tick(begins, func(id int) { dropped = append(dropped, id) })
		sameFrames(t, "storm", m.frames(t, begins), frame(p4.TargetOpStorm))
		if drops := action == p4.WatchdogActionDrop; (len(dropped) == 1) != drops ||
			(m.Len() == 0) != drops {
			t.Errorf("%v: dropped %v, %d wait", action, dropped, m.Len())
		}
		if _, _, ok := m.Pop(begins); ok != (action == p4.WatchdogActionRelease) {
			t.Errorf("%v: a packet leaves in the storm: %v", action, ok)
		}
		e := Place[int]{Packet: 2, Port: 1, Priority: prio, Octets: 100}
		if r := m.Admit(&e, 2); (r == drop.Storm) != (action == p4.WatchdogActionDrop) {
			t.Errorf("%v: a packet in the storm: %v", action, r)
		}
		pause(1000, 400*time.Microsecond) // until 912
		over := 912*time.Microsecond + watchdog
		due("in the storm", over)
		m.Tick(over-1, nil)
		sameFrames(t, "storm is not over", m.frames(t, over))
		m.Tick(over, nil)
		sameFrames(t, "storm is over", m.frames(t, over), frame(p4.TargetOpStormOver))
		due("after it", 0)
		// A command to go on settles the queue at once.
		m.Push(e, over)
		pause(1000, over)
		begins = over + watchdog
		due("another one", begins)
		m.Tick(begins, func(int) {})
		pause(0, begins+10)
		due("ended by XON", begins+10+watchdog)
		for r := range m.Reports(begins) {
			if r.Storms != 2 || !r.Storm {
				t.Errorf("%v: %+v", action, r)
			}
		}
	}
	// A pause that ends when the watchdog's time is over makes no storm.
	for quanta, want := range map[uint16]int{100: 0, 101: 1} {
		m := New[int](Config{Priorities: 8, PauseBuffer: 10_000, PauseSpeed: packet.PFCQuantumBits * 1e6})
		m.Watch([]Setting{{Direction: p4.PfcDirectionEgress, Port: 1, Priority: prio,
			Settings: Settings{Watchdog: watchdog}}}, 0)
		m.Push(Place[int]{Port: 1, Priority: prio, Octets: 100}, 0)
		m.Pause(1, 1<<prio, &[PFCPriorities]uint16{prio: quanta}, 0)
		m.Tick(watchdog, nil)
		if m.Events() != want {
			t.Errorf("%d quanta: %d events, want %d", quanta, m.Events(), want)
		}
	}
}

// TestStormEndsThoughTheQueueWaits: what a busy wire holds after a storm is no storm.
func TestStormEndsThoughTheQueueWaits(t *testing.T) {
	const prio, watchdog = 3, 100 * time.Microsecond
	m := New[int](Config{Priorities: 8, PauseBuffer: 10_000, PauseSpeed: 1e9})
	m.Watch([]Setting{{Direction: p4.PfcDirectionEgress, Port: 1, Priority: prio,
		Settings: Settings{Watchdog: watchdog}}}, 0)
	m.SetSpeed(1, 8) // an octet a second
	m.Sent(1, 4, 0, 100)
	m.Push(Place[int]{Port: 1, Priority: prio, Octets: 100}, 0)
	m.Pause(1, 1<<prio, &[PFCPriorities]uint16{prio: 1000}, 0)
	for range 10 {
		at, ok := m.watchesDue()
		if !ok {
			break
		}
		m.Tick(at, nil)
	}
	for r := range m.Reports(time.Second) {
		if at, ok := m.watchesDue(); r.Storms != 1 || r.Storm || r.Packets != 1 || ok {
			t.Errorf("%+v, due at %v, %v", r, at, ok)
		}
	}
}

// TestWatchDue: the earliest of the refresh, the watchdog and the end of a storm is due.
func TestWatchDue(t *testing.T) {
	for _, c := range []struct {
		again, stalled, over time.Duration // 0: not
		want                 time.Duration
	}{
		{}, {again: 5, want: 5}, {stalled: 5, want: 5}, {over: 5, want: 5},
		{again: 5, stalled: 6, want: 5}, {again: 6, stalled: 5, want: 5},
		{again: 5, over: 6, want: 5}, {again: 6, over: 5, want: 5},
	} {
		w := watch{asserted: c.again > 0, again: c.again, storm: c.over > 0, settled: c.over - 1,
			set: Settings{Upstreams: 1, Watchdog: 1}}
		if c.stalled > 0 {
			w.since, w.until, w.packets = c.stalled-1, time.Hour, 1
		}
		if at, ok := w.due(); ok != (c.want > 0) || at != c.want {
			t.Errorf("%+v: %v, %v", c, at, ok)
		}
	}
}

// TestWatchSettings: a queue follows the setting it has, with the switch's buffer where it names
// none, and a refresh not too short; one that loses its setting keeps its pause and sends nothing
// more. A setting for a queue that PFC does not have is left out.
func TestWatchSettings(t *testing.T) {
	m := New[int](Config{Priorities: 9, PauseBuffer: 1000, PauseSpeed: 1e9})
	set := func(prio int, s Settings) Setting {
		return Setting{Direction: p4.PfcDirectionEgress, Port: 1, Priority: prio, Settings: s}
	}
	m.Watch([]Setting{set(8, Settings{}), set(7, Settings{Refresh: 999, XOFF: 10, Upstreams: 1}),
		set(6, Settings{Refresh: 1001, Buffer: 5}),
		{Direction: p4.PfcDirectionIngress, Port: 9, Priority: 8}}, 0)
	if len(m.watches) != 2 || m.watches[0].set != (Settings{Refresh: 1000, XOFF: 10, Upstreams: 1,
		Buffer: 1000}) || m.watches[1].set != (Settings{Refresh: 1001, Buffer: 5}) {
		t.Errorf("%+v", m.watches)
	}
	m.Push(Place[int]{Port: 1, Priority: 7, Octets: 11}, 0)
	m.Pause(1, 1<<7, &[PFCPriorities]uint16{7: 100}, 0)
	if m.Events() != 1 || !m.watches[0].asserted {
		t.Fatalf("%d events, %+v", m.Events(), *m.watches[0])
	}
	m.frames(t, 0)
	m.Watch(nil, 1)
	if m.Events() != 0 || m.watches[0].asserted || m.watches[0].set != (Settings{Buffer: 1000}) ||
		m.watches[0].until == 0 {
		t.Errorf("without a setting: %d events, %+v", m.Events(), *m.watches[0])
	}
	// Marks that are set over what waits count at once; so does taking them away.
	m.Watch([]Setting{set(7, Settings{XOFF: 10, Upstreams: 1})}, 2)
	sameFrames(t, "set", m.frames(t, 2), p4.TargetFrame{Op: p4.TargetOpXoff,
		Direction: p4.PfcDirectionEgress, Port: 1, Priority: 7})
	m.Watch([]Setting{set(7, Settings{Upstreams: 1})}, 3)
	sameFrames(t, "taken away", m.frames(t, 3), p4.TargetFrame{Op: p4.TargetOpXon,
		Direction: p4.PfcDirectionEgress, Port: 1, Priority: 7})
}

// TestWatchRate: the rate of a setting holds a queue by the octets that leave the queue, and holds
// no other queue; after a rest, or without the rate, nothing holds the queue.
func TestWatchRate(t *testing.T) {
	const prio = 3
	for _, rate := range []uint64{1, 8e9} {
		m := New[int](Config{Priorities: 8, PauseBuffer: 10_000, PauseSpeed: 1e9})
		set := func(rate uint64, now time.Duration) {
			m.Watch([]Setting{{Direction: p4.PfcDirectionEgress, Port: 1, Priority: prio,
				Settings: Settings{Rate: rate}}}, now)
		}
		set(rate, 0)
		put := func(id, prio int, octets uint32, now time.Duration) {
			m.Push(Place[int]{Packet: id, Port: 1, Priority: prio, Octets: octets}, now)
		}
		take := func(id int, at, now time.Duration) {
			t.Helper()
			if due, ok := m.Due(); !ok || due != at {
				t.Errorf("%d bit/s: due at %v, %v, want %v", rate, due, ok, at)
			}
			if e, _, ok := m.Pop(now); !ok || e.Packet != id || e.Leaves != at {
				t.Errorf("%d bit/s: %+v, %v, want packet %d at %v", rate, e, ok, id, at)
			}
		}
		takes := func(octets uint64) time.Duration {
			return time.Duration(octets * 8 * uint64(time.Second) / rate)
		}
		for i := range 3 {
			put(i, prio, 100<<i, 0)
		}
		put(9, prio-1, 100, 0)
		take(0, 0, 0)
		take(9, 0, 0)
		at := takes(100)
		if e, _, ok := m.Pop(at - 1); ok {
			t.Errorf("%d bit/s: %+v leaves too soon", rate, e)
		}
		take(1, at, at)
		at += takes(200)
		take(2, at, at+7)
		at += takes(400) + time.Hour // a rest
		put(3, prio, 100, at)
		take(3, at, at)
		put(4, prio, 100, at)
		put(5, prio, 100, at)
		take(4, at+takes(100), at+takes(100))
		set(0, at+takes(100)+5)
		take(5, at, at+takes(100)+5)
	}
}
