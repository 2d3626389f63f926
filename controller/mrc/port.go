package mrc

import "context"

// SetPorts takes what a switch of the inventory reports of its ports; see [Core.SetPorts]. It does not
// wait for what follows, and gives up when ctx ends. isUp and learned, the ports of link identifiers
// that the inventory does not list, must not be changed any more.
func (r *Runner) SetPorts(ctx context.Context, sw string, isUp map[uint32]bool, learned map[uint32]uint32) {
	r.ledger.Post(ctx.Done(), func() { r.setPorts(sw, reported{up: isUp, learned: learned}) })
}
