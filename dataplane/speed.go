package dataplane

import (
	"slices"
	"time"
)

// frameOverhead is what a frame takes on an Ethernet wire beside its octets, in
// octets: preamble and start delimiter, check sequence, gap (IEEE 802.3).
const frameOverhead = 8 + 4 + 12

// line is the wire of a port that has a speed: a frame leaves when the one
// before is out, of the highest priority that has one. A port without a speed
// has none of it.
type line struct {
	speed   uint64        // bits a second; 0: none
	free    time.Duration // when the last frame is out
	rest    uint64        // of a nanosecond, in units of 1/speed, that free leaves out
	waiting int           // packets in held
	held    []ring[queued]
}

// hold queues a packet for a port with a speed.
func (l *line) hold(e queued) {
	l.held[e.prio].push(e)
	l.waiting++
}

// next is the priority of the packet that leaves next, and when it may.
func (l *line) next() (prio int, at time.Duration) {
	prio, at = -1, 0
	for i := len(l.held) - 1; i >= 0 && l.waiting > 0; i-- {
		if l.held[i].len() == 0 {
			continue
		}
		// A queue's own rate holds that queue only.
		if may := max(l.free, l.held[i].peek().send); prio < 0 || may < at {
			prio, at = i, may
		}
	}
	return prio, at
}

// took accounts for a frame that began to leave at a time.
func (l *line) took(at time.Duration, octets int) {
	total := uint64(octets+frameOverhead)*8*uint64(time.Second) + l.rest
	if at > l.free {
		l.free = at
	}
	l.free += time.Duration(total / l.speed)
	l.rest = total % l.speed
}

// setSpeed changes the speed of a port.
func (m *trafficManager) setSpeed(port uint32, bitsPerSecond uint64) {
	p := m.port(port)
	if bitsPerSecond > 0 && p.line.held == nil {
		p.line.held = make([]ring[queued], len(m.prios))
		m.lines = append(m.lines, p)
	}
	if p.line.speed, p.line.rest = bitsPerSecond, 0; bitsPerSecond > 0 {
		return
	}
	// What waits for the wire waits no longer.
	m.lines = slices.DeleteFunc(m.lines, func(o *portQueues) bool { return o == p })
	for i := range p.line.held {
		for h := &p.line.held[i]; h.len() > 0; {
			m.prios[i].ready.push(h.pop())
		}
	}
	p.line = line{}
}

// popLine takes a packet whose turn on its port's wire has come.
func (m *trafficManager) popLine(now time.Duration) (e queued, depth int, ok bool) {
	for _, p := range m.lines {
		prio, at := p.line.next()
		if prio < 0 || at > now {
			continue
		}
		e = p.line.held[prio].pop()
		e.send = at
		p.line.waiting--
		q := &p.q[prio]
		q.size--
		m.size--
		return e, q.size, true
	}
	return e, 0, false
}

// linesDue is when the next packet that waits for a wire may leave.
func (m *trafficManager) linesDue() (at time.Duration, ok bool) {
	for _, p := range m.lines {
		if prio, t := p.line.next(); prio >= 0 && (!ok || t < at) {
			at, ok = t, true
		}
	}
	return at, ok
}
