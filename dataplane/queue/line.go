package queue

import (
	"slices"
	"time"

	"github.com/weft-sdn/weft/internal/ring"
)

// frameOverhead is what a frame takes on an Ethernet wire beside its octets, in octets: preamble
// and start delimiter, check sequence, gap (IEEE 802.3).
const frameOverhead = 8 + 4 + 12

// line is the wire of a port with a speed: when a frame is out, the frame of the highest priority
// that may leave follows. A port without a speed, but with watched queues, holds packets in the
// same manner, and its frames take no time.
type line[P any] struct {
	speed   uint64                // bits a second; 0: none
	free    time.Duration         // when the last frame is out
	rest    uint64                // of a nanosecond, in units of 1/speed, that free leaves out
	waiting int                   // packets in held
	rank    uint64                // if several lines may send, the lowest sends first
	held    []ring.Ring[Place[P]] // by priority; nil: nothing is held here
}

// hold queues a packet for a port with a speed.
func (l *line[P]) hold(e Place[P]) {
	l.held[e.Priority].Push(e)
	l.waiting++
}

// next returns the priority and the time of the next packet to leave; -1 without a waiting packet.
func (p *portQueues[P]) next() (prio int, at time.Duration) {
	l := &p.line
	prio, at = -1, 0
	for i, rest := len(l.held)-1, l.waiting; rest > 0; i-- {
		if l.held[i].Len() == 0 {
			continue
		}
		rest -= l.held[i].Len()
		// A queue's own rate, and a pause, hold that queue only.
		may := max(l.free, l.held[i].At(0).Leaves)
		if w := p.q[i].watch; w != nil {
			may = w.ready(may)
		}
		if prio == -1 || may < at {
			prio, at = i, may
		}
	}
	return prio, at
}

// took accounts for a frame that began to leave at a time.
func (l *line[P]) took(at time.Duration, octets int) {
	total := uint64(octets+frameOverhead)*8*uint64(time.Second) + l.rest
	l.free = max(l.free, at) + time.Duration(total/l.speed)
	l.rest = total % l.speed
}

// SetSpeed has the packets of a port take their time on an Ethernet wire of bitsPerSecond; 0 is no
// limit.
func (m *Manager[P]) SetSpeed(port uint32, bitsPerSecond uint64) {
	p := m.port(port)
	m.holdPort(p)
	p.line.speed, p.line.rest = bitsPerSecond, 0
	m.release(p)
}

// Sent accounts for a frame of a queue that began to leave its port at a time; on a port with a
// speed the next one waits for its end.
func (m *Manager[P]) Sent(port uint32, priority int, at time.Duration, octets int) {
	p := m.port(port)
	c := &p.q[priority].counts
	c.Sent++
	c.SentOctets += uint64(octets)
	if p.line.speed > 0 {
		p.line.took(at, octets)
	}
}

// holdPort has the packets of a port wait by priority.
func (m *Manager[P]) holdPort(p *portQueues[P]) {
	if p.line.held == nil {
		p.line.held = make([]ring.Ring[Place[P]], len(m.prios))
		m.ranks++
		p.line.rank = m.ranks
	}
}

// occupy notes that the line of a port holds packets from now on.
func (m *Manager[P]) occupy(p *portQueues[P]) {
	if p.line.waiting > 0 {
		return
	}
	at := len(m.busy)
	for at > 0 && m.busy[at-1].line.rank > p.line.rank {
		at--
	}
	m.busy = slices.Insert(m.busy, at, p)
}

// vacate notes that the line of a port holds no packets any longer.
func (m *Manager[P]) vacate(p *portQueues[P]) {
	m.busy = slices.DeleteFunc(m.busy, func(o *portQueues[P]) bool { return o == p })
}

// release moves the packets of a port to the queues of their priorities when neither a wire nor a
// watch holds them.
func (m *Manager[P]) release(p *portQueues[P]) {
	if p.line.speed > 0 {
		return
	}
	p.line.free = 0
	if slices.ContainsFunc(p.q, func(q queueState) bool { return q.watch != nil }) {
		return
	}
	m.vacate(p)
	for i := range p.line.held {
		for h := &p.line.held[i]; h.Len() > 0; {
			m.prios[i].ready.Push(h.Pop())
		}
	}
	p.line = line[P]{}
}

// popLine takes a packet whose turn on its port's wire has come.
func (m *Manager[P]) popLine(now time.Duration) (e Place[P], depth int, ok bool) {
	for _, p := range m.busy {
		if p.line.free > now { // before next looks at the queues
			continue
		}
		prio, at := p.next()
		if at > now {
			continue
		}
		e = p.line.held[prio].Pop()
		e.Leaves = at
		if p.line.waiting--; p.line.waiting == 0 {
			m.vacate(p)
		}
		if w := p.q[prio].watch; w != nil {
			w.left(at, e.Octets)
		}
		m.took(p, &e, now)
		return e, p.q[prio].size, true
	}
	return e, 0, false
}

// linesDue returns when the next packet that waits for a wire may leave.
func (m *Manager[P]) linesDue() (at time.Duration, ok bool) {
	for _, p := range m.busy {
		if ok && p.line.free >= at {
			continue
		}
		if _, t := p.next(); !ok || t < at {
			at, ok = t, true
		}
	}
	return at, ok
}
