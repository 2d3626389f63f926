package dataplane

import (
	"time"

	"github.com/weft-sdn/weft/dataplane/trace"
)

// A traced packet has an id, which the packet takes along through queues and into its copies; any
// other packet has id 0.

// SetTracer sets the tracer that observes packets; nil removes it. Neither the new nor the old
// tracer gets more steps of the packets that are in the switch.
func (s *Switch) SetTracer(t trace.Tracer) {
	s.tracer, s.ctx.Tracer = t, t
	s.traceSince = s.traceLast
}

// traceNew begins a packet in the trace and returns its id.
func (s *Switch) traceNew(p trace.Packet) trace.ID {
	s.traceLast++
	p.ID, p.Time = s.traceLast, s.ctx.Now()
	s.tracer.Begin(p)
	return p.ID
}

// traceReceived asks for interest in a received frame.
func (s *Switch) traceReceived(port uint32, data []byte) trace.ID {
	if !s.tracer.Wants(port, data) {
		return 0
	}
	return s.traceNew(trace.Packet{Origin: trace.Received, Port: port, Length: len(data), Frame: data})
}

// traced returns the id of a packet, or 0 when the tracer that knows the packet is gone.
func (s *Switch) traced(id trace.ID) trace.ID {
	if s.tracer == nil || id <= s.traceSince {
		return 0
	}
	return id
}

// traceEnd ends a packet that is traced.
func (s *Switch) traceEnd(id trace.ID, o trace.Outcome) {
	if s.traced(id) != 0 {
		o.Time = s.ctx.Now()
		s.tracer.End(id, o)
	}
}

// traceEgress adds the step that takes a packet out of its queue.
func (s *Switch) traceEgress(q *place, depth int) {
	c := s.ctx
	if c.ID = s.traced(c.ID); c.ID == 0 {
		return
	}
	c.StartTrace()
	waited := time.Duration(c.Micros()-q.Packet.at) * time.Microsecond
	c.Tell(trace.Step{Dequeue: &trace.Dequeue{Waited: waited, Depth: depth}})
}

// traceQueue adds the step that puts a packet into its queue.
func (s *Switch) traceQueue(q *place, depth int) {
	if s.traced(q.Packet.id) != 0 {
		s.tracer.Step(q.Packet.id, trace.Step{Queue: &trace.Queue{Port: q.Port, Priority: q.Priority,
			Depth: depth}})
	}
}

// traceMulticast prepares for the copies of a group.
func (s *Switch) traceMulticast(g *MulticastGroup) {
	s.copying = trace.Packet{Origin: trace.Replica, Group: g.ID}
	s.traceReplicas(&trace.Replicate{Group: &g.ID}, g.Replicas)
}

// traceClone prepares for the copies of a clone session; nil is none.
func (s *Switch) traceClone(origin trace.Origin, session *CloneSession) {
	id := uint16(s.ctx.Clone())
	r := &trace.Replicate{Session: &id}
	if session == nil {
		r.Missing = true
		s.ctx.Tell(trace.Step{Replicate: r})
		return
	}
	s.copying = trace.Packet{Origin: origin, Session: id}
	s.traceReplicas(r, session.Replicas)
}

// traceReplicas adds the step that lists the copies to come.
func (s *Switch) traceReplicas(r *trace.Replicate, replicas []Replica) {
	for i := range replicas {
		if _, _, ok := s.replicaPort(&replicas[i]); ok {
			r.Copies++
		} else {
			r.Down = append(r.Down, replicas[i].Port)
		}
	}
	s.ctx.Tell(trace.Step{Replicate: r})
}

// traceReplica begins one copy.
func (s *Switch) traceReplica(q *place) trace.ID {
	p := s.copying
	p.Parent, p.Port, p.Instance, p.Length = s.ctx.ID, q.Port, q.Packet.rid, q.Packet.p.Length
	return s.traceNew(p)
}

// traceAgain begins the packet that goes through ingress once more and ends the
// one in the context.
func (s *Switch) traceAgain(origin trace.Origin, result trace.Result, length int) trace.ID {
	id := s.traceNew(trace.Packet{Parent: s.ctx.ID, Origin: origin, Port: s.ctx.Port, Length: length})
	s.traceEnd(s.ctx.ID, trace.Outcome{Result: result})
	return id
}

// traceTransmit ends a packet that leaves the switch.
func (s *Switch) traceTransmit(port uint32, b []byte) {
	s.traceEnd(s.ctx.ID, trace.Outcome{Result: trace.Transmitted, Port: &port, Length: len(b),
		Frame: b})
}
