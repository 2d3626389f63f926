package mrc

import (
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// receiveSACK handles a SACK (OCP MRC 1.0, §7.4.4 and 8.4). A SACK with a cc_type other than NSCC
// acknowledges packets like any other SACK (§7.5.5.4 permits other types). Its congestion control
// state means nothing here, so receiveSACK takes no round trip, no penalty and no loss by
// out-of-order count from the SACK, and subtracts acknowledged packets from the octets in flight.
func (q *QP) receiveSACK(now time.Duration, p *packet.MRC) (Refusal, bool) {
	s := &p.SETH
	switch {
	case !packet.PSNBefore(s.CackPSN, q.next):
		return RefusedGhost, false
	case packet.PSNDiff(s.CackPSN, q.unack) < -len(q.records):
		return RefusedStale, false
	}
	cc, err := s.NSCC()
	foreign := err != nil
	q.counters.SACKsReceived++
	info := SACK{
		Now: now, Marked: s.Mark == packet.MarkSkipOnce, OOOCount: int(cc.OOOCount),
		Penalty: cc.RcvCwndPenalty, RestoreCwnd: cc.RestoreCwnd, Retransmission: p.BTH.Retransmission,
		Probe: s.Probe,
	}
	current := false // the state is not older than the newest state seen
	if foreign {
		q.counters.CCStatesUnknown++
	} else {
		// rcvd_bytes only grows: newer SACKs overtook a SACK with a smaller value.
		grown := packet.PSNDiff(cc.RcvdBytes, q.prevRcvd)
		current = grown >= 0
		if grown > 0 {
			info.Newly = grown * packet.RcvdBytesUnit
			q.prevRcvd = cc.RcvdBytes
			q.fly(-int64(info.Newly))
		}
	}
	if cc.RcvCwndPenalty > 0 {
		q.counters.PenaltiesReceived++
	}
	q.probes.quiet(now, q.cfg.ProbeTimeout)

	var asked time.Duration // when the probe that this answers was sent
	var probed bool
	before := q.requester.arrivedOctets
	if s.Probe {
		asked, probed = q.answered(now, s, cc.Timestamp, &info)
	} else {
		q.sackedPacket(now, p, cc.Timestamp, &info)
	}

	advanced := packet.PSNBefore(q.unack, s.CackPSN)
	q.arrivedUpTo(now, s.CackPSN)
	q.arrivedIn(now, s)
	if foreign {
		info.RTT, info.RTTValid = 0, false
		info.Newly = int(q.requester.arrivedOctets - before)
		q.fly(-int64(info.Newly))
	}
	if advanced && q.cfg.dynamicMPR() {
		q.adjustWindow(now, s.MPR)
	} else if s.MPR == 0 && q.cfg.dynamicMPR() {
		q.mprUnset(now)
	}
	q.settle()
	info.InFlight = q.context.InFlight()
	q.context.OnSACK(info)
	if current {
		q.inferLoss(now, s, int(cc.OOOCount))
	}
	if probed {
		q.inferFromProbe(now, s, asked)
	}
	q.armAck(now)
	return 0, true
}

// adjustWindow follows the responder's max_psn_range (OCP MRC 1.0, §7.5.4), which cannot be beyond
// what the connection was set up with.
func (q *QP) adjustWindow(now time.Duration, mpr uint8) {
	if mpr == 0 {
		q.mprUnset(now)
		return
	}
	q.window = min(int(mpr), q.cfg.Remote.MaxMPR) * packet.MPRUnit
}

// mprUnset informs software of a SACK without max_psn_range (OCP MRC 1.0, §7.5.4).
func (q *QP) mprUnset(now time.Duration) {
	q.counters.MPRUnset++
	if q.cfg.MPRUnset != nil {
		q.cfg.MPRUnset(now)
	}
}

// sackedPacket handles the packet a SACK answers: its round trip, its path, its arrival.
func (q *QP) sackedPacket(now time.Duration, p *packet.MRC, ts uint16, info *SACK) {
	s := &p.SETH
	psn := s.AckPSN()
	rec := q.known(psn)
	info.RTT, info.RTTValid = q.roundTrip(now, ts, rec, s.Entropy, p.BTH.Retransmission)
	if rec == nil {
		return
	}
	if q.outstanding(psn) && rec.state != arrived {
		q.markArrived(now, rec, false)
	}
	if a := &q.ackTimer.asked; a.psn == psn {
		a.unanswered = false
	}
	q.feedback(now, rec, s.Entropy, p.BTH.Retransmission, sackSignal(s))
}

// sackSignal returns the signal of a SACK for the path of the answered packet or probe.
func sackSignal(s *packet.SETH) Signal {
	switch {
	case s.Mark == packet.MarkAlwaysSkip:
		return SignalBad
	case s.Mark == packet.MarkSkipOnce && s.Probe:
		return SignalProbeMarked
	case s.Mark == packet.MarkSkipOnce:
		return SignalMarked
	case s.Probe:
		return SignalProbeOK
	}
	return SignalArrived
}

// feedback passes the signal on a packet to the sprayer if the answer has the entropy value of the
// transmission that it answers: the first one, or with rtx the last one.
func (q *QP) feedback(now time.Duration, rec *record, ev packet.EV, rtx bool, s Signal) {
	w := rec.firstBy
	if rtx {
		w = rec.lastBy
	}
	if w.ev != ev {
		q.counters.EVMismatch++
		return
	}
	if s == SignalArrived || s == SignalMarked {
		q.took(now, rec)
	}
	q.cfg.Sprayer.Feedback(now, w.id, s)
}

// took reports to the sprayer how long a packet took, if the packet was sent once: of several
// transmissions nobody knows which has arrived.
func (q *QP) took(now time.Duration, rec *record) {
	if s, ok := q.cfg.Sprayer.(Timed); ok && rec.sends == 1 {
		s.Took(rec.lastBy.id, now-rec.sentAt)
	}
}

// roundTrip returns the time from a packet to its answer (OCP MRC 1.0, §8.4); ok is false if the
// time is unknown. ts is the answer's tx_timestamp; rec is the record of the packet, or nil.
func (q *QP) roundTrip(now time.Duration, ts uint16, rec *record, ev packet.EV,
	rtx bool) (rtt time.Duration, ok bool) {
	unit := q.cfg.TimestampUnit
	switch {
	case rec == nil:
		return 0, false
	case unit == 0:
		if rec.sends > 2 || rec.sends == 2 && !rtx || rec.lastBy.ev != ev {
			return 0, false
		}
		return now - rec.sentAt - q.remoteService(ts), true
	case !rtx:
		return since(now, ts, unit, rec.firstSentAt), true
	}
	// Sent again more than once: the timestamp says when, unless its 16 bits have wrapped since the
	// first time.
	rtt = since(now, ts, unit, rec.sentAt)
	return rtt, rec.sends > 1 && now-rtt-unit<<16 < rec.againAt
}

// remoteService is the service time that the answer to a packet without a timestamp reports.
func (q *QP) remoteService(ts uint16) time.Duration {
	if !q.cfg.Remote.ServiceTime {
		return 0
	}
	return time.Duration(ts) * packet.TimestampUnit
}

// since returns the time since a timestamp of a unit. The 16 bits of a timestamp wrap; sentAt
// decides how often they did, and is now where the time of sending is unknown.
func since(now time.Duration, ts uint16, unit, sentAt time.Duration) time.Duration {
	d := time.Duration(uint16(now/unit)-ts) * unit
	turn := unit << 16
	if over := now - sentAt - d; over > turn/2 {
		d += (over + turn/2) / turn * turn
	}
	return d
}

// arrivedUpTo takes a cumulative acknowledgement.
func (q *QP) arrivedUpTo(now time.Duration, psn uint32) {
	for packet.PSNBefore(q.unack, psn) {
		q.unack = packet.PSNAdd(q.unack, 1)
		rec := q.record(q.unack)
		q.markArrived(now, rec, true)
		q.waiting -= int(rec.size)
	}
}

// arrivedIn takes the bitmap of a SACK.
func (q *QP) arrivedIn(now time.Duration, s *packet.SETH) {
	base := s.SACKBase()
	for bits, i := s.SACKBitmap, 0; bits != 0; bits, i = bits>>1, i+1 {
		if bits&1 == 0 {
			continue
		}
		if psn := packet.PSNAdd(base, i); q.outstanding(psn) {
			q.markArrived(now, q.record(psn), true)
		}
	}
}

// markArrived notes the arrival of a packet. A packet waiting for retransmission no longer counts
// as in flight, but the responder counts the packet, so markArrived adds its octets back (OCP MRC
// 1.0, §8.4). With tell, markArrived reports a packet sent once to the sprayer.
func (q *QP) markArrived(now time.Duration, rec *record, tell bool) {
	switch rec.state {
	case arrived:
		return
	case lost:
		q.lost--
		q.fly(int64(rec.size))
		q.counters.ResendsSaved++
	case flying:
		q.flying--
	}
	rec.state = arrived
	q.requester.arrivedOctets += int64(rec.size)
	if packet.PSNBefore(q.highest, rec.psn) {
		q.highest = rec.psn
	}
	if tell && rec.sends == 1 {
		q.took(now, rec)
		q.cfg.Sprayer.Feedback(now, rec.lastBy.id, SignalArrived)
	}
}

// settle clears the octets in flight when no packet is in flight: remainders from rounding, and
// octets acknowledged by lost SACKs. Otherwise these octets would fill a small window forever, and
// retransmissions would wait for the window.
func (q *QP) settle() {
	if q.flying == 0 {
		q.land()
	}
}

// receiveACK handles an Acknowledge: an ACK, or a NAK with the reason for a failed request.
func (q *QP) receiveACK(now time.Duration, psn uint32, aeth packet.AETH) (Refusal, bool) {
	if !packet.PSNBefore(psn, q.next) {
		return RefusedGhost, false
	}
	switch aeth.Syndrome.Kind() {
	case packet.SyndromeACK:
		if !packet.PSNBefore(q.acked, psn) {
			return RefusedStale, false
		}
		q.counters.AcksReceived++
		q.executedUpTo(now, psn)
		return 0, true
	case packet.SyndromeNAK:
		return q.receiveNAK(now, psn, aeth.Syndrome.NAKCode())
	}
	return RefusedSyndrome, false // MRC has no RNR NAK
}

// executedUpTo takes a transport ACK: it completes work requests in the order they were posted, and
// says too that the packets have arrived (§7.2.1).
func (q *QP) executedUpTo(now time.Duration, psn uint32) {
	q.arrivedUpTo(now, psn)
	q.acked = psn
	for q.cur > 0 && packet.PSNDiff(q.sq.At(0).last(), q.acked) <= 0 {
		q.completeSend(now, verbs.StatusOK)
	}
	q.ackTimer = ackTimer{}
	q.settle()
	q.armAck(now)
}

// receiveNAK ends the connection: requests before psn were executed, the one at psn was not (OCP
// MRC 1.0, tables 6-11 and 6-12: class B).
func (q *QP) receiveNAK(now time.Duration, psn uint32, code packet.NAKCode) (Refusal, bool) {
	var status verbs.Status
	switch code {
	case packet.NAKInvalidRequest:
		status = verbs.StatusRemoteInvalidRequest
	case packet.NAKRemoteAccess:
		status = verbs.StatusRemoteAccess
	case packet.NAKRemoteOperational:
		status = verbs.StatusRemoteOperational
	default:
		return RefusedSyndrome, false // sequence errors are not applicable
	}
	if !packet.PSNBefore(q.acked, psn) {
		return RefusedStale, false
	}
	q.counters.NAKsReceived++
	q.executedUpTo(now, packet.PSNAdd(psn, -1))
	q.failAt(now, psn, status)
	return 0, true
}

// receiveNACK handles a NACK (OCP MRC 1.0, table 7-3 and §8.5).
func (q *QP) receiveNACK(now time.Duration, p *packet.MRC) (Refusal, bool) {
	n := &p.NETH
	switch {
	case !packet.PSNBefore(n.PSN, q.next):
		return RefusedGhost, false
	case !n.Reason.Known():
		return RefusedReason, false
	}
	q.counters.NACKsReceived++
	switch n.Reason {
	case packet.NACKNoBitmap, packet.NACKNoPacketBuffer, packet.NACKNoResource:
		q.counters.ResourceNACKsReceived++
	}
	q.probes.quiet(now, q.cfg.ProbeTimeout)
	if !n.Reason.Retransmittable() {
		if !packet.PSNBefore(q.acked, n.PSN) {
			return RefusedStale, false
		}
		q.failAt(now, n.PSN, verbs.StatusRemoteOperational)
		return 0, true
	}
	info := NACK{Now: now, Reason: n.Reason}
	rec := q.known(n.PSN)
	info.RTT, info.RTTValid = q.roundTrip(now, n.Timestamp, rec, n.Entropy, p.BTH.Retransmission)
	// A NACK on an earlier transmission of a packet that was sent again since says nothing of the
	// later one.
	if rec != nil && rec.state == flying && q.outstanding(n.PSN) &&
		(rec.sends == 1 || p.BTH.Retransmission && n.Entropy == rec.lastBy.ev) {
		if !q.cfg.retriesLeft(rec.retries) {
			q.failAt(now, n.PSN, verbs.StatusRetryExceeded)
			return 0, true
		}
		rec.retries++
		rec.expired = 0
		info.Size = int(rec.size)
		q.giveUp(rec, false)
	}
	info.InFlight = q.context.InFlight()
	q.context.OnNACK(info)
	if rec != nil {
		signal := SignalRefused
		switch n.Reason {
		case packet.NACKTrimmed:
			signal = SignalTrimmed
		case packet.NACKTrimmedLastHop:
			signal = SignalTrimmedLastHop
		}
		q.feedback(now, rec, n.Entropy, p.BTH.Retransmission, signal)
	}
	return 0, true
}

// giveUp takes a packet in flight for lost. The queue pair retransmits the packet when possible,
// after packets lost earlier. A packet whose timer expired goes before packets with later PSNs,
// because its last timeout ends the queue pair, however many packets wait.
func (q *QP) giveUp(rec *record, expired bool) {
	rec.state = lost
	q.flying--
	q.lost++
	q.fly(-int64(rec.size))
	q.settle()
	if expired && q.retx.Len() > 0 && packet.PSNBefore(rec.psn, *q.retx.At(0)) {
		q.retx.PushFront(rec.psn)
		return
	}
	q.retx.Push(rec.psn)
}

// completeSend completes the work request at the head of the send queue.
func (q *QP) completeSend(now time.Duration, status verbs.Status) {
	m := q.sq.Pop()
	q.first++
	if q.cur > 0 {
		q.cur--
		if m.immediate() {
			q.wimm--
		}
	}
	c := verbs.Completion{At: now, ID: m.wr.ID, Op: m.wr.Op, Status: status}
	if status == verbs.StatusOK {
		c.Octets = m.wr.Octets()
	}
	q.complete(c)
}
