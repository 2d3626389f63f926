package mrc

import (
	"time"

	"github.com/weft-sdn/weft/packet"
)

// sack sends a SACK for a packet (OCP MRC 1.0, tables 7-6 and 7-15), whether that is a request or a
// reliability probe.
func (q *QP) sack(now time.Duration, p question) {
	path, ok := q.controlPath(now)
	if !ok {
		return
	}
	q.counters.SACKsSent++
	q.sackTrigger = 0
	base := q.sackBase()
	s := packet.SETH{
		Entropy:    p.ev,
		SPDCID:     uint16(q.cfg.QPN),
		DPDCID:     uint16(q.cfg.RemoteQPN),
		CackPSN:    q.cack,
		SACKOffset: packet.PSNOffset(base, q.cack),
		SACKBitmap: q.sackBits(base),
	}
	if p.marked {
		s.Mark = packet.MarkSkipOnce
	}
	if q.cfg.dynamicMPR() {
		s.MPR = uint8(q.tracker.mpr / packet.MPRUnit)
	}
	n := packet.NSCC{OOOCount: uint16(q.ooo), RcvdBytes: packet.RcvdBytes(q.rcvdBytes)}
	if q.cfg.Penalty != nil {
		penalty, restore := q.cfg.Penalty(now)
		n.RcvCwndPenalty, n.RestoreCwnd = min(penalty, packet.MaxRcvCwndPenalty), restore
		if penalty > 0 {
			q.counters.PenaltiesSent++
		}
	}
	bth := packet.MRCBTH{Opcode: packet.OpMRCSACK, PKey: q.host.cfg.ControlPKey,
		DestQPN: q.cfg.RemoteQPN, PSN: q.cack, Retransmission: p.retransmission}
	switch {
	case p.probe:
		s.Probe, s.AckPSNOffset = true, p.probeID
		bth.PSN = 0 // reserved in answers to probes
	case p.trimmed && q.standing(p.psn) != duplicate:
		// The packet did not arrive, so the SACK must not acknowledge the packet: the offset 0
		// acknowledges cack_psn.
	default:
		s.AckPSNOffset = packet.PSNOffset(p.psn, q.cack)
	}
	n.Timestamp = q.reflect(now, p.sent, path.Port)
	s.SetNSCC(n)
	out := q.host.prepare(q.cfg.RemoteAddr, path, q.host.cfg.Wire.DSCP.Control, packet.NotECT)
	out.BTH, out.SETH = bth, s
	q.host.transmit(now, path.Port)
}

// question holds the fields that a SACK repeats from the answered packet or probe.
type question struct {
	psn                                 uint32
	ev                                  packet.EV
	sent                                timestamp
	asks, retransmission, marked, probe bool
	trimmed                             bool
	probeID                             int16
}

func questionOf(p *packet.MRC) question {
	return question{psn: p.BTH.PSN, ev: p.EV(), sent: timestampOf(p), asks: p.BTH.AckReq,
		retransmission: p.BTH.Retransmission, marked: marked(p),
		probe: p.BTH.Opcode == packet.OpMRCProbe, trimmed: p.Trim != packet.NotTrimmed,
		probeID: int16(p.PETH.ProbeID)}
}

// nack refuses a packet by a NACK, whose UDP length is that of the whole packet if that was trimmed
// (OCP MRC 1.0, §7.5.5.6).
func (q *QP) nack(now time.Duration, p *packet.MRC, reason packet.NACKReason) {
	path, ok := q.controlPath(now)
	if !ok {
		return
	}
	q.counters.NACKsSent++
	out := q.host.prepare(q.cfg.RemoteAddr, path, q.host.cfg.Wire.DSCP.Control, packet.NotECT)
	out.BTH = packet.MRCBTH{
		Opcode: packet.OpMRCNACK, PKey: q.host.cfg.ControlPKey, DestQPN: q.cfg.RemoteQPN, PSN: p.BTH.PSN,
		Retransmission: p.BTH.Retransmission,
	}
	out.NETH = packet.NETH{
		Reason: reason, Entropy: p.EV(), SPDCID: uint16(q.cfg.QPN), DPDCID: uint16(q.cfg.RemoteQPN),
		PSN:    p.BTH.PSN,
		CCType: packet.CCTypeTimestamp, Timestamp: q.reflect(now, timestampOf(p), path.Port),
	}
	if p.Trim != packet.NotTrimmed {
		out.UDP.Length = p.UDP.Length
	}
	q.host.transmit(now, path.Port)
}

// transportACK sends an Acknowledge.
func (q *QP) transportACK(now time.Duration, psn uint32, syndrome packet.Syndrome) {
	path, ok := q.controlPath(now)
	if !ok {
		return
	}
	out := q.host.prepare(q.cfg.RemoteAddr, path, q.host.cfg.Wire.DSCP.Control, packet.NotECT)
	out.BTH = packet.MRCBTH{Opcode: packet.OpMRCAcknowledge, PKey: q.host.cfg.PKey,
		DestQPN: q.cfg.RemoteQPN, PSN: psn}
	out.AETH = packet.AETH{Syndrome: syndrome, MSN: q.msn}
	q.host.transmit(now, path.Port)
}

// controlPath is the path of an answer, which does not wait: without a path it is dropped and
// counted. It goes back by the port that the packet answered came by, if there is a path by it:
// that plane leads to the peer now (§7.5.2.1).
func (q *QP) controlPath(now time.Duration) (Path, bool) {
	path, ok := q.path(now, UseControl, packet.PortMask(0).With(q.host.inPort))
	if !ok {
		path, ok = q.path(now, UseControl, q.host.sending())
	}
	if !ok {
		q.counters.NoPath++
	}
	return path, ok
}

// timestamp is the send time in a packet.
type timestamp struct {
	value   uint16
	present bool
	own     bool // in the requester's own unit
}

func timestampOf(p *packet.MRC) timestamp {
	h := &p.TSETH
	switch {
	case p.Headers.Is(packet.ExtTSETH):
	case p.Headers.Is(packet.ExtPETH):
		h = &p.PETH.TSETH
	case p.Headers.Is(packet.ExtERTH):
		h = &p.ERTH.TSETH
	default:
		return timestamp{}
	}
	if h.Type != packet.TSETHTimestamp {
		return timestamp{}
	}
	return timestamp{h.Timestamp, true, h.OwnUnit}
}

// reflect is the tx_timestamp of the answer to a packet (OCP MRC 1.0, §7.5.5.8): the packet's own,
// from which service time is taken off where both ends can, or the service time alone when it has
// none. Service time is how long the answer waits for its port.
func (q *QP) reflect(now time.Duration, ts timestamp, port int) uint16 {
	return ts.answer(q.cfg.Local.ServiceTime, q.host.backlog(now, port))
}

func (ts timestamp) answer(supported bool, service time.Duration) uint16 {
	units := uint16(service / packet.TimestampUnit)
	switch {
	case !supported || ts.present && ts.own:
		return ts.value // 0 when there is none
	case ts.present:
		return ts.value + units
	}
	return units
}
