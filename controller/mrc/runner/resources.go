package runner

import (
	"context"
	"maps"

	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/ledger"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/topology"
)

// Kinds returns the kinds of resources of the fabric.
func (r *Runner) Kinds() []*kind.Kind { return r.desk.Kinds() }

// Read implements [mrc.Serializer].
func (r *Runner) Read(ctx context.Context, f func()) error { return r.ledger.Read(ctx, f) }

// Stream implements [mrc.Serializer].
func (r *Runner) Stream(host string) (mrc.Stream, bool) { return r.streams.Status(host) }

// Change implements [mrc.Serializer]: it waits until the change is kept with its record in the
// audit log. Errors are the errors of ledger.Ledger.Change.
func (r *Runner) Change(
	ctx context.Context, pre resource.Precondition, intent func() (uint64, any), f func() error,
) error {
	if pre.Trial != nil {
		var err error
		if stopped := r.Read(ctx, func() { err = f() }); stopped != nil {
			return stopped
		}
		return err
	}
	var now uint64
	err := r.ledger.Change(ctx, func() error {
		before, wanted := intent()
		if err := f(); err != nil {
			return err
		}
		var spec any
		if now, spec = intent(); now != before {
			audit.Of(ctx).Change(wanted, spec)
		} else {
			audit.Of(ctx).Unchanged()
		}
		return nil
	})
	return ledger.Unknown(err, now)
}

// Fabric describes the fabric as a whole.
func (r *Runner) Fabric(ctx context.Context) (f api.Fabric, err error) {
	err = r.Read(ctx, func() { f = r.core.Fabric() })
	return f, err
}

// StreamCounts returns counts of streams to hosts: their ends and their messages.
func (r *Runner) StreamCounts(ctx context.Context) (n mrc.StreamCounts, err error) {
	err = r.ledger.Do(ctx, func() { n = r.streams.Counters() })
	return n, err
}

// SwitchNames implements [mrc.Surroundings].
func (r *Runner) SwitchNames() map[topology.NodeID]string {
	names := make(map[topology.NodeID]string, len(r.switches))
	for name, n := range r.switches {
		if n != nil {
			names[n.ID] = name
		}
	}
	return names
}

// uplinksOf is what uplinks follow from.
type uplinksOf struct {
	fabric *fabric.Fabric
	now    *topology.Snapshot
}

// Uplinks returns the advertised links up from tier 0, and a key for this list. It returns no links
// when known equals the key.
func (r *Runner) Uplinks(
	ctx context.Context, known any,
) (links []fabric.Uplink, key any, err error) {
	var (
		from     uplinksOf
		switches map[string]*topology.Node
	)
	err = r.Read(ctx, func() {
		from.fabric, from.now = r.core.Network()
		if known != from {
			switches = maps.Clone(r.switches)
		}
	})
	if err != nil || known == from {
		return nil, known, err
	}
	of := make(map[topology.NodeID]*inventory.Switch, len(switches))
	for name, n := range switches {
		if n != nil {
			of[n.ID] = r.inventory.Switch(name)
		}
	}
	return from.fabric.Uplinks(from.now, of), from, nil
}

// SwitchPlanes returns the planes that switches are in, by name; nil before there is a fabric.
func (r *Runner) SwitchPlanes(ctx context.Context) (planes map[string]int, err error) {
	err = r.ledger.Do(ctx, func() {
		f, _ := r.core.Network()
		if f == nil {
			return
		}
		planes = make(map[string]int, len(r.switches))
		for name, node := range r.switches {
			if node != nil {
				planes[name] = f.Clos().Plane(node.ID)
			}
		}
	})
	return planes, err
}

// Samples is [mrc.Core.Samples].
func (r *Runner) Samples(ctx context.Context) (out []mrc.ProfileSample, err error) {
	err = r.ledger.Do(ctx, func() { out = r.core.Samples() })
	return out, err
}
