package dataplane

import (
	"time"

	"github.com/weft-sdn/weft/dataplane/trace"
	"github.com/weft-sdn/weft/internal/heap"
	"github.com/weft-sdn/weft/p4"
)

// maxPriorities bounds Config.Priorities, as in BMv2.
const maxPriorities = 32

// queued is a place in an egress queue. Replicas share the packet state until
// they are taken out.
type queued struct {
	p      *phv
	port   uint32
	rid    uint16
	copied bool // rid is to be set
	prio   int  // < 0 on the way in: the packet's own
	trunc  int
	at     uint64 // microseconds, when queued
	depth  int    // of the queue before it
	send   time.Duration
	seq    uint64
	id     trace.ID
	octets uint32 // as received
	from   *watch // of the port it came by; nil is nobody
}

// trafficManager is the egress queues of all ports: per port and priority a
// depth in packets and a rate in packets a second, neither shared. Among what
// may leave, a higher priority leaves first, whatever the port; within a
// priority the order is that of leaving times, then of arrival. A port with a
// speed has a wire of its own, which its priorities share (speed.go).
type trafficManager struct {
	prios []prioQueue
	ports map[uint32]*portQueues
	near  []*portQueues // of low port numbers
	lines []*portQueues // of those with a speed
	seq   uint64
	size  int

	depth []int // default for new ports, by priority
	rate  []uint64

	watches     []*watch // in the order in which they came to be
	arrived     map[uint32]*[pfcPriorities]*watch
	events      ring[pfcEvent] // for the program
	pauseBuffer uint64         // Config.PauseBuffer
	pauseSpeed  uint64         // Config.PauseSpeed
}

// prioQueue holds the packets of one priority: those free to leave when they
// came in, in order, and those that must wait for their queue's rate.
type prioQueue struct {
	ready ring[queued]
	later []queued // a heap by leaving time
}

type portQueues struct {
	q    []queueState
	line line
}

type queueState struct {
	size   int
	octets uint64 // as received
	depth  int
	rate   uint64
	last   time.Duration // when the last packet leaves
	used   bool
	watch  *watch // nil: was never paused and is not watched
}

func (m *trafficManager) init(cfg *Config) {
	m.prios = make([]prioQueue, cfg.Priorities)
	m.ports = map[uint32]*portQueues{}
	m.pauseBuffer, m.pauseSpeed = uint64(cfg.PauseBuffer), cfg.PauseSpeed
	for range cfg.Priorities {
		m.depth = append(m.depth, cfg.QueueDepth)
		m.rate = append(m.rate, cfg.QueueRate)
	}
}

// clear drops every packet; the settings stay.
func (m *trafficManager) clear() {
	for i := range m.prios {
		m.prios[i] = prioQueue{}
	}
	for _, p := range m.ports {
		for i := range p.q {
			p.q[i].size, p.q[i].octets, p.q[i].watch = 0, 0, nil
		}
		for i := range p.line.held {
			p.line.held[i] = ring[queued]{}
		}
		p.line.waiting = 0
		m.release(p)
	}
	m.watches, m.arrived, m.events = nil, nil, ring[pfcEvent]{}
	m.size = 0
}

func (m *trafficManager) port(n uint32) *portQueues {
	if n < uint32(len(m.near)) && m.near[n] != nil {
		return m.near[n]
	}
	p := m.ports[n]
	if p == nil {
		p = &portQueues{q: make([]queueState, len(m.prios))}
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

// push queues a packet; false: the queue is full.
func (m *trafficManager) push(e queued, now time.Duration) bool {
	p := m.port(e.port)
	q := &p.q[e.prio]
	if q.depth > 0 && q.size >= q.depth {
		return false
	}
	e.send, e.depth = now, q.size
	if q.rate > 0 {
		if q.used {
			e.send = max(now, q.last+time.Second/time.Duration(q.rate))
		}
		q.last, q.used = e.send, true
	}
	m.seq++
	e.seq = m.seq
	q.size++
	q.octets += uint64(e.octets)
	m.size++
	switch pq := &m.prios[e.prio]; {
	case p.line.held != nil:
		p.line.hold(e)
	case e.send <= now:
		pq.ready.push(e)
	default:
		heap.Push(&pq.later, e, (*queued).before)
	}
	if q.watch != nil {
		m.add(q.watch, e.octets, now)
	}
	if e.from != nil {
		m.add(e.from, e.octets, now)
	}
	return true
}

// pop takes the next packet that may leave, and the depth left behind it.
func (m *trafficManager) pop(now time.Duration) (e queued, depth int, ok bool) {
	if m.size == 0 {
		return e, 0, false
	}
	for i := len(m.prios) - 1; i >= 0; i-- {
		pq := &m.prios[i]
		late := len(pq.later) > 0 && pq.later[0].send <= now
		switch {
		case pq.ready.len() > 0 && (!late || !pq.later[0].before(pq.ready.peek())):
			e = pq.ready.pop()
		case late:
			e = heap.Pop(&pq.later, (*queued).before)
		default:
			continue
		}
		p := m.port(e.port)
		m.took(p, &e, now)
		return e, p.q[e.prio].size, true
	}
	return m.popLine(now)
}

// took accounts for a packet that was taken out of its queue.
func (m *trafficManager) took(p *portQueues, e *queued, now time.Duration) {
	q := &p.q[e.prio]
	q.size--
	q.octets -= uint64(e.octets)
	m.size--
	if q.watch != nil {
		m.sub(q.watch, e.octets, now)
	}
	if e.from != nil {
		m.sub(e.from, e.octets, now)
	}
}

func (e *queued) before(o *queued) bool {
	return e.send < o.send || e.send == o.send && e.seq < o.seq
}

// nextDue is when the next packet that must wait may leave.
func (m *trafficManager) nextDue() (at time.Duration, ok bool) {
	at, ok = m.linesDue()
	if t, due := m.watchesDue(); due && (!ok || t < at) {
		at, ok = t, true
	}
	for i := range m.prios {
		if l := m.prios[i].later; len(l) > 0 && (!ok || l[0].send < at) {
			at, ok = l[0].send, true
		}
	}
	return at, ok
}

// enqueue puts a packet into its queue or drops it.
func (s *Switch) enqueue(e queued) {
	if e.prio < 0 {
		e.prio = int(e.p.std(&s.prog.std.priority))
	}
	if e.prio >= s.cfg.Priorities {
		s.stats.BadPriority++
		s.traceDrop(e.id, "there is no such priority queue")
		return
	}
	e.at, e.octets = s.micros(), uint32(e.p.ingressLen)
	if len(s.queues.watches) > 0 && e.prio < pfcPriorities && !s.admitWatched(&e) {
		return
	}
	if !s.queues.push(e, s.now) {
		s.stats.QueueFull++
		s.traceDrop(e.id, "the queue is full")
		return
	}
	if e.id != 0 {
		s.traceQueue(&e)
	}
	e.p.refs++
}

// admitWatched asks the watches of a packet's queues whether there is room; false: it is dropped.
func (s *Switch) admitWatched(e *queued) bool {
	if w := s.queues.port(e.port).q[e.prio].watch; w != nil {
		switch {
		case w.storm && w.set.action == p4.WatchdogActionDrop:
			w.stormsDropped++
			s.stats.StormDrop++
			s.traceDrop(e.id, "the watchdog drops what a pause does not let go")
			return false
		case w.octets+uint64(e.octets) > w.set.buffer:
			w.overflows++
			s.stats.PauseBufferFull++
			s.traceDrop(e.id, "the buffer of the queue is full")
			return false
		}
	}
	if a := s.queues.arrived[e.p.port]; a != nil {
		e.from = a[e.prio]
	}
	return true
}

// egressAll runs every packet that may leave.
func (s *Switch) egressAll() {
	for {
		e, depth, ok := s.queues.pop(s.now)
		if !ok {
			return
		}
		s.egress(e, depth)
	}
}

// ring is a queue in a growing circular buffer.
type ring[T any] struct {
	b    []T
	head int
	n    int
}

func (r *ring[T]) len() int { return r.n }

func (r *ring[T]) push(v T) {
	if r.n == len(r.b) {
		b := make([]T, max(16, 2*len(r.b)))
		k := copy(b, r.b[r.head:])
		copy(b[k:], r.b[:r.head])
		r.b, r.head = b, 0
	}
	r.b[(r.head+r.n)&(len(r.b)-1)] = v
	r.n++
}

func (r *ring[T]) peek() *T { return &r.b[r.head] }

func (r *ring[T]) pop() T {
	v := r.take()
	t := *v
	var zero T
	*v = zero
	return t
}

// take is pop without a copy: what it returns lies there until the next push.
func (r *ring[T]) take() *T {
	v := &r.b[r.head]
	r.head = (r.head + 1) & (len(r.b) - 1)
	r.n--
	return v
}

// tokenBucket limits events to a rate beyond a burst.
type tokenBucket struct {
	rate, burst uint64 // a second; at most
	tokens      uint64
	last        time.Duration
}

func (b *tokenBucket) refill(now time.Duration) {
	if b.tokens == b.burst {
		b.last = now
		return
	}
	made := uint64(float64(now-b.last) / float64(time.Second) * float64(b.rate))
	if made == 0 {
		return
	}
	b.last = now
	b.tokens = min(b.burst, b.tokens+made)
}

func (b *tokenBucket) take() bool {
	if b.tokens == 0 {
		return false
	}
	b.tokens--
	return true
}

// ready is when there will be a token.
func (b *tokenBucket) ready(now time.Duration) time.Duration {
	return max(now+1, b.last+time.Duration(float64(time.Second)/float64(b.rate))+1)
}
