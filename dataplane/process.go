package dataplane

import (
	"github.com/weft-sdn/weft/dataplane/drop"
	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/trace"
)

// ingress processes a packet up to the queues.
func (s *Switch) ingress(it *inItem) {
	c := s.ctx
	if c.ID = it.id; c.ID == 0 && c.Follows() && s.recall(it) {
		return
	}
	if it.p != nil {
		c.Resume(it.p)
	} else {
		c.Receive(it.f, it.port, it.arrived)
	}
	if c.ID != 0 {
		c.ID = s.traced(it.id)
		c.StartTrace()
	}
	received := c.Length
	c.Ingress()

	if c.Clone() >= 0 {
		s.cloneIngress(received)
	}
	if c.Digest() >= 0 {
		s.out.Digest(c.Now(), c.Digest(), c.DigestValues())
	}
	switch group := c.MulticastGroup(); {
	case c.Aborted():
		s.dropAborted()
	case c.Resubmits():
		s.stats.Resubmitted++
		s.putBack(c.Resubmitted(received), trace.Resubmitted, trace.Resubmitting)
	case group != 0:
		c.SetReplicated()
		s.multicast(group)
	case c.Drops():
		s.dropByProgram(drop.Ingress)
	default:
		c.SetUnicast()
		port := c.EgressSpec()
		if c.ID == 0 {
			if q, ok := s.straight(&c.PHV, port); ok {
				s.leave(&q, 0)
				return
			}
		}
		p := c.Detach()
		s.enqueue(place{Port: port, Priority: -1, Packet: queued{p: p, trunc: p.Trunc, id: c.ID}})
		c.Release(p)
	}
	c.Finish()
}

// recall does the work of ingress for a packet that follows the path of an earlier packet; false:
// the packet has to run the program.
func (s *Switch) recall(it *inItem) bool {
	c, p := s.ctx, it.p
	if p == nil {
		if p = c.Recall(it.f, it.port, it.arrived); p == nil {
			return false
		}
	} else if !c.RecallAgain(p) {
		return false
	}
	if group := p.Group(); group != 0 {
		if g := s.groups[group]; g != nil {
			s.stats.Multicast++
			s.replicate(p, g.Replicas, -1, engine.Whole)
		} else {
			s.dropNoGroup(group)
		}
		c.Release(p)
		return true
	}
	if p.Dropped() {
		s.dropByProgram(drop.Ingress)
		c.Release(p)
		return true
	}
	port := p.Spec()
	q, ok := s.straight(p, port)
	switch {
	case !ok:
		s.enqueue(place{Port: port, Priority: -1, Packet: queued{p: p, trunc: p.Trunc}})
		c.Release(p)
	case !s.depart(p, &q):
		c.Take(p)
		s.leave(&q, 0)
	}
	return true
}

// depart does the work of egress for a waiting packet that follows the path of an earlier packet,
// and releases the packet; false: the packet has to run the program.
func (s *Switch) depart(p *engine.PHV, q *place) bool {
	c := s.ctx
	path := c.RecallEgress(p, &engine.Egress{Port: q.Port, Priority: q.Priority,
		Instance: q.Packet.rid, Copied: q.Packet.copied, Trunc: q.Packet.trunc})
	if path == nil {
		return false
	}
	if path.Again() {
		s.stats.Recirculated++
		s.putBack(c.Return(path, p), trace.Recirculated, trace.Recirculating)
	} else {
		s.outBuf = c.Leave(s.outBuf, path, p)
		s.transmit(q, s.outBuf)
	}
	c.Release(p)
	return true
}

// multicast replicates the packet in the context to a group's replicas.
func (s *Switch) multicast(id uint16) {
	g := s.groups[id]
	if g == nil {
		s.dropNoGroup(id)
		return
	}
	s.stats.Multicast++
	if s.ctx.ID != 0 {
		s.traceMulticast(g)
	}
	p := s.ctx.Detach()
	s.replicate(p, g.Replicas, -1, engine.Whole)
	s.ctx.Release(p)
	s.traceEnd(s.ctx.ID, trace.Outcome{Result: trace.Replicated})
}

// replicate queues one copy per replica; prio < 0 takes the packet's own.
func (s *Switch) replicate(p *engine.PHV, rs []Replica, prio, trunc int) {
	for i := range rs {
		if port, rid, ok := s.replicaPort(&rs[i]); ok {
			s.stats.Replicated++
			q := place{Port: port, Priority: prio, Packet: queued{p: p, rid: rid, copied: true,
				trunc: trunc}}
			if s.ctx.ID != 0 {
				q.Packet.id = s.traceReplica(&q)
			}
			s.enqueue(q)
		}
	}
}

// replicaPort returns the first up port of a replica, with its instance. ok is false for a replica
// with backups when all ports are down.
func (s *Switch) replicaPort(r *Replica) (port uint32, rid uint16, ok bool) {
	if s.PortUp(r.Port) {
		return r.Port, r.Instance, true
	}
	for _, b := range r.Backups {
		if s.PortUp(b.Port) {
			return b.Port, b.Instance, true
		}
	}
	return r.Port, r.Instance, len(r.Backups) == 0
}

// cloneSession returns the session that the packet in the context is cloned to, nil if it does not
// exist.
func (s *Switch) cloneSession(origin trace.Origin) *CloneSession {
	session := s.sessions[uint16(s.ctx.Clone())]
	if s.ctx.ID != 0 {
		s.traceClone(origin, session)
	}
	if session == nil {
		s.stats.NoSession++
		return nil
	}
	s.stats.Cloned++
	return session
}

// cloneIngress sends copies of the packet as it was received.
func (s *Switch) cloneIngress(received int) {
	if session := s.cloneSession(trace.CloneIngress); session != nil {
		s.sendClone(s.ctx.CloneReceived(received), session)
	}
}

// cloneEgress sends copies of the packet in its state at the end of egress.
func (s *Switch) cloneEgress() {
	if session := s.cloneSession(trace.CloneEgress); session != nil {
		s.sendClone(s.ctx.CloneProcessed(), session)
	}
}

func (s *Switch) sendClone(p *engine.PHV, session *CloneSession) {
	trunc := engine.Whole
	if session.PacketLength > 0 {
		trunc = session.PacketLength
	}
	s.replicate(p, session.Replicas, int(session.ClassOfService), trunc)
	s.ctx.Release(p)
}

// putBack queues a packet for ingress once more.
func (s *Switch) putBack(p *engine.PHV, origin trace.Origin, result trace.Result) {
	if s.again.Len() >= s.cfg.RecirculationQueue {
		s.drop(s.ctx.ID, drop.RecirculationFull)
		s.ctx.Release(p)
		return
	}
	it := inItem{p: p}
	if s.ctx.ID != 0 {
		it.id = s.traceAgain(origin, result, p.Length)
	}
	s.again.Push(it)
}

// straight reports whether a packet that is not traced may skip its queue: nothing waits anywhere,
// so it would be taken out next, and at once.
func (s *Switch) straight(p *engine.PHV, port uint32) (q place, ok bool) {
	if q.Priority = s.ctx.Priority(p); q.Priority >= s.cfg.Priorities ||
		!s.queues.Free(port, q.Priority, p.Port) {
		return q, false
	}
	q.Port, q.Packet.trunc, q.Packet.at = port, p.Trunc, s.ctx.Micros()
	return q, true
}

// egress processes one packet taken from a queue.
func (s *Switch) egress(q place, depth int) {
	if p := q.Packet.p; p.Waits() {
		s.ctx.ID = 0
		if s.depart(p, &q) {
			return
		}
	}
	s.ctx.Take(q.Packet.p)
	s.leave(&q, depth)
}

// leave processes the packet in the context, which comes from a place q in a
// queue, up to its end.
func (s *Switch) leave(q *place, depth int) {
	c := s.ctx
	c.EnterEgress(&engine.Egress{Port: q.Port, Priority: q.Priority, Instance: q.Packet.rid,
		Copied: q.Packet.copied,
		Trunc:  q.Packet.trunc, Enqueued: q.Packet.at, EnqDepth: q.Depth, DeqDepth: depth})
	if c.ID = q.Packet.id; c.ID != 0 {
		s.traceEgress(q, depth)
	}
	c.Egress()

	if c.Clone() >= 0 {
		s.cloneEgress()
	}
	switch {
	case c.Aborted():
		s.dropAborted()
	case c.Drops():
		s.dropByProgram(drop.Egress)
	case c.Recirculates():
		s.stats.Recirculated++
		if p := c.Recirculated(); p != nil {
			s.putBack(p, trace.Recirculated, trace.Recirculating)
		} else {
			s.dropAborted()
		}
	default:
		s.outBuf = c.Deparse(s.outBuf[:0])
		if c.Aborted() {
			s.dropAborted()
			break
		}
		s.transmit(q, s.outBuf[:min(len(s.outBuf), c.Trunc)])
	}
	c.Finish()
}

func (s *Switch) transmit(q *place, b []byte) {
	port, id := q.Port, s.ctx.ID
	if !s.PortUp(port) {
		s.drop(id, drop.PortDown)
		return
	}
	if s.speaksPFC(port) {
		if s.pfcCommand(b) {
			s.stats.Transmitted++
			if id != 0 {
				s.traceTransmit(port, b)
			}
		} else {
			s.drop(id, drop.PFCRefused)
		}
		return
	}
	s.stats.Transmitted++
	s.queues.Sent(port, q.Priority, q.Leaves, len(b))
	if id != 0 {
		s.traceTransmit(port, b)
	}
	s.out.Transmit(s.ctx.Now(), port, b)
}

// SetQueueDepth limits the packets in a queue; see Controls.
func (s *Switch) SetQueueDepth(port uint32, prio int, packets int) {
	s.queues.SetDepth(port, prio, packets)
}

// SetQueueRate limits the rate of a queue; see Controls.
func (s *Switch) SetQueueRate(port uint32, prio int, packetsPerSecond uint64) {
	s.queues.SetRate(port, prio, packetsPerSecond)
}

// SetPortSpeed has a port share a wire; see Controls.
func (s *Switch) SetPortSpeed(port uint32, bitsPerSecond uint64) {
	s.queues.SetSpeed(port, bitsPerSecond)
}

// SetPortUp changes the state of a port; see Controls.
func (s *Switch) SetPortUp(port uint32, up bool) {
	if s.ctx.SetPortUp(port, up) && s.cfg.PortChanged != nil {
		s.cfg.PortChanged(port, up)
	}
}

var _ Controls = (*Switch)(nil)
