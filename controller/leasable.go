package controller

import (
	"context"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/job/lease"
)

// The controller of the MRC fabric knows paths and which links must not be crossed. A goroutine
// asks it for those of the leases that there are, beside the core, and a request asks before it is
// decided.

// followEvery is the pause between two looks at the paths of leases.
const followEvery = 250 * time.Millisecond

// followPaths has the leases know what they are of again and again until ctx ends.
func (c *Controller) followPaths(ctx context.Context) {
	for {
		select {
		case <-c.leased:
		case <-ctx.Done():
			return
		}
		for c.followOnce(ctx) {
		}
	}
}

// followOnce has the leases know what they are of, and pauses; it returns false when there are
// none, or ctx has ended.
func (c *Controller) followOnce(ctx context.Context) bool {
	began := time.Now()
	var nics []string
	if c.Do(ctx, func(core *Core) { nics = core.leases.NICs() }) != nil || len(nics) == 0 {
		return false
	}
	if n, why, err := c.leasable(ctx, nics); err == nil {
		err = c.Do(ctx, func(core *Core) {
			core.leases.SetFabric(n, why)
			core.settle()
		})
		if err != nil {
			return false
		}
	}
	select {
	case <-time.After(max(followEvery, judgeShare*time.Since(began))):
	case <-ctx.Done():
		return false
	}
	return true
}

func (c *Controller) leasable(
	ctx context.Context, nics []string,
) (n *lease.Network, why string, err error) {
	if c.opts.Leasable == nil {
		return nil, "the configuration has no MRC fabric", nil
	}
	return c.opts.Leasable(ctx, nics)
}

// leasable implements prepare of [more]: the paths of a lease must be known when it is decided.
func leasable(ctx context.Context, c *Controller, spec any) (func(*Core), error) {
	s := spec.(api.PathLeaseSpec)
	var nics []string
	if err := c.Do(ctx, func(core *Core) { nics = core.leases.NICs() }); err != nil {
		return nil, err
	}
	for _, p := range s.Pairs {
		nics = append(nics, p.From, p.To)
	}
	slices.Sort(nics)
	n, why, err := c.leasable(ctx, slices.Compact(nics))
	if err != nil {
		return nil, err
	}
	return func(core *Core) { core.leases.SetFabric(n, why) }, nil
}
