package dataplane

import (
	"time"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// pfcPriorities is how many priorities priority-based flow control knows (IEEE 802.1Qbb). Priority n is queue n.
const pfcPriorities = 8

// watch is what is known of a queue that PFC is for: an egress queue that was paused or whose marks are watched, or what has come by a port with a priority
// and waits, wherever. It exists from the first pause or the first entry of pfc_queue on.
type watch struct {
	direction p4.PfcDirection
	port      uint32
	prio      int
	set       watchSettings

	packets      int
	octets, peak uint64 // as received

	// Pauses, of egress queues.
	until   time.Duration // none is in force from here on
	since   time.Duration // when the one in force began
	moved   time.Duration // when a packet left, or came into the empty queue
	freed   time.Duration // when the queue's own rate lets the next packet leave
	storm   bool          // the watchdog has acted
	settled time.Duration // of a storm: when it was last commanded to pause no more

	// Marks.
	asserted bool          // XOFF was sent, and no XON since
	again    time.Duration // when XOFF is to be sent once more

	xoffRx, xonRx, xoffTx, xonTx     uint64
	xoffRxAt, xonRxAt, xoffTxAt      time.Duration
	xonTxAt                          time.Duration
	overflows, storms, stormsDropped uint64
}

// watchSettings is an entry of pfc_queue. The zero value pauses nobody and has no watchdog.
type watchSettings struct {
	buffer    uint64 // octets that may wait
	xoff, xon uint64 // octets; xoff 0: no PFC frames are made
	refresh   time.Duration
	upstreams int
	rate      uint64 // bits a second, 0: no limit
	watchdog  time.Duration
	action    p4.WatchdogAction
}

// pfcEvent is what a queue has to tell the program: a frame for each.
type pfcEvent struct {
	w        *watch
	op       p4.TargetOp
	upstream uint8
}

// opens is when a pause no longer holds the queue.
func (w *watch) opens() time.Duration {
	if w.storm && w.set.action != p4.WatchdogActionReport {
		return 0
	}
	return w.until
}

// ready is when a packet that may leave at a time may as far as the queue goes.
func (w *watch) ready(at time.Duration) time.Duration {
	at = max(at, w.opens())
	if w.set.rate > 0 {
		at = max(at, w.freed)
	}
	return at
}

// left accounts for a packet that leaves at a time.
func (w *watch) left(at time.Duration, octets uint32) {
	w.moved = max(w.moved, at)
	if w.set.rate > 0 {
		w.freed = max(w.freed, at) + time.Duration(uint64(octets)*8*uint64(time.Second)/w.set.rate)
	}
}

// add and sub account for packets that wait, and say what the marks call for.
func (m *trafficManager) add(w *watch, octets uint32, now time.Duration) {
	if w.packets == 0 {
		w.moved = max(w.moved, now)
	}
	w.packets++
	w.octets += uint64(octets)
	w.peak = max(w.peak, w.octets)
	m.mark(w, now)
}

func (m *trafficManager) sub(w *watch, octets uint32, now time.Duration) {
	w.packets--
	w.octets -= uint64(octets)
	m.mark(w, now)
}

// mark compares a queue with its marks.
func (m *trafficManager) mark(w *watch, now time.Duration) {
	switch {
	case !w.asserted && w.set.xoff > 0 && w.octets > w.set.xoff:
		w.asserted = true
		m.signal(w, p4.TargetOpXoff, now)
	case w.asserted && (w.octets <= w.set.xon || w.set.xoff == 0):
		w.asserted = false
		m.signal(w, p4.TargetOpXon, now)
	}
}

// signal has a PFC frame made for each node upstream.
func (m *trafficManager) signal(w *watch, op p4.TargetOp, now time.Duration) {
	if op == p4.TargetOpXoff {
		w.again = now + w.set.refresh
	}
	for i := range w.set.upstreams {
		m.events.push(pfcEvent{w, op, uint8(i)})
		if op == p4.TargetOpXoff {
			w.xoffTx, w.xoffTxAt = w.xoffTx+1, now
		} else {
			w.xonTx, w.xonTxAt = w.xonTx+1, now
		}
	}
}

// pause carries a command out: octets that are on the wire leave, nothing after them does. quanta are of packet.PFCQuantumBits.
func (m *trafficManager) pause(port uint32, classes uint8, quanta *[pfcPriorities]uint16, now time.Duration) {
	for prio := range min(pfcPriorities, len(m.prios)) {
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
func (m *trafficManager) watchEgress(port uint32, prio int) *watch {
	p := m.port(port)
	q := &p.q[prio]
	if q.watch == nil {
		q.watch = &watch{port: port, prio: prio, set: watchSettings{buffer: m.pauseBuffer}, packets: q.size, octets: q.octets, peak: q.octets}
		m.watches = append(m.watches, q.watch)
		m.holdPort(p)
	}
	return q.watch
}

// watchIngress returns the watch of what comes by a port. What waits already is not counted.
func (m *trafficManager) watchIngress(port uint32, prio int) *watch {
	if m.arrived[port] == nil {
		if m.arrived == nil {
			m.arrived = map[uint32]*[pfcPriorities]*watch{}
		}
		m.arrived[port] = new([pfcPriorities]*watch)
	}
	w := m.arrived[port][prio]
	if w == nil {
		w = &watch{direction: p4.PfcDirectionIngress, port: port, prio: prio}
		m.arrived[port][prio] = w
		m.watches = append(m.watches, w)
	}
	return w
}

// stalled is when the watchdog of a queue acts if nothing changes, and whether it does.
func (w *watch) stalled() (at time.Duration, ok bool) {
	if w.storm || w.set.watchdog == 0 || w.packets == 0 {
		return 0, false
	}
	at = max(w.since, w.moved) + w.set.watchdog
	return at, at < w.until
}

// due is when a watch wants to be looked at.
func (w *watch) due() (at time.Duration, ok bool) {
	if w.asserted && w.set.refresh > 0 && w.set.upstreams > 0 {
		at, ok = w.again, true
	}
	if t, may := w.stalled(); may && (!ok || t < at) {
		at, ok = t, true
	}
	if t := w.settled + w.set.watchdog; w.storm && (!ok || t < at) {
		at, ok = t, true
	}
	return at, ok
}

// watchesDue is when the first watch wants to be looked at.
func (m *trafficManager) watchesDue() (at time.Duration, ok bool) {
	for _, w := range m.watches {
		if t, may := w.due(); may && (!ok || t < at) {
			at, ok = t, true
		}
	}
	return at, ok
}

// tick does what is due of refreshes and watchdogs. flush drops what waits in a queue.
func (m *trafficManager) tick(now time.Duration, flush func(*watch)) {
	for _, w := range m.watches {
		if at, ok := w.due(); !ok || at > now {
			continue
		}
		// A late call sends one XOFF, however many were due.
		if w.asserted && w.set.refresh > 0 && w.again <= now {
			m.signal(w, p4.TargetOpXoff, now)
		}
		if at, ok := w.stalled(); ok && at <= now {
			w.storm = true
			w.storms++
			m.events.push(pfcEvent{w, p4.TargetOpStorm, 0})
			if w.set.action == p4.WatchdogActionDrop {
				flush(w)
			}
		}
		if w.storm && max(w.settled, w.until)+w.set.watchdog <= now {
			w.storm = false
			m.events.push(pfcEvent{w, p4.TargetOpStormOver, 0})
		}
	}
}

// report is the state of a queue at a time.
func (w *watch) report(now time.Duration) p4.QueueReport {
	age := func(count uint64, at time.Duration) time.Duration {
		if count == 0 {
			return p4.NeverYet
		}
		return now - at
	}
	r := p4.QueueReport{
		Asserted: w.asserted, Storm: w.storm, Packets: uint32(w.packets), Octets: w.octets, Peak: w.peak,
		XOFFReceived: age(w.xoffRx, w.xoffRxAt), XONReceived: age(w.xonRx, w.xonRxAt), XOFFSent: age(w.xoffTx, w.xoffTxAt), XONSent: age(w.xonTx, w.xonTxAt),
		XOFFsReceived: w.xoffRx, XONsReceived: w.xonRx, XOFFsSent: w.xoffTx, XONsSent: w.xonTx,
		Overflows: w.overflows, Storms: w.storms, StormDrops: w.stormsDropped,
	}
	if w.until > now {
		r.Paused, r.PausedFor = w.until-now, now-w.since
	}
	return r
}
