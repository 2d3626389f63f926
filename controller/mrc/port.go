package mrc

import (
	"context"
	"maps"
	"slices"

	"github.com/weft-sdn/weft/topology"
)

// SetPorts is what a switch of the inventory says of its ports; see
// [Core.SetPorts]. It does not wait for what follows, and gives up when ctx ends.
// isUp and learned, the ports of link identifiers that the inventory does not list, must not be changed
// any more.
func (r *Runner) SetPorts(ctx context.Context, sw string, isUp map[uint32]bool, learned map[uint32]uint32) {
	r.loop.Post(ctx.Done(), func() {
		r.ports[sw] = reported{up: isUp, learned: learned}
		if n := r.switches[sw]; n != nil {
			r.core.SetPortNumbers(n.ID, r.numbers(sw))
			r.core.SetPorts(n.ID, isUp)
		}
	})
}

// find notes which nodes the switches of the inventory are, and tells the core what
// is known of the ports of those that have been found, or are other nodes than before.
func (r *Runner) find(nodes map[string]*topology.Node) {
	var moved []string
	for _, sw := range slices.Sorted(maps.Keys(nodes)) {
		before := r.switches[sw]
		if before != nil && before.ID == nodes[sw].ID {
			continue
		}
		moved = append(moved, sw)
		if before != nil {
			r.core.SetPorts(before.ID, nil)
			r.core.SetPortNumbers(before.ID, nil)
		}
	}
	maps.Copy(r.switches, nodes)
	for _, sw := range moved {
		r.core.SetPortNumbers(nodes[sw].ID, r.numbers(sw))
		r.core.SetPorts(nodes[sw].ID, r.ports[sw].up)
	}
}

// numbers returns the ports of a switch by link identifier, where they are others than advertised.
func (r *Runner) numbers(sw string) map[uint32]uint32 {
	configured := r.opts.Inventory.Switch(sw)
	if len(r.ports[sw].learned) == 0 {
		return configured.Ports
	}
	out := maps.Clone(r.ports[sw].learned)
	maps.Copy(out, configured.Ports)
	return out
}
