package dataplane

import (
	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/drop"
	"github.com/weft-sdn/weft/dataplane/trace"
)

// Values of standard_metadata.instance_type, as in BMv2.
const (
	instanceNormal = iota
	instanceIngressClone
	instanceEgressClone
	instanceCoalesced // never used
	instanceRecirc
	instanceReplication
	instanceResubmit
)

// ctx is the packet being processed, and scratch space.
type ctx struct {
	phv
	sw   *Switch
	args []uint64 // of the running action
	id   trace.ID // 0: not traced

	cur    int // parser: octets consumed
	perr   uint64
	failed bool

	checksumBad bool
	exit        bool
	aborted     bool // an assertion failed
	clone       int32
	cloneList   *fieldList
	digest      int32
	resubmit    *fieldList
	recirculate *fieldList

	tmp       []uint64 // stack of wide values
	sp        int
	buf       []byte // input of calculations
	segs      [][]byte
	key, key2 []uint64

	told told // what the trace needs to remember of the packet
}

// push takes n words of scratch; pop gives them back.
func (c *ctx) push(n int) []uint64 {
	if c.sp+n > len(c.tmp) {
		c.tmp = append(make([]uint64, 0, 2*(c.sp+n)), c.tmp...)
		c.tmp = c.tmp[:cap(c.tmp)]
	}
	t := c.tmp[c.sp : c.sp+n : c.sp+n]
	c.sp += n
	return t
}

func (c *ctx) pop(n int) { c.sp -= n }

// calcBuf returns n octets of scratch.
func (c *ctx) calcBuf(n int) []byte {
	if n > len(c.buf) {
		c.buf = make([]byte, 2*n)
	}
	return c.buf[:n]
}

// swap exchanges the packet being processed with another.
func (c *ctx) swap(p *phv) { c.phv, *p = *p, c.phv }

func (c *ctx) resetActs() {
	c.aborted = false
	c.clone, c.cloneList, c.digest = -1, nil, -1
	c.resubmit, c.recirculate = nil, nil
}

// finish gives the frame of the processed packet back.
func (c *ctx) finish() {
	if c.frame != nil {
		c.sw.freeFrame(c.frame)
		c.frame = nil
	}
}

func (c *ctx) assertFailed(op, where string) {
	c.aborted, c.exit = true, true
	if c.id != 0 {
		c.told.failed = op + " failed at " + where
	}
}

// ingress processes a packet up to the queues.
func (s *Switch) ingress(it *inItem) {
	c, std, lay := &s.ctx, &s.prog.std, &s.prog.layout
	fresh := false
	if it.p != nil {
		c.swap(it.p)
		s.freePHV(it.p)
	} else {
		fresh = true
		c.clearHeaders(lay)
		c.clearMeta(lay)
		c.frame, c.port, c.arrived = it.f, it.port, it.arrived
		c.length, c.ingressLen, c.trunc = len(it.f.b), len(it.f.b), noTrunc
		c.setStd(&std.ingressPort, uint64(it.port))
		c.setStd(&std.packetLength, uint64(c.length))
		c.setStd(&std.ingressTime, it.arrived)
	}
	if c.id = it.id; c.id != 0 {
		c.traceIngress()
	}
	received := c.length
	c.resetActs()
	c.parse(&s.prog.parser)
	c.setStd(&std.parserError, c.perr)
	if c.checksumBad {
		c.setStd(&std.checksumError, 1)
	} else {
		c.setStd(&std.checksumError, 0)
	}
	c.run(&s.prog.ingress, fresh)

	if c.clone >= 0 {
		s.cloneIngress(received)
	}
	if c.digest >= 0 {
		s.sendDigest(int(c.digest))
	}
	group := c.std(&std.mcastGroup)
	switch spec := c.std(&std.egressSpec); {
	case c.aborted:
		s.dropAborted()
	case c.resubmit != nil:
		s.stats.Resubmitted++
		f := c.frame
		f.refs++
		s.putBack(f, c.resubmit, instanceResubmit, received)
	case group != 0:
		c.setStd(&std.instanceType, instanceReplication)
		s.multicast(uint16(group))
	case spec == uint64(s.cfg.DropPort):
		s.dropByProgram(drop.Ingress)
	default:
		c.setStd(&std.instanceType, instanceNormal)
		if q, ok := s.straight(uint32(spec)); ok {
			s.leave(&q, 0)
			return
		}
		p := s.detach()
		p.refs = 1
		s.enqueue(place{Port: uint32(spec), Priority: -1, Packet: queued{p: p, trunc: p.trunc, id: c.id}})
		s.settle(p)
	}
	c.finish()
}

// detach takes the packet out of the context, which gets an empty one.
func (s *Switch) detach() *phv {
	p := s.barePHV()
	s.ctx.swap(p)
	return p
}

// barePHV is newPHV without clearing: for what is overwritten anyway.
func (s *Switch) barePHV() *phv {
	if n := len(s.phvs); n > 0 {
		p := s.phvs[n-1]
		s.phvs = s.phvs[:n-1]
		return p
	}
	return newPHV(&s.prog.layout)
}

// settle frees a detached packet nobody queued.
func (s *Switch) settle(p *phv) {
	if p.refs--; p.refs == 0 {
		s.freePHV(p)
	}
}

// multicast replicates the packet in the context to a group's replicas.
func (s *Switch) multicast(id uint16) {
	g := s.groups[id]
	if g == nil {
		s.dropNoGroup(id)
		return
	}
	s.stats.Multicast++
	if s.ctx.id != 0 {
		s.traceMulticast(g)
	}
	p := s.detach()
	p.refs = 1
	s.replicate(p, g.Replicas, -1, noTrunc)
	s.settle(p)
	s.traceEnd(s.ctx.id, trace.Outcome{Result: trace.Replicated})
}

// replicate queues one copy per replica; prio < 0 takes the packet's own.
func (s *Switch) replicate(p *phv, rs []Replica, prio, trunc int) {
	for i := range rs {
		if port, rid, ok := s.replicaPort(&rs[i]); ok {
			s.stats.Replicated++
			q := place{Port: port, Priority: prio, Packet: queued{p: p, rid: rid, copied: true, trunc: trunc}}
			if s.ctx.id != 0 {
				q.Packet.id = s.traceReplica(&q)
			}
			s.enqueue(q)
		}
	}
}

// replicaPort is the first of a replica's ports that is up, with its instance.
func (s *Switch) replicaPort(r *Replica) (port uint32, rid uint16, ok bool) {
	if len(s.down) == 0 || !s.down[r.Port] {
		return r.Port, r.Instance, true
	}
	for _, b := range r.Backups {
		if !s.down[b.Port] {
			return b.Port, b.Instance, true
		}
	}
	return r.Port, r.Instance, len(r.Backups) == 0
}

// keep copies the fields of a list, as clone, resubmit and recirculate do.
func (fl *fieldList) keep(to, from *phv) {
	for _, f := range fl.fields {
		if f.hdr.meta && f.width <= 64 {
			to.setMeta64(f, from.meta64(f))
			continue
		}
		for at := 0; at < f.width; {
			n := min(64, f.width-at)
			bitfield.Store64(to.data, f.bit+at, n, bitfield.Load64(from.data, f.bit+at, n))
			at += n
		}
	}
}

// cloneIngress sends copies of the packet as it was received. They are parsed
// again; metadata starts empty but for the preserved fields.
func (s *Switch) cloneIngress(received int) {
	c, std, lay := &s.ctx, &s.prog.std, &s.prog.layout
	session := s.sessions[uint16(c.clone)]
	list := c.cloneList
	if c.id != 0 {
		c.traceClone(trace.CloneIngress, session)
	}
	if session == nil {
		s.stats.NoSession++
		return
	}
	s.stats.Cloned++
	orig := s.newPHV()
	c.swap(orig) // orig is the packet, the context is empty
	c.frame, c.port, c.arrived = orig.frame, orig.port, orig.arrived
	c.frame.refs++
	c.length, c.ingressLen, c.trunc = received, orig.ingressLen, noTrunc
	perr, bad := c.perr, c.checksumBad
	c.setStd(&std.ingressPort, uint64(orig.port))
	id := c.id
	c.id = 0
	c.parse(&s.prog.parser)
	c.id = id
	c.perr, c.checksumBad = perr, bad
	c.clearMeta(lay)
	list.keep(&c.phv, orig)
	c.setStd(&std.instanceType, instanceIngressClone)
	c.swap(orig) // and back: orig is the copy
	s.sendClone(orig, session)
}

// cloneEgress sends copies of the packet as it is at the end of egress.
func (s *Switch) cloneEgress() {
	c, std, lay := &s.ctx, &s.prog.std, &s.prog.layout
	session := s.sessions[uint16(c.clone)]
	if c.id != 0 {
		c.traceClone(trace.CloneEgress, session)
	}
	if session == nil {
		s.stats.NoSession++
		return
	}
	s.stats.Cloned++
	p := s.barePHV()
	p.copyFrom(&c.phv, lay)
	p.frame.refs++
	p.clearMeta(lay)
	p.trunc = noTrunc
	c.cloneList.keep(p, &c.phv)
	p.setStd(&std.instanceType, instanceEgressClone)
	s.sendClone(p, session)
}

func (s *Switch) sendClone(p *phv, session *CloneSession) {
	trunc := noTrunc
	if session.PacketLength > 0 {
		trunc = session.PacketLength
	}
	p.refs = 1
	s.replicate(p, session.Replicas, int(session.ClassOfService), trunc)
	s.settle(p)
}

// putBack queues a frame for ingress once more, with metadata empty but for
// the preserved fields. It takes over one reference to the frame.
func (s *Switch) putBack(f *frame, list *fieldList, instance uint64, length int) {
	c, std := &s.ctx, &s.prog.std
	if s.again.Len() >= s.cfg.RecirculationQueue {
		s.drop(c.id, drop.RecirculationFull)
		s.freeFrame(f)
		return
	}
	p := s.newPHV()
	p.frame, p.port, p.arrived = f, c.port, c.arrived
	p.length, p.ingressLen, p.trunc = length, c.ingressLen, noTrunc
	list.keep(p, &c.phv)
	p.setStd(&std.instanceType, instance)
	p.setStd(&std.packetLength, uint64(length))
	it := inItem{p: p}
	if c.id != 0 {
		it.id = s.traceAgain(instance, length)
	}
	s.again.Push(it)
}

// sendDigest delivers a digest message.
func (s *Switch) sendDigest(i int) {
	d, c := &s.prog.digests[i], &s.ctx
	total := 0
	for _, w := range d.widths {
		total += (w + 7) / 8
	}
	b := c.calcBuf(total)
	s.digests = s.digests[:0]
	for k, w := range d.widths {
		n := (w + 7) / 8
		t := c.push(bitfield.Words(w))
		d.fields[k](c, t)
		clear(b[:n])
		bitfield.Store(b[:n], 8*n-w, w, t)
		c.pop(bitfield.Words(w))
		s.digests = append(s.digests, b[:n:n])
		b = b[n:]
	}
	if c.id != 0 {
		c.traceDigest(i)
	}
	s.out.Digest(s.now, i, s.digests)
}

// digest is a compiled digest: its fields and their widths.
type digest struct {
	fields []wideFn
	widths []int
}

// straight tells that the packet in the context would be the next to leave its
// queue, and that at once, as nothing waits anywhere: then it need not be put
// there.
func (s *Switch) straight(port uint32) (q place, ok bool) {
	c := &s.ctx
	if c.id != 0 {
		return q, false
	}
	if q.Priority = int(c.std(&s.prog.std.priority)); q.Priority >= s.cfg.Priorities || !s.queues.Free(port, q.Priority, c.port) {
		return q, false
	}
	q.Port, q.Packet.trunc, q.Packet.at = port, c.trunc, s.micros()
	return q, true
}

// egress processes one packet taken from a queue.
func (s *Switch) egress(q place, depth int) {
	c := &s.ctx
	if q.Packet.p.refs == 1 {
		c.swap(q.Packet.p)
		q.Packet.p.refs = 0
		s.freePHV(q.Packet.p)
	} else {
		q.Packet.p.refs--
		c.copyFrom(q.Packet.p, &s.prog.layout)
		c.frame.refs++
	}
	s.leave(&q, depth)
}

// leave processes the packet in the context, which comes from a place q in a
// queue, up to its end.
func (s *Switch) leave(q *place, depth int) {
	c, std := &s.ctx, &s.prog.std
	c.trunc = q.Packet.trunc
	if q.Packet.copied {
		c.setStd(&std.egressRid, uint64(q.Packet.rid))
	}
	now := s.micros()
	c.setStd(&std.egressTime, now)
	c.setStd(&std.enqTime, q.Packet.at)
	c.setStd(&std.enqDepth, uint64(q.Depth))
	c.setStd(&std.deqDelta, now-q.Packet.at)
	c.setStd(&std.deqDepth, uint64(depth))
	c.setStd(&std.qid, uint64(q.Priority))
	c.setStd(&std.egressPort, uint64(q.Port))
	c.setStd(&std.egressSpec, uint64(s.cfg.DropPort)+1)
	c.setStd(&std.packetLength, uint64(c.length))
	c.resetActs()
	if c.id = q.Packet.id; c.id != 0 {
		c.traceEgress(q, depth)
	}
	c.run(&s.prog.egress, false)

	if c.clone >= 0 {
		s.cloneEgress()
	}
	switch {
	case c.aborted:
		s.dropAborted()
	case c.std(&std.egressSpec) == uint64(s.cfg.DropPort):
		s.dropByProgram(drop.Egress)
	case c.recirculate != nil:
		s.stats.Recirculated++
		f := s.newFrame()
		f.b = c.deparse(f.b)
		if c.aborted {
			s.dropAborted()
			s.freeFrame(f)
			break
		}
		c.ingressLen = len(f.b)
		s.putBack(f, c.recirculate, instanceRecirc, len(f.b))
	default:
		s.outBuf = c.deparse(s.outBuf[:0])
		if c.aborted {
			s.dropAborted()
			break
		}
		s.transmit(q, s.outBuf[:min(len(s.outBuf), c.trunc)])
	}
	c.finish()
}

func (s *Switch) transmit(q *place, b []byte) {
	port := q.Port
	if len(s.down) > 0 && s.down[port] {
		s.drop(s.ctx.id, drop.PortDown)
		return
	}
	if s.speaksPFC(port) {
		if s.pfcCommand(b) {
			s.stats.Transmitted++
			if s.ctx.id != 0 {
				s.traceTransmit(port, b)
			}
		} else {
			s.drop(s.ctx.id, drop.PFCRefused)
		}
		return
	}
	s.stats.Transmitted++
	s.queues.Sent(port, q.Leaves, len(b))
	if s.ctx.id != 0 {
		s.traceTransmit(port, b)
	}
	s.out.Transmit(s.now, port, b)
}
