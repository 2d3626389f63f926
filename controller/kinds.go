package controller

import (
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
)

// Groups returns the multicast groups.
func (c *Core) Groups() resource.Resources[api.MulticastGroupSpec, api.MulticastGroup] {
	return kind[api.MulticastGroupSpec, api.MulticastGroup]{c.listGroups, c.group, c.putGroup, c.deleteGroup}
}

// SRv6Policies returns the SRv6 policies.
func (c *Core) SRv6Policies() resource.Resources[api.SRv6PolicySpec, api.SRv6Policy] {
	return kind[api.SRv6PolicySpec, api.SRv6Policy]{c.listSRv6Policies, c.srv6Policy, c.putSRv6Policy, c.deleteSRv6Policy}
}

// Tenants returns the tenants.
func (c *Core) Tenants() resource.Resources[api.TenantSpec, api.Tenant] {
	return kind[api.TenantSpec, api.Tenant]{c.listTenants, c.tenant, c.putTenant, c.deleteTenant}
}

// PFCPolicies returns the PFC policies.
func (c *Core) PFCPolicies() resource.Resources[api.PFCPolicySpec, api.PFCPolicy] {
	return kind[api.PFCPolicySpec, api.PFCPolicy]{c.listPFCPolicies, c.pfcPolicy, c.putPFCPolicy, c.deletePFCPolicy}
}

// kind is the resources of one kind.
type kind[S, R any] struct {
	list func() []R
	get  func(name string) (R, error)
	put  func(name string, spec S, pre resource.Precondition) (R, bool, error)
	del  func(name string, pre resource.Precondition) error
}

func (k kind[S, R]) List() []R { return k.list() }

func (k kind[S, R]) Get(name string) (R, error) { return k.get(name) }

func (k kind[S, R]) Put(name string, spec S, pre resource.Precondition) (R, bool, error) {
	return k.put(name, spec, pre)
}

func (k kind[S, R]) Delete(name string, pre resource.Precondition) error { return k.del(name, pre) }
