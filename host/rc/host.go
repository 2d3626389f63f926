package rc

import (
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/host/internal/ibta"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// Host is one port of a RoCEv2 adapter with its queue pairs and memory regions.
type Host struct {
	cfg      Config
	qps      map[uint32]*QP
	regions  verbs.Regions
	counters Counters

	active   []*QP         // queue pairs with posted work, in the order they take turns
	turn     int           // index in active of the queue pair to send next
	lineFree time.Duration // when the port has sent what it was given
	out      packet.RoCE   // the packet being sent
	frame    []byte        // its encoding

	etherType uint16 // of the frames of its family
}

// NewHost makes a host. The error wraps ErrConfig.
func NewHost(cfg Config) (*Host, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Host{cfg: cfg, qps: make(map[uint32]*QP),
		etherType: packet.IPv6{Src: cfg.Addr, Dst: cfg.Addr}.EtherType()}, nil
}

// Config is the configuration the host was made with.
func (h *Host) Config() Config { return h.cfg }

// Counters is a copy of the host's counters.
func (h *Host) Counters() Counters { return h.counters }

// CreateQP makes a queue pair, ready to send and to receive. Errors wrap ErrConfig, or ErrExists
// for a number in use.
func (h *Host) CreateQP(cfg QPConfig) (*QP, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("host %s: %w", h.cfg.Name, err)
	}
	if cfg.RemoteAddr.Is4() != h.cfg.Addr.Is4() {
		return nil, fmt.Errorf("host %s: QP %#x: RemoteAddr %v: want one of the family of %v: %w",
			h.cfg.Name, cfg.QPN, cfg.RemoteAddr, h.cfg.Addr, verbs.ErrConfig)
	}
	if _, ok := h.qps[cfg.QPN]; ok {
		return nil, fmt.Errorf("host %s: QP %#x: %w", h.cfg.Name, cfg.QPN, verbs.ErrExists)
	}
	q := newQP(h, cfg)
	if err := q.SetEncapsulation(cfg.Encapsulation); err != nil {
		return nil, fmt.Errorf("host %s: %w", h.cfg.Name, err)
	}
	h.qps[cfg.QPN] = q
	return q, nil
}

// QP is the queue pair of a number; ErrNotFound when there is none.
func (h *Host) QP(qpn uint32) (*QP, error) {
	if q, ok := h.qps[qpn]; ok {
		return q, nil
	}
	return nil, fmt.Errorf("host %s: QP %#x: %w", h.cfg.Name, qpn, verbs.ErrNotFound)
}

// DestroyQP removes a queue pair with all its work, which does not complete. It ignores an unknown
// number.
func (h *Host) DestroyQP(qpn uint32) {
	if q, ok := h.qps[qpn]; ok {
		q.discard()
		q.state = qpDestroyed
		delete(h.qps, qpn)
	}
}

// Advance carries out what is due at now: timeouts, and sending as far as windows and rates allow.
// It returns the time of the next task; pending is false if no task follows without a received
// frame or posted work. now must not go backwards.
func (h *Host) Advance(now time.Duration) (next time.Duration, pending bool) {
	h.active = slices.DeleteFunc(h.active, (*QP).retire)
	for _, q := range h.active {
		q.expire(now)
	}
	for {
		q := h.nextReady(now)
		if q == nil {
			break
		}
		q.sendRequest(now)
	}
	for _, q := range h.active {
		if at, ok := q.nextEvent(); ok && (!pending || at < next) {
			next, pending = at, true
		}
	}
	return next, pending
}

// nextReady is the queue pair whose turn it is to send a packet at now, or nil.
func (h *Host) nextReady(now time.Duration) *QP {
	if h.lineFree > now {
		return nil
	}
	for i := range h.active {
		k := (h.turn + i) % len(h.active)
		if at, ok := h.active[k].nextSend(); ok && at <= now {
			h.turn = k + 1
			return h.active[k]
		}
	}
	return nil
}

// activate gives a queue pair with posted work its turn.
func (h *Host) activate(q *QP) {
	if !q.active {
		q.active = true
		h.active = append(h.active, q)
	}
}

// transmit encodes h.out and hands it out. It returns the length of the frame.
func (h *Host) transmit(now time.Duration) int {
	h.frame = h.out.Append(h.frame[:0])
	n := len(h.frame)
	h.counters.FramesSent++
	h.counters.OctetsSent += uint64(n)
	h.lineFree = h.paced(h.lineFree, now) + ibta.Serialization(n, float64(h.cfg.LineRate))
	h.cfg.Output(now, h.frame)
	return n
}

// paced is when the next interval of a paced sequence begins: where the last one ended, or now if
// that is longer ago than may be made up for.
func (h *Host) paced(free, now time.Duration) time.Duration {
	return max(free, now-h.cfg.PacingSlack)
}

func (h *Host) refuse(r Refusal) { h.counters.Refused[r]++ }

// RegisterMR makes buf accessible to peers that know rkey, its first octet at virtual address va.
// The host writes to buf during Receive. Errors: verbs.ErrExists for a key in use, verbs.ErrConfig
// when the region does not fit 64 bits of address.
func (h *Host) RegisterMR(va uint64, rkey uint32, buf []byte, access verbs.Access) (*verbs.Region,
	error) {
	r, err := h.regions.Register(va, rkey, buf, access)
	if err != nil {
		return nil, fmt.Errorf("host %s: %w", h.cfg.Name, err)
	}
	return r, nil
}

// DeregisterMR withdraws a region, also from messages being received. It ignores an unknown key.
func (h *Host) DeregisterMR(rkey uint32) { h.regions.Deregister(rkey) }
