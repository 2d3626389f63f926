package nic

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/endpoint/mrc"
	"github.com/weft-sdn/weft/endpoint/nscc"
	"github.com/weft-sdn/weft/endpoint/spray"
	"github.com/weft-sdn/weft/endpoint/verbs"
	"github.com/weft-sdn/weft/hostapi"
)

// Config describes a NIC. Start from DefaultConfig.
type Config struct {
	// Host is the transport's; EndpointPath and PeerPortsChanged are the NIC's to set.
	Host mrc.Config
	// Wire is what the operator has set of UDP port and DSCPs: a state of the controller that says
	// another value is refused by its name. Host.Wire is what the host begins with where Wire and
	// the controller leave it open.
	Wire Wire
	// Seed of everything that is drawn: orders of values, and the values of mode AUTO.
	Seed uint64
	// Spray is how queue pairs spray; Seed, Notify and Doubtful are the NIC's to set.
	Spray spray.Config
	// Network is what the parameters of congestion control and the timers come from where no CC
	// profile says otherwise. MTU is that of the queue pair; a Rate of 0 is that of all ports
	// together. Default: a round trip of 10 us, with trimming.
	Network nscc.Network
	// Intake is how fast the host takes over what it receives. Default: at once.
	Intake Intake
	// PortUpdates has the NIC tell the peers of its queue pairs which of its ports are up, whenever
	// that changes, by Port Status Updates (OCP MRC 1.0, section 7.4.8); without them peers find
	// out by what they lose, or from a controller. Default false.
	PortUpdates bool
	// ShareCongestion has the queue pairs to a peer with one PMTU share one congestion context
	// (OCP MRC 1.0, §8.3), as far as their congestion control is the NIC's: together they send what
	// one would. Default false: each has its own.
	ShareCongestion bool
	// AutoEVs is how many values a queue pair draws when it has no profile, or one of mode AUTO
	// without a count, over all ports. Default 128 (OCP MRC 1.0, §11.2.1).
	AutoEVs int
	// Managed has queue pairs send no data before the first state is applied: a controller will say
	// how. Without it they begin with values of mode AUTO.
	Managed bool
	// Device, if not nil, takes the place of what the software can do, to play a lesser device; it
	// must not be more.
	Device *hostapi.Capabilities
}

// DefaultConfig is a configuration that lacks only Host.Addr, Host.Ports and Host.Output.
func DefaultConfig() Config {
	return Config{
		Host: mrc.DefaultConfig(), Spray: spray.DefaultConfig(0),
		Network: nscc.Network{RTT: 10 * time.Microsecond, Trimming: true}, AutoEVs: 128,
	}
}

// Validate reports which field cannot be used; the error wraps verbs.ErrConfig.
func (c *Config) Validate() error {
	if err := c.Host.Validate(); err != nil {
		return err
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("host %s: %s: %w", c.Host.Name, fmt.Sprintf(format, args...), verbs.ErrConfig)
	}
	if err := c.Spray.Validate(); err != nil {
		return bad("Spray: %v", err)
	}
	if c.Network.RTT < time.Nanosecond || c.Network.RTT > time.Minute {
		return bad("Network.RTT %v: want 1ns to a minute", c.Network.RTT)
	}
	if ports := len(c.Host.Ports); c.AutoEVs < ports || c.AutoEVs > spray.MaxEVs {
		return bad("AutoEVs %d: want %d, the number of ports, to %d", c.AutoEVs, ports, spray.MaxEVs)
	}
	if err := c.Intake.Validate(); err != nil {
		return bad("Intake: %v", err)
	}
	own := software(len(c.Host.Ports))
	if c.Device != nil {
		if field := exceeds(c.Device, &own); field != "" {
			return bad("Device: %s: want no more than what the software can do", field)
		}
	}
	return nil
}

// DefaultQPConfig is the configuration of a queue pair that leaves everything that a controller may
// decide to it: it lacks queue pair numbers, initial PSNs and RemoteAddr. AckTimeout 0 has the NIC
// set both timers by the round trip that congestion control expects (see CreateQP).
func DefaultQPConfig() mrc.QPConfig {
	c := mrc.DefaultQPConfig()
	c.AckTimeout, c.ProbeTimeout = 0, 0
	return c
}
