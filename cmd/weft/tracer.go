package main

import (
	"context"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/dataplane/trace"
	"github.com/weft-sdn/weft/dataplane/trace/stream"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/northbound"
)

// tracer returns the traces of the switches for which the inventory has switches[].trace.
func tracer(inv *inventory.Inventory) northbound.Tracer {
	sources := map[string]string{}
	for i := range inv.Switches {
		if s := &inv.Switches[i]; s.Trace != "" {
			sources[s.Name] = "http://" + s.Trace
		}
	}
	return func(ctx context.Context, sw string, want northbound.TraceFilter, take func(api.PacketTrace, uint64) error) error {
		base, ok := sources[sw]
		if !ok {
			return northbound.ErrNoTraces
		}
		return stream.Receive(ctx, base, trace.Filter{Port: want.Port, Count: want.Count}, func(i trace.Item) error { return lab.TakeTrace(i, take) })
	}
}
