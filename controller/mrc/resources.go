package mrc

import (
	"context"

	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/ledger"
	"github.com/weft-sdn/weft/controller/resource"
)

// Kinds returns the kinds of resources of the fabric.
func (r *Runner) Kinds() []*kind.Kind { return r.kinds }

// Read implements [Owner].
func (r *Runner) Read(ctx context.Context, f func()) error { return r.ledger.Read(ctx, f) }

// Stream implements [Owner].
func (r *Runner) Stream(host string) (Stream, bool) { return r.streams.Status(host) }

// Change implements [Owner]: it waits until the change is kept with its record in the audit log.
// Errors are those of ledger.Ledger.Change.
func (r *Runner) Change(
	ctx context.Context, pre resource.Precondition, intent func() (uint64, any), f func() error,
) error {
	if pre.Trial != nil {
		return r.desk.ask(ctx, f)
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

// intentOf returns the version and spec of a resource; 0 and nil: no client has written it.
func intentOf[S, D any](all *resource.Collection[S, D], name string) (version uint64, spec any) {
	if i := all.Get(name); i != nil {
		return i.Version, i.Spec
	}
	return 0, nil
}

// Fabric describes the fabric as a whole.
func (r *Runner) Fabric(ctx context.Context) (f api.Fabric, err error) {
	err = r.Read(ctx, func() { f = r.core.Fabric() })
	return f, err
}

// StreamCounts counts what became of the streams to hosts, and what they carried.
func (r *Runner) StreamCounts(ctx context.Context) (n StreamCounts, err error) {
	err = r.ledger.Do(ctx, func() { n = r.streams.Counters() })
	return n, err
}
