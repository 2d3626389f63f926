package dataplane

import (
	"slices"
	"time"
)

// frameOverhead is what a frame takes on an Ethernet wire beside its octets, in
// octets: preamble and start delimiter, check sequence, gap (IEEE 802.3).
const frameOverhead = 8 + 4 + 12

// line is the wire of a port that has a speed: a frame leaves when the one
// before is out, of the highest priority that has one and may. A port without a
// speed whose queues are watched holds packets in the same way, and its frames
// take no time.
type line struct {
	speed   uint64         // bits a second; 0: none
	free    time.Duration  // when the last frame is out
	rest    uint64         // of a nanosecond, in units of 1/speed, that free leaves out
	waiting int            // packets in held
	held    []ring[queued] // by priority; nil: nothing is held here
}

// hold queues a packet for a port with a speed.
func (l *line) hold(e queued) {
	l.held[e.prio].push(e)
	l.waiting++
}

// next is the priority of the packet that leaves next, and when it may.
func (p *portQueues) next() (prio int, at time.Duration) {
	l := &p.line
	prio, at = -1, 0
	for i := len(l.held) - 1; i >= 0 && l.waiting > 0; i-- {
		if l.held[i].len() == 0 {
			continue
		}
		// A queue's own rate, and a pause, hold that queue only.
		may := max(l.free, l.held[i].peek().send)
		if w := p.q[i].watch; w != nil {
			may = w.ready(may)
		}
		if prio < 0 || may < at {
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
	if bitsPerSecond > 0 {
		m.holdPort(p)
	}
	p.line.speed, p.line.rest = bitsPerSecond, 0
	m.release(p)
}

// holdPort has the packets of a port wait by priority.
func (m *trafficManager) holdPort(p *portQueues) {
	if p.line.held == nil {
		p.line.held = make([]ring[queued], len(m.prios))
		m.lines = append(m.lines, p)
	}
}

// release has the packets of a port wait there no longer, if nothing holds them: neither a wire nor a watch.
func (m *trafficManager) release(p *portQueues) {
	if p.line.speed > 0 {
		return
	}
	p.line.free = 0
	if slices.ContainsFunc(p.q, func(q queueState) bool { return q.watch != nil }) {
		return
	}
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
		prio, at := p.next()
		if prio < 0 || at > now {
			continue
		}
		e = p.line.held[prio].pop()
		e.send = at
		p.line.waiting--
		if w := p.q[prio].watch; w != nil {
			w.left(at, e.octets)
		}
		m.took(p, &e, now)
		return e, p.q[prio].size, true
	}
	return e, 0, false
}

// linesDue is when the next packet that waits for a wire may leave.
func (m *trafficManager) linesDue() (at time.Duration, ok bool) {
	for _, p := range m.lines {
		if prio, t := p.next(); prio >= 0 && (!ok || t < at) {
			at, ok = t, true
		}
	}
	return at, ok
}
