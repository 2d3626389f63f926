package cluster

import (
	"context"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/southbound/gnmi"
)

// Fence returns the seam to switches that only the holder of a lease uses: nothing is sent to a
// switch unless the lease surely lasts, and a request that is under way ends with it.
func Fence(s controller.Southbound, t *Tenure) controller.Southbound { return fence{s, t} }

type fence struct {
	controller.Southbound
	tenure *Tenure
}

// Open implements [controller.Southbound].
func (f fence) Open(ctx context.Context, sw inventory.Switch,
	handler func(controller.SwitchEvent)) (controller.Switch, error) {
	s, err := f.Southbound.Open(ctx, sw, handler)
	if err != nil {
		return nil, err
	}
	if p4, ok := s.(controller.P4Switch); ok {
		return fencedP4{fenced{s, f.tenure}, p4}, nil
	}
	return fenced{s, f.tenure}, nil
}

type fenced struct {
	controller.Switch
	tenure *Tenure
}

// fencedP4 is a switch with a P4 program.
type fencedP4 struct {
	fenced
	controller.P4Program
}

// Write implements [controller.Switch].
func (f fenced) Write(ctx context.Context, updates []entry.Update) ([]entry.Refusal, error) {
	ctx, cancel, err := f.tenure.Bound(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	return f.Switch.Write(ctx, updates)
}

// PacketOut implements [controller.P4Program].
func (f fencedP4) PacketOut(ctx context.Context, p entry.PacketOut) error {
	ctx, cancel, err := f.tenure.Bound(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	return f.P4Program.PacketOut(ctx, p)
}

// SetPort implements [controller.Switch].
func (f fenced) SetPort(ctx context.Context, iface string, s *gnmi.Settings) ([]gnmi.Refusal,
	error) {
	ctx, cancel, err := f.tenure.Bound(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	return f.Switch.SetPort(ctx, iface, s)
}
