package nic

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nscc"
	"github.com/weft-sdn/weft/host/spray"
	"github.com/weft-sdn/weft/host/verbs"
)

// Config describes a NIC. Start from DefaultConfig.
type Config struct {
	// Host is the transport's; EndpointPath and PeerPortsChanged are the NIC's to set.
	Host mrc.Config
	// Wire holds the UDP port and DSCPs set by the operator: the NIC refuses a state of the controller
	// with a different value, and names the field. Host.Wire applies where neither Wire nor the
	// controller sets a value.
	Wire Wire
	// Seed of all random choices: orders of values, and the values of mode AUTO.
	Seed uint64
	// Spray is how queue pairs spray; Seed, Notify and Doubtful are the NIC's to set.
	Spray spray.Config
	// Network sets the parameters of congestion control and the timers without a CC profile. The MTU
	// comes from the queue pair; a Rate of 0 means the rate of all ports together. Default: a round
	// trip of 10 us, with trimming.
	Network nscc.Network
	// Intake limits the speed at which the host processes received packets. Default: at once.
	Intake Intake
	// PortUpdates makes the NIC report its ports that are up to the peers of its queue pairs after
	// each change, by Port Status Updates (OCP MRC 1.0, section 7.4.8). Without Port Status Updates,
	// peers notice by lost packets, or hear from a controller. Default false.
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

// DefaultQPConfig returns the configuration of a queue pair that leaves all possible decisions to
// the controller. The configuration lacks queue pair numbers, initial PSNs and RemoteAddr. With
// AckTimeout 0, the NIC sets both timers by the round trip that congestion control expects (see
// CreateQP).
func DefaultQPConfig() mrc.QPConfig {
	c := mrc.DefaultQPConfig()
	c.AckTimeout, c.ProbeTimeout = 0, 0
	return c
}
