package controller

import (
	"context"
	"fmt"

	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/job"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/leases"
	"github.com/weft-sdn/weft/controller/ledger"
	"github.com/weft-sdn/weft/controller/multicast"
	"github.com/weft-sdn/weft/controller/pfc"
	"github.com/weft-sdn/weft/controller/project"
	"github.com/weft-sdn/weft/controller/resource"
)

// whole implements feature.Whole.
type whole struct{ core *Core }

// ofProjects are the kinds that projects use, as package project calls them.
var ofProjects = map[resource.Kind]string{
	multicast.Kind.Record: project.Groups, pfc.SRv6Kind.Record: project.SRv6Policies,
	pfc.TenantKind.Record: project.Tenants, pfc.PFCKind.Record: project.Policies,
	job.Kind.Record: project.Jobs, leases.Kind.Record: project.Leases,
}

// Allow implements feature.Whole. The things that a spec names must belong to the resource's
// project.
func (w whole) Allow(k resource.Kind, name string, spec any, pre resource.Precondition) error {
	if of := ofProjects[k]; of != "" && of != project.SRv6Policies {
		return w.core.projects.Check(of, name, naming(spec), pre)
	}
	return nil
}

// Settle implements feature.Whole.
func (w whole) Settle(k resource.Kind, name string, spec any) {
	w.core.took(k, name, spec)
	w.core.settle()
}

// took has the projects know what a resource names; no spec: it was deleted.
func (c *Core) took(k resource.Kind, name string, spec any) {
	if of := ofProjects[k]; of != "" {
		c.projects.Took(of, name, naming(spec))
	}
}

// naming returns what a spec names, for [api.Names].
func naming(spec any) any {
	if _, ok := spec.(api.JobSpec); ok {
		return job.Naming(spec)
	}
	return spec
}

// handle reaches the resources of one kind through the goroutine of the core. It implements
// kind.Handle: clients write S and read R.
type handle[S any, R api.Intended] struct {
	c    *Controller
	kind *kind.Kind
	of   func(*Core) resource.Resources[S, R]
	more *more[R]
}

// more has the parts that only some kinds have.
type more[R any] struct {
	// asks answers the questions of the kind; nil: it has none.
	asks func(
		ctx context.Context, c *Controller, name string, question any, pre resource.Precondition,
	) (any, error)
	// prepare has what a Put of a spec needs from elsewhere read anew; nil: it needs nothing.
	prepare func(ctx context.Context, c *Controller, spec any) error
	// match applies the filters of its lists; nil: it has none.
	match func(r *R, filter any) bool
	// list returns the resources that a filter may select; nil: all.
	list func(c *Core, filter any) []R
}

// List implements kind.Handle.
func (h handle[S, R]) List(ctx context.Context, q kind.Query) (p kind.Page[any], err error) {
	var all []R
	if err := h.c.read(ctx, func(core *Core) {
		if h.more.list != nil {
			all = h.more.list(core, q.Filter)
		} else {
			all = h.of(core).List()
		}
	}); err != nil {
		return p, err
	}
	name := func(r *R) string { return h.kind.NameOf(r) }
	p = kind.Any(kind.Select(all, q, name, h.more.match))
	return p, kind.Known(q, len(p.Items), h.c.names)
}

// names returns what a field of a filter may name: switches.
func (c *Controller) names(of string) (out []string) {
	if of == "switches" {
		for _, sw := range c.Inventory().Switches {
			out = append(out, sw.Name)
		}
	}
	return out
}

// Ask implements kind.Handle.
func (h handle[S, R]) Ask(
	ctx context.Context, name string, question any, pre resource.Precondition,
) (any, error) {
	if h.more.asks == nil {
		return nil, fmt.Errorf("%T: %w", question, kind.ErrNoQuestion)
	}
	return h.more.asks(ctx, h.c, name, question, pre)
}

// Get implements kind.Handle.
func (h handle[S, R]) Get(ctx context.Context, name string) (r any, err error) {
	stopped := h.c.read(ctx, func(core *Core) { r, err = h.of(core).Get(name) })
	return r, first(stopped, err)
}

// Put implements kind.Handle. With a trial in the precondition it changes a copy of the core.
func (h handle[S, R]) Put(
	ctx context.Context, name string, spec any, pre resource.Precondition,
) (view any, created bool, err error) {
	if h.more.prepare != nil {
		if err = h.more.prepare(ctx, h.c, spec); err != nil {
			return nil, false, err
		}
	}
	var r R
	err = h.c.write(ctx, pre, func(core *Core) (err error) {
		before, wanted := intentOf(h.of(core), name)
		r, created, err = h.of(core).Put(name, spec.(S), pre)
		if after, now := intentOf(h.of(core), name); after == before {
			audit.Of(ctx).Unchanged()
		} else {
			audit.Of(ctx).Change(wanted, now)
		}
		return err
	})
	if err != nil {
		version, _ := r.Intent()
		err = ledger.Unknown(err, version)
	}
	return r, created, err
}

// Delete implements kind.Handle. With a trial in the precondition it deletes from a copy of the
// core.
func (h handle[S, R]) Delete(ctx context.Context, name string, pre resource.Precondition) error {
	return ledger.Unknown(h.c.write(ctx, pre, func(core *Core) error {
		_, wanted := intentOf(h.of(core), name)
		audit.Of(ctx).Change(wanted, nil)
		return h.of(core).Delete(name, pre)
	}), 0)
}

// intentOf returns the version and spec of a resource; 0 and nil: there is none.
func intentOf[S any, R api.Intended](
	all resource.Resources[S, R], name string,
) (version uint64, spec any) {
	r, err := all.Get(name)
	if err != nil {
		return 0, nil
	}
	return r.Intent()
}

// ask puts a question to the core, and waits for its answer or the end of ctx.
func ask[T any](
	ctx context.Context, c *Controller, question func(*Core) (id uint64, err error),
) (answer T, err error) {
	answers := make(chan any, 1)
	var id uint64
	stopped := c.read(ctx, func(core *Core) {
		if id, err = question(core); err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.asked[id] = answers
		}
	})
	if err := first(stopped, err); err != nil {
		return answer, err
	}
	select {
	case a := <-answers:
		return a.(T), nil
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.asked, id)
		return answer, ctx.Err()
	case <-c.ledger.Failed(): // it may rest on what is not kept
		return answer, ledger.Unread(fmt.Errorf("%w: %w", ErrStore, c.ledger.Err()))
	case <-c.ledger.Ended():
		return answer, ErrStopped
	}
}

// first returns the first error.
func first(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
