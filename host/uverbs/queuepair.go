//go:build linux

package uverbs

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/internal/ring"
	"github.com/weft-sdn/weft/packet"
)

// queuePair is a queue pair of an application. From the state RTR on, the transport has a queue
// pair for it.
type queuePair struct {
	queues
	process *process
	is      qpRequest
	attr    qpAttr
	domain  uint32
	send    *completions
	receive *completions
	qp      *mrc.QP // nil before RTR
	sent    ring.Ring[sentWork]
	ahead   aheadFor
	hint    *hintObject

	noted  bool // in Server.noted
	told   bool // of its failure
	broken bool // indices of its rings made no sense
	gone   bool // the process has destroyed it
}

// queues are the rings of a queue pair.
type queues struct {
	ring                                         *shared
	sqDepth, sqEntry, rqDepth, rqEntry, rqOffset uint32
	sqTaken, rqTaken                             uint32 // handed to the transport
	sqDone, rqDone                               uint32 // and complete
	// entry is a copy of a queue entry, out of reach of the process.
	entry []byte
}

// sentWork holds the data for a completion of the send queue that the transport does not know.
type sentWork struct {
	id       uint64
	signaled bool
}

// newRings makes the rings of a queue pair, and rounds up what was asked for.
func (q *queuePair) newRings() error {
	is := &q.is
	q.sqDepth, q.rqDepth = powerOfTwo(is.MaxSendWR), powerOfTwo(is.MaxRecvWR)
	list := max(is.MaxSendSGE*sgeLen, is.MaxInline)
	q.sqEntry = entryHead + (list+63)&^63
	q.rqEntry = entryHead + (is.MaxRecvSGE*sgeLen+63)&^63
	q.rqOffset = ringEntries + q.sqDepth*q.sqEntry
	var err error
	size := int(q.rqOffset + q.rqDepth*q.rqEntry)
	if q.ring, err = q.process.share("weft-qp", size); err != nil {
		return err
	}
	for at, v := range map[int]uint32{qpSQDepth: q.sqDepth, qpSQEntry: q.sqEntry,
		qpRQDepth: q.rqDepth, qpRQEntry: q.rqEntry, qpRQOffset: q.rqOffset} {
		q.ring.put32(at, v)
	}
	q.entry = make([]byte, max(q.sqEntry, q.rqEntry))
	is.MaxSendWR, is.MaxRecvWR = q.sqDepth, q.rqDepth
	return nil
}

// setState notes a state, also where the process sees it.
func (q *queuePair) setState(s uint32) {
	q.attr.State, q.attr.CurState = s, s
	q.ring.word(qpState).Store(s)
}

// A transition lists the required and the optional attributes of a state change (IBTA volume 1,
// table 91; mrc.h, enum mrc_qp_attr_mask).
type transition struct{ need, may, mrc uint32 }

const always = attrState | attrCurState | attrPort | attrPKey | attrQKey

var transitions = map[[2]uint32]transition{
	{stateReset, stateInit}: {attrAccess, always, mrcHint | mrcEVProfile | mrcCCProfile | mrcCap |
		mrcVendor},
	{stateInit, stateInit}: {0, always | attrAccess, mrcHint | mrcEVProfile | mrcCCProfile | mrcCap |
		mrcVendor},
	{stateInit, stateRTR}: {attrAV | attrPathMTU | attrDestQPN | attrRQPSN, always | attrAccess,
		mrcMaxWIMMDest | mrcMPRDest | mrcCap | mrcVendor | mrcHint},
	{stateRTR, stateRTS}: {attrSQPSN, always | attrAccess, mrcMaxWIMM | mrcMPR | mrcRetry |
		mrcTimeout | mrcCap | mrcVendor | mrcHint},
	{stateRTS, stateRTS}: {0, always | attrAccess, mrcTimeout | mrcHint | mrcVendor},
}

// modify carries out mrc_modify_qp: all of it or, with an error, nothing.
func (q *queuePair) modify(now time.Duration, a *qpAttr) error {
	from, to := q.state(), q.state()
	if a.Mask&attrState != 0 {
		to = a.State
	}
	if a.Mask&attrCurState != 0 && a.CurState != from {
		return unix.EINVAL
	}
	switch to {
	case stateReset:
		return q.reset()
	case stateError:
		return q.abort(now)
	}
	t, ok := transitions[[2]uint32{from, to}]
	if !ok || a.Mask&t.need != t.need || a.Mask&^(t.need|t.may) != 0 || a.MRCMask&^t.mrc != 0 {
		return unix.EINVAL
	}
	next := q.attr
	if err := next.take(a); err != nil {
		return err
	}
	hint := q.hint
	if a.MRCMask&mrcHint != 0 {
		if hint = q.process.hints[a.Hint]; hint == nil && a.Hint != 0 {
			return unix.EINVAL
		}
	}
	choice, err := q.process.server.choice(&next)
	if err != nil && from != stateRTR && from != stateRTS { // afterwards it keeps what it has
		return err
	}
	err = nil
	switch {
	case to == stateRTR:
		err = q.connect(&next, choice)
	case from == stateRTR:
		err = q.begin(&next)
	case a.MRCMask&mrcTimeout != 0:
		err = q.setTimeout(&next)
	}
	if err != nil {
		return err
	}
	q.attr = next
	q.process.server.use(q, hint)
	q.setState(to)
	q.take(now)
	return nil
}

// state returns the state of the queue pair, which the transport may have moved to the error state.
func (q *queuePair) state() uint32 {
	if q.qp != nil && q.qp.Failed() {
		return stateError
	}
	return q.attr.State
}

// take overwrites what the masks name.
func (a *qpAttr) take(b *qpAttr) error {
	for _, f := range []struct {
		mask        uint32
		to          *uint32
		from, limit uint32
	}{
		{attrPathMTU, &a.PathMTU, b.PathMTU, mtu4096}, {attrQKey, &a.QKey, b.QKey, ^uint32(0)},
		{attrRQPSN, &a.RQPSN, b.RQPSN, packet.PSNMask}, {attrSQPSN, &a.SQPSN, b.SQPSN, packet.PSNMask},
		{attrDestQPN, &a.DestQPN, b.DestQPN, 1<<24 - 1}, {attrAccess, &a.Access, b.Access, ^uint32(0)},
		{attrPKey, &a.PKey, b.PKey, 0}, {attrPort, &a.Port, b.Port, 255},
	} {
		if b.Mask&f.mask == 0 {
			continue
		}
		if f.from > f.limit {
			return unix.EINVAL
		}
		*f.to = f.from
	}
	if b.Mask&attrAV != 0 {
		if b.IsGlobal == 0 || b.SGID != 0 || b.TrafficClass > 255 || b.SL > maxSL {
			return unix.EINVAL
		}
		a.IsGlobal, a.SGID, a.TrafficClass, a.FlowLabel, a.HopLimit, a.SL, a.DGID = b.IsGlobal, b.SGID,
			b.TrafficClass, b.FlowLabel, b.HopLimit, b.SL, b.DGID
	}
	return a.takeMRC(b)
}

func (a *qpAttr) takeMRC(b *qpAttr) error {
	for _, f := range []struct {
		mask      uint32
		to        *uint32
		from      uint32
		low, high uint32
	}{
		{mrcMaxWIMM, &a.MaxWIMM, b.MaxWIMM, 0, mrc.MaxWIMM},
		{mrcMaxWIMMDest, &a.MaxWIMMDest, b.MaxWIMMDest, 0, mrc.MaxWIMM},
		{mrcMPR, &a.MPR, b.MPR, 1, mrc.MaxMPR}, {mrcMPRDest, &a.MPRDest, b.MPRDest, 1, mrc.MaxMPR},
		{mrcTimeout, &a.Timeout, b.Timeout, 0, 24},
		{mrcRetry, &a.Linear, b.Linear, 0, 7},
		{mrcRetry, &a.Exponential, b.Exponential, 0, mrc.InfiniteRetries},
		{mrcCap, &a.Cap, b.Cap, 0, qpCapNoTrimNACKDest | qpCapDynamicMPR | qpCapNoServiceTimeDest},
	} {
		if b.MRCMask&f.mask == 0 {
			continue
		}
		if f.from < f.low || f.from > f.high {
			return unix.EINVAL
		}
		*f.to = f.from
	}
	if b.MRCMask&mrcEVProfile != 0 {
		a.EVProfile = b.EVProfile
	}
	if b.MRCMask&mrcCCProfile != 0 {
		a.CCProfile = b.CCProfile
	}
	if b.MRCMask&mrcHint != 0 {
		a.Hint = b.Hint
	}
	if b.MRCMask&mrcVendor != 0 && b.Vendor != [128]byte{} {
		return unix.EINVAL // there is nothing of a vendor's to configure
	}
	return nil
}

// newAttr is what a queue pair has before anybody says otherwise.
func newAttr(handle uint64) qpAttr {
	d, t := mrc.DefaultAttributes(), mrc.DefaultQPConfig()
	return qpAttr{Handle: handle, PathMTU: mtu4096, Port: 1, MPR: uint32(d.MaxMPR),
		MPRDest: uint32(
			d.MaxMPR,
		), MaxWIMM: uint32(d.MaxWIMM), MaxWIMMDest: uint32(d.MaxWIMM), Linear: uint32(t.LinearRetries),
		Exponential: uint32(t.ExponentialRetries)}
}

// attributes returns the attributes of the host as a responder, and the attributes of its peer.
func (a *qpAttr) attributes() (local, remote mrc.Attributes) {
	local, remote = mrc.DefaultAttributes(), mrc.DefaultAttributes()
	local.MaxWIMM, local.MaxMPR = int(a.MaxWIMMDest), int(a.MPRDest)
	remote.MaxWIMM, remote.MaxMPR = int(a.MaxWIMM), int(a.MPR)
	local.DynamicMPR = a.Cap&qpCapDynamicMPR != 0
	remote.DynamicMPR = local.DynamicMPR
	remote.TrimNACK = a.Cap&qpCapNoTrimNACKDest == 0
	remote.ServiceTime = a.Cap&qpCapNoServiceTimeDest == 0
	return local, remote
}

// maxSL is the greatest service level: in RoCE a service level is an Ethernet priority.
const maxSL = 7

// dscp is the codepoint of data: the upper 6 bits of the traffic class (RFC 2474), whose lower two
// are the NIC's (ECN); without these, the class selector of the service level, which has 0 for 0.
func (a *qpAttr) dscp() uint8 {
	if d := packet.DSCP(uint8(a.TrafficClass)); d != 0 {
		return d
	}
	return uint8(a.SL << 3)
}

// transportDepth is how many requests of a queue the transport has at a time, which bounds what
// the end of a queue pair costs; the others wait in the ring.
const transportDepth = 1024

// connect makes the queue pair of the transport: from now on it answers.
func (q *queuePair) connect(a *qpAttr, choice nic.Choice) error {
	if a.PathMTU > q.process.server.pathMTU() {
		return unix.EINVAL
	}
	cfg := nic.DefaultQPConfig()
	cfg.QPN, cfg.RemoteQPN, cfg.RQPSN = q.is.QPN, a.DestQPN, a.RQPSN
	cfg.RemoteAddr = netip.AddrFrom16(a.DGID).Unmap()
	cfg.PMTU = mtuOf(a.PathMTU)
	cfg.Local, cfg.Remote = a.attributes()
	cfg.AckTimeout = uint8(a.Timeout)
	cfg.SendDepth = int(min(q.sqDepth, transportDepth))
	cfg.RecvDepth = int(min(q.rqDepth, transportDepth))
	cfg.DSCP = a.dscp()
	cfg.Domain = q.domain
	if a.Access&accessRemoteWrite == 0 {
		cfg.Domain = noDomain // no region is of this one
	}
	cfg.Notify = func() { q.process.server.note(q) }
	// The process may have posted a request and had its peer send before the NIC has looked.
	cfg.Starved = func() { _ = q.takeReceives() } // take has the consequences of false
	qp, err := q.process.server.cfg.NIC.CreateChosen(cfg, choice)
	switch {
	case errors.Is(err, verbs.ErrConfig):
		q.process.server.log.Info("queue pair refused", "process", q.process.memory.pid, "reason", err)
		return unix.EINVAL
	case err != nil:
		return unix.ENOMEM
	}
	q.qp = qp
	return nil
}

// begin lets the requester send.
func (q *queuePair) begin(a *qpAttr) error {
	_, remote := a.attributes()
	if err := q.qp.Begin(a.SQPSN, remote, uint8(a.Linear), uint8(a.Exponential)); err != nil {
		return unix.EINVAL
	}
	return q.setTimeout(a)
}

// setTimeout sets the Local ACK Timeout that the application has asked for; 0 leaves it to the NIC.
func (q *queuePair) setTimeout(a *qpAttr) error {
	if a.Timeout == 0 {
		return nil
	}
	return q.process.server.cfg.NIC.SetAckTimeout(q.is.QPN, uint8(a.Timeout))
}

// reset drops all work, without completions, and what the transport has.
func (q *queuePair) reset() error {
	q.drop()
	handle := q.attr.Handle
	q.attr = newAttr(handle)
	q.told, q.broken = false, false
	q.sent.Clear()
	q.sqTaken, q.rqTaken = q.ring.word(qpSQHead).Load(), q.ring.word(qpRQHead).Load()
	q.sqDone, q.rqDone = q.sqTaken, q.rqTaken
	q.ring.word(qpSQTail).Store(q.sqDone)
	q.ring.word(qpRQTail).Store(q.rqDone)
	q.process.server.use(q, nil)
	q.setState(stateReset)
	return nil
}

// abort moves to the error state.
func (q *queuePair) abort(now time.Duration) error {
	if q.qp != nil && !q.qp.Failed() {
		if err := q.qp.Abort(now); err != nil {
			return unix.EIO
		}
	}
	q.told = true // the process knows
	q.setState(stateError)
	q.collect()
	q.take(now)
	return nil
}

// drop takes the queue pair from the transport.
func (q *queuePair) drop() {
	q.ahead.drop()
	if q.qp == nil {
		return
	}
	n := q.process.server.cfg.NIC
	if !q.qp.Failed() {
		_ = q.qp.Abort(q.process.server.now) // it is ready
	}
	_ = n.DestroyQP(q.is.QPN) // it is in the error state
	q.qp = nil
}

// take passes posted work of the process to the transport, as far as the state allows. An
// impossible index is a fatal error of the queue pair.
func (q *queuePair) take(now time.Duration) {
	ok := q.takeReceives() && q.takeSends(now)
	if !ok && !q.broken {
		q.broken = true // its indices are of no use any more
		_ = q.abort(now)
		q.process.tell(asyncEvent{Type: eventQPFatal, Handle: q.is.Handle})
	}
}

// atOnce bounds the entries taken from a queue before the next queue pair gets its turn.
const atOnce = 32

// posted returns the number of entries added by the process but not yet taken; ok is false if the
// index of the process lies before the taken entries, or beyond the depth of the queue.
func posted(head, taken, done, depth uint32) (n uint32, ok bool) {
	n = head - taken
	return n, n <= depth-(taken-done)
}

func (q *queuePair) takeReceives() bool {
	if q.broken {
		return false
	}
	n, ok := posted(q.ring.word(qpRQHead).Load(), q.rqTaken, q.rqDone, q.rqDepth)
	if !ok {
		return false
	}
	for left := atOnce; n > 0; n, left, q.rqTaken = n-1, left-1, q.rqTaken+1 {
		if left == 0 {
			q.process.lookAgain(q)
			return true
		}
		b := q.ring.octets[q.rqOffset+(q.rqTaken&(q.rqDepth-1))*q.rqEntry:]
		id := binary.NativeEndian.Uint64(b)
		switch {
		case q.state() == stateError:
			q.completeReceive(verbs.Completion{ID: id, Status: verbs.StatusFlushed})
		case q.qp == nil:
			return true // they wait for the transport
		case q.qp.PostRecv(verbs.RecvRequest{ID: id}) != nil:
			return true // for room, or it has just failed
		}
	}
	return true
}

func (q *queuePair) takeSends(now time.Duration) bool {
	n, ok := posted(q.ring.word(qpSQHead).Load(), q.sqTaken, q.sqDone, q.sqDepth)
	if !ok {
		return false
	}
	var small []*gather
	defer func() {
		if len(small) > 1 {
			q.process.mover.fetch(small)
		}
	}()
	for left := atOnce; n > 0; n, left = n-1, left-1 {
		state := q.state()
		if state != stateRTS && state != stateError {
			return state == stateReset || state == stateInit || state == stateRTR
		}
		if left == 0 {
			q.process.lookAgain(q)
			return true
		}
		at := ringEntries + (q.sqTaken&(q.sqDepth-1))*q.sqEntry
		copy(q.entry, q.ring.octets[at:at+q.sqEntry])
		wr, signaled, ok := q.work(q.entry[:q.sqEntry])
		if state == stateError {
			q.sqTaken++
			q.completeSend(wr.ID, statusFlushed, 0)
			continue
		}
		err := verbs.ErrWorkRequest
		if ok {
			err = q.qp.PostSend(now, wr)
		}
		if errors.Is(err, verbs.ErrQueueFull) {
			return true // until some of it is complete
		}
		q.sqTaken++
		if err == nil {
			q.sent.Push(sentWork{wr.ID, signaled})
			if g, ok := wr.From.(*gather); ok && g.isSmall() {
				small = append(small, g)
			}
			continue
		}
		_ = q.qp.Abort(now) // it is ready; what is before it is flushed (table 6-11: as RC does)
		q.collect()
		q.completeSend(wr.ID, statusLocalQPOp, 0)
	}
	return true
}

const sgeLen = 16

// work reads an entry of the send queue; ok is false when it makes no sense.
func (q *queuePair) work(b []byte) (wr verbs.WorkRequest, signaled, ok bool) {
	order := binary.NativeEndian
	opcode, flags := order.Uint32(b[16:]), order.Uint32(b[20:])
	sges, octets := order.Uint32(b[32:]), order.Uint32(b[36:])
	wr = verbs.WorkRequest{ID: order.Uint64(b), RemoteVA: order.Uint64(b[8:]),
		Immediate: network(order.Uint32(b[24:])), RKey: order.Uint32(b[28:]),
		Solicited: flags&sendSolicited != 0}
	switch opcode {
	case wrRDMAWrite:
		wr.Op = verbs.OpWrite
	case wrRDMAWriteImmediate:
		wr.Op = verbs.OpWriteImmediate
	default:
		return wr, false, false
	}
	signaled = flags&sendSignaled != 0 || q.is.SigAll != 0
	if flags&sendInline != 0 {
		if octets > q.is.MaxInline {
			return wr, false, false
		}
		data := make(inline, octets)
		copy(data, b[entryHead:])
		wr.From, wr.Length = data, int(octets)
		return wr, signaled, true
	}
	if sges > q.is.MaxSendSGE {
		return wr, false, false
	}
	g := &gather{list: make([]piece, sges), ahead: &q.ahead}
	list := g.list
	for i := range list {
		e := b[entryHead+i*sgeLen:]
		list[i].sge = sge{order.Uint64(e), order.Uint32(e[8:]), order.Uint32(e[12:])}
		if r := q.process.byKey[list[i].LKey]; r != nil && r.domain == q.domain {
			list[i].region = r
		}
		g.total += int64(list[i].Length)
	}
	if g.total > maxMessageSize {
		return wr, false, false
	}
	wr.From, wr.Length = g, int(g.total)
	return wr, signaled, true
}

// collect hands the completions of the transport to the process.
func (q *queuePair) collect() {
	if q.qp == nil {
		return
	}
	if q.qp.Failed() && q.attr.State != stateError {
		q.setState(stateError) // before the process sees what comes of it
	}
	for c, ok := q.qp.Poll(); ok; c, ok = q.qp.Poll() {
		if c.Recv {
			q.completeReceive(c)
			continue
		}
		if w := q.sent.Pop(); w.signaled || c.Status != verbs.StatusOK {
			q.completeSend(w.id, statusOf(c.Status), c.Octets)
		} else {
			q.doneSend()
		}
	}
}

// doneSend gives the place of the oldest request back, before the process hears of its completion.
func (q *queuePair) doneSend() {
	q.sqDone++
	q.ring.word(qpSQTail).Store(q.sqDone)
}

func (q *queuePair) completeSend(id uint64, status uint32, octets int) {
	q.doneSend()
	q.push(q.send, &cqe{id: id, status: status, opcode: wcRDMAWrite, octets: uint32(octets),
		qpn: q.is.QPN, index: q.sqDone}, status != statusSuccess)
}

func (q *queuePair) completeReceive(c verbs.Completion) {
	q.rqDone++
	q.ring.word(qpRQTail).Store(q.rqDone)
	e := cqe{id: c.ID, status: statusOf(c.Status), opcode: wcReceiveWriteImm,
		octets: uint32(c.Octets), qpn: q.is.QPN, index: q.rqDone}
	if c.HasImmediate {
		e.flags, e.immediate = wcWithImmediate, network(c.Immediate)
	}
	q.push(q.receive, &e, c.Solicited || c.Status != verbs.StatusOK)
}

// push adds an entry to a completion queue. An overflow ends every queue pair with this completion
// queue (OCP MRC 1.0, table 6-11: as in RC).
func (q *queuePair) push(c *completions, e *cqe, urgent bool) {
	if c.push(e, urgent) || c.told {
		return
	}
	c.told = true
	q.process.tell(asyncEvent{Type: eventCQError, Handle: c.handle})
	q.process.server.overflowed = append(q.process.server.overflowed, c)
}

// settle carries out what the transport's progress entails: completions, the error state, new work.
func (q *queuePair) settle(now time.Duration) {
	if q.gone {
		return
	}
	q.collect()
	if q.qp != nil && q.qp.Failed() && !q.told {
		q.told = true
		if kind, ok := faultEvent(q.qp); ok {
			q.process.tell(asyncEvent{Type: kind, Handle: q.is.Handle})
		}
	}
	q.take(now)
}

// faultEvent is the event for a queue pair whose responder has failed (IBTA volume 1, section
// 11.6.3.2).
func faultEvent(qp *mrc.QP) (kind uint32, ok bool) {
	code, ok := qp.Fault()
	if !ok {
		return 0, false
	}
	switch code {
	case packet.NAKInvalidRequest:
		return eventQPRequest, true
	case packet.NAKRemoteAccess:
		return eventQPAccess, true
	}
	return eventQPFatal, true
}
