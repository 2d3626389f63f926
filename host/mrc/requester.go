package mrc

import (
	"errors"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/internal/ring"
	"github.com/weft-sdn/weft/packet"
)

// requester is the sending half of a queue pair. A packet is out of its hands in two steps: SACKs
// say that it arrived (OCP MRC 1.0, table 7-4), and a transport ACK that it was executed, which
// alone completes work requests.
type requester struct {
	sq    ring.Ring[outbound] // messages not completed
	first uint32              // number of the message at the head of sq
	cur   int                 // index in sq of the message next is in; its length when all is sent
	next  uint32              // PSN to send next: one after max_psn_sent
	end   uint32              // one after the last PSN posted

	postedMSN   uint16 // of the last message posted; the first has 1
	postedRQMSN uint16 // of the last WRITE with Immediate posted; the first has 1

	unack  uint32 // unack_psn: the last cumulative acknowledgement
	acked  uint32 // the last PSN a transport ACK acknowledged: never after unack
	window int    // packets after unack that may be sent: the peer's max_psn_range
	wimm   int    // WRITEs with Immediate begun and not completed

	scoreboard
	held       bool // memory of the work request did not answer, and the owner has not called Resume
	windowTold int  // the packets of the congestion window that the sprayer was told of last
	sinceAsk   int  // octets sent since the last packet that asked for an acknowledgement

	timed    bool          // deadline is set
	deadline time.Duration // no packet's timeout expires before

	ackTimer ackTimer
	probes   probes
	train    train
}

// scoreboard has a record of each packet after unack_psn, and counts them.
type scoreboard struct {
	highest uint32   // highest PSN known to have arrived
	records []record // by PSN modulo their number, a power of two
	// PSNs to retransmit; the queue pair skips a PSN whose record is no longer lost
	retx          ring.Ring[uint32]
	lost          int    // records in state lost
	flying        int    // records in state flying
	waiting       int    // octets of the records after unack, of nominal_pktsize
	inFlight      int64  // table 8-3; below 0 after a packet taken for lost arrived
	arrivedOctets int64  // of packets known to have arrived, since the start
	prevRcvd      uint32 // prev_rcvd_bytes
}

// ackTimer waits for the transport ACK of the message at the head of the send queue after all its
// packets arrived.
type ackTimer struct {
	timed    bool          // it is awaited
	expires  time.Duration // its Local ACK Timeout
	wait     time.Duration // until it is asked for before that, from the last time
	deadline time.Duration // the earlier of the two
	retries  int
	again    bool // the packet unack must be sent again to get an ACK
	asked    ask  // the last time
}

// ask is a packet sent again for its ACK.
type ask struct {
	unanswered bool
	psn        uint32
	by         PathID
}

// outbound is a message of the send queue.
type outbound struct {
	wr      verbs.WorkRequest
	psn     uint32 // of its first packet
	packets int
	msn     uint16
	rqmsn   uint16
}

func (m *outbound) last() uint32    { return packet.PSNAdd(m.psn, m.packets-1) }
func (m *outbound) immediate() bool { return m.wr.Op == verbs.OpWriteImmediate }

type recordState uint8

const (
	unsent  recordState = iota
	flying              // sent, and thought to be under way
	lost                // to be sent again
	arrived             // acknowledged by a SACK or a transport ACK
)

// record describes a sent packet. The record outlives the acknowledgement of the packet, until a
// new packet takes its place.
type record struct {
	psn     uint32
	message uint32 // number of its message
	size    int32  // nominal_pktsize
	state   recordState
	sends   uint8  // at most 255
	noted   bool   // SACKs marked the packet lost, which happens once (§7.4.5)
	cwnd    int    // octets; at the last transmission
	before  uint32 // PSN of the first new packet after the last transmission
	expired int    // timeouts since the timer was last set to its linear value
	retries int    // timeouts and NACKs

	firstBy, lastBy      sentBy
	firstSentAt, againAt time.Duration // for the first time, and for the second
	sentAt               time.Duration // for the last time
	deadline             time.Duration
}

// sentBy is the path of a packet sent.
type sentBy struct {
	id PathID
	ev packet.EV
}

func newRequester(sqPSN uint32, a Attributes) requester {
	window := a.MaxMPR * packet.MPRUnit
	n := 1
	for n <= window {
		n *= 2
	}
	before := packet.PSNAdd(sqPSN, -1)
	return requester{next: sqPSN, end: sqPSN, unack: before, acked: before, window: window,
		scoreboard: scoreboard{highest: before, records: make([]record, n)}}
}

func (b *scoreboard) record(psn uint32) *record { return &b.records[int(psn)&(len(b.records)-1)] }

// known is the record of a packet that was sent, or nil.
func (b *scoreboard) known(psn uint32) *record {
	if rec := b.record(psn); rec.psn == psn && rec.state != unsent {
		return rec
	}
	return nil
}

// outstanding reports whether a PSN was sent and is not yet cumulatively acknowledged.
func (r *requester) outstanding(psn uint32) bool {
	return packet.PSNBefore(r.unack, psn) && packet.PSNBefore(psn, r.next)
}

// UnackPSN is the last PSN that is cumulatively acknowledged: all up to it have arrived.
func (q *QP) UnackPSN() uint32 { return q.unack }

// NextPSN is one after the highest PSN sent.
func (q *QP) NextPSN() uint32 { return q.next }

// InFlight is the octets sent and still thought to be under way (OCP MRC 1.0, table 8-3).
func (q *QP) InFlight() int { return int(max(0, q.requester.inFlight)) }

// fly changes what is in flight by octets.
func (q *QP) fly(octets int64) {
	q.requester.inFlight += octets
	q.context.inFlight += octets
}

// land sets the octets in flight to 0.
func (q *QP) land() { q.fly(-q.requester.inFlight) }

// SendWindow returns the requester's current max_psn_range, in packets.
func (q *QP) SendWindow() int { return q.window }

// SendQueueLen returns the number of work requests posted but not completed.
func (q *QP) SendQueueLen() int { return q.sq.Len() }

// Schedule is where a queue pair stands with the scheduler (OCP MRC 1.0, §8.3).
type Schedule uint8

// States of figure 4.
const (
	Idle    Schedule = iota // nothing to do
	Pending                 // all is sent, not all acknowledged
	Active                  // something to send, and no leave to
	Ready                   // something to send
)

var scheduleNames = [...]string{"IDLE", "PENDING", "ACTIVE", "READY"}

// String is the name the specification gives the state.
func (s Schedule) String() string { return scheduleNames[s] }

// Schedule is the queue pair's state.
func (q *QP) Schedule() Schedule {
	switch {
	case q.sq.Len() == 0:
		return Idle
	case q.sendable():
		return Ready
	case q.lost > 0 || q.ackTimer.again || q.cur < q.sq.Len():
		return Active
	}
	return Pending
}

// sendable reports whether a packet may leave as far as windows go.
func (q *QP) sendable() bool {
	if q.state != qpReady || q.held || !q.context.open() {
		return false
	}
	_, again := q.nextAgain()
	return q.ackTimer.again || again || q.mayBegin()
}

// mayBegin reports whether the next new packet is within what the responder can track.
func (q *QP) mayBegin() bool {
	if q.cur >= q.sq.Len() || packet.PSNDiff(q.next, q.unack) > q.window {
		return false
	}
	m := q.sq.At(q.cur)
	return m.psn != q.next || !m.immediate() || q.wimm < q.cfg.Remote.MaxWIMM
}

// nextAgain returns the first packet to retransmit, then at the head of retx. A packet beyond a
// shrunk window waits until the window moves (OCP MRC 1.0, §7.5.4).
func (q *QP) nextAgain() (psn uint32, ok bool) {
	if q.lost == 0 {
		q.retx.Clear()
		return 0, false
	}
	for n := q.retx.Len(); n > 0; n-- {
		psn := *q.retx.At(0)
		if q.record(psn).state != lost { // it has arrived, or was sent again
			q.retx.Pop()
			continue
		}
		if packet.PSNDiff(psn, q.unack) <= q.window {
			return psn, true
		}
		q.retx.Push(q.retx.Pop())
	}
	return 0, false
}

// send sends the next packet by a free port. false: no path uses a free port.
func (q *QP) send(now time.Duration, free packet.PortMask) bool {
	if packets := max(1, q.context.Window()/(q.cfg.PMTU+nominalHeader)); packets != q.windowTold {
		q.windowTold = packets
		q.cfg.Sprayer.SetWindow(packets)
	}
	path, ok := q.dataPath(now, free)
	if !ok {
		return false
	}
	if psn, ok := q.nextAgain(); ok {
		q.retx.Pop() // refused again, it is behind the others
		if q.transmit(now, psn, path); q.held {
			q.retx.PushFront(psn)
		}
		return true
	}
	if q.mayBegin() {
		q.transmit(now, q.next, path)
		return true
	}
	if q.transmit(now, q.unack, path); !q.held {
		q.ackTimer.again, q.ackTimer.asked = false, ask{true, q.unack, path.ID}
		q.counters.AckProbes++
	}
	return true
}

// train is the packets of a burst that are still to go by a path.
type train struct {
	path Path
	left int
}

// dataPath is the path of the next packet by a free port: that of the last packet, as far as
// Config.Burst goes, or the next one.
func (q *QP) dataPath(now time.Duration, free packet.PortMask) (Path, bool) {
	reachable := q.host.reachable(q.cfg.RemoteAddr)
	t := &q.train
	if t.left > 0 && (free & reachable).Has(t.path.Port) {
		if s, ok := q.cfg.Sprayer.(Repeater); ok && s.Again(t.path.ID) {
			t.left--
			return t.path, true
		}
	}
	path, ok := q.path(now, UseData, q.cfg.Sprayer.Take(free&reachable, reachable&^free))
	if ok {
		*t = train{path, q.host.cfg.Burst - 1}
	}
	return path, ok
}

// transmit sends the packet with a PSN: the next new packet, a lost packet, or the packet at unack
// to request its transport ACK. Without the memory of its payload, transmit sends nothing, and
// holds the queue pair (verbs.ErrLater) or ends it.
func (q *QP) transmit(now time.Duration, psn uint32, path Path) {
	rec := q.record(psn)
	again := psn != q.next
	message := rec.message
	if !again {
		message = q.first + uint32(q.cur)
	}
	payload, err := q.payload(psn, message)
	if errors.Is(err, verbs.ErrLater) {
		q.held = true
		return
	}
	if err != nil {
		q.failAt(now, psn, verbs.StatusLocalProtection)
		return
	}
	if !again {
		*rec = record{psn: psn, message: message}
		m := q.sq.At(q.cur)
		if psn == m.psn && m.immediate() {
			q.wimm++
		}
		q.next = packet.PSNAdd(psn, 1)
		if psn == m.last() {
			q.cur++
		}
	}
	out, last := q.compose(now, psn, message, path, again)
	out.Payload = payload
	size := nominalSize(out.Len() - packet.EthernetLen - packet.IPv6Len - outerLen(out))
	wanted := rec.state != arrived // else it is sent again for its ACK alone
	if rec.state == lost {
		q.lost--
	}
	rec.size, rec.sentAt, rec.cwnd, rec.before = int32(size), now, q.context.Window(), q.next
	rec.lastBy = sentBy{path.ID, path.EV}
	switch rec.sends {
	case 0:
		rec.firstBy, rec.firstSentAt = rec.lastBy, now
		q.waiting += size
	case 1:
		rec.againAt = now
	}
	if rec.sends < 255 {
		rec.sends++
	}
	if wanted {
		rec.state = flying
		q.flying++
		q.fly(int64(size))
		rec.deadline = now + q.cfg.ackTimeout(rec.expired+1)
		if !q.timed || rec.deadline < q.deadline {
			q.timed, q.deadline = true, rec.deadline
		}
		q.context.OnSend(Sent{Now: now, Size: size, InFlight: q.context.InFlight(),
			Retransmission: again})
	}
	q.sinceAsk += size
	out.BTH.AckReq = last || !wanted || q.closing()
	if out.BTH.AckReq {
		q.sinceAsk = 0
	}
	q.counters.RequestsSent++
	q.counters.PayloadSent += uint64(len(out.Payload))
	if again {
		q.counters.RequestsResent++
	}
	q.probes.quiet(now, q.cfg.ProbeTimeout)
	q.host.transmit(now, path.Port)
}

// closing reports whether the packet just sent should ask for an acknowledgement because nothing
// may follow it: a responder waits for more otherwise. When much is in flight it hears of enough
// anyway.
func (q *QP) closing() bool {
	w := q.context.Window()
	return q.sinceAsk >= min(q.cfg.SACKThreshold, w/2) && !q.sendable()
}

// compose fills in the host's outgoing packet for a PSN of a message; last says that the packet
// ends it.
func (q *QP) compose(now time.Duration, psn, message uint32, path Path,
	again bool) (out *packet.MRC, last bool) {
	m := q.sq.At(int(message - q.first))
	i := packet.PSNDiff(psn, m.psn)
	offset := i * q.cfg.PMTU
	last = i == m.packets-1
	bth := packet.MRCBTH{
		Opcode: opcodeOf(i == 0, last, m.immediate()), Solicited: last && m.wr.Solicited,
		PKey: q.host.cfg.PKey, DestQPN: q.cfg.RemoteQPN,
		Retransmission: again, Timestamped: q.cfg.TimestampUnit != 0, PSN: psn,
	}
	ecn := packet.ECT0
	if q.cfg.NotECT {
		ecn = packet.NotECT
	}
	out = q.host.prepare(q.cfg.RemoteAddr, path, q.dscp(bth, q.cfg.Trimmable &&
		q.cfg.Remote.TrimNACK), ecn)
	out.BTH = bth
	out.METH = packet.METH{RQMSN: m.rqmsn, MSN: m.msn}
	out.TSETH = q.stamp(now)
	out.RETH = packet.RETH{VA: m.wr.RemoteVA + uint64(offset), RKey: m.wr.RKey,
		DMALength: uint32(m.wr.Octets())}
	out.ImmDt = packet.ImmDt(m.wr.Immediate)
	return out, last
}

// dscp returns the codepoint of a packet that the requester sends.
func (q *QP) dscp(bth packet.MRCBTH, trimmable bool) uint8 {
	c := &q.host.cfg.Wire.DSCP
	switch own := q.cfg.DSCP; {
	case own == 0 || c.High(own) || c.MayTrim(own):
		return c.Of(bth, trimmable)
	case own == c.NoTrim:
		return c.Of(bth, false)
	default:
		return own
	}
}

// payload returns the payload of the packet with a PSN in a message.
func (q *QP) payload(psn, message uint32) ([]byte, error) {
	m := q.sq.At(int(message - q.first))
	offset := packet.PSNDiff(psn, m.psn) * q.cfg.PMTU
	end := min(offset+q.cfg.PMTU, m.wr.Octets())
	if m.wr.From == nil {
		return m.wr.Data[offset:end], nil
	}
	if offset == end { // an empty message needs no memory
		return nil, nil
	}
	read := q.host.memory[:end-offset]
	_, err := m.wr.From.ReadAt(read, int64(offset))
	return read, err
}

func opcodeOf(first, last, immediate bool) packet.Opcode {
	switch {
	case first && last && immediate:
		return packet.OpMRCWriteOnlyImmediate
	case first && last:
		return packet.OpMRCWriteOnly
	case last && immediate:
		return packet.OpMRCWriteLastImmediate
	case last:
		return packet.OpMRCWriteLast
	case first:
		return packet.OpMRCWriteFirst
	}
	return packet.OpMRCWriteMiddle
}

// outerLen is the octets of the headers around the inner packet.
func outerLen(p *packet.MRC) int {
	switch {
	case p.Routed:
		return packet.IPv6Len + p.SRH.Len()
	case p.Encapsulated:
		return packet.IPv6Len
	}
	return 0
}

// stamp returns the timestamp for a packet sent now; none if the requester remembers send times
// itself.
func (q *QP) stamp(now time.Duration) packet.TSETH {
	unit := q.cfg.TimestampUnit
	if unit == 0 {
		return packet.TSETH{}
	}
	return packet.TSETH{Timestamp: uint16(now / unit), OwnUnit: unit != packet.TimestampUnit,
		Type: packet.TSETHTimestamp}
}

// backlogOf is the octets of nominal_pktsize that a message of n octets takes, for OnNewData
// (§8.6).
func (q *QP) backlogOf(n, packets int, immediate bool) int {
	h := packet.METHLen + packet.RETHLen
	if q.cfg.TimestampUnit != 0 {
		h += packet.TSETHLen
	}
	total := n + packets*nominalSize(packet.UDPLen+packet.BTHLen+h+packet.ICRCLen) + -n&3
	if immediate {
		total += packet.ImmDtLen
	}
	return total
}
