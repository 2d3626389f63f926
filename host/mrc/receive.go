package mrc

import (
	"errors"
	"time"

	"github.com/weft-sdn/weft/host/internal/ibta"
	"github.com/weft-sdn/weft/packet"
)

// Receive handles a frame that arrived by a port, which it does not keep. Answers leave during the
// call; call Advance afterwards for what the frame made possible. A frame that is not accepted
// counts under one Refusal.
func (h *Host) Receive(now time.Duration, port int, frame []byte) {
	h.counters.FramesReceived++
	h.counters.OctetsReceived += uint64(len(frame))
	if r, ok := h.receive(now, port, frame); !ok {
		h.refuse(r)
	}
}

func (h *Host) receive(now time.Duration, port int, frame []byte) (Refusal, bool) {
	if !h.up.Has(port) {
		return RefusedPort, false
	}
	p := &h.in
	h.inPort = port
	var err error
	*p, _, err = packet.ParseMRC(frame, h.cfg.Wire)
	// The host parses a packet with a reserved MRC opcode up to the BTH, and answers a request.
	reserved := err != nil && errors.Is(err, packet.ErrUnsupported) && p.BTH.Opcode.MRC()
	switch {
	case err == nil || reserved:
	case errors.Is(err, packet.ErrUnsupported):
		return RefusedProtocol, false
	default:
		return RefusedMalformed, false
	}
	if p.Ethernet.Dst != h.cfg.Ports[port-1].MAC {
		return RefusedMAC, false
	}
	// Source-routed packets arrive with or without their outer header (OCP MRC 1.0, §9.3.5.1). The
	// last segment rewrote the outer destination, so only the inner destination identifies the
	// receiving host.
	if p.IPv6.Dst != h.cfg.Addr {
		return RefusedDestination, false
	}
	if p.Encapsulated {
		tc, ok := h.cfg.Wire.DSCP.Decap(p.IPv6.TrafficClass, p.Outer.TrafficClass)
		if !ok {
			return RefusedECN, false
		}
		p.IPv6.TrafficClass = tc
	}
	if p.Trim == packet.NotTrimmed && packet.CheckICRC(p.Datagram) != nil {
		return RefusedICRC, false
	}
	switch {
	case p.BTH.TVer != 0:
		return RefusedTVer, false
	case !ibta.SamePartition(p.BTH.PKey, h.partition(p.BTH.Opcode)):
		return RefusedPKey, false
	case reserved && !reservedRequest(p.BTH.Opcode):
		return RefusedOpcode, false
	}
	switch p.BTH.Opcode {
	case packet.OpMRCEndpointRequest:
		return h.receiveEndpointRequest(now, port, p)
	case packet.OpMRCEndpointResponse:
		return h.receiveEndpointResponse(now, port, p)
	}
	q, ok := h.qps[p.BTH.DestQPN]
	switch {
	case !ok:
		return RefusedQPN, false
	case p.IPv6.Src != q.cfg.RemoteAddr:
		return RefusedAddressPair, false
	}
	return q.receive(now, p)
}

// partition is the P_Key that packets with an opcode have.
func (h *Host) partition(o packet.Opcode) uint16 {
	switch o {
	case packet.OpMRCSACK, packet.OpMRCNACK, packet.OpMRCProbe:
		return h.cfg.ControlPKey
	}
	return h.cfg.PKey
}

// reservedRequest reports whether an opcode that MRC does not assign is a request in the RC
// service, whose operations MRC's opcodes follow.
func reservedRequest(o packet.Opcode) bool {
	rc := o & 0x1F
	return rc <= packet.OpReadRequest || rc >= packet.OpCompareSwap &&
		rc <= packet.OpSendOnlyInvalidate
}

// receive handles a packet to the queue pair.
func (q *QP) receive(now time.Duration, p *packet.MRC) (Refusal, bool) {
	switch p.BTH.Opcode {
	case packet.OpMRCAcknowledge, packet.OpMRCSACK, packet.OpMRCNACK, packet.OpMRCProbe:
		if p.Trim != packet.NotTrimmed && p.BTH.Opcode != packet.OpMRCProbe {
			return RefusedTrimmed, false // switches do not trim these, and no ICRC protects what says so
		}
		if q.state != qpReady {
			return RefusedQPState, false
		}
		if ext, _ := p.BTH.Extensions(); !p.Headers.Is(ext) {
			return RefusedHeaders, false
		}
	default:
		if marked(p) {
			q.counters.CEReceived++
		}
		if q.state != qpReady {
			return q.receiveAfterFailure(now, p), false
		}
		return q.receiveRequest(now, p)
	}
	switch p.BTH.Opcode {
	case packet.OpMRCAcknowledge:
		return q.receiveACK(now, p.BTH.PSN, p.AETH)
	case packet.OpMRCSACK:
		return q.receiveSACK(now, p)
	case packet.OpMRCNACK:
		return q.receiveNACK(now, p)
	}
	q.sack(now, questionOf(p)) // a probe
	return 0, true
}

// receiveAfterFailure answers a request to a queue pair in the error state: its peer, whose retries
// may be infinite, must not go on for ever when the NAK that told it was lost.
func (q *QP) receiveAfterFailure(now time.Duration, p *packet.MRC) Refusal {
	if p.Trim == packet.NotTrimmed {
		q.nack(now, p, packet.NACKUnexpectedEvent)
	}
	return RefusedQPState
}
