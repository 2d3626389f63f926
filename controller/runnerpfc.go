package controller

import (
	"context"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
)

// SRv6Policies returns all SRv6 policies, by name.
func (c *Controller) SRv6Policies(ctx context.Context) (out []api.SRv6Policy, err error) {
	err = c.Do(ctx, func(core *Core) { out = core.SRv6Policies() })
	return out, err
}

// SRv6Policy returns an SRv6 policy.
func (c *Controller) SRv6Policy(ctx context.Context, name string) (p api.SRv6Policy, err error) {
	stopped := c.Do(ctx, func(core *Core) { p, err = core.SRv6Policy(name) })
	return p, first(stopped, err)
}

// PutSRv6Policy is [Core.PutSRv6Policy].
func (c *Controller) PutSRv6Policy(ctx context.Context, name string, spec api.SRv6PolicySpec, pre resource.Precondition) (p api.SRv6Policy, created bool, err error) {
	err = c.write(ctx, pre, func(core *Core) (err error) {
		p, created, err = core.PutSRv6Policy(name, spec, pre)
		return err
	})
	return p, created, err
}

// DeleteSRv6Policy is [Core.DeleteSRv6Policy].
func (c *Controller) DeleteSRv6Policy(ctx context.Context, name string, pre resource.Precondition) (err error) {
	stopped := c.Do(ctx, func(core *Core) { err = core.DeleteSRv6Policy(name, pre) })
	return first(stopped, err)
}

// Tenants returns all tenants, by name.
func (c *Controller) Tenants(ctx context.Context) (out []api.Tenant, err error) {
	err = c.Do(ctx, func(core *Core) { out = core.Tenants() })
	return out, err
}

// Tenant returns a tenant.
func (c *Controller) Tenant(ctx context.Context, name string) (t api.Tenant, err error) {
	stopped := c.Do(ctx, func(core *Core) { t, err = core.Tenant(name) })
	return t, first(stopped, err)
}

// PutTenant is [Core.PutTenant].
func (c *Controller) PutTenant(ctx context.Context, name string, spec api.TenantSpec, pre resource.Precondition) (t api.Tenant, created bool, err error) {
	err = c.write(ctx, pre, func(core *Core) (err error) {
		t, created, err = core.PutTenant(name, spec, pre)
		return err
	})
	return t, created, err
}

// DeleteTenant is [Core.DeleteTenant].
func (c *Controller) DeleteTenant(ctx context.Context, name string, pre resource.Precondition) (err error) {
	stopped := c.Do(ctx, func(core *Core) { err = core.DeleteTenant(name, pre) })
	return first(stopped, err)
}

// PFCPolicies returns all PFC policies, by name.
func (c *Controller) PFCPolicies(ctx context.Context) (out []api.PFCPolicy, err error) {
	err = c.Do(ctx, func(core *Core) { out = core.PFCPolicies() })
	return out, err
}

// PFCPolicy returns a PFC policy.
func (c *Controller) PFCPolicy(ctx context.Context, name string) (p api.PFCPolicy, err error) {
	stopped := c.Do(ctx, func(core *Core) { p, err = core.PFCPolicy(name) })
	return p, first(stopped, err)
}

// PutPFCPolicy is [Core.PutPFCPolicy].
func (c *Controller) PutPFCPolicy(ctx context.Context, name string, spec api.PFCPolicySpec, pre resource.Precondition) (p api.PFCPolicy, created bool, err error) {
	err = c.write(ctx, pre, func(core *Core) (err error) {
		p, created, err = core.PutPFCPolicy(name, spec, pre)
		return err
	})
	return p, created, err
}

// DeletePFCPolicy is [Core.DeletePFCPolicy].
func (c *Controller) DeletePFCPolicy(ctx context.Context, name string, pre resource.Precondition) (err error) {
	stopped := c.Do(ctx, func(core *Core) { err = core.DeletePFCPolicy(name, pre) })
	return first(stopped, err)
}
