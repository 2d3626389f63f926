package controller

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/pfc"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/resource"
)

// tenantOf returns a tenant with nodes for switches, its SIDs, and the prefixes
// of its sites.
func (c *Core) tenantOf(name string, s *api.TenantSpec, vrf uint16) (pfc.Tenant, error) {
	t := pfc.Tenant{Name: name, VRF: vrf, Slice: s.Slice, Priority: s.Priority, Rate: s.Rate, Policies: slices.Clone(s.Policies)}
	for _, x := range s.Sites {
		n, err := c.nodeOf(x.Switch)
		if err != nil {
			return t, err
		}
		site := pfc.Site{Node: n.ID, Port: x.Port, Address: n.Loopback, Prefixes: c.sitePrefixes(&x)}
		if site.SID, err = c.net.ServiceSID(n, vrf); err != nil {
			return t, err
		}
		if !n.Loopback.IsValid() {
			return t, fmt.Errorf("%s advertises no IPv6 loopback", n.DisplayName())
		}
		t.Sites = append(t.Sites, site)
	}
	return t, nil
}

// sitePrefixes returns what is behind a site.
func (c *Core) sitePrefixes(s *api.TenantSite) []netip.Prefix {
	if len(s.Prefixes) > 0 {
		return slices.Clone(s.Prefixes)
	}
	prefixes, _ := c.net.Attached(s.Switch, s.Port)
	return prefixes
}

// freeVRF returns the lowest number that no tenant has.
func (c *Core) freeVRF() (uint16, error) {
	taken := make(map[uint16]bool)
	for _, t := range c.lossless.tenants.All() {
		taken[t.Decided.VRF] = true
	}
	for vrf := uint16(1); vrf <= plan.MaxVRF; vrf++ {
		if !taken[vrf] {
			return vrf, nil
		}
	}
	return 0, api.Refuse([]api.FieldError{{
		Field: "name", Code: api.CodeLimit, Value: "one more", Want: fmt.Sprintf("at most %d tenants", plan.MaxVRF), Limit: api.Limit(plan.MaxVRF),
	}})
}

// listTenants returns all tenants, by name.
func (c *Core) listTenants() []api.Tenant {
	out := make([]api.Tenant, 0, c.lossless.tenants.Len())
	for _, t := range c.lossless.tenants.All() {
		out = append(out, viewTenant(t))
	}
	return out
}

func viewTenant(t *tenant) api.Tenant {
	v := api.Tenant{Name: t.Name, Version: t.Version, Created: t.Created, Spec: t.Spec.Complete(), Status: t.Decided.status}
	v.Status.Conditions = slices.Clone(t.Decided.status.Conditions)
	return v
}

// tenant returns a tenant. Errors of it and the methods below are *api.Error.
func (c *Core) tenant(name string) (api.Tenant, error) {
	t, err := c.lossless.tenants.Find(name)
	if err != nil {
		return api.Tenant{}, err
	}
	return viewTenant(t), nil
}

// putTenant creates a tenant or replaces its spec. What is refused changes
// nothing.
func (c *Core) putTenant(name string, spec api.TenantSpec, pre resource.Precondition) (api.Tenant, bool, error) {
	l := &c.lossless
	t, err := l.tenants.Check(name, pre)
	if err == nil && t == nil {
		err = api.ValidateName(name)
	}
	if err != nil {
		return api.Tenant{}, false, err
	}
	spec = spec.Complete()
	if t != nil && t.Spec.Equal(&spec) {
		return viewTenant(t), false, nil
	}
	if err := spec.Validate(c.pfcEnv(name)); err != nil {
		return api.Tenant{}, false, err
	}
	created := t == nil
	vrf := uint16(0)
	if !created {
		vrf = t.Decided.VRF
		for _, r := range l.requests.All() {
			if r.Spec.Tenant == name && !slices.Contains(spec.Policies, r.Spec.SRv6Policy) {
				return api.Tenant{}, false, inUse(srv6Kind, r.Spec.SRv6Policy, []string{pfcKind.Prefix + r.Name})
			}
		}
	} else if vrf, err = c.freeVRF(); err != nil {
		return api.Tenant{}, false, err
	}
	x, err := c.tenantOf(name, &spec, vrf)
	if err == nil {
		err = l.pfc.PutTenant(x)
	}
	if err != nil {
		return api.Tenant{}, false, c.refusal("spec.sites", err)
	}
	t = l.tenants.Put(name, spec, c.wall())
	t.Decided.VRF, t.Decided.put, t.Decided.err, l.stale = vrf, true, nil, true
	c.setEdges()
	c.settle()
	return viewTenant(t), created, nil
}

// deleteTenant removes a tenant that no PFC policy refers to.
func (c *Core) deleteTenant(name string, pre resource.Precondition) error {
	l := &c.lossless
	if _, err := l.tenants.CheckDelete(name, pre); err != nil {
		return err
	}
	if used := c.tenantUsers(name); len(used) > 0 {
		return inUse(tenantKind, name, used)
	}
	if err := l.pfc.DeleteTenant(name); err != nil {
		return c.refusal("name", err)
	}
	l.tenants.Delete(name)
	l.stale = true
	c.setEdges()
	c.event(api.EventTenantDeleted, name, "", nil)
	c.settle()
	return nil
}

// tenantUsers returns what refers to a tenant.
func (c *Core) tenantUsers(name string) (out []string) {
	for _, r := range c.lossless.requests.All() {
		if r.Spec.Tenant == name {
			out = append(out, pfcKind.Prefix+r.Name)
		}
	}
	return out
}
