package rc

import (
	"time"

	"github.com/weft-sdn/weft/host/internal/ibta"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/internal/ring"
	"github.com/weft-sdn/weft/packet"
)

// responder is the receiving half of a queue pair.
type responder struct {
	expected uint32 // PSN expected next
	msn      uint32 // messages received, 24 bits
	// the packet expected was asked for (sequence NAK or RNR NAK); later ones are dropped without a
	// word
	silent  bool
	rq      ring.Ring[verbs.RecvRequest]
	message inbound

	cnpSent bool          // a CNP was sent, at cnpAt
	cnpAt   time.Duration // see QPConfig.CNPInterval
}

// inbound is the message being received.
type inbound struct {
	op        verbs.Op // OpSend or OpWrite; 0 between messages
	octets    int
	holdsRecv bool // recv was taken from the receive queue
	recv      verbs.RecvRequest
	region    *verbs.Region // WRITE
	va        uint64        // WRITE: of the next octet
	left      int           // WRITE: octets to come
}

func (r *responder) start(psn uint32) {
	*r = responder{rq: r.rq, expected: psn}
}

// ExpectedPSN is the PSN expected next: every packet before it has been executed.
func (q *QP) ExpectedPSN() uint32 { return q.expected }

// MSN is the number of messages received since the queue pair was started, modulo 2^24.
func (q *QP) MSN() uint32 { return q.msn }

// ReceiveQueueLen is the number of receive requests posted and not used.
func (q *QP) ReceiveQueueLen() int { return q.rq.Len() }

// request is a parsed request packet.
type request struct {
	bth     packet.BTH
	reth    packet.RETH
	imm     uint32
	payload []byte
}

// shape describes the place of a request in a message, by its opcode; op is 0 for requests that
// this responder does not execute.
type shape struct {
	op          verbs.Op // OpSend or OpWrite
	first, last bool
	immediate   bool
}

func shapeOf(o packet.Opcode) shape {
	switch o {
	case packet.OpSendFirst:
		return shape{op: verbs.OpSend, first: true}
	case packet.OpSendMiddle:
		return shape{op: verbs.OpSend}
	case packet.OpSendLast:
		return shape{op: verbs.OpSend, last: true}
	case packet.OpSendLastImmediate:
		return shape{op: verbs.OpSend, last: true, immediate: true}
	case packet.OpSendOnly:
		return shape{op: verbs.OpSend, first: true, last: true}
	case packet.OpSendOnlyImmediate:
		return shape{op: verbs.OpSend, first: true, last: true, immediate: true}
	case packet.OpWriteFirst:
		return shape{op: verbs.OpWrite, first: true}
	case packet.OpWriteMiddle:
		return shape{op: verbs.OpWrite}
	case packet.OpWriteLast:
		return shape{op: verbs.OpWrite, last: true}
	case packet.OpWriteLastImmediate:
		return shape{op: verbs.OpWrite, last: true, immediate: true}
	case packet.OpWriteOnly:
		return shape{op: verbs.OpWrite, first: true, last: true}
	case packet.OpWriteOnlyImmediate:
		return shape{op: verbs.OpWrite, first: true, last: true, immediate: true}
	}
	return shape{}
}

// receiveRequest handles a request. It returns the reason when the request is not executed.
func (q *QP) receiveRequest(now time.Duration, r *request) (Refusal, bool) {
	psn := r.bth.PSN
	switch d := packet.PSNDiff(psn, q.expected); {
	case d > 0:
		q.counters.OutOfOrder++
		if !q.silent {
			q.silent = true
			q.counters.NAKsSent++
			q.reply(now, q.expected, packet.NAKSyndrome(packet.NAKSequence))
		}
		return RefusedGap, false
	case d < 0:
		// Acknowledged again whether asked for or not: the requester sends what it thinks is lost.
		q.counters.Duplicates++
		q.ack(now, packet.PSNAdd(q.expected, -1))
		return RefusedDuplicate, false
	}

	s := shapeOf(r.bth.Opcode)
	if s.op == 0 || s.first != (q.message.op == 0) || !s.first && s.op != q.message.op {
		return q.refuseRequest(now, packet.NAKInvalidRequest, verbs.StatusRemoteInvalidRequestIn)
	}
	takesRecv := s.op == verbs.OpSend && s.first || s.op == verbs.OpWrite && s.immediate
	if takesRecv && q.rq.Len() == 0 {
		q.silent = true
		q.counters.RNRsSent++
		q.reply(now, psn, packet.RNRSyndrome(q.cfg.MinRNRTimer))
		return RefusedNotReady, false
	}
	if !lengthFits(s, len(r.payload), q.cfg.PMTU) {
		return q.refuseRequest(now, packet.NAKInvalidRequest, verbs.StatusRemoteInvalidRequestIn)
	}
	var refused Refusal
	var ok bool
	if s.op == verbs.OpSend {
		refused, ok = q.placeSend(now, s, r.payload)
	} else {
		refused, ok = q.placeWrite(now, s, r)
	}
	if !ok {
		return refused, false
	}

	q.counters.RequestsReceived++
	q.counters.PayloadReceived += uint64(len(r.payload))
	q.expected = packet.PSNAdd(q.expected, 1)
	q.silent = false
	if s.last {
		q.finishMessage(now, s, r)
	}
	if r.bth.AckReq {
		q.ack(now, psn)
	}
	return 0, true
}

// lengthFits reports whether a payload has a length its place in a message allows (IBTA volume 1,
// §9.7.4.1.6).
func lengthFits(s shape, n, pmtu int) bool {
	switch {
	case !s.last:
		return n == pmtu
	case !s.first:
		return n >= 1 && n <= pmtu
	}
	return n <= pmtu
}

// placeSend writes a SEND's payload to the receive request it uses.
func (q *QP) placeSend(now time.Duration, s shape, payload []byte) (Refusal, bool) {
	m := &q.message
	if s.first {
		*m = inbound{op: verbs.OpSend, recv: q.rq.Pop(), holdsRecv: true}
	}
	if len(payload) > len(m.recv.Buf)-m.octets {
		return q.refuseRequest(now, packet.NAKInvalidRequest, verbs.StatusLocalLength)
	}
	if m.recv.Region != nil && !m.recv.Region.Registered() {
		return q.refuseRequest(now, packet.NAKRemoteOperational, verbs.StatusLocalProtection)
	}
	copy(m.recv.Buf[m.octets:], payload)
	m.octets += len(payload)
	return 0, true
}

// placeWrite writes an RDMA WRITE's payload to the region it names.
func (q *QP) placeWrite(now time.Duration, s shape, r *request) (Refusal, bool) {
	m := &q.message
	n := len(r.payload)
	if s.first {
		if r.reth.DMALength > ibta.MaxMessage {
			return q.refuseRequest(now, packet.NAKInvalidRequest, verbs.StatusRemoteInvalidRequestIn)
		}
		*m = inbound{op: verbs.OpWrite, region: q.host.regions.Region(r.reth.RKey), va: r.reth.VA,
			left: int(r.reth.DMALength)}
	}
	if s.last && n != m.left || !s.last && n >= m.left {
		return q.refuseRequest(now, packet.NAKInvalidRequest, verbs.StatusRemoteInvalidRequestIn)
	}
	if m.left > 0 { // a WRITE of nothing needs no region
		if m.region.Writable(m.va, m.left) == nil {
			return q.refuseRequest(now, packet.NAKRemoteAccess, verbs.StatusRemoteInvalidRequestIn)
		}
		copy(m.region.Writable(m.va, n), r.payload)
	}
	m.octets += n
	m.va += uint64(n)
	m.left -= n
	return 0, true
}

// finishMessage counts a message whose last packet was placed, and completes the receive request it
// used.
func (q *QP) finishMessage(now time.Duration, s shape, r *request) {
	q.msn = packet.PSNAdd(q.msn, 1)
	m := &q.message
	c := verbs.Completion{Op: m.op, Octets: m.octets, Solicited: r.bth.Solicited}
	if s.immediate {
		c.Immediate, c.HasImmediate = r.imm, true
		c.Op++ // OpWrite to OpWriteImmediate, OpSend to OpSendImmediate
	}
	switch {
	case m.holdsRecv:
		c.ID = m.recv.ID
		q.completeRecv(now, c)
	case s.immediate:
		c.ID = q.rq.Pop().ID
		q.completeRecv(now, c)
	}
	*m = inbound{}
}

// refuseRequest answers the next expected request with a fatal NAK and moves to the error state.
// local is the status of the receive request in use, if any.
func (q *QP) refuseRequest(now time.Duration, code packet.NAKCode, local verbs.Status) (Refusal,
	bool) {
	q.counters.NAKsSent++
	q.reply(now, q.expected, packet.NAKSyndrome(code))
	if q.message.holdsRecv {
		q.completeRecv(now, verbs.Completion{ID: q.message.recv.ID, Op: q.message.op, Status: local,
			Octets: q.message.octets})
		q.message.holdsRecv = false
	}
	q.fail(now, verbs.StatusOK)
	switch code {
	case packet.NAKRemoteAccess:
		return RefusedRemoteAccess, false
	case packet.NAKRemoteOperational:
		return RefusedOperational, false
	}
	return RefusedInvalidRequest, false
}

func (q *QP) ack(now time.Duration, psn uint32) {
	q.counters.AcksSent++
	q.reply(now, psn, packet.ACKSyndrome(packet.CreditInvalid))
}

// noteCongestion answers a request marked Congestion Experienced with a CNP, unless one was sent
// just now.
func (q *QP) noteCongestion(now time.Duration) {
	q.counters.CEReceived++
	if q.cnpSent && now-q.cnpAt < q.cfg.CNPInterval {
		return
	}
	q.cnpSent, q.cnpAt = true, now
	q.counters.CNPsSent++
	p := q.header(q.cfg.CNPDSCP, packet.NotECT)
	p.BTH = packet.CNPHeader(q.cfg.RemoteQPN)
	p.BTH.PKey = q.host.cfg.PKey
	q.host.transmit(now)
}
