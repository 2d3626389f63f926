package dataplane

import (
	"iter"

	"github.com/weft-sdn/weft/dataplane/drop"
	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/queue"
	"github.com/weft-sdn/weft/dataplane/trace"
)

// queued is a packet that waits in an egress queue. Replicas share the packet state until they are
// taken out.
type queued struct {
	p      *engine.PHV
	rid    uint16
	copied bool // rid is to be set
	trunc  int
	at     uint64 // microseconds, when queued
	id     trace.ID
}

// place is the place of a packet in a queue; a negative priority on the way in is the packet's own.
type place = queue.Place[queued]

// QueueState is one priority queue of a port at a moment.
type QueueState = queue.State

// Queues yields the queues of the ports that have sent something or were configured, by port and
// priority.
func (s *Switch) Queues() iter.Seq[QueueState] { return s.queues.States() }

// enqueue puts a packet into its queue or drops it.
func (s *Switch) enqueue(e place) {
	c := &e.Packet
	if e.Priority < 0 {
		e.Priority = s.ctx.Priority(c.p)
	}
	if e.Priority >= s.cfg.Priorities {
		s.drop(c.id, drop.BadPriority)
		return
	}
	c.at, e.Octets = s.ctx.Micros(), uint32(c.p.IngressLen)
	if reason := s.queues.Admit(&e, c.p.Port); reason != drop.None {
		s.drop(c.id, reason)
		return
	}
	depth, ok := s.queues.Push(e, s.ctx.Now())
	if !ok {
		s.drop(c.id, drop.QueueFull)
		return
	}
	if c.id != 0 {
		s.traceQueue(&e, depth)
	}
	c.p.Hold()
}

// egressAll runs every packet that may leave.
func (s *Switch) egressAll() {
	for {
		e, depth, ok := s.queues.Pop(s.ctx.Now())
		if !ok {
			return
		}
		s.egress(e, depth)
	}
}
