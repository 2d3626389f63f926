package rc

import (
	"fmt"
	"net/netip"
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

// QP is a reliable connection queue pair. Its methods follow the rules of its Host: after posting
// work, call Host.Advance.
type QP struct {
	host     *Host
	cfg      QPConfig
	peer     netip.Addr // source address of packets received
	state    qpState
	active   bool // in host.active
	counters QPCounters
	done     ring.Ring[verbs.Completion]

	requester
	responder
	rate  rateControl
	encap *Encapsulation
	srh   packet.SRH // of encap
}

func newQP(h *Host, cfg QPConfig) *QP {
	if cfg.FlowLabel == 0 {
		cfg.FlowLabel = entropy(cfg.QPN, cfg.RemoteQPN) & packet.MaxFlowLabel
	}
	if cfg.SourcePort == 0 {
		cfg.SourcePort = 0xC000 | uint16(entropy(cfg.RemoteQPN, cfg.QPN)&0x3FFF)
	}
	q := &QP{host: h, cfg: cfg, peer: cfg.RemoteAddr}
	if cfg.Peer.IsValid() {
		q.peer = cfg.Peer
	}
	q.start(cfg.SQPSN, cfg.RQPSN)
	return q
}

// entropy spreads the pairs of queue pair numbers over 32 bits, never zero in the low 20.
func entropy(a, b uint32) uint32 {
	x := (a*0x9E3779B1 ^ b) * 0x85EBCA77
	x ^= x >> 15
	if x&packet.MaxFlowLabel == 0 {
		x++
	}
	return x
}

func (q *QP) start(sqPSN, rqPSN uint32) {
	q.state = qpReady
	q.requester.start(sqPSN)
	q.responder.start(rqPSN)
	q.rate = newRateControl(q.cfg.Rate, q.host.cfg.LineRate)
}

// discard drops all work, without completions.
func (q *QP) discard() {
	q.sq.Clear()
	q.rq.Clear()
	q.message = inbound{}
}

// Config is the configuration of the queue pair, derived fields filled in.
func (q *QP) Config() QPConfig { return q.cfg }

// Counters is a copy of the queue pair's counters.
func (q *QP) Counters() QPCounters { return q.counters }

// Failed reports whether the queue pair is in the error state.
func (q *QP) Failed() bool { return q.state == qpError }

// Reset drops all work without completions, forgets a failure and starts again with new initial
// PSNs. Completions not yet polled and counters stay.
func (q *QP) Reset(sqPSN, rqPSN uint32) error {
	if sqPSN > packet.PSNMask || rqPSN > packet.PSNMask {
		return fmt.Errorf("QP %#x: PSNs %#x, %#x: want 24 bits: %w", q.cfg.QPN, sqPSN, rqPSN,
			verbs.ErrConfig)
	}
	if q.state == qpDestroyed {
		return fmt.Errorf("QP %#x: %w", q.cfg.QPN, verbs.ErrNotFound)
	}
	q.discard()
	q.cfg.SQPSN, q.cfg.RQPSN = sqPSN, rqPSN
	q.start(sqPSN, rqPSN)
	return nil
}

// Poll takes the oldest completion; ok is false when there is none.
func (q *QP) Poll() (c verbs.Completion, ok bool) {
	if q.done.Len() == 0 {
		return verbs.Completion{}, false
	}
	return q.done.Pop(), true
}

// PostSend appends a message to the send queue. Errors: ErrWorkRequest, ErrQueueFull, ErrQPState,
// ErrNotFound after DestroyQP.
func (q *QP) PostSend(wr verbs.WorkRequest) error {
	if err := q.usable(); err != nil {
		return err
	}
	if q.sq.Len() >= q.cfg.SendDepth {
		return fmt.Errorf("QP %#x: send queue of %d: %w", q.cfg.QPN, q.cfg.SendDepth, verbs.ErrQueueFull)
	}
	packets := ibta.Packets(len(wr.Data), q.cfg.PMTU)
	if wr.From != nil {
		return fmt.Errorf("QP %#x: From is set: want Data: %w", q.cfg.QPN, verbs.ErrWorkRequest)
	}
	if wr.Op < verbs.OpWrite || wr.Op > verbs.OpSendImmediate || len(wr.Data) > ibta.MaxMessage ||
		packets > ibta.MaxWindow {
		return fmt.Errorf("QP %#x: %v of %d octets: %w", q.cfg.QPN, wr.Op, len(wr.Data),
			verbs.ErrWorkRequest)
	}
	q.post(wr, packets)
	q.host.activate(q)
	return nil
}

// PostRecv appends a request to the receive queue. Errors: ErrQueueFull, ErrQPState, ErrNotFound
// after DestroyQP.
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

func (q *QP) usable() error {
	switch q.state {
	case qpError:
		return fmt.Errorf("QP %#x: %w", q.cfg.QPN, verbs.ErrQPState)
	case qpDestroyed:
		return fmt.Errorf("QP %#x: %w", q.cfg.QPN, verbs.ErrNotFound)
	}
	return nil
}

// retire reports whether the queue pair has no work left that Advance would have to look at.
func (q *QP) retire() bool {
	if q.sq.Len() > 0 {
		return false
	}
	q.active = false
	return true
}

// fail moves to the error state: the oldest send request ends with status oldest, unless StatusOK,
// and fail flushes all other requests.
func (q *QP) fail(now time.Duration, oldest verbs.Status) {
	q.state = qpError
	q.timed = false
	if oldest != verbs.StatusOK && q.sq.Len() > 0 {
		q.completeSend(now, oldest)
	}
	for q.sq.Len() > 0 {
		q.completeSend(now, verbs.StatusFlushed)
	}
	if q.message.holdsRecv {
		q.completeRecv(now, verbs.Completion{ID: q.message.recv.ID, Op: q.message.op,
			Status: verbs.StatusFlushed, Octets: q.message.octets})
	}
	q.message = inbound{}
	for q.rq.Len() > 0 {
		q.completeRecv(now, verbs.Completion{ID: q.rq.Pop().ID, Status: verbs.StatusFlushed})
	}
}

func (q *QP) completeRecv(now time.Duration, c verbs.Completion) {
	c.At, c.Recv = now, true
	q.complete(c)
}

// complete gives Poll a completion.
func (q *QP) complete(c verbs.Completion) {
	q.done.Push(c)
	if q.cfg.Notify != nil {
		q.cfg.Notify()
	}
}

// reply sends an acknowledgement.
func (q *QP) reply(now time.Duration, psn uint32, syndrome packet.Syndrome) {
	p := q.header(q.cfg.DSCP, packet.NotECT)
	p.BTH = packet.BTH{Opcode: packet.OpAcknowledge, MigReq: true, PKey: q.host.cfg.PKey,
		DestQPN: q.cfg.RemoteQPN, PSN: psn}
	p.AETH = packet.AETH{Syndrome: syndrome, MSN: q.msn}
	q.host.transmit(now)
}

// header prepares host.out for a packet to the peer, without payload and encapsulation.
func (q *QP) header(dscp, ecn uint8) *packet.RoCE {
	h := q.host
	p := &h.out
	p.Ethernet = packet.Ethernet{Dst: h.cfg.GatewayMAC, Src: h.cfg.MAC}
	p.Encapsulated, p.Routed = false, false
	p.IPv6 = packet.IPv6{
		TrafficClass: packet.TrafficClass(dscp, ecn), FlowLabel: q.cfg.FlowLabel,
		HopLimit: h.cfg.HopLimit,
		Src:      h.cfg.Addr, Dst: q.cfg.RemoteAddr,
	}
	p.UDP = packet.UDP{SrcPort: q.cfg.SourcePort, DstPort: packet.RoCEPort}
	p.Checksummed = h.cfg.UDPChecksum
	p.Payload = nil
	return p
}
