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

// Host is an adapter of one address and several ports, with its queue pairs and memory regions. Its
// owner passes every received frame to Receive and calls Advance after Receive, after posting work
// and whenever the time that Advance returned has come; the host hands frames to Config.Output,
// which must not call back. One owner at a time.
type Host struct {
	cfg      Config
	ports    []port
	up       packet.PortMask
	denied   packet.PortMask
	peers    map[netip.Addr]packet.PortMask // what peers said of their ports
	qps      map[uint32]*QP
	regions  verbs.Regions
	counters Counters
	ops      endpointOps
	// selfProbes have come back and wait for PollSelfProbe.
	selfProbes ring.Ring[SelfProbe]
	together   together

	// queue pairs with posted work, in the order they take turns: from turn on, then from 0
	active []*QP
	turn   int        // index in active of the queue pair whose turn it is
	in     packet.MRC // the packet being received
	inPort int        // the port it came by
	out    packet.MRC // the packet being sent
	frame  []byte     // its encoding
	memory [4096]byte // its payload, where that is not the program's own
}

type port struct {
	rate float64
	free time.Duration // when it has sent what it was given
}

// NewHost makes a host, all its ports up. The error wraps verbs.ErrConfig.
func NewHost(cfg Config) (*Host, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	h := &Host{cfg: cfg, qps: make(map[uint32]*QP), peers: make(map[netip.Addr]packet.PortMask)}
	h.cfg.Ports = slices.Clone(cfg.Ports)
	for i, p := range cfg.Ports {
		rate := float64(p.LineRate)
		if p.LineRate == 0 {
			rate = defaultLineRate
		}
		h.ports = append(h.ports, port{rate: rate})
		h.up = h.up.With(i + 1)
	}
	return h, nil
}

// Config is the configuration the host was made with.
func (h *Host) Config() Config { return h.cfg }

// Counters is a copy of the host's counters.
func (h *Host) Counters() Counters { return h.counters }

// SetWire changes UDP port and DSCPs for what is sent and received from now on. verbs.ErrConfig
// names what cannot be used, and nothing is changed.
func (h *Host) SetWire(w packet.MRCSettings) error {
	cfg := h.cfg
	cfg.Wire = w
	if err := cfg.Validate(); err != nil {
		return err
	}
	h.cfg.Wire = w
	return nil
}

// Ports are the ports that are up.
func (h *Host) Ports() packet.PortMask { return h.up }

// SetPort sets whether a port is up; a port that is down neither sends nor receives. Peers learn of
// it by SendPortStatus. verbs.ErrNotFound for a port the host does not have.
func (h *Host) SetPort(n int, up bool) error {
	if n < 1 || n > len(h.ports) {
		return fmt.Errorf("host %s: port %d: want 1..%d: %w", h.cfg.Name, n, len(h.ports),
			verbs.ErrNotFound)
	}
	if up {
		h.up = h.up.With(n)
	} else {
		h.up &^= packet.PortMask(0).With(n)
	}
	return nil
}

// DenyPorts sets the ports by which the host must not send (OCP MRC 1.0, §9.3.2.1), in place of
// those it was told before. They still receive.
func (h *Host) DenyPorts(ports packet.PortMask) { h.denied = ports }

// sending are the ports that may send.
func (h *Host) sending() packet.PortMask { return h.up &^ h.denied }

// PeerPorts are the ports that a peer says are reachable; all, when it has said nothing.
func (h *Host) PeerPorts(peer netip.Addr) packet.PortMask {
	if m, ok := h.peers[peer]; ok {
		return m
	}
	return ^packet.PortMask(0)
}

// reachable are the ports to send by to a peer, of planes on which both ends are up: a port is a
// plane (OCP MRC 1.0, §11.5).
func (h *Host) reachable(peer netip.Addr) packet.PortMask { return h.sending() & h.PeerPorts(peer) }

// RegisterMR makes buf accessible to peers that know rkey, its first octet at virtual address va.
// The host writes to buf during Receive. Errors: verbs.ErrExists for a key in use, ErrConfig when
// the region does not fit 64 bits of address.
func (h *Host) RegisterMR(va uint64, rkey uint32, buf []byte, access verbs.Access) (*verbs.Region,
	error) {
	r, err := h.regions.Register(va, rkey, buf, access)
	if err != nil {
		return nil, fmt.Errorf("host %s: %w", h.cfg.Name, err)
	}
	return r, nil
}

// RegisterForeign is RegisterMR for memory that is not the program's own.
func (h *Host) RegisterForeign(va uint64, rkey uint32, f verbs.Foreign,
	access verbs.Access) (*verbs.Region, error) {
	r, err := h.regions.RegisterForeign(va, rkey, f, access)
	if err != nil {
		return nil, fmt.Errorf("host %s: %w", h.cfg.Name, err)
	}
	return r, nil
}

// DeregisterMR withdraws a region, also from messages being received. It ignores an unknown key.
func (h *Host) DeregisterMR(rkey uint32) { h.regions.Deregister(rkey) }

// CreateQP makes a queue pair, ready to send and to receive. Errors wrap verbs.ErrConfig, or
// ErrExists for a number in use.
func (h *Host) CreateQP(cfg QPConfig) (*QP, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("host %s: %w", h.cfg.Name, err)
	}
	if !h.sameFamily(cfg.RemoteAddr) {
		return nil, fmt.Errorf("host %s: QP %#x: RemoteAddr %v: want an address of the family of the "+
			"host's, %v: %w", h.cfg.Name, cfg.QPN, cfg.RemoteAddr, h.cfg.Addr, verbs.ErrConfig)
	}
	if _, ok := h.qps[cfg.QPN]; ok {
		return nil, fmt.Errorf("host %s: QP %#x: %w", h.cfg.Name, cfg.QPN, verbs.ErrExists)
	}
	if h.cfg.Wire.DSCP.High(cfg.DSCP) && cfg.DSCP != 0 {
		return nil, fmt.Errorf("host %s: QP %#x: DSCP %d is that of control or trimmed packets: want "+
			"one of data: %w", h.cfg.Name, cfg.QPN, cfg.DSCP, verbs.ErrConfig)
	}
	q := newQP(h, cfg)
	h.qps[cfg.QPN] = q
	return q, nil
}

// QP is the queue pair of a number; verbs.ErrNotFound when there is none.
func (h *Host) QP(qpn uint32) (*QP, error) {
	if q, ok := h.qps[qpn]; ok {
		return q, nil
	}
	return nil, fmt.Errorf("host %s: QP %#x: %w", h.cfg.Name, qpn, verbs.ErrNotFound)
}

// DestroyQP removes a queue pair with its receive requests, which do not complete. Its requester
// must be IDLE or the queue pair in the error state (OCP MRC 1.0, section 8.3): otherwise the error
// wraps verbs.ErrBusy and nothing is changed. QP.Abort ends a queue pair whose work need not
// complete. DestroyQP ignores an unknown number.
func (h *Host) DestroyQP(qpn uint32) error {
	q, ok := h.qps[qpn]
	if !ok {
		return nil
	}
	if s := q.Schedule(); s != Idle {
		return fmt.Errorf("host %s: QP %#x is %v with %d work requests not complete: want IDLE, or the "+
			"error state (Abort): %w",
			h.cfg.Name, qpn, s, q.sq.Len(), verbs.ErrBusy)
	}
	q.rq.Clear()
	q.state = qpDestroyed
	delete(h.qps, qpn)
	return nil
}

// Advance carries out what is due at now: timeouts, and sending as far as windows, paths and ports
// allow. It returns the time of the next task; pending is false if no task follows without a
// received frame, posted work or a path that comes back. now must not go backwards.
func (h *Host) Advance(now time.Duration) (next time.Duration, pending bool) {
	h.retire()
	for _, q := range h.active {
		q.expire(now)
	}
	h.ops.expire(now)
	for h.sendOne(now) {
	}
	earlier := func(t time.Duration, is bool) {
		if is && (!pending || t < next) {
			next, pending = t, true
		}
	}
	for _, q := range h.active {
		earlier(q.nextEvent(now))
	}
	earlier(h.ops.next())
	return next, pending
}

// sendOne lets the next queue pair in turn send a packet; false: no queue pair can send now. A
// queue pair that cannot send keeps its turn and goes first when its window opens or its port
// becomes free. So queue pairs that compete for a port get equal shares, even if a queue pair can
// use the port less often.
func (h *Host) sendOne(now time.Duration) bool {
	free := h.freePorts(now)
	if free == 0 {
		return false
	}
	for i := range h.active {
		q := h.active[ring.Place(len(h.active), h.turn, i)]
		if q.sendProbe(now, free) || q.sendable() && q.context.NextSend() <= now && q.send(now, free) {
			h.turn = ring.Turn(h.active, h.turn, i)
			for n := 1; n < h.cfg.Burst && q.train.left > 0 && q.sendable() &&
				q.context.NextSend() <= now && q.send(now, h.freePorts(now)); n++ {
			}
			return true
		}
	}
	return false
}

// freePorts returns the ports that are up and idle.
func (h *Host) freePorts(now time.Duration) packet.PortMask {
	var free packet.PortMask
	for i := range h.ports {
		if h.ports[i].free <= now {
			free = free.With(i + 1)
		}
	}
	return free & h.sending()
}

// nextFree returns the first time at which a busy port becomes free; ok is false if no port is
// busy.
func (h *Host) nextFree(now time.Duration) (at time.Duration, ok bool) {
	sending := h.sending()
	for i := range h.ports {
		if free := h.ports[i].free; sending.Has(i+1) && free > now && (!ok || free < at) {
			at, ok = free, true
		}
	}
	return at, ok
}

// backlog returns the time that a port still needs to send its queued frames.
func (h *Host) backlog(now time.Duration, n int) time.Duration {
	return max(0, h.ports[n-1].free-now)
}

// activate gives a queue pair with posted work its turn.
func (h *Host) activate(q *QP) {
	if !q.active {
		q.active = true
		h.active = slices.Insert(h.active, h.turn, q) // whose turn is last
		h.turn++
	}
}

// retire takes those without work out of the turns.
func (h *Host) retire() {
	kept, turn := h.active[:0], h.turn
	for i, q := range h.active {
		switch {
		case !q.retire():
			kept = append(kept, q)
		case i < h.turn:
			turn--
		}
	}
	clear(h.active[len(kept):])
	h.active, h.turn = kept, turn
}

// sameFamily reports whether a peer's address is IPv4 or IPv6 as the host's own.
func (h *Host) sameFamily(peer netip.Addr) bool { return peer.Is4() == h.cfg.Addr.Is4() }

// fits reports whether a path can carry the host's packets, and returns the path as they have it:
// IPv4 has no flow label for an entropy value, and takes no SRv6 (OCP MRC 1.0, §9.1).
func (h *Host) fits(p Path) (Path, bool) {
	if h.cfg.Addr.Is4() {
		p.EV = p.EV.SourcePortOnly()
		return p, p.Route == nil
	}
	return p, true
}

// prepare fills in the packet to be sent but for its transport headers and payload.
func (h *Host) prepare(dst netip.Addr, path Path, dscp, ecn uint8) *packet.MRC {
	p := &h.out
	at := &h.cfg.Ports[path.Port-1]
	p.Ethernet = packet.Ethernet{Dst: at.Gateway, Src: at.MAC}
	p.IPv6 = packet.IPv6{TrafficClass: packet.TrafficClass(dscp, ecn), HopLimit: h.cfg.HopLimit,
		Src: h.cfg.Addr, Dst: dst}
	p.UDP = packet.UDP{DstPort: h.cfg.Wire.Port}
	p.SetEV(path.EV)
	p.Encapsulated, p.Routed = path.Route != nil, false
	if path.Route != nil {
		p.Outer = p.IPv6
		p.Outer.Dst = path.Route.Dst
		if path.Route.SRH != nil {
			p.Routed, p.SRH = true, *path.Route.SRH
		}
	}
	return p
}

// transmit sends the prepared packet. Answers do not wait for their port.
func (h *Host) transmit(now time.Duration, n int) {
	h.frame = h.out.Append(h.frame[:0])
	h.counters.FramesSent++
	h.counters.OctetsSent += uint64(len(h.frame))
	p := &h.ports[n-1]
	p.free = max(p.free, now-h.cfg.PacingSlack) + ibta.Serialization(len(h.frame), p.rate)
	h.cfg.Output(now, n, h.frame)
}

func (h *Host) refuse(r Refusal) { h.counters.Refused[r]++ }
