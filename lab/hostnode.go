package lab

import (
	"cmp"
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/host/cm"
	"github.com/weft-sdn/weft/host/rc"
	wire "github.com/weft-sdn/weft/packet/cm"
)

// A HostNode is a software host in a world. A caller that posts work to its queue pairs, or asks
// its CM for something, calls Wake afterwards.
type HostNode struct {
	*rc.Host
	Name string
	// CM connects queue pairs of the host.
	CM *cm.CM
	// Outer is the IPv6 address that it encapsulates from.
	Outer netip.Addr

	world   *World
	uplink  *Wire
	pending alarm
	stopped bool
}

// newHostNode makes a host that sends at a rate in bits a second; 0 is the default rate of hosts.
func newHostNode(w *World, h Host, gateway Switch, rate uint64, o Options) (*HostNode, error) {
	n := &HostNode{Name: h.Name, Outer: h.Address, world: w}
	if h.IPv6.IsValid() {
		n.Outer = h.IPv6
	}
	cfg := rc.DefaultConfig()
	cfg.Name, cfg.MAC, cfg.Addr, cfg.GatewayMAC = h.Name, h.MAC, h.Address, gateway.MAC
	cfg.PacingSlack, cfg.LineRate = o.PacingSlack, cmp.Or(rate, cfg.LineRate)
	cfg.Output = func(now time.Duration, frame []byte) { n.uplink.send(now, frame) }
	host, err := rc.NewHost(cfg)
	if err != nil {
		return nil, fmt.Errorf("host %s: %w", h.Name, err)
	}
	n.Host = host
	n.CM = cm.New(host, cm.Config{Seed: o.Seed})
	return n, nil
}

// Wake runs what is due on the host.
func (n *HostNode) Wake() { n.world.wake(n) }

// Stop makes the host deaf and mute, as if it had died.
func (n *HostNode) Stop() { n.stopped = true }

// Start ends that: the host goes on with the queue pairs and the memory that it had.
func (n *HostNode) Start() {
	n.stopped = false
	n.Wake()
}

func (n *HostNode) receive(now time.Duration, _ uint32, frame []byte) []byte {
	switch {
	case n.stopped:
	case wire.IsFrame(frame):
		n.CM.Receive(now, frame)
	default:
		n.Host.Receive(now, frame)
	}
	return frame
}

func (n *HostNode) advance(now time.Duration) (time.Duration, bool) {
	if n.stopped {
		return 0, false
	}
	next, pending := n.Host.Advance(now)
	if at, ok := n.CM.Advance(now); ok && (!pending || at < next) {
		next, pending = at, true
	}
	return next, pending
}

func (n *HostNode) alarm() *alarm { return &n.pending }
