package mrc

import (
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// minReordering is the least number of packets received above a missing packet after which the
// missing packet counts as lost.
const minReordering = 5

// inferLoss finds packets lost from a SACK (OCP MRC 1.0, §7.4.5). Spraying keeps about a window of
// packets out of order. So a packet is lost if the responder received 1.5 windows above the packet
// (the current window or the window at sending, whichever is greater), or the greatest window if
// that is less, and the packet is certainly missing. A packet is certainly missing if it follows
// the cumulative acknowledgement, if its bit in this SACK is 0, or if the queue pair knows every
// packet that the responder counts. For a retransmitted packet, only packets sent since count.
// inferLoss finds each packet lost only once; a timer, a NACK or a probe detects a second loss.
func (q *QP) inferLoss(now time.Duration, s *packet.SETH, ooo int) {
	if s.CackPSN != q.unack || q.flying == 0 {
		return
	}
	threshold := q.reordering(0)
	if ooo < threshold {
		return
	}
	base := s.SACKBase()
	told := q.told(ooo)
	above := ooo // packets received above psn, as far as is known
	for psn := packet.PSNAdd(q.unack, 1); above >= threshold &&
		q.outstanding(psn); psn = packet.PSNAdd(psn, 1) {
		rec := q.record(psn)
		switch rec.state {
		case arrived:
			above--
			continue
		case lost:
			continue
		}
		if n := q.reordering(rec.cwnd); rec.noted || above < n || rec.sends > 1 &&
			packet.PSNDiff(q.highest, rec.before) < n {
			continue
		}
		i := packet.PSNDiff(psn, base)
		if told || psn == packet.PSNAdd(q.unack, 1) || i >= 0 && i < packet.SACKBits {
			rec.noted, rec.expired = true, 0
			q.counters.SACKLosses++
			q.loseTo(now, rec, false)
		}
	}
}

// told reports whether as many packets after unack are known to have arrived as the responder
// counts.
func (q *QP) told(ooo int) bool {
	span := packet.PSNDiff(q.next, q.unack) - 1
	return span-q.flying-q.lost == ooo
}

// reordering returns the number of packets received above a missing packet after which the missing
// packet counts as lost. The missing packet was sent with a window of cwnd; reordering assumes the
// average size of the waiting packets.
func (q *QP) reordering(cwnd int) int {
	octets := min(max(q.context.Window(), cwnd)*3/2, q.context.MaxWindow())
	n := packet.PSNDiff(q.next, q.unack) - 1
	if n <= 0 || q.waiting <= 0 {
		return minReordering
	}
	return max(minReordering, octets*n/q.waiting)
}

// inferFromProbe finds packets lost from the answer to a reliability probe: those that it says are
// missing and that were sent at least ProbeTimeout before the probe, when nothing that was sent
// then can still be queued in the network.
func (q *QP) inferFromProbe(now time.Duration, s *packet.SETH, asked time.Duration) {
	if q.cfg.ProbeTimeout == 0 || s.CackPSN != q.unack {
		return
	}
	base := s.SACKBase()
	psn := packet.PSNAdd(q.unack, 1)
	if packet.PSNBefore(psn, base) && q.outstanding(psn) {
		q.probedMissing(now, psn, asked)
		psn = base
	}
	for ; q.outstanding(psn) && packet.PSNDiff(psn, base) < packet.SACKBits; psn = packet.PSNAdd(psn,
		1) {
		if received, known := s.Received(psn); known && !received {
			q.probedMissing(now, psn, asked)
		}
	}
}

func (q *QP) probedMissing(now time.Duration, psn uint32, asked time.Duration) {
	if rec := q.record(psn); rec.state == flying && rec.sentAt+q.cfg.ProbeTimeout <= asked {
		rec.expired = 0
		q.counters.ProbeLosses++
		q.loseTo(now, rec, false)
	}
}

// loseTo gives a packet up as lost and tells congestion control and the sprayer.
func (q *QP) loseTo(now time.Duration, rec *record, timeout bool) {
	q.giveUp(rec, timeout)
	signal := SignalLost
	if timeout {
		signal = SignalTimeout
	}
	q.cfg.Sprayer.Feedback(now, rec.lastBy.id, signal)
	q.context.OnLoss(Loss{Now: now, Size: int(rec.size), InFlight: q.context.InFlight(),
		Timeout: timeout})
}

// expire does what the requester's timers ask for at now.
func (q *QP) expire(now time.Duration) {
	if q.timed && q.deadline <= now {
		q.expirePackets(now)
	}
	if q.ackTimer.timed && q.ackTimer.deadline <= now {
		q.expireAck(now)
	}
	q.probes.expire(now, q)
}

// expirePackets gives up the packets whose Local ACK Timeout is over, and finds the next one.
func (q *QP) expirePackets(now time.Duration) {
	q.timed = false
	if q.flying == 0 {
		return
	}
	for psn := packet.PSNAdd(q.unack, 1); q.outstanding(psn); psn = packet.PSNAdd(psn, 1) {
		rec := q.record(psn)
		if rec.state != flying {
			continue
		}
		if rec.deadline > now {
			if !q.timed || rec.deadline < q.deadline {
				q.timed, q.deadline = true, rec.deadline
			}
			continue
		}
		q.counters.Timeouts++
		if !q.cfg.retriesLeft(rec.retries) {
			q.failAt(now, psn, verbs.StatusRetryExceeded)
			return
		}
		rec.retries++
		rec.expired++
		q.loseTo(now, rec, true)
	}
}

// armAck starts the timer for the transport ACK of the message at the head of the send queue once
// all its packets have arrived: the queue pair must not infer the outcome of the message (OCP MRC
// 1.0, §7.2.1).
func (q *QP) armAck(now time.Duration) {
	if q.ackTimer.timed || q.cur == 0 || packet.PSNBefore(q.unack, q.sq.At(0).last()) {
		return
	}
	q.ackTimer.timed, q.ackTimer.wait, q.ackTimer.expires = true, q.cfg.ProbeTimeout,
		now+q.cfg.ackTimeout(1)
	q.ackTimer.deadline = q.ackTimer.expires
	// A responder sends the ACK together with the SACK of the last packet: after a quiet time the ACK
	// is more likely lost than late.
	if q.ackTimer.wait > 0 {
		q.ackTimer.deadline = min(q.ackTimer.expires, now+q.ackTimer.wait)
	}
}

// expireAck retransmits the highest arrived packet, because the responder answers with a transport
// ACK of all packets up to this packet. The path of an unanswered request has lost it, or its
// answers: the sprayer would else choose among the same few lost paths again, at doubling times.
func (q *QP) expireAck(now time.Duration) {
	if a := &q.ackTimer.asked; a.unanswered {
		a.unanswered = false
		q.cfg.Sprayer.Feedback(now, a.by, SignalTimeout)
	}
	// no timeout yet: the queue pair asks for the ACK as a probe asks for arrivals, at doubling
	// intervals, because answers may be lost too
	if now < q.ackTimer.expires {
		q.ackTimer.again = true
		q.ackTimer.wait *= 2
		q.ackTimer.deadline = min(q.ackTimer.expires, now+q.ackTimer.wait)
		return
	}
	q.counters.Timeouts++
	if !q.cfg.retriesLeft(q.ackTimer.retries) {
		q.failAt(now, q.sq.At(0).last(), verbs.StatusRetryExceeded)
		return
	}
	q.ackTimer.retries++
	q.ackTimer.again = true
	q.ackTimer.expires = now + q.cfg.ackTimeout(q.ackTimer.retries+1)
	q.ackTimer.deadline = q.ackTimer.expires
}
