package queue

import (
	"time"

	"github.com/weft-sdn/weft/internal/heap"
	"github.com/weft-sdn/weft/internal/ring"
)

// MaxPriorities bounds Config.Priorities, as in BMv2.
const MaxPriorities = 32

// AllPorts stands for every port where a port is set up.
const AllPorts = ^uint32(0)

// Config sets the queues of a switch up.
type Config struct {
	Priorities  int    // queues of a port, at most MaxPriorities
	Depth       int    // packets that may wait in a queue; 0 is no limit
	Rate        uint64 // packets a second that may leave a queue; 0 is no limit
	PauseBuffer uint64 // octets that may wait in a paused queue without a setting of its own
	PauseSpeed  uint64 // bits a second, by which pauses are measured at a port without a speed
}

// Place is the place of a packet in a queue.
type Place[P any] struct {
	Packet   P
	Port     uint32
	Priority int
	Octets   uint32        // as received
	Depth    int           // packets in the queue before it
	Leaves   time.Duration // when it may leave as far as its queue's rate and its port's wire go

	seq  uint64
	from *watch // of the port by which it came; nil: not watched
}

// Manager holds the egress queues of all ports: per port and priority a depth in packets and a rate
// in packets a second, neither shared. Among the packets that may leave, packets of a higher
// priority leave first, whatever the port; within a priority, packets leave by leaving time, then
// by arrival. A port with a speed has its own wire, shared by the port's priorities.
type Manager[P any] struct {
	prios []prioQueue[P]
	ports map[uint32]*portQueues[P]
	near  []*portQueues[P] // of low port numbers
	busy  []*portQueues[P] // whose lines hold packets now, by rank
	ranks uint64           // lines so far
	seq   uint64
	size  int

	depth []int // default for new ports, by priority
	rate  []uint64

	watches     []*watch // in the order in which they were made
	arrived     map[uint32]*[PFCPriorities]*watch
	events      ring.Ring[event]
	pauseBuffer uint64
	pauseSpeed  uint64
}

// prioQueue holds the packets of one priority: packets free to leave on arrival, in order, and
// packets that wait for their queue's rate.
type prioQueue[P any] struct {
	ready ring.Ring[Place[P]]
	later []Place[P] // a heap by leaving time
}

type portQueues[P any] struct {
	q    []queueState
	line line[P]
}

type queueState struct {
	size   int
	octets uint64 // as received
	counts Counts
	depth  int
	rate   uint64
	last   time.Duration // when the last packet leaves
	used   bool
	watch  *watch // nil: never paused and not watched
}

// New returns queues without packets.
func New[P any](cfg Config) Manager[P] {
	m := Manager[P]{prios: make([]prioQueue[P], cfg.Priorities), ports: map[uint32]*portQueues[P]{},
		pauseBuffer: cfg.PauseBuffer, pauseSpeed: cfg.PauseSpeed}
	for range cfg.Priorities {
		m.depth = append(m.depth, cfg.Depth)
		m.rate = append(m.rate, cfg.Rate)
	}
	return m
}

// Len returns how many packets wait.
func (m *Manager[P]) Len() int { return m.size }

// Clear drops every packet, and forgets the watches and pauses; depths, rates and speeds stay.
func (m *Manager[P]) Clear() {
	for i := range m.prios {
		m.prios[i] = prioQueue[P]{}
	}
	for _, p := range m.ports {
		for i := range p.q {
			p.q[i].size, p.q[i].octets, p.q[i].watch = 0, 0, nil
		}
		for i := range p.line.held {
			p.line.held[i] = ring.Ring[Place[P]]{}
		}
		p.line.waiting = 0
		m.release(p)
	}
	m.busy, m.watches, m.arrived, m.events = nil, nil, nil, ring.Ring[event]{}
	m.size = 0
}

func (m *Manager[P]) port(n uint32) *portQueues[P] {
	if n < uint32(len(m.near)) && m.near[n] != nil {
		return m.near[n]
	}
	p := m.ports[n]
	if p == nil {
		p = &portQueues[P]{q: make([]queueState, len(m.prios))}
		for i := range p.q {
			p.q[i].depth, p.q[i].rate = m.depth[i], m.rate[i]
		}
		m.ports[n] = p
	}
	if n < 1024 {
		for uint32(len(m.near)) <= n {
			m.near = append(m.near, nil)
		}
		m.near[n] = p
	}
	return p
}

// Push queues a packet and returns the number of packets in front; ok is false for a full queue.
func (m *Manager[P]) Push(e Place[P], now time.Duration) (depth int, ok bool) {
	p := m.port(e.Port)
	q := &p.q[e.Priority]
	if q.depth > 0 && q.size >= q.depth {
		q.counts.refused(e.Octets)
		return q.size, false
	}
	e.Leaves, e.Depth = now, q.size
	if q.rate > 0 {
		if q.used {
			e.Leaves = max(now, q.last+time.Second/time.Duration(q.rate))
		}
		q.last, q.used = e.Leaves, true
	}
	m.seq++
	e.seq = m.seq
	q.size++
	q.octets += uint64(e.Octets)
	q.counts.Longest = max(q.counts.Longest, q.octets)
	m.size++
	switch pq := &m.prios[e.Priority]; {
	case p.line.held != nil:
		m.occupy(p)
		p.line.hold(e)
	case e.Leaves <= now:
		pq.ready.Push(e)
	default:
		heap.Push(&pq.later, e, (*Place[P]).before)
	}
	if q.watch != nil {
		m.add(q.watch, e.Octets, now)
	}
	if e.from != nil {
		m.add(e.from, e.Octets, now)
	}
	return e.Depth, true
}

// Pop takes the next packet that may leave at now, and returns how many are left in its queue.
func (m *Manager[P]) Pop(now time.Duration) (e Place[P], depth int, ok bool) {
	if m.size == 0 {
		return e, 0, false
	}
	for i := len(m.prios) - 1; i >= 0; i-- {
		pq := &m.prios[i]
		late := len(pq.later) > 0 && pq.later[0].Leaves <= now
		switch {
		case pq.ready.Len() > 0 && (!late || !pq.later[0].before(pq.ready.At(0))):
			e = pq.ready.Pop()
		case late:
			e = heap.Pop(&pq.later, (*Place[P]).before)
		default:
			continue
		}
		p := m.port(e.Port)
		m.took(p, &e, now)
		return e, p.q[e.Priority].size, true
	}
	return m.popLine(now)
}

// took accounts for a packet that was taken out of its queue.
func (m *Manager[P]) took(p *portQueues[P], e *Place[P], now time.Duration) {
	q := &p.q[e.Priority]
	q.size--
	q.octets -= uint64(e.Octets)
	m.size--
	if q.watch != nil {
		m.sub(q.watch, e.Octets, now)
	}
	if e.from != nil {
		m.sub(e.from, e.Octets, now)
	}
}

func (e *Place[P]) before(o *Place[P]) bool {
	return e.Leaves < o.Leaves || e.Leaves == o.Leaves && e.seq < o.seq
}

// Free reports whether a packet for a queue need not be queued: nothing waits anywhere, nothing
// would hold the packet, and no watch would count it. arrived is the port by which it came.
func (m *Manager[P]) Free(port uint32, priority int, arrived uint32) bool {
	if m.size > 0 {
		return false
	}
	if a := m.arrived[arrived]; a != nil && priority < PFCPriorities && a[priority] != nil {
		return false
	}
	p := m.port(port)
	return p.q[priority].rate == 0 && p.line.held == nil
}

// Due returns when the next packet that waits may leave, or a watch must be looked at (Tick); ok is
// false when there is nothing to wait for.
func (m *Manager[P]) Due() (at time.Duration, ok bool) {
	at, ok = m.watchesDue()
	if m.size == 0 {
		return at, ok
	}
	if t, due := m.linesDue(); due && (!ok || t < at) {
		at, ok = t, true
	}
	for i := range m.prios {
		if l := m.prios[i].later; len(l) > 0 && (!ok || l[0].Leaves < at) {
			at, ok = l[0].Leaves, true
		}
	}
	return at, ok
}
