package rc

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/internal/ring"
	"github.com/weft-sdn/weft/packet"
)

// requester is the sending half of a queue pair: go-back-N over the messages of the send queue.
// PSNs are given to messages when they are posted.
type requester struct {
	sq    ring.Ring[outbound] // messages not yet acknowledged to their end
	una   uint32              // oldest PSN not acknowledged
	nxt   uint32              // PSN to send next
	sent  uint32              // one after the highest PSN ever sent
	end   uint32              // one after the last PSN posted
	cur   int                 // index in sq of the message nxt is in; its length when all is sent
	begun int                 // messages of sq of which a packet was sent
	msgs  uint32              // messages begun since the start, 24 bits

	holding bool
	hold    uint32 // no message that reaches this PSN is begun

	retries    uint64        // sequence NAKs and timeouts since the last progress
	rnrRetries uint64        // RNR NAKs since the last progress
	timed      bool          // deadline is set
	deadline   time.Duration // when the Local ACK Timeout fires
	rnrUntil   time.Duration // nothing is sent before
	paceFree   time.Duration // nor before this: the rate
}

// outbound is a message of the send queue.
type outbound struct {
	wr      verbs.WorkRequest
	first   uint32 // PSN of its first packet
	packets int
}

func (m *outbound) last() uint32 { return packet.PSNAdd(m.first, m.packets-1) }

func (r *requester) start(psn uint32) {
	*r = requester{sq: r.sq, una: psn, nxt: psn, sent: psn, end: psn}
}

func (r *requester) post(wr verbs.WorkRequest, packets int) {
	r.sq.Push(outbound{wr: wr, first: r.end, packets: packets})
	r.end = packet.PSNAdd(r.end, packets)
}

// outstanding reports whether a packet that was sent is not acknowledged.
func (r *requester) outstanding() bool { return r.una != r.sent }

// NextMessagePSN is the first PSN of the first message that has not begun, posted already or not:
// where a receiver can join that holds this message and all later ones.
func (q *QP) NextMessagePSN() uint32 {
	if q.begun < q.sq.Len() {
		return q.sq.At(q.begun).first
	}
	return q.end
}

// MessagesSent returns the number of messages before NextMessagePSN since the start of the queue
// pair, modulo 2^24: the MSN of a responder after all these messages.
func (q *QP) MessagesSent() uint32 { return q.msgs }

// UnackedPSN returns the oldest unacknowledged PSN.
func (q *QP) UnackedPSN() uint32 { return q.una }

// HighestPSN returns the PSN after the highest PSN ever sent.
func (q *QP) HighestPSN() uint32 { return q.sent }

// SendQueueLen is the number of work requests posted and not completed.
func (q *QP) SendQueueLen() int { return q.sq.Len() }

// HoldAt keeps every message that has a PSN at or after psn from beginning, until Release; messages
// before psn, and all that have begun, continue. A later HoldAt replaces an earlier one.
// ErrHoldTooLate: a message at or after psn has begun.
func (q *QP) HoldAt(psn uint32) error {
	if psn &= packet.PSNMask; packet.PSNBefore(psn, q.NextMessagePSN()) {
		return fmt.Errorf("QP %#x: hold before PSN %#x, next message at %#x: %w", q.cfg.QPN, psn,
			q.NextMessagePSN(), ErrHoldTooLate)
	}
	q.holding, q.hold = true, psn
	return nil
}

// Release ends a hold. Call Host.Advance afterwards.
func (q *QP) Release() { q.holding = false }

// Rate is the rate in bits per second requests are sent at, at now.
func (q *QP) Rate(now time.Duration) float64 { return q.rate.bitsPerSecond(now) }

// inFlight is the number of PSNs from una up to the one to send next.
func (r *requester) inFlight() int { return int((r.nxt - r.una) & packet.PSNMask) }

// nextSend returns the earliest time at which the queue pair allows a request; ok is false if the
// queue pair first needs an acknowledgement, work or a release.
func (q *QP) nextSend() (at time.Duration, ok bool) {
	if q.cur >= q.sq.Len() || q.inFlight() >= q.cfg.Window {
		return 0, false
	}
	if q.holding && !packet.PSNBefore(q.sq.At(q.cur).last(), q.hold) {
		return 0, false
	}
	return max(q.rnrUntil, q.paceFree), true
}

// nextEvent is when Advance has something to do for the queue pair.
func (q *QP) nextEvent() (at time.Duration, ok bool) {
	if at, ok = q.nextSend(); ok {
		at = max(at, q.host.lineFree)
	}
	if q.timed && (!ok || q.deadline < at) {
		at, ok = q.deadline, true
	}
	return at, ok
}

var requestOpcodes = [...]struct{ first, middle, last, only packet.Opcode }{
	verbs.OpWrite: {packet.OpWriteFirst, packet.OpWriteMiddle, packet.OpWriteLast,
		packet.OpWriteOnly},
	verbs.OpWriteImmediate: {packet.OpWriteFirst, packet.OpWriteMiddle, packet.OpWriteLastImmediate,
		packet.OpWriteOnlyImmediate},
	verbs.OpSend: {packet.OpSendFirst, packet.OpSendMiddle, packet.OpSendLast,
		packet.OpSendOnly},
	verbs.OpSendImmediate: {packet.OpSendFirst, packet.OpSendMiddle, packet.OpSendLastImmediate,
		packet.OpSendOnlyImmediate},
}

// opcode returns the opcode of packet i of n of a message.
func opcode(o verbs.Op, i, n int) packet.Opcode {
	codes := &requestOpcodes[o]
	switch {
	case n == 1:
		return codes.only
	case i == 0:
		return codes.first
	case i == n-1:
		return codes.last
	}
	return codes.middle
}

// sendRequest sends the packet at nxt, which nextSend allowed.
func (q *QP) sendRequest(now time.Duration) {
	m := q.sq.At(q.cur)
	i := int((q.nxt - m.first) & packet.PSNMask)
	last := i == m.packets-1
	fillsWindow := q.inFlight()+1 >= q.cfg.Window
	every := q.cfg.AckEvery > 0 && (i+1)%q.cfg.AckEvery == 0

	ecn := packet.ECT0
	if q.cfg.NotECT {
		ecn = packet.NotECT
	}
	p := q.header(q.cfg.DSCP, ecn)
	p.BTH = packet.BTH{
		Opcode: opcode(m.wr.Op, i, m.packets), MigReq: true, Solicited: last && m.wr.Solicited,
		PKey:    q.host.cfg.PKey,
		DestQPN: q.cfg.RemoteQPN, AckReq: last || every || fillsWindow, PSN: q.nxt,
	}
	p.RETH = packet.RETH{VA: m.wr.RemoteVA, RKey: m.wr.RKey, DMALength: uint32(len(m.wr.Data))}
	p.ImmDt = packet.ImmDt(m.wr.Immediate)
	p.Payload = m.wr.Data[i*q.cfg.PMTU : min((i+1)*q.cfg.PMTU, len(m.wr.Data))]
	if q.encap != nil {
		q.encap.apply(p, q.srh)
	}

	q.counters.RequestsSent++
	q.counters.PayloadSent += uint64(len(p.Payload))
	if q.cur == q.begun {
		q.begun++
		q.msgs = packet.PSNAdd(q.msgs, 1)
	}
	if last {
		q.cur++
	}
	q.nxt = packet.PSNAdd(q.nxt, 1)
	if packet.PSNBefore(q.sent, q.nxt) {
		q.sent = q.nxt
	} else {
		q.counters.RequestsResent++
	}
	if !q.timed {
		q.arm(now)
	}
	n := q.host.transmit(now)
	q.paceFree = q.host.paced(q.paceFree, now) + q.rate.gap(now, n)
	q.rate.sent(n)
}

// arm starts the Local ACK Timeout anew, or stops it when nothing is outstanding.
func (q *QP) arm(now time.Duration) {
	timeout := q.cfg.ackTimeout()
	q.timed = timeout > 0 && q.outstanding()
	q.deadline = max(now, q.rnrUntil) + timeout
}

// expire acts on a Local ACK Timeout that is due.
func (q *QP) expire(now time.Duration) {
	if !q.timed || q.deadline > now {
		return
	}
	q.counters.Timeouts++
	if q.countRetry(now) {
		q.rewind(now)
	}
}

// countRetry counts a retry without progress; false means that the queue pair has failed for it.
func (q *QP) countRetry(now time.Duration) bool {
	q.retries++
	q.counters.MaxRetryRun = max(q.counters.MaxRetryRun, q.retries)
	if q.cfg.RetryCnt != InfiniteRetries && q.retries > uint64(q.cfg.RetryCnt) {
		q.fail(now, verbs.StatusRetryExceeded)
		return false
	}
	return true
}

// rewind goes back to the oldest packet not acknowledged.
func (q *QP) rewind(now time.Duration) {
	q.counters.Rewinds++
	q.nxt, q.cur = q.una, 0
	q.arm(now)
}

// receiveResponse handles an acknowledgement. It returns the reason when the response changes
// nothing.
func (q *QP) receiveResponse(now time.Duration, psn uint32, aeth packet.AETH) (Refusal, bool) {
	acked := psn
	kind, code := aeth.Syndrome.Kind(), aeth.Syndrome.NAKCode()
	switch kind {
	case packet.SyndromeACK:
	case packet.SyndromeNAK:
		if code > packet.NAKRemoteOperational {
			return RefusedSyndrome, false
		}
		acked = packet.PSNAdd(psn, -1)
	case packet.SyndromeRNR:
		acked = packet.PSNAdd(psn, -1)
	default:
		return RefusedSyndrome, false
	}

	fresh := q.acknowledge(now, acked)
	if kind == packet.SyndromeACK {
		if fresh {
			q.counters.AcksReceived++
			return 0, true
		}
		return q.ignoreAck(psn)
	}
	if psn != q.una || !packet.PSNBefore(psn, q.sent) {
		if fresh { // it acknowledged everything sent, but does not ask for any of it again
			q.counters.AcksReceived++
			return 0, true
		}
		return q.ignoreAck(psn)
	}
	switch {
	case kind == packet.SyndromeRNR:
		q.counters.RNRsReceived++
		q.rnrRetries++
		q.counters.MaxRNRRun = max(q.counters.MaxRNRRun, q.rnrRetries)
		if q.cfg.RNRRetry != InfiniteRetries && q.rnrRetries > uint64(q.cfg.RNRRetry) {
			q.fail(now, verbs.StatusRNRRetryExceeded)
			return 0, true
		}
		q.rnrUntil = max(q.rnrUntil, now+packet.RNRTimer(aeth.Syndrome.Value()))
		q.rewind(now)
	case code == packet.NAKSequence:
		q.counters.NAKsReceived++
		if q.countRetry(now) {
			q.rewind(now)
		}
	default:
		q.counters.NAKsReceived++
		q.fail(now, fatalStatus(code))
	}
	return 0, true
}

func fatalStatus(code packet.NAKCode) verbs.Status {
	switch code {
	case packet.NAKInvalidRequest:
		return verbs.StatusRemoteInvalidRequest
	case packet.NAKRemoteAccess:
		return verbs.StatusRemoteAccess
	}
	return verbs.StatusRemoteOperational
}

// ignoreAck counts a response that says nothing new.
func (q *QP) ignoreAck(psn uint32) (Refusal, bool) {
	if packet.PSNBefore(psn, q.una) {
		q.counters.StaleAcks++
		return RefusedStale, false
	}
	q.counters.GhostAcks++
	return RefusedGhost, false
}

// acknowledge takes everything up to psn as received. False: psn is not among the PSNs outstanding.
func (q *QP) acknowledge(now time.Duration, psn uint32) bool {
	if packet.PSNBefore(psn, q.una) || !packet.PSNBefore(psn, q.sent) {
		return false
	}
	q.una = packet.PSNAdd(psn, 1)
	q.retries, q.rnrRetries = 0, 0
	if packet.PSNBefore(q.nxt, q.una) {
		q.nxt = q.una
	}
	for q.sq.Len() > 0 && packet.PSNBefore(q.sq.At(0).last(), q.una) {
		q.completeSend(now, verbs.StatusOK)
		q.begun--
		q.cur = max(q.cur-1, 0)
	}
	q.arm(now)
	return true
}

// completeSend ends the oldest message of the send queue.
func (q *QP) completeSend(now time.Duration, s verbs.Status) {
	m := q.sq.Pop()
	c := verbs.Completion{At: now, ID: m.wr.ID, Op: m.wr.Op, Status: s, Octets: len(m.wr.Data),
		Solicited: m.wr.Solicited}
	if m.wr.Op.Immediate() {
		c.Immediate, c.HasImmediate = m.wr.Immediate, true
	}
	q.complete(c)
}
