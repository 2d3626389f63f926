//go:build linux

package bmv2

import (
	"errors"
	"fmt"
)

// ErrTopology marks a topology that cannot be built.
var ErrTopology = errors.New("bad topology")

// Port is a port of a switch, 1 to 508.
type Port struct {
	Switch string
	Port   uint32
}

func (p Port) String() string { return fmt.Sprintf("%s/%d", p.Switch, p.Port) }

// Switch is one simple_switch_grpc.
type Switch struct {
	Name     string
	DeviceID uint64 // P4Runtime device id, not 0
	CPUPort  uint32 // default 510
}

// Topology describes a network for Start. Every port stands in exactly one link or tap; each is one
// end of a veth pair of its own.
type Topology struct {
	Switches []Switch
	Links    [][2]Port // between switches
	Taps     []Port    // ports whose far end the test holds
}

const (
	defaultCPUPort = 510
	// ports above are the pipeline's own; on 508 it speaks to the target, and a tap may be that
	maxPort = 508
)

func (t Topology) validate() error {
	switches := map[string]bool{}
	for _, s := range t.Switches {
		if s.Name == "" || switches[s.Name] {
			return fmt.Errorf("%w: switch name %q empty or twice", ErrTopology, s.Name)
		}
		if s.DeviceID == 0 {
			return fmt.Errorf("%w: switch %s has device id 0", ErrTopology, s.Name)
		}
		switches[s.Name] = true
	}
	used := map[Port]bool{}
	for _, p := range t.ports() {
		switch {
		case !switches[p.Switch]:
			return fmt.Errorf("%w: port %v of an unknown switch", ErrTopology, p)
		case p.Port == 0 || p.Port > maxPort:
			return fmt.Errorf("%w: port %v is not in 1..%d", ErrTopology, p, maxPort)
		case used[p]:
			return fmt.Errorf("%w: port %v is used twice", ErrTopology, p)
		}
		used[p] = true
	}
	return nil
}

func (t Topology) ports() []Port {
	var ports []Port
	for _, l := range t.Links {
		ports = append(ports, l[0], l[1])
	}
	return append(ports, t.Taps...)
}
