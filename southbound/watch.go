package southbound

import (
	"cmp"
	"context"

	"google.golang.org/grpc"

	"github.com/weft-sdn/weft/southbound/gnmi"
)

// WatchPorts follows the ports of a switch by gNMI alone until ctx ends, and calls handler with
// every change, one at a time. It only reads, so it needs neither a role nor a pipeline; counters
// are not asked for. The error is one of the configuration.
func WatchPorts(ctx context.Context, cfg Config, handler func(context.Context, Ports)) error {
	cfg = cfg.GNMIOnly()
	cfg.Samples = nil
	if err := cfg.Validate(); err != nil {
		return err
	}
	w := gnmi.New(cfg.Watch(), func(ctx context.Context, p gnmi.State) { handler(ctx, PortsOf(p)) })
	w.Run(ctx, func() (grpc.ClientConnInterface, func(), error) {
		cc, err := cfg.Connect(cmp.Or(cfg.GNMI, cfg.Target))
		if err != nil {
			return nil, nil, err
		}
		return cc, func() { _ = cc.Close() }, nil
	})
	return nil
}

// PortsOf returns the event for a state of a switch's ports.
func PortsOf(p gnmi.State) Ports {
	return Ports{Up: p.Up(), Interfaces: p.Interfaces, Report: p.Report, Err: p.Err,
		Ignored: p.Ignored}
}
