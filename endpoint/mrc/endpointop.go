package mrc

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/endpoint"
	"github.com/weft-sdn/weft/endpoint/internal/ibta"
	"github.com/weft-sdn/weft/endpoint/internal/queue"
	"github.com/weft-sdn/weft/packet"
)

// endpointOps are the endpoint operations of a host that wait for their answer, and the results of those that do not (OCP MRC 1.0, §7.3). They are best effort:
// nothing is sent twice.
type endpointOps struct {
	id      uint16
	waiting queue.Ring[endpointOp] // in the order sent, which is that of their deadlines; those answered are done
	results queue.Ring[EndpointResult]
}

type endpointOp struct {
	result   EndpointResult
	sentAt   time.Duration
	deadline time.Duration
	done     bool
}

// maxPeers is the number of peers whose port status is kept.
const maxPeers = 1 << 16

// EndpointResult is what became of an EV probe or a port status update.
type EndpointResult struct {
	ID       uint16 // as SendEVProbe or SendPortStatus returned it
	Op       packet.EndpointOp
	Peer     netip.Addr
	Path     Path
	Answered bool
	RTT      time.Duration // of one answered, without the peer's service time where it supports that
}

// EVProbe is an EV probe: is there a path, and how long does it take.
type EVProbe struct {
	Peer netip.Addr
	Path Path
	DSCP uint8 // any (table 7-8)
}

// SendEVProbe sends an EV probe. endpoint.ErrConfig names a field that cannot be used.
func (h *Host) SendEVProbe(now time.Duration, p EVProbe) (id uint16, err error) {
	if p.DSCP > packet.MaxDSCP {
		return 0, fmt.Errorf("host %s: EV probe: DSCP %d: want 0..%d: %w", h.cfg.Name, p.DSCP, packet.MaxDSCP, endpoint.ErrConfig)
	}
	return h.request(now, p.Peer, p.Path, p.DSCP, packet.ERTH{Op: packet.EndpointEVProbe})
}

// SendPortStatus tells a peer which ports are up, in the control class. endpoint.ErrConfig names a field that cannot be used.
func (h *Host) SendPortStatus(now time.Duration, peer netip.Addr, path Path) (id uint16, err error) {
	return h.request(now, peer, path, h.cfg.Wire.DSCP.Control, packet.ERTH{Op: packet.EndpointPortStatus, Ports: h.up})
}

// PollEndpoint takes the oldest result of an endpoint operation; ok is false when there is none.
func (h *Host) PollEndpoint() (r EndpointResult, ok bool) {
	if h.ops.results.Len() == 0 {
		return EndpointResult{}, false
	}
	return h.ops.results.Pop(), true
}

// request sends an endpoint request with a timestamp.
func (h *Host) request(now time.Duration, peer netip.Addr, path Path, dscp uint8, erth packet.ERTH) (uint16, error) {
	switch {
	case !ibta.Unicast(peer):
		return 0, fmt.Errorf("host %s: %v: Peer %v: want an IPv6 unicast address: %w", h.cfg.Name, erth.Op, peer, endpoint.ErrConfig)
	case !h.up.Has(path.Port):
		return 0, fmt.Errorf("host %s: %v: Path.Port %d: want a port that is up: %w", h.cfg.Name, erth.Op, path.Port, endpoint.ErrConfig)
	}
	h.ops.id++
	h.ops.waiting.Push(endpointOp{
		result: EndpointResult{ID: h.ops.id, Op: erth.Op, Peer: peer, Path: path},
		sentAt: now, deadline: now + h.cfg.EndpointTimeout,
	})
	erth.TSETH = packet.TSETH{Timestamp: uint16(now / packet.TimestampUnit), Type: packet.TSETHTimestamp}
	out := h.prepare(peer, path, dscp, packet.NotECT)
	out.BTH = packet.EndpointHeader(packet.OpMRCEndpointRequest, h.ops.id)
	out.BTH.PKey = h.cfg.PKey
	out.ERTH = erth
	h.transmit(now, path.Port)
	return h.ops.id, nil
}

// receiveEndpointRequest answers an endpoint request (OCP MRC 1.0, tables 7-21 and 7-23). The answer goes back by the port the request came by, with its entropy
// value: both are what is known to lead to the peer.
func (h *Host) receiveEndpointRequest(now time.Duration, port int, p *packet.MRC) (Refusal, bool) {
	switch {
	case p.BTH.DestQPN != packet.EndpointQPN:
		return RefusedQPN, false
	case !p.Headers.Is(packet.ExtERTH):
		return RefusedHeaders, false
	}
	switch p.ERTH.Op {
	case packet.EndpointPortStatus:
		if p.Trim != packet.NotTrimmed {
			return RefusedTrimmed, false // no ICRC protects the mask
		}
		if _, known := h.peers[p.IPv6.Src]; !known && len(h.peers) >= maxPeers {
			return RefusedEndpoint, false
		}
		h.peers[p.IPv6.Src] = p.ERTH.Ports
	case packet.EndpointEVProbe:
	default:
		return RefusedEndpoint, false
	}
	path := Path{EV: p.EV(), Port: port}
	if h.cfg.EndpointPath != nil {
		if way, ok := h.cfg.EndpointPath(p.IPv6.Src, h.up); ok && h.up.Has(way.Port) {
			path = way
		}
	}
	ts := timestampOf(p)
	op, id := p.ERTH.Op, p.BTH.EndpointID()
	out := h.prepare(p.IPv6.Src, path, h.cfg.Wire.DSCP.Control, packet.NotECT)
	out.BTH = packet.EndpointHeader(packet.OpMRCEndpointResponse, id)
	out.BTH.PKey = h.cfg.PKey
	out.EETH = packet.EETH{Op: op, Timestamp: ts.answer(h.cfg.EndpointServiceTime, h.backlog(now, path.Port))}
	h.transmit(now, path.Port)
	return 0, true
}

func (h *Host) receiveEndpointResponse(now time.Duration, p *packet.MRC) (Refusal, bool) {
	switch {
	case p.BTH.DestQPN != packet.EndpointQPN:
		return RefusedQPN, false
	case p.Trim != packet.NotTrimmed:
		return RefusedTrimmed, false
	case !p.Headers.Is(packet.ExtEETH):
		return RefusedHeaders, false
	}
	for i := range h.ops.waiting.Len() {
		op := h.ops.waiting.At(i)
		if op.done || op.result.ID != p.BTH.EndpointID() || op.result.Op != p.EETH.Op || op.result.Peer != p.IPv6.Src {
			continue
		}
		op.done = true
		op.result.Answered = true
		op.result.RTT = since(now, p.EETH.Timestamp, packet.TimestampUnit, op.sentAt)
		h.ops.results.Push(op.result)
		h.ops.tidy()
		return 0, true
	}
	return RefusedEndpoint, false
}

// tidy forgets the oldest operations that are done.
func (o *endpointOps) tidy() {
	for o.waiting.Len() > 0 && o.waiting.At(0).done {
		o.waiting.Pop()
	}
}

// expire gives up the operations that have waited too long.
func (o *endpointOps) expire(now time.Duration, h *Host) {
	for o.waiting.Len() > 0 && (o.waiting.At(0).done || o.waiting.At(0).deadline <= now) {
		if op := o.waiting.Pop(); !op.done {
			o.results.Push(op.result)
		}
	}
}

func (o *endpointOps) next() (at time.Duration, ok bool) {
	if o.waiting.Len() == 0 {
		return 0, false
	}
	return o.waiting.At(0).deadline, true
}
