package controller

import (
	"context"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/gnmi"
	"github.com/weft-sdn/weft/southbound/sonic"
	"github.com/weft-sdn/weft/southbound/target"
)

// SONiC reaches switches that run SONiC, or answer as it does, through package southbound/sonic.
type SONiC struct {
	// Samples, when not nil, takes the counters of the ports of all switches. Each switch calls
	// Samples from a separate goroutine, so calls run concurrently.
	Samples gnmi.Samples
	// Configure, when not nil, may change how a switch is reached.
	Configure func(inventory.Switch, *southbound.Config)
}

// Open implements Southbound.
func (s *SONiC) Open(
	ctx context.Context, sw inventory.Switch, handler func(SwitchEvent),
) (Switch, error) {
	cfg := SessionConfig(&sw, southbound.ElectionID{})
	cfg.Samples = s.Samples
	if s.Configure != nil {
		s.Configure(sw, &cfg)
	}
	return sonic.Open(ctx, sonic.Config{Config: cfg},
		func(_ context.Context, e southbound.Event) { hand(e, handler) })
}

// portOf returns the numbers of the ports of a switch without P4 by the names of its interfaces.
func portOf(sw *inventory.Switch) func(iface string) uint32 {
	d := sw.Target()
	return func(iface string) uint32 {
		if p := d.PortOf(iface); p <= p4.MaxLinkPort {
			return p
		}
		return 0
	}
}

// Systems reaches each switch by what it runs.
type Systems map[target.System]Southbound

// NewSystems returns the seam to the switches of all systems: p4 reaches those that run P4.
func NewSystems(p4 *P4Runtime) Systems {
	rows := &SONiC{Samples: p4.Samples, Configure: p4.Configure}
	return Systems{inventory.P4: p4, target.SONiC: rows, target.Linux: rows}
}

// Open implements Southbound.
func (s Systems) Open(
	ctx context.Context, sw inventory.Switch, handler func(SwitchEvent),
) (Switch, error) {
	if sw.RunsP4() {
		return s[inventory.P4].Open(ctx, sw, handler)
	}
	return s[sw.System].Open(ctx, sw, handler)
}
