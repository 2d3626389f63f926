package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/dataplane/gnmi"
	"github.com/weft-sdn/weft/lab/kernels"
	"github.com/weft-sdn/weft/southbound/target"
)

// Switches is the software that the switches of a network run, the value of "weft lab --switches".
type Switches string

// What switches run.
const (
	SwitchesP4    Switches = "p4"
	SwitchesLinux Switches = "linux"
	// SwitchesMixed: switches of plane 1 run the P4 program, and all others Linux.
	SwitchesMixed Switches = "mixed"
)

// AllSwitches are the values of Switches.
var AllSwitches = []string{string(SwitchesP4), string(SwitchesLinux), string(SwitchesMixed)}

// SetSwitches has the switches of a network run something. An unknown value is a *FieldError.
func (n *Network) SetSwitches(to Switches) error {
	if !slices.Contains(AllSwitches, string(to)) {
		return &FieldError{Field: "switches", Problem: fmt.Sprintf("is %q: want p4, linux or mixed",
			string(to))}
	}
	if err := n.Complete(); err != nil {
		return err
	}
	planes := n.planes()
	for i := range n.Switches {
		s := &n.Switches[i]
		s.System = ""
		if to == SwitchesLinux || to == SwitchesMixed && planes[s.Name] > 1 {
			s.System = target.Linux
		}
	}
	return n.Complete()
}

// HasKernels reports whether a switch runs Linux.
func (n *Network) HasKernels() bool {
	return slices.ContainsFunc(n.Switches, func(s Switch) bool { return s.IsKernel() })
}

// IsKernel reports whether the switch is a Linux kernel with its agent.
func (s *Switch) IsKernel() bool { return s.System == target.Linux }

// serveKernel makes a kernel the switch. The gNMI server of its agent takes its former address if
// the switch ran before.
func (l *Live) serveKernel(s Switch, at netip.AddrPort) (address string, err error) {
	node := l.World.switches[s.Name]
	cfg := kernels.Config{Name: s.Name, Listen: at.String(), MAC: s.MAC, Log: l.log,
		Deliver: func(port uint32, frames [][]byte) {
			_ = l.Clock.Do(context.Background(), func(now time.Duration) { // unless the lab ends
				if node.down {
					return
				}
				for _, frame := range frames {
					node.Transmit(now, port, frame)
				}
			})
		},
		Changed: func(enabled map[uint32]bool) { l.setKernelPorts(node, enabled) },
	}
	if err := l.Clock.Do(context.Background(), func(time.Duration) {
		for _, port := range slices.Sorted(maps.Keys(node.ports)) {
			wire := node.ports[port]
			p := kernels.Port{Number: port, Up: node.sees(wire), Rate: wire.Rate}
			if h := l.World.Network.host(wire.To); h != nil {
				p.Host, p.HostMAC = h.Address, h.MAC
				if h.Transport == MRC {
					p.HostMAC = h.PortMAC(int(wire.ToPort))
				}
			}
			cfg.Ports = append(cfg.Ports, p)
		}
	}); err != nil {
		return "", err
	}
	k, err := kernels.Open(cfg)
	if err != nil {
		return "", err
	}
	l.kernels[s.Name] = k
	return k.Address(), l.Clock.Do(context.Background(), func(time.Duration) {
		node.RunElsewhere(k.Send)
		// The error does not matter: a port without an interface belongs to a switch that is being turned
		// off.
		node.carrierOf = func(port uint32, up bool) { _ = k.SetCarrier(port, up) }
		for port, wire := range node.ports { // links may have gone meanwhile
			node.look(port, wire)
		}
	})
}

// InKernel runs f in the network namespace of the kernel that is a switch.
func (l *Live) InKernel(name string, f func() error) error {
	k := l.kernels[name]
	if k == nil {
		return fmt.Errorf("switch %q is no kernel of the lab that runs", name)
	}
	return k.Do(f)
}

// setKernelPorts takes links down when a client disables their ports at a kernel, and up again. The
// ends of a link advertise the change, as routers do.
func (l *Live) setKernelPorts(node *SwitchNode, enabled map[uint32]bool) {
	_ = l.change(l.ctx, func(*World) ([]string, error) { // fails when the lab ends
		if node.down {
			return nil, nil
		}
		var changes []gnmi.Change
		for port, on := range enabled {
			c := gnmi.Change{Port: port, Old: node.settings(port).Settings}
			c.New = c.Old
			if c.New.Disabled = !on; c.New.Disabled != c.Old.Disabled {
				changes = append(changes, c)
			}
		}
		return node.configure(changes)
	})
}

// closeKernel ends the kernel of a switch, if it has one.
func (l *Live) closeKernel(name string) error {
	k := l.kernels[name]
	if k == nil {
		return nil
	}
	delete(l.kernels, name)
	return k.Close()
}

// closeKernels ends all kernels.
func (l *Live) closeKernels() (err error) {
	for _, name := range slices.Sorted(maps.Keys(l.kernels)) {
		err = errors.Join(err, l.closeKernel(name))
	}
	return err
}
