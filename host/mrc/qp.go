package mrc

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/host/internal/ibta"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/internal/ring"
	"github.com/weft-sdn/weft/packet"
)

type qpState uint8

const (
	qpReady qpState = iota
	qpError
	qpDestroyed
)

// QP is an MRC queue pair. Its methods follow the rules of its Host: after posting work, call
// Host.Advance.
type QP struct {
	host     *Host
	cfg      QPConfig
	state    qpState
	active   bool // in host.active
	counters QPCounters
	done     ring.Ring[verbs.Completion]

	context *Context // its congestion controller

	requester
	responder
	owed owed
}

func newQP(h *Host, cfg QPConfig) *QP {
	return &QP{host: h, cfg: cfg, context: contextOf(cfg.Congestion),
		requester: newRequester(cfg.SQPSN, cfg.Remote), responder: newResponder(cfg.RQPSN, cfg.Local)}
}

// Config is the configuration of the queue pair.
func (q *QP) Config() QPConfig { return q.cfg }

// SetTimers changes AckTimeout and ProbeTimeout (see QPConfig) for what is sent from now on.
// verbs.ErrConfig names what cannot be used, and nothing is changed.
func (q *QP) SetTimers(ackTimeout uint8, probeTimeout time.Duration) error {
	cfg := q.cfg
	cfg.AckTimeout, cfg.ProbeTimeout = ackTimeout, probeTimeout
	if err := cfg.Validate(); err != nil {
		return err
	}
	q.cfg = cfg
	return nil
}

// Begin sets the initial state of the requester before the queue pair sends: the first PSN, the
// attributes of the peer's responder, and the retries. A queue pair may answer requests before its
// owner knows these values (IBTA volume 1, section 10.3.1: ready to receive, ready to send). Errors
// wrap verbs.ErrBusy after posted work, or verbs.ErrConfig with the name of the invalid field; then
// nothing changes.
func (q *QP) Begin(sqPSN uint32, remote Attributes, linearRetries, exponentialRetries uint8) error {
	if q.sq.Len() > 0 || q.next != q.cfg.SQPSN {
		return fmt.Errorf("QP %#x has sent before: %w", q.cfg.QPN, verbs.ErrBusy)
	}
	cfg := q.cfg
	cfg.SQPSN, cfg.Remote = sqPSN, remote
	cfg.LinearRetries, cfg.ExponentialRetries = linearRetries, exponentialRetries
	if err := cfg.Validate(); err != nil {
		return err
	}
	q.cfg, q.requester = cfg, newRequester(sqPSN, remote)
	return nil
}

// Abort moves the queue pair to the error state, as ibv_modify_qp to IBV_QPS_ERR does: work that is
// not complete ends with verbs.StatusFlushed, and the queue pair can be removed. The peer learns it
// from the answer to its next request. Errors: verbs.ErrQPState when the queue pair is in the error
// state, ErrNotFound after DestroyQP.
func (q *QP) Abort(now time.Duration) error {
	if err := q.usable(); err != nil {
		return err
	}
	q.fail(now)
	return nil
}

// Resume makes a queue pair send again after a read from WorkRequest.From failed with
// verbs.ErrLater: until then the queue pair sends no packet that needs memory.
func (q *QP) Resume() { q.held = false }

// Counters is a copy of the queue pair's counters.
func (q *QP) Counters() QPCounters { return q.counters }

// Failed reports whether the queue pair is in the error state.
func (q *QP) Failed() bool { return q.state == qpError }

// Fault returns the code of the NAK that the responder sent when a packet moved the queue pair to
// the error state; ok is false if no received packet did.
func (q *QP) Fault() (code packet.NAKCode, ok bool) {
	return q.fault.code, q.state == qpError && q.faulted && q.cack == q.fault.psn
}

// Poll takes the oldest completion; ok is false when there is none.
func (q *QP) Poll() (c verbs.Completion, ok bool) {
	if q.done.Len() == 0 {
		return verbs.Completion{}, false
	}
	return q.done.Pop(), true
}

// complete queues a completion for Poll.
func (q *QP) complete(c verbs.Completion) {
	q.done.Push(c)
	q.notify()
}

func (q *QP) notify() {
	if q.cfg.Notify != nil {
		q.cfg.Notify()
	}
}

// PostSend appends a WRITE, with or without immediate data, to the send queue. One with immediate
// data waits until the peer has room for it (MRC_QP_MAX_WIMM_DEST). Errors: verbs.ErrWorkRequest,
// ErrQueueFull, ErrQPState, ErrNotFound after DestroyQP.
func (q *QP) PostSend(now time.Duration, wr verbs.WorkRequest) error {
	if err := q.usable(); err != nil {
		return err
	}
	if q.sq.Len() >= q.cfg.SendDepth {
		return fmt.Errorf("QP %#x: send queue of %d: %w", q.cfg.QPN, q.cfg.SendDepth, verbs.ErrQueueFull)
	}
	packets := ibta.Packets(wr.Octets(), q.cfg.PMTU)
	immediate := wr.Op == verbs.OpWriteImmediate
	switch {
	case wr.Op != verbs.OpWrite && !immediate:
		return fmt.Errorf("QP %#x: %v: want WRITE or WRITE with Immediate: %w", q.cfg.QPN, wr.Op,
			verbs.ErrWorkRequest)
	case wr.Octets() > ibta.MaxMessage:
		return fmt.Errorf("QP %#x: %v of %d octets: want at most %d: %w", q.cfg.QPN, wr.Op, wr.Octets(),
			ibta.MaxMessage, verbs.ErrWorkRequest)
	case immediate && q.cfg.Remote.MaxWIMM == 0:
		return fmt.Errorf("QP %#x: %v: the peer's MaxWIMM (MRC_QP_MAX_WIMM_DEST) is 0: %w", q.cfg.QPN,
			wr.Op, verbs.ErrWorkRequest)
	case q.posted(packets) > ibta.MaxWindow:
		return fmt.Errorf("QP %#x: %v of %d octets beside what is posted takes more than %d packets: %w",
			q.cfg.QPN, wr.Op, wr.Octets(), ibta.MaxWindow, verbs.ErrQueueFull)
	}
	q.postedMSN++
	if immediate {
		q.postedRQMSN++
	}
	q.sq.Push(outbound{wr: wr, psn: q.end, packets: packets, msn: q.postedMSN, rqmsn: q.postedRQMSN})
	q.end = packet.PSNAdd(q.end, packets)
	q.host.activate(q)
	q.context.OnNewData(now, q.backlogOf(wr.Octets(), packets, immediate))
	return nil
}

// posted returns the number of PSNs in use after unack, plus packets.
func (q *QP) posted(packets int) int {
	return int((q.end-q.unack)&packet.PSNMask) - 1 + packets
}

// PostRecv appends a request to the receive queue: the ticket for one WRITE with Immediate. Errors:
// verbs.ErrQueueFull, ErrQPState, ErrNotFound after DestroyQP.
func (q *QP) PostRecv(r verbs.RecvRequest) error {
	if err := q.usable(); err != nil {
		return err
	}
	if q.rq.Len() >= q.cfg.RecvDepth {
		return fmt.Errorf("QP %#x: receive queue of %d: %w", q.cfg.QPN, q.cfg.RecvDepth,
			verbs.ErrQueueFull)
	}
	q.rq.Push(r)
	return nil
}

// path returns the sprayer's path by one of the ports that reach the peer. path rejects a choice of
// any other port.
func (q *QP) path(now time.Duration, use Use, ports packet.PortMask) (Path, bool) {
	ports &= q.host.reachable(q.cfg.RemoteAddr)
	p, ok := q.cfg.Sprayer.Next(now, use, ports)
	p, fits := q.host.fits(p)
	return p, ok && fits && ports.Has(p.Port)
}

func (q *QP) usable() error {
	switch q.state {
	case qpError:
		return fmt.Errorf("QP %#x: %w", q.cfg.QPN, verbs.ErrQPState)
	case qpDestroyed:
		return fmt.Errorf("QP %#x: %w", q.cfg.QPN, verbs.ErrNotFound)
	}
	return nil
}

func (q *QP) wrong(field string, value any, want string) error {
	return fmt.Errorf("QP %#x: %s %v: want %s: %w", q.cfg.QPN, field, value, want, verbs.ErrConfig)
}

// retire reports whether the queue pair has nothing left that Advance would have to look at.
func (q *QP) retire() bool {
	if q.sq.Len() > 0 {
		return false
	}
	q.active = false
	return true
}

// nextEvent returns the time at which Advance has work for the queue pair. The queue pair has
// already sent every packet that can leave now, unless no port was free.
func (q *QP) nextEvent(now time.Duration) (at time.Duration, ok bool) {
	earlier := func(t time.Duration, is bool) {
		if is && (!ok || t < at) {
			at, ok = t, true
		}
	}
	if q.sendable() {
		if t := q.context.NextSend(); t > now {
			earlier(t, true)
		} else {
			earlier(q.host.nextFree(now))
		}
	}
	earlier(q.deadline, q.timed)
	earlier(q.ackTimer.deadline, q.ackTimer.timed)
	earlier(q.nextProbe(now))
	return at, ok
}

// fail moves to the error state: all that is posted is flushed.
func (q *QP) fail(now time.Duration) {
	q.state = qpError
	q.notify()
	q.timed, q.ackTimer.timed = false, false
	q.probes = probes{}
	q.land()
	for q.sq.Len() > 0 {
		q.completeSend(now, verbs.StatusFlushed)
	}
	for q.rq.Len() > 0 {
		q.complete(verbs.Completion{At: now, ID: q.rq.Pop().ID, Recv: true, Status: verbs.StatusFlushed})
	}
}

// failAt moves to the error state because of the packet psn. Its work request ends with status;
// failAt flushes all work requests before and after, in posting order.
func (q *QP) failAt(now time.Duration, psn uint32, status verbs.Status) {
	for q.sq.Len() > 0 && packet.PSNBefore(q.sq.At(0).last(), psn) {
		q.completeSend(now, verbs.StatusFlushed)
	}
	if q.sq.Len() > 0 {
		q.completeSend(now, status)
	}
	q.fail(now)
}
