package controller

import (
	"context"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
)

// Groups returns the multicast groups.
func (c *Controller) Groups() resource.Handle[api.MulticastGroupSpec, api.MulticastGroup] {
	return handle[api.MulticastGroupSpec, api.MulticastGroup]{c, (*Core).Groups}
}

// SRv6Policies returns the SRv6 policies.
func (c *Controller) SRv6Policies() resource.Handle[api.SRv6PolicySpec, api.SRv6Policy] {
	return handle[api.SRv6PolicySpec, api.SRv6Policy]{c, (*Core).SRv6Policies}
}

// Tenants returns the tenants.
func (c *Controller) Tenants() resource.Handle[api.TenantSpec, api.Tenant] {
	return handle[api.TenantSpec, api.Tenant]{c, (*Core).Tenants}
}

// PFCPolicies returns the PFC policies.
func (c *Controller) PFCPolicies() resource.Handle[api.PFCPolicySpec, api.PFCPolicy] {
	return handle[api.PFCPolicySpec, api.PFCPolicy]{c, (*Core).PFCPolicies}
}

// handle reaches the resources of one kind through the goroutine of the core.
type handle[S, R any] struct {
	c  *Controller
	of func(*Core) resource.Resources[S, R]
}

// List implements resource.Handle.
func (h handle[S, R]) List(ctx context.Context) (out []R, err error) {
	err = h.c.Do(ctx, func(core *Core) { out = h.of(core).List() })
	return out, err
}

// Get implements resource.Handle.
func (h handle[S, R]) Get(ctx context.Context, name string) (r R, err error) {
	stopped := h.c.Do(ctx, func(core *Core) { r, err = h.of(core).Get(name) })
	return r, first(stopped, err)
}

// Put implements resource.Handle. With a trial in the precondition it changes a copy of the core.
func (h handle[S, R]) Put(ctx context.Context, name string, spec S, pre resource.Precondition) (r R, created bool, err error) {
	err = h.c.write(ctx, pre, func(core *Core) (err error) {
		r, created, err = h.of(core).Put(name, spec, pre)
		return err
	})
	return r, created, err
}

// Delete implements resource.Handle.
func (h handle[S, R]) Delete(ctx context.Context, name string, pre resource.Precondition) (err error) {
	stopped := h.c.Do(ctx, func(core *Core) { err = h.of(core).Delete(name, pre) })
	return first(stopped, err)
}
