package queue

import (
	"iter"
	"time"

	"github.com/weft-sdn/weft/dataplane/drop"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// leastRefresh bounds how often an XOFF is repeated.
const leastRefresh = time.Microsecond

// Setting defines how a queue is watched. Direction p4.PfcDirectionIngress is what comes by a port.
type Setting struct {
	Direction p4.PfcDirection
	Port      uint32
	Priority  int
	Settings
}

// Watch watches the queues of the given settings, and no longer any other queue: a queue without a
// setting stays paused until its time is over. Watch leaves out settings for priorities that PFC or
// the switch lacks.
func (m *Manager[P]) Watch(all []Setting, now time.Duration) {
	wanted := map[*watch]bool{}
	for _, s := range all {
		if !m.hasPFC(s.Priority) {
			continue
		}
		s.Refresh = max(s.Refresh, leastRefresh)
		if s.Buffer == 0 {
			s.Buffer = m.pauseBuffer
		}
		var w *watch
		if s.Direction == p4.PfcDirectionIngress {
			w = m.watchIngress(s.Port, s.Priority)
		} else {
			w = m.watchEgress(s.Port, s.Priority)
		}
		w.set, wanted[w] = s.Settings, true
	}
	for _, w := range m.watches {
		if !wanted[w] {
			// No XON is sent: what was paused goes on when its time is over.
			w.set = Settings{Buffer: m.pauseBuffer}
		}
		m.mark(w, now)
	}
}

// hasPFC reports whether the switch has a queue of a priority, with PFC.
func (m *Manager[P]) hasPFC(priority int) bool {
	return priority < min(PFCPriorities, len(m.prios))
}

// Admit asks the watches of a packet's queue whether there is room, and returns why not: drop.Storm
// or drop.PauseBufferFull. arrived is the port by which the packet came. The queue's report counts
// a packet that is not admitted.
func (m *Manager[P]) Admit(e *Place[P], arrived uint32) drop.Reason {
	if len(m.watches) == 0 || e.Priority >= PFCPriorities {
		return drop.None
	}
	if w := m.port(e.Port).q[e.Priority].watch; w != nil {
		switch {
		case w.storm && w.set.Action == p4.WatchdogActionDrop:
			w.stormsDropped++
			m.port(e.Port).q[e.Priority].counts.refused(e.Octets)
			return drop.Storm
		case w.octets+uint64(e.Octets) > w.set.Buffer:
			w.overflows++
			m.port(e.Port).q[e.Priority].counts.refused(e.Octets)
			return drop.PauseBufferFull
		}
	}
	if a := m.arrived[arrived]; a != nil {
		e.from = a[e.Priority]
	}
	return drop.None
}

// add and sub account for packets that wait, and signal what the marks call for.
func (m *Manager[P]) add(w *watch, octets uint32, now time.Duration) {
	if w.packets == 0 {
		w.moved = now
	}
	w.packets++
	w.octets += uint64(octets)
	w.peak = max(w.peak, w.octets)
	m.mark(w, now)
}

func (m *Manager[P]) sub(w *watch, octets uint32, now time.Duration) {
	w.packets--
	w.octets -= uint64(octets)
	m.mark(w, now)
}

// mark compares a queue with its marks and signals upstream when it crosses one.
func (m *Manager[P]) mark(w *watch, now time.Duration) {
	switch {
	case !w.asserted && w.set.XOFF > 0 && w.octets > w.set.XOFF:
		w.asserted = true
		m.signal(w, p4.TargetOpXoff, now)
	case w.asserted && (w.octets <= w.set.XON || w.set.XOFF == 0):
		w.asserted = false
		m.signal(w, p4.TargetOpXon, now)
	}
}

// signal asks the program for a PFC frame to each node upstream.
func (m *Manager[P]) signal(w *watch, op p4.TargetOp, now time.Duration) {
	if op == p4.TargetOpXoff {
		w.again = now + w.set.Refresh
	}
	for i := range w.set.Upstreams {
		m.events.Push(event{w, op, uint8(i)})
		if op == p4.TargetOpXoff {
			w.xoffTx, w.xoffTxAt = w.xoffTx+1, now
		} else {
			w.xonTx, w.xonTxAt = w.xonTx+1, now
		}
	}
}

// Pause holds the queues of a port for the classes that a PFC frame names: a frame that is on the
// wire leaves, those after it wait. quanta are of packet.PFCQuantumBits; 0 ends a pause.
func (m *Manager[P]) Pause(port uint32, classes uint8, quanta *[PFCPriorities]uint16,
	now time.Duration) {
	for prio := range min(PFCPriorities, len(m.prios)) {
		if classes>>prio&1 == 0 {
			continue
		}
		w := m.watchEgress(port, prio)
		if quanta[prio] == 0 {
			w.until = min(w.until, now)
			w.settled = now
			w.xonRx, w.xonRxAt = w.xonRx+1, now
			continue
		}
		if w.until <= now {
			w.since = now
		}
		speed := m.port(port).line.speed
		if speed == 0 {
			speed = m.pauseSpeed
		}
		w.until = now + packet.PauseTime(quanta[prio], speed)
		w.settled = w.until
		w.xoffRx, w.xoffRxAt = w.xoffRx+1, now
	}
}

// watchEgress returns the watch of an egress queue, which holds its packets from now on.
func (m *Manager[P]) watchEgress(port uint32, prio int) *watch {
	p := m.port(port)
	q := &p.q[prio]
	if q.watch == nil {
		q.watch = &watch{port: port, prio: prio, set: Settings{Buffer: m.pauseBuffer}, packets: q.size,
			octets: q.octets, peak: q.octets}
		m.watches = append(m.watches, q.watch)
		m.holdPort(p)
	}
	return q.watch
}

// watchIngress returns the watch of what comes by a port. Packets that wait already are not
// counted.
func (m *Manager[P]) watchIngress(port uint32, prio int) *watch {
	if m.arrived[port] == nil {
		if m.arrived == nil {
			m.arrived = map[uint32]*[PFCPriorities]*watch{}
		}
		m.arrived[port] = new([PFCPriorities]*watch)
	}
	w := m.arrived[port][prio]
	if w == nil {
		w = &watch{direction: p4.PfcDirectionIngress, port: port, prio: prio}
		m.arrived[port][prio] = w
		m.watches = append(m.watches, w)
	}
	return w
}

// watchesDue returns when the first watch must be looked at.
func (m *Manager[P]) watchesDue() (at time.Duration, ok bool) {
	for _, w := range m.watches {
		if t, may := w.due(); may && (!ok || t < at) {
			at, ok = t, true
		}
	}
	return at, ok
}

// Tick runs the refreshes and the watchdogs that are due. It calls drop for each packet that a
// watchdog takes out of its queue.
func (m *Manager[P]) Tick(now time.Duration, drop func(P)) {
	for _, w := range m.watches {
		// A late call sends one XOFF, however many were due.
		if w.asserted && w.again <= now {
			m.signal(w, p4.TargetOpXoff, now)
		}
		if at, ok := w.stalled(); ok && at <= now {
			w.storm = true
			w.storms++
			m.events.Push(event{w, p4.TargetOpStorm, 0})
			if w.set.Action == p4.WatchdogActionDrop {
				m.flush(w, now, drop)
			}
		}
		if w.storm && w.settled+w.set.Watchdog <= now {
			// After the end of a pause, waiting packets alone are no storm.
			w.storm, w.moved = false, now
			m.events.Push(event{w, p4.TargetOpStormOver, 0})
		}
	}
}

// flush drops the packets that wait in a queue.
func (m *Manager[P]) flush(w *watch, now time.Duration, drop func(P)) {
	p := m.port(w.port)
	for h := &p.line.held[w.prio]; h.Len() > 0; {
		e := h.Pop()
		if p.line.waiting--; p.line.waiting == 0 {
			m.vacate(p)
		}
		m.took(p, &e, now)
		w.stormsDropped++
		p.q[w.prio].counts.refused(e.Octets)
		drop(e.Packet)
	}
}

// Report is the state of a queue that was paused or is watched.
type Report struct {
	Direction p4.PfcDirection
	Port      uint32
	Priority  int
	p4.QueueReport
}

// Reports yields the queues that were paused or are watched, in order of creation.
func (m *Manager[P]) Reports(now time.Duration) iter.Seq[Report] {
	return func(yield func(Report) bool) {
		for _, w := range m.watches {
			if !yield(Report{w.direction, w.port, w.prio, w.report(now)}) {
				return
			}
		}
	}
}
