package mrc

import (
	"errors"
	"slices"
	"time"

	"github.com/weft-sdn/weft/host/internal/ibta"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/internal/ring"
	"github.com/weft-sdn/weft/packet"
)

// responder is the receiving half of a queue pair: it places WRITEs in whatever order their packets
// arrive, acknowledges them selectively, and completes those with immediate data in the order they
// were sent.
type responder struct {
	tracker
	rq ring.Ring[verbs.RecvRequest]

	rcvdBytes   uint64      // rx_rcvd_bytes: nominal_pktsize of the packets received, each once
	sackTrigger int         // sack_trigger_cnt: octets since the last SACK
	ackReqs     bitmap      // PSNs above cack whose packet asked for an acknowledgement
	lasts       bitmap      // PSNs above cack that end a message
	stash       []immediate // immediate data received above cack, in the order of its PSNs
	msn         uint32      // messages received, modulo 2^24
	// underway are writes that go on although their packets, by PSN, were dropped.
	underway map[uint32]*verbs.Underway

	fault   fault // the lowest request that cannot be executed
	faulted bool
}

// immediate is a WRITE with Immediate whose last packet has arrived but cannot complete yet.
type immediate struct {
	psn       uint32 // of its last packet
	data      uint32
	octets    int
	solicited bool
}

// fault is a request that the responder cannot execute. The responder answers the fault after all
// earlier requests, because a NAK acknowledges earlier requests, and drops later requests.
type fault struct {
	psn    uint32
	code   packet.NAKCode
	reason Refusal
}

func newResponder(rqPSN uint32, a Attributes) responder {
	size := a.MaxMPR * packet.MPRUnit
	return responder{
		tracker: newTracker(rqPSN, size), ackReqs: newBitmap(size + 1), lasts: newBitmap(size + 1),
		stash: make([]immediate, 0, a.MaxWIMM),
	}
}

// CackPSN is the responder's cumulative acknowledgement: all packets up to it have been received.
func (q *QP) CackPSN() uint32 { return q.cack }

// MSN is the number of messages received, modulo 2^24.
func (q *QP) MSN() uint32 { return q.msn }

// ReceiveQueueLen is the number of receive requests posted and not used.
func (q *QP) ReceiveQueueLen() int { return q.rq.Len() }

// MPR is the responder's present max_psn_range in packet.MPRUnit.
func (q *QP) MPR() int { return q.tracker.mpr / packet.MPRUnit }

// OutOfOrder is the number of packets that were received above CackPSN (rx_ooo_count).
func (q *QP) OutOfOrder() int { return q.ooo }

// shape is what the opcode of a request says.
type shape struct{ first, last, immediate bool }

// shapeOf is the shape of a WRITE; ok is false for requests that MRC does not have.
func shapeOf(o packet.Opcode) (s shape, ok bool) {
	switch o {
	case packet.OpMRCWriteFirst:
		return shape{first: true}, true
	case packet.OpMRCWriteMiddle:
		return shape{}, true
	case packet.OpMRCWriteLast:
		return shape{last: true}, true
	case packet.OpMRCWriteLastImmediate:
		return shape{last: true, immediate: true}, true
	case packet.OpMRCWriteOnly:
		return shape{first: true, last: true}, true
	case packet.OpMRCWriteOnlyImmediate:
		return shape{first: true, last: true, immediate: true}, true
	}
	return shape{}, false
}

// receiveRequest handles a request packet. It returns the reason when the packet is not executed.
func (q *QP) receiveRequest(now time.Duration, p *packet.MRC) (Refusal, bool) {
	if q.join(now, p) {
		return 0, true
	}
	q.host.placeTogether(now)
	if q.state != qpReady {
		return RefusedQPState, false
	}
	psn := p.BTH.PSN
	standing := q.standing(psn)
	if standing == outside {
		return RefusedWindow, false
	}
	if p.Trim != packet.NotTrimmed {
		return q.receiveTrimmed(now, p, standing), false
	}
	switch standing {
	case duplicate:
		q.acknowledgeDuplicate(now, p)
		return RefusedDuplicate, false
	case shrunk:
		q.nack(now, p, packet.NACKPSNOutOfRange)
		return RefusedShrunk, false
	}
	if q.faulted && packet.PSNBefore(q.fault.psn, psn) {
		return RefusedFault, false
	}
	if q.cfg.Admit != nil {
		if reason, ok := q.cfg.Admit(now, psn, len(p.Payload)); !ok {
			q.counters.ResourceNACKsSent++
			q.nack(now, p, reason)
			return RefusedResource, false
		}
	}

	s, known := shapeOf(p.BTH.Opcode)
	f, ok := q.execute(p, s, known)
	return q.executed(now, arrivalOf(p, s), f, ok)
}

// executed notes a request that was executed, or has the fault f.
func (q *QP) executed(now time.Duration, a arrival, f fault, ok bool) (Refusal, bool) {
	switch {
	case ok:
		q.counters.RequestsReceived++
		q.counters.PayloadReceived += uint64(a.octets)
	case f.reason == RefusedResource:
		// Its memory does not answer now. NACKs would use up the retries of the peer in a few round
		// trips, so the packet counts as lost.
		return f.reason, false
	default:
		q.fault, q.faulted = f, true // before any other there is: packets after that were dropped above
	}
	q.tracker.receive(a.psn)
	if a.asks {
		q.ackReqs.set(a.psn)
	}
	if a.last {
		q.lasts.set(a.psn)
	}
	q.rcvdBytes += uint64(nominalSize(a.length))
	q.sackTrigger += max(a.octets, q.cfg.MinAckPacket)
	q.counters.MaxOOO = max(q.counters.MaxOOO, q.ooo)
	q.progress(now, a.question)
	return f.reason, ok
}

// execute places the payload of a packet and keeps its immediate data; ok is false when it cannot.
func (q *QP) execute(p *packet.MRC, s shape, known bool) (f fault, ok bool) {
	invalid := fault{p.BTH.PSN, packet.NAKInvalidRequest, RefusedInvalidRequest}
	if !known || !lengthFits(s, len(p.Payload), int(p.RETH.DMALength), q.cfg.PMTU) {
		return invalid, false
	}
	if s.immediate && len(q.stash) >= q.cfg.Local.MaxWIMM {
		return invalid, false
	}
	if n := len(p.Payload); n > 0 { // a WRITE of nothing needs no region
		region := q.host.regions.Region(p.RETH.RKey)
		if !region.Admits(q.cfg.Domain, p.RETH.VA, n) {
			return fault{p.BTH.PSN, packet.NAKRemoteAccess, RefusedRemoteAccess}, false
		}
		if err := q.place(region, p); err != nil {
			return unplaced(p.BTH.PSN, err), false
		}
	}
	if s.immediate {
		q.keep(immediate{psn: p.BTH.PSN, data: uint32(p.ImmDt), octets: int(p.RETH.DMALength),
			solicited: p.BTH.Solicited})
	}
	return fault{}, true
}

// unplaced is what follows from an error of memory.
func unplaced(psn uint32, err error) fault {
	if errors.Is(err, verbs.ErrLater) {
		return fault{reason: RefusedResource}
	}
	return fault{psn, packet.NAKRemoteOperational, RefusedOperational}
}

// place writes the payload of a packet, once: what a write has placed whose packet was dropped, the
// program may have read and had replaced before the packet comes again.
func (q *QP) place(to *verbs.Region, p *packet.MRC) error {
	u := q.underway[p.BTH.PSN]
	if u == nil {
		err := to.Place(p.RETH.VA, p.Payload)
		if err != nil {
			q.note(p.BTH.PSN, err)
		}
		return err
	}
	if !u.Ended {
		return u
	}
	delete(q.underway, p.BTH.PSN)
	return u.Err
}

// note keeps a write of a packet that has begun. A function of its own allocates for packets with
// errors alone.
func (q *QP) note(psn uint32, err error) {
	var u *verbs.Underway
	if !errors.As(err, &u) {
		return
	}
	if q.underway == nil {
		q.underway = make(map[uint32]*verbs.Underway)
	}
	q.underway[psn] = u
}

// lengthFits reports whether a packet has as much payload as its place in a message of dmalen
// octets allows (OCP MRC 1.0, table 6-14, length errors 2 to 4).
func lengthFits(s shape, n, dmalen, pmtu int) bool {
	if dmalen > ibta.MaxMessage {
		return false
	}
	switch {
	case s.first && s.last:
		return n == dmalen && n <= pmtu
	case s.last:
		return dmalen > pmtu && n == (dmalen-1)%pmtu+1
	case s.first:
		return dmalen > pmtu && n == pmtu
	}
	return dmalen > 2*pmtu && n == pmtu
}

// keep puts immediate data into the stash, in PSN order.
func (q *QP) keep(m immediate) {
	i := len(q.stash)
	for i > 0 && packet.PSNBefore(m.psn, q.stash[i-1].psn) {
		i--
	}
	q.stash = slices.Insert(q.stash, i, m)
}

// progress moves the cumulative acknowledgement forward after a received packet, completes requests
// up to there, and sends the due SACK, transport ACK and NAK.
func (q *QP) progress(now time.Duration, p question) {
	advanced, asked, failed := false, false, false
	for !failed && q.advance() {
		advanced = true
		asked = q.ackReqs.take(q.cack) || asked
		last := q.lasts.take(q.cack)
		if failed = q.faulted && q.cack == q.fault.psn; failed {
			break
		}
		if len(q.stash) > 0 && q.stash[0].psn == q.cack && !q.deliver(now) {
			q.fault, q.faulted, failed = fault{q.cack, packet.NAKRemoteOperational, RefusedOperational},
				true, true
			break
		}
		if last {
			q.msn = packet.PSNAdd(q.msn, 1)
		}
	}
	// asked: an earlier packet asked, and this one closes the gap before it (§7.5.2).
	due := asked || p.asks || p.retransmission || p.marked || q.sackTrigger > q.cfg.SACKThreshold
	later := due && !failed && q.owe(p, asked)
	if due && !later {
		q.sack(now, p)
	} else {
		q.noteUnsacked(p.psn, advanced)
	}
	switch {
	case later:
	case failed:
		q.counters.NAKsSent++
		q.transportACK(now, q.fault.psn, packet.NAKSyndrome(q.fault.code))
		q.fail(now)
	case asked:
		q.ack(now)
	}
}

// deliver completes the WRITE with Immediate at the head of the stash; false when no receive
// request is posted for it.
func (q *QP) deliver(now time.Duration) bool {
	if q.rq.Len() == 0 && q.cfg.Starved != nil {
		q.cfg.Starved()
	}
	if q.rq.Len() == 0 {
		return false
	}
	m := q.stash[0]
	q.stash = slices.Delete(q.stash, 0, 1)
	q.complete(verbs.Completion{
		At: now, ID: q.rq.Pop().ID, Recv: true, Op: verbs.OpWriteImmediate, Octets: m.octets,
		Immediate: m.data, HasImmediate: true, Solicited: m.solicited,
	})
	return true
}

// acknowledgeDuplicate answers a duplicate packet with a SACK, and with a transport ACK if the
// cumulative acknowledgement covers the packet. A duplicate above the cumulative acknowledgement
// that asks for an ACK gets the ACK when the cumulative acknowledgement reaches the packet.
func (q *QP) acknowledgeDuplicate(now time.Duration, p *packet.MRC) {
	q.counters.Duplicates++
	q.sack(now, questionOf(p))
	if packet.PSNDiff(p.BTH.PSN, q.cack) <= 0 {
		q.ack(now)
	} else if p.BTH.AckReq {
		q.ackReqs.set(p.BTH.PSN)
	}
}

// receiveTrimmed answers a trimmed packet, and never places its remaining payload (OCP MRC 1.0,
// §7.5.3).
func (q *QP) receiveTrimmed(now time.Duration, p *packet.MRC, s standing) Refusal {
	q.counters.Trimmed++
	if s == duplicate || !q.cfg.Local.TrimNACK {
		q.sack(now, questionOf(p)) // says that the packet has arrived before, or at least what has
	}
	if q.cfg.Local.TrimNACK {
		reason := packet.NACKTrimmed
		if p.Trim == packet.TrimmedLastHop {
			reason = packet.NACKTrimmedLastHop
		}
		q.nack(now, p, reason)
	}
	return RefusedTrimmed
}

// ack sends a transport ACK.
func (q *QP) ack(now time.Duration) {
	q.counters.AcksSent++
	q.transportACK(now, q.cack, packet.ACKSyndrome(packet.CreditInvalid))
}

// SetMPR changes the responder's max_psn_range, in packet.MPRUnit, while the connection runs (OCP
// MRC 1.0, §7.5.4). It cannot be greater than what the connection was set up with; verbs.ErrConfig
// for that, and where either end does not support it.
func (q *QP) SetMPR(mpr int) error {
	if !q.cfg.dynamicMPR() {
		return q.wrong("MPR", mpr, "none: MRC_QP_DYNAMIC_MPR is not on at both ends")
	}
	if mpr < 1 || mpr > q.cfg.Local.MaxMPR {
		return q.wrong("MPR", mpr, "1 to Local.MaxMPR")
	}
	q.tracker.mpr = mpr * packet.MPRUnit
	return nil
}

// nominalHeader is nominal_hdrsize: what nominal_pktsize has beside the UDP length (OCP MRC 1.0,
// §8.3.1).
const nominalHeader = 40

// nominalSize is nominal_pktsize for a UDP length.
func nominalSize(udpLength int) int { return udpLength + nominalHeader }

func marked(p *packet.MRC) bool { return packet.ECN(p.IPv6.TrafficClass) == packet.CE }
