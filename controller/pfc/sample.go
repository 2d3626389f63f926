package pfc

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-sdn/weft/controller/pfc/tunnel"
	"github.com/weft-sdn/weft/internal/natural"
)

// Sample is what probes say of a tunnel for PFC frames.
type Sample struct {
	// Tunnel is SWITCH/ID: where it starts, and the number of its segment list there.
	Tunnel string
	tunnel.Quality
}

// Samples returns what probes say of each tunnel, by name.
func (f *Feature) Samples() []Sample {
	found := make(map[string]Sample) // policies share tunnels
	for _, r := range f.pfcPolicies.All() {
		d := f.deploymentOf(r)
		if d == nil {
			continue
		}
		for i := range d.Tunnels {
			x := &d.Tunnels[i]
			name := fmt.Sprintf("%s/%d", f.switchName(x.From), f.core.ListNumber(x))
			found[name] = Sample{name, f.core.Quality(x)}
		}
	}
	return slices.SortedFunc(maps.Values(found),
		func(a, b Sample) int { return natural.Compare(a.Tunnel, b.Tunnel) })
}
