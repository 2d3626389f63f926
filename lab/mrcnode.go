package lab

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nic"
)

// An MRCNode is a software host of MRC in a world. A caller that posts work to its queue pairs, or
// applies a state to it, calls Wake afterwards.
type MRCNode struct {
	*nic.NIC
	Name string

	world   *World
	ports   []*Wire // port n is ports[n-1]
	pending alarm
	stopped bool
	applied []applied
}

// applied is a state that a host was given.
type applied struct {
	at     time.Duration // of the real clock, in a world in real time
	denied int           // EVs in all profiles that the state before did not deny
	other  bool          // than the state before
}

// Apply is the NIC's, and remembers when that was.
func (n *MRCNode) Apply(to *hostapi.State) error {
	before := n.State()
	if err := n.NIC.Apply(to); err != nil {
		return err
	}
	a := applied{at: n.world.now + n.world.slipped, other: !before.Equal(n.State())}
	for _, p := range n.State().Profiles {
		was := before.Profile(p.Name)
		for _, v := range p.Denied {
			if was == nil || !was.IsDenied(v) {
				a.denied++
			}
		}
	}
	n.applied = append(n.applied, a)
	return nil
}

// Changed returns when the host last got another state from one time on and before another, and how
// many EVs it came to deny then; ok is false when it got none.
func (n *MRCNode) Changed(from, to time.Duration) (at time.Duration, denied int, ok bool) {
	for _, a := range n.applied {
		if a.at >= from && a.at < to && a.other {
			at, denied, ok = a.at, denied+a.denied, true
		}
	}
	return at, denied, ok
}

func newMRCNode(w *World, h Host, rtt time.Duration, o Options) (*MRCNode, error) {
	n := &MRCNode{Name: h.Name, world: w}
	all := nic.DefaultConfig()
	all.Seed, all.Managed, all.Intake = o.Seed, o.Managed, h.Receive.intake()
	cfg := &all.Host
	cfg.Name, cfg.Addr, cfg.PacingSlack = h.Name, h.Address, o.PacingSlack
	if rtt > 0 {
		all.Network = w.Network.congestion(h.Name, rtt)
		all.Spray.ProbeInterval = max(all.Spray.ProbeInterval, probeEvery*rtt)
		all.Spray.ProbeMaxInterval = max(all.Spray.ProbeMaxInterval, probeAtLeastEvery*rtt)
		cfg.EndpointTimeout = max(cfg.EndpointTimeout, probeEvery*rtt)
	}
	for sw, port := range w.Network.Uplinks(h.Name) {
		cfg.Ports = append(cfg.Ports, mrc.Port{
			MAC: h.PortMAC(len(cfg.Ports) + 1), Gateway: w.switches[sw].Switch.MAC,
			LineRate: w.Network.linkAt(sw, port).Rate,
		})
	}
	n.ports = make([]*Wire, len(cfg.Ports))
	cfg.Output = func(now time.Duration, port int, frame []byte) { n.ports[port-1].send(now, frame) }
	made, err := nic.New(all)
	if err != nil {
		return nil, fmt.Errorf("host %s: %w", h.Name, err)
	}
	n.NIC = made
	return n, nil
}

// Round trips from a path's becoming bad to its first probe, and from probe to probe at most: what
// package spray has for the fastest links, on slower ones.
const (
	probeEvery        = 10
	probeAtLeastEvery = 100 * probeEvery
)

// Now is the world's time, which posting work asks for.
func (n *MRCNode) Now() time.Duration { return n.world.now }

// Wake runs what is due on the host.
func (n *MRCNode) Wake() { n.world.wake(n) }

// Stop makes the host deaf and mute, as if it had died.
func (n *MRCNode) Stop() { n.stopped = true }

// Start ends that: the host goes on with the queue pairs, the state and the memory that it had.
func (n *MRCNode) Start() {
	n.stopped = false
	n.Wake()
}

// carrier is what the host sees of the link at a port.
func (n *MRCNode) carrier(port int, up bool) {
	if err := n.SetPort(port, up); err == nil { // the port is there
		n.Wake()
	}
}

func (n *MRCNode) receive(now time.Duration, port uint32, frame []byte) []byte {
	if !n.stopped {
		n.NIC.Receive(now, int(port), frame)
	}
	return frame
}

func (n *MRCNode) advance(now time.Duration) (time.Duration, bool) {
	if n.stopped {
		return 0, false
	}
	return n.NIC.Advance(now)
}

func (n *MRCNode) alarm() *alarm { return &n.pending }
