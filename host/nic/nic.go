package nic

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nscc"
	"github.com/weft-sdn/weft/host/selfprobe"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// A NIC is an MRC host with the state set by its controller. The owner uses a NIC like an mrc.Host.
type NIC struct {
	*mrc.Host
	cfg    Config
	device hostapi.Capabilities
	report Reporter
	watch  func(hostapi.EVEvent)
	hints  func() map[uint32]hostapi.QPHints // nil: none

	given    *hostapi.State // by the controller; never nil
	local    *hostapi.State // nil: no local profiles
	state    *hostapi.State // what both make; never nil
	applied  bool           // a state was
	profiles map[string]*profile
	serve    destinations
	flows    []*flow // in the order of their creation

	probing []*probing
	asked   map[uint16]*probing  // by the id of a probe under way
	results []mrc.EndpointResult // of operations that are not the NIC's own
	updates []*update            // Port Status Updates not answered yet
	self    *selfprobe.Prober
	intake  intake
}

// A Reporter is told what becomes of values and ports, on the owner's goroutine. It must not call
// back. An *agent.Agent is one.
type Reporter interface {
	EVEvent(hostapi.EVEvent)
	PortStatus(up hostapi.PortMask)
	SelfProbeCounts(c *hostapi.SelfProbeCounts)
}

// New makes a NIC that holds nothing. The error wraps verbs.ErrConfig.
func New(cfg Config) (*NIC, error) {
	cfg.Host.Wire = cfg.Wire.Over(cfg.Host.Wire)
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	n := &NIC{
		intake: intake{Intake: cfg.Intake},
		cfg:    cfg, device: software(len(cfg.Host.Ports)), state: &hostapi.State{},
		given:    &hostapi.State{},
		profiles: make(map[string]*profile), asked: make(map[uint16]*probing),
		self: selfprobe.New(cfg.Seed),
	}
	if cfg.Device != nil {
		n.device = *cfg.Device
	}
	if n.cfg.Network.Rate == 0 {
		for _, p := range cfg.Host.Ports {
			if p.LineRate == 0 {
				p.LineRate = defaultRate
			}
			n.cfg.Network.Rate += p.LineRate
		}
	}
	n.cfg.Network.MTU = checkMTU
	if err := nscc.DefaultConfig(n.cfg.Network).Validate(); err != nil {
		return nil, fmt.Errorf("host %s: Network: %w: %w", cfg.Host.Name, err, verbs.ErrConfig)
	}
	cfg.Host.EndpointPath = n.answerPath
	cfg.Host.PeerPortsChanged = n.peerPorts
	var err error
	n.Host, err = mrc.NewHost(cfg.Host)
	return n, err
}

// defaultRate is the rate of a port without a configured rate (mrc.Port).
const defaultRate = 100e9

// Report sets the reporter for later events, and reports the current ports to r; nil: no reporter.
func (n *NIC) Report(r Reporter) {
	n.report = r
	n.tellPorts()
}

func (n *NIC) tellPorts() {
	if n.report != nil {
		n.report.PortStatus(hostapi.PortMask(n.Ports()))
	}
}

// State returns the state of the controller's that the NIC holds; empty before the first one.
func (n *NIC) State() *hostapi.State { return n.given }

// Waiting reports that queue pairs wait for a first state (Config.Managed).
func (n *NIC) Waiting() bool { return n.cfg.Managed && !n.applied }

// Advance is mrc.Host's, and sends the EV probes and Port Status Updates that are due.
func (n *NIC) Advance(now time.Duration) (next time.Duration, pending bool) {
	n.sendProbes(now)
	n.probeSelf(now)
	next, pending = n.Host.Advance(now)
	n.collect()
	if n.sendUpdates(now) {
		next, pending = n.Host.Advance(now)
	}
	if at, ok := n.nextUpdate(now); ok && (!pending || at < next) {
		next, pending = at, true
	}
	if at, ok := n.nextProbe(); ok && (!pending || at < next) {
		next, pending = at, true
	}
	if at, ok := n.self.Next(); ok && (!pending || at < next) {
		next, pending = at, true
	}
	return next, pending
}

// PollEndpoint takes the oldest result of an endpoint operation that the owner has begun; ok is
// false when there is none.
func (n *NIC) PollEndpoint() (r mrc.EndpointResult, ok bool) {
	n.collect()
	if len(n.results) == 0 {
		return mrc.EndpointResult{}, false
	}
	r = n.results[0]
	n.results = n.results[1:]
	return r, true
}

// SetPort reports whether a port is up, and reports it, to peers too with Config.PortUpdates: call
// Advance afterwards. verbs.ErrNotFound for a port the host does not have.
func (n *NIC) SetPort(port int, up bool) error {
	if err := n.Host.SetPort(port, up); err != nil {
		return err
	}
	for _, f := range n.flows {
		n.setPorts(f)
	}
	n.tellPorts()
	n.tellPeers()
	return nil
}

// peerPorts handles a new port status of a peer.
func (n *NIC) peerPorts(peer netip.Addr) {
	for _, f := range n.flows {
		if f.peer == peer {
			n.setPorts(f)
		}
	}
}

// usable are the ports to send by to a peer: up at both ends, and not denied.
func (n *NIC) usable(peer netip.Addr) packet.PortMask {
	return n.Ports() & n.PeerPorts(peer) & packet.PortMask(
		n.state.PeerPorts(peer)&^n.state.DeniedPorts)
}

// refusal is why a state is not held.
func refusal(code hostapi.Code, field, format string, args ...any) *hostapi.FieldError {
	return &hostapi.FieldError{Code: code, Field: field, Reason: fmt.Sprintf(format, args...)}
}
