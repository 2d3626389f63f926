package mrc

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/host/internal/ibta"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/internal/ring"
	"github.com/weft-sdn/weft/packet"
)

// endpointOps are the endpoint operations of a host that wait for their answer, and the results of
// those that do not (OCP MRC 1.0, §7.3). They are best effort: nothing is sent twice.
type endpointOps struct {
	id      uint16
	waiting []endpointOp // in the order of their deadlines
	results ring.Ring[EndpointResult]
}

type endpointOp struct {
	result   EndpointResult
	sentAt   time.Duration
	deadline time.Duration
}

const (
	// maxPeers bounds the peers with a stored port status.
	maxPeers = 1 << 16
	// maxWaiting bounds the endpoint operations in progress.
	maxWaiting = 1 << 12
)

// EndpointResult is the outcome of an EV probe or a port status update.
type EndpointResult struct {
	ID       uint16 // as SendEVProbe or SendPortStatus returned it
	Op       packet.EndpointOp
	Peer     netip.Addr
	Path     Path
	Answered bool

	// Of one answered: the round trip; whether the peer's service time was taken off it, as far as
	// one can tell; the port that the answer came by.
	RTT                 time.Duration
	ServiceTimeAdjusted bool
	Port                int
}

// EVProbe is an EV probe: is there a path, and how long does it take.
type EVProbe struct {
	Peer netip.Addr
	Path Path
	DSCP uint8 // any (table 7-8)
	// Timeout is how long the answer is waited for; 0: Config.EndpointTimeout.
	Timeout time.Duration
}

// SendEVProbe sends an EV probe. verbs.ErrConfig names a field that cannot be used; ErrQueueFull:
// too many endpoint operations are under way.
func (h *Host) SendEVProbe(now time.Duration, p EVProbe) (id uint16, err error) {
	return h.requestAs(now, p, packet.ERTH{Op: packet.EndpointEVProbe})
}

// SendPortStatus sends a peer the ports that are up, in the control class. Errors are the errors of
// SendEVProbe.
func (h *Host) SendPortStatus(now time.Duration, peer netip.Addr, path Path) (id uint16,
	err error) {
	return h.request(now, peer, path, h.cfg.Wire.DSCP.Control, h.cfg.EndpointTimeout,
		packet.ERTH{Op: packet.EndpointPortStatus, Ports: h.up})
}

// SendPortStatusOf is SendPortStatus with ports given by the caller, sent with the path and options
// in p.
func (h *Host) SendPortStatusOf(now time.Duration, p EVProbe, ports packet.PortMask) (id uint16,
	err error) {
	return h.requestAs(now, p, packet.ERTH{Op: packet.EndpointPortStatus, Ports: ports})
}

// requestAs sends an endpoint request with the peer, path, DSCP and timeout of p.
func (h *Host) requestAs(now time.Duration, p EVProbe, erth packet.ERTH) (id uint16, err error) {
	switch {
	case p.DSCP > packet.MaxDSCP:
		return 0, fmt.Errorf("host %s: %v: DSCP %d: want 0..%d: %w", h.cfg.Name, erth.Op, p.DSCP,
			packet.MaxDSCP, verbs.ErrConfig)
	case p.Timeout < 0:
		return 0, fmt.Errorf("host %s: %v: Timeout %v: want 0 or more: %w", h.cfg.Name, erth.Op,
			p.Timeout, verbs.ErrConfig)
	case p.Timeout == 0:
		p.Timeout = h.cfg.EndpointTimeout
	}
	return h.request(now, p.Peer, p.Path, p.DSCP, p.Timeout, erth)
}

// PollEndpoint takes the oldest result of an endpoint operation; ok is false when there is none.
func (h *Host) PollEndpoint() (r EndpointResult, ok bool) {
	if h.ops.results.Len() == 0 {
		return EndpointResult{}, false
	}
	return h.ops.results.Pop(), true
}

// request sends an endpoint request with a timestamp.
func (h *Host) request(now time.Duration, peer netip.Addr, path Path, dscp uint8,
	timeout time.Duration, erth packet.ERTH) (uint16, error) {
	path, fits := h.fits(path)
	switch {
	case !ibta.UnicastIP(peer) || !h.sameFamily(peer):
		return 0, fmt.Errorf("host %s: %v: Peer %v: want a unicast address of the family of the host's, "+
			"%v: %w", h.cfg.Name, erth.Op, peer, h.cfg.Addr, verbs.ErrConfig)
	case !fits:
		return 0, fmt.Errorf("host %s: %v: Path.Route: want none over IPv4: %w", h.cfg.Name, erth.Op,
			verbs.ErrConfig)
	case !h.sending().Has(path.Port):
		return 0, fmt.Errorf("host %s: %v: Path.Port %d: want a port that is up and not denied: %w",
			h.cfg.Name, erth.Op, path.Port, verbs.ErrConfig)
	case len(h.ops.waiting) >= maxWaiting:
		return 0, fmt.Errorf("host %s: %v: %d endpoint operations under way: %w", h.cfg.Name, erth.Op,
			maxWaiting, verbs.ErrQueueFull)
	}
	h.ops.name()
	h.ops.add(endpointOp{
		result: EndpointResult{ID: h.ops.id, Op: erth.Op, Peer: peer, Path: path}, sentAt: now,
		deadline: now + timeout,
	})
	erth.TSETH = packet.TSETH{Timestamp: uint16(now / packet.TimestampUnit),
		Type: packet.TSETHTimestamp}
	out := h.prepare(peer, path, dscp, packet.NotECT)
	out.BTH = packet.EndpointHeader(packet.OpMRCEndpointRequest, h.ops.id)
	out.BTH.PKey = h.cfg.PKey
	out.ERTH = erth
	h.transmit(now, path.Port)
	return h.ops.id, nil
}

// receiveEndpointRequest answers an endpoint request (OCP MRC 1.0, tables 7-21 and 7-23). Unless
// the owner chooses its path, the answer goes back by the port the request came by, with its
// entropy value: both are what is known to lead to the peer.
func (h *Host) receiveEndpointRequest(now time.Duration, port int, p *packet.MRC) (Refusal, bool) {
	switch {
	case p.BTH.DestQPN != packet.EndpointQPN:
		return RefusedQPN, false
	case !p.Headers.Is(packet.ExtERTH):
		return RefusedHeaders, false
	case p.IPv6.Src == h.cfg.Addr:
		return h.receiveSelfProbe(port, p)
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
		if h.cfg.PeerPortsChanged != nil {
			h.cfg.PeerPortsChanged(p.IPv6.Src)
		}
	case packet.EndpointEVProbe:
	default:
		return RefusedEndpoint, false
	}
	path, ok := Path{EV: p.EV(), Port: port}, true
	if h.cfg.EndpointPath != nil {
		path, ok = h.cfg.EndpointPath(now, p.IPv6.Src, path, h.sending())
	}
	path, fits := h.fits(path)
	if !ok || !fits || !h.sending().Has(path.Port) {
		h.counters.NoPath++
		return 0, true
	}
	ts := timestampOf(p)
	op, id := p.ERTH.Op, p.BTH.EndpointID()
	out := h.prepare(p.IPv6.Src, path, h.cfg.Wire.DSCP.Control, packet.NotECT)
	out.BTH = packet.EndpointHeader(packet.OpMRCEndpointResponse, id)
	out.BTH.PKey = h.cfg.PKey
	out.EETH = packet.EETH{Op: op, Timestamp: ts.answer(h.cfg.EndpointServiceTime,
		h.backlog(now, path.Port))}
	h.transmit(now, path.Port)
	return 0, true
}

func (h *Host) receiveEndpointResponse(now time.Duration, port int, p *packet.MRC) (Refusal, bool) {
	switch {
	case p.BTH.DestQPN != packet.EndpointQPN:
		return RefusedQPN, false
	case p.Trim != packet.NotTrimmed:
		return RefusedTrimmed, false
	}
	i := slices.IndexFunc(h.ops.waiting, func(op endpointOp) bool {
		return op.result.ID == p.BTH.EndpointID() && op.result.Op == p.EETH.Op &&
			op.result.Peer == p.IPv6.Src
	})
	if i < 0 {
		return RefusedEndpoint, false
	}
	op := h.ops.waiting[i]
	h.ops.waiting = slices.Delete(h.ops.waiting, i, i+1)
	r := op.result
	r.Answered, r.Port = true, port
	r.RTT = since(now, p.EETH.Timestamp, packet.TimestampUnit, op.sentAt)
	r.ServiceTimeAdjusted = p.EETH.Timestamp != uint16(op.sentAt/packet.TimestampUnit)
	h.ops.results.Push(r)
	return 0, true
}

// name makes id one that no operation under way has.
func (o *endpointOps) name() {
	for o.id++; slices.ContainsFunc(o.waiting, func(op endpointOp) bool {
		return op.result.ID == o.id
	}); {
		o.id++
	}
}

// add notes an operation that is sent now.
func (o *endpointOps) add(op endpointOp) {
	i := len(o.waiting)
	for i > 0 && o.waiting[i-1].deadline > op.deadline {
		i--
	}
	o.waiting = slices.Insert(o.waiting, i, op)
}

// expire gives up the operations that have waited too long.
func (o *endpointOps) expire(now time.Duration) {
	n := 0
	for n < len(o.waiting) && o.waiting[n].deadline <= now {
		o.results.Push(o.waiting[n].result)
		n++
	}
	o.waiting = slices.Delete(o.waiting, 0, n)
}

func (o *endpointOps) next() (at time.Duration, ok bool) {
	if len(o.waiting) == 0 {
		return 0, false
	}
	return o.waiting[0].deadline, true
}
