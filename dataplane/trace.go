package dataplane

import (
	"time"

	"github.com/weft-sdn/weft/dataplane/trace"
)

// A packet that is traced has an id, which goes with it through queues and into
// its copies; all others have 0. Whatever does something worth telling compares
// the id of the packet in the context once, and where much would have to be
// compared (parser, controls, actions) a traced packet takes a way of its own,
// over the same compiled steps. Entries and programs are the same for both.

// SetTracer sets who observes packets; nil is nobody. Of packets in the switch
// a new tracer hears nothing, nor does the old one hear any more.
func (s *Switch) SetTracer(t trace.Tracer) {
	s.tracer = t
	s.traceSince = s.traceLast
}

// traceNew begins a packet in the trace and returns its id.
func (s *Switch) traceNew(p trace.Packet) trace.ID {
	s.traceLast++
	p.ID, p.Time = s.traceLast, s.now
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

// traced takes the id of a packet whose turn has come: 0 when nobody hears of
// it any more.
func (s *Switch) traced(id trace.ID) trace.ID {
	if s.tracer == nil || id <= s.traceSince {
		return 0
	}
	return id
}

// traceEnd ends a packet that is traced.
func (s *Switch) traceEnd(id trace.ID, o trace.Outcome) {
	if s.traced(id) != 0 {
		o.Time = s.now
		s.tracer.End(id, o)
	}
}

// tell adds a step to the packet in the context, which is traced.
func (c *ctx) tell(s trace.Step) { c.sw.tracer.Step(c.id, s) }

// told is what the trace needs to remember of the packet in the context.
type told struct {
	made bool          // the compiler made the action being executed
	at   *trace.Source // of the statement being executed
	// egress_spec, and the action and statement that gave it that value.
	spec       uint64
	specAction string
	specAt     *trace.Source
	failed     string       // the assertion that failed
	copying    trace.Packet // what copies being made have in common
}

// traceStage enters a part of the switch.
func (c *ctx) traceStage(name string) { c.tell(trace.Step{Stage: &trace.Stage{Name: name}}) }

// traceIngress takes a traced packet up.
func (c *ctx) traceIngress() {
	c.id = c.sw.traced(c.id)
	c.told = told{spec: c.std(&c.sw.prog.std.egressSpec)}
}

// traceEgress takes a traced packet up that left a queue.
func (c *ctx) traceEgress(q *place, depth int) {
	if c.id = c.sw.traced(c.id); c.id == 0 {
		return
	}
	c.told = told{spec: c.std(&c.sw.prog.std.egressSpec)}
	waited := time.Duration(c.sw.micros()-q.Packet.at) * time.Microsecond
	c.tell(trace.Step{Dequeue: &trace.Dequeue{Waited: waited, Depth: depth}})
}

// traceQueue says that a packet waits for egress.
func (s *Switch) traceQueue(q *place, depth int) {
	if s.traced(q.Packet.id) != 0 {
		s.tracer.Step(q.Packet.id, trace.Step{Queue: &trace.Queue{Port: q.Port, Priority: q.Priority, Depth: depth}})
	}
}

// traceMulticast prepares for the copies of a group.
func (s *Switch) traceMulticast(g *MulticastGroup) {
	s.ctx.told.copying = trace.Packet{Origin: trace.Replica, Group: g.ID}
	s.traceReplicas(&trace.Replicate{Group: &g.ID}, g.Replicas)
}

// traceClone prepares for the copies of a clone session; nil is none.
func (c *ctx) traceClone(origin trace.Origin, session *CloneSession) {
	id := uint16(c.clone)
	r := &trace.Replicate{Session: &id}
	if session == nil {
		r.Missing = true
		c.tell(trace.Step{Replicate: r})
		return
	}
	c.told.copying = trace.Packet{Origin: origin, Session: id}
	c.sw.traceReplicas(r, session.Replicas)
}

// traceReplicas says which copies there will be.
func (s *Switch) traceReplicas(r *trace.Replicate, replicas []Replica) {
	for i := range replicas {
		if _, _, ok := s.replicaPort(&replicas[i]); ok {
			r.Copies++
		} else {
			r.Down = append(r.Down, replicas[i].Port)
		}
	}
	s.ctx.tell(trace.Step{Replicate: r})
}

// traceReplica begins one copy.
func (s *Switch) traceReplica(q *place) trace.ID {
	p := s.ctx.told.copying
	p.Parent, p.Port, p.Instance, p.Length = s.ctx.id, q.Port, q.Packet.rid, q.Packet.p.length
	return s.traceNew(p)
}

// traceAgain begins the packet that goes through ingress once more and ends the
// one in the context.
func (s *Switch) traceAgain(instance uint64, length int) trace.ID {
	origin, result := trace.Recirculated, trace.Recirculating
	if instance == instanceResubmit {
		origin, result = trace.Resubmitted, trace.Resubmitting
	}
	id := s.traceNew(trace.Packet{Parent: s.ctx.id, Origin: origin, Port: s.ctx.port, Length: length})
	s.traceEnd(s.ctx.id, trace.Outcome{Result: result})
	return id
}

// traceTransmit ends a packet that leaves the switch.
func (s *Switch) traceTransmit(port uint32, b []byte) {
	s.traceEnd(s.ctx.id, trace.Outcome{Result: trace.Transmitted, Port: &port, Length: len(b), Frame: b})
}

// traceDigest says what is sent to the control plane.
func (c *ctx) traceDigest(i int) {
	info := &c.sw.prog.info.digests[i]
	d := &trace.Digest{Name: info.Name}
	for k, v := range c.sw.digests {
		d.Fields = append(d.Fields, trace.Field{Name: info.Fields[k].Name, Value: trace.NewValue(v, info.Fields[k].Width)})
	}
	c.tell(trace.Step{Digest: d})
}

// deparseTraced executes the statements of a deparser for a packet that is
// traced, and says what the packet is put together from.
func (c *ctx) deparseTraced(d *deparser) {
	for i := range d.told {
		c.told.at = d.told[i].at
		d.told[i].run(c)
	}
	if c.aborted {
		return
	}
	t := &trace.Deparse{Headers: []trace.Emitted{}, Payload: c.payload.len()}
	t.Length = t.Payload
	order := d.order
	if order == nil {
		lay := &c.sw.prog.layout
		order = lay.headers[:lay.deparsed]
	}
	for _, h := range order {
		if c.isValid(h) {
			n := c.headerLen(h)
			t.Headers = append(t.Headers, trace.Emitted{Name: h.name, Octets: n})
			t.Length += n
		}
	}
	c.tell(trace.Step{Deparse: t})
}
