package controller

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/controller/pfc"
	"github.com/weft-sdn/weft/controller/plan"
)

// tenantOf returns a tenant with nodes for switches, its SIDs, and the prefixes
// of its sites.
func (c *Core) tenantOf(name string, s *intent.TenantSpec, vrf uint16) (pfc.Tenant, error) {
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
func (c *Core) sitePrefixes(s *intent.Site) []netip.Prefix {
	if len(s.Prefixes) > 0 {
		return slices.Clone(s.Prefixes)
	}
	prefixes, _ := c.net.Attached(s.Switch, s.Port)
	return prefixes
}

// freeVRF returns the lowest number that no tenant has.
func (c *Core) freeVRF() (uint16, error) {
	taken := make(map[uint16]bool)
	for _, t := range c.lossless.tenants {
		taken[t.vrf] = true
	}
	for vrf := uint16(1); vrf <= plan.MaxVRF; vrf++ {
		if !taken[vrf] {
			return vrf, nil
		}
	}
	return 0, intent.Refuse([]intent.FieldError{{
		Field: "name", Code: intent.CodeLimit, Value: "one more", Want: fmt.Sprintf("at most %d tenants", plan.MaxVRF), Limit: intent.Limit(plan.MaxVRF),
	}})
}

// Tenants returns all tenants, by name.
func (c *Core) Tenants() []intent.Tenant {
	out := make([]intent.Tenant, 0, len(c.lossless.tenants))
	for _, t := range inOrder(c.lossless.tenants) {
		out = append(out, viewTenant(t))
	}
	return out
}

func viewTenant(t *tenant) intent.Tenant {
	v := intent.Tenant{Name: t.name, Version: t.version, Created: t.created, Spec: t.spec.Complete(), Status: t.status}
	v.Status.Conditions = slices.Clone(t.status.Conditions)
	return v
}

// Tenant returns a tenant. Errors of it and the methods below are *intent.Error.
func (c *Core) Tenant(name string) (intent.Tenant, error) {
	if t := c.lossless.tenants[name]; t != nil {
		return viewTenant(t), nil
	}
	return intent.Tenant{}, noResource(tenantKind, name)
}

// PutTenant creates a tenant or replaces its spec. What is refused changes
// nothing.
func (c *Core) PutTenant(name string, spec intent.TenantSpec, pre Precondition) (intent.Tenant, bool, error) {
	l := &c.lossless
	t, err := findResource(l.tenants, tenantKind, name, pre)
	if err == nil && t == nil {
		err = intent.ValidateName(name)
	}
	if err != nil {
		return intent.Tenant{}, false, err
	}
	spec = spec.Complete()
	if t != nil && t.spec.Equal(&spec) {
		return viewTenant(t), false, nil
	}
	if err := spec.Validate(c.pfcEnv(name)); err != nil {
		return intent.Tenant{}, false, err
	}
	created := t == nil
	vrf := uint16(0)
	if !created {
		vrf = t.vrf
		for _, r := range inOrder(l.requests) {
			if r.spec.Tenant == name && !slices.Contains(spec.Policies, r.spec.SRv6Policy) {
				return intent.Tenant{}, false, inUse(srv6Kind, r.spec.SRv6Policy, []string{pfcPrefix + r.name})
			}
		}
	} else if vrf, err = c.freeVRF(); err != nil {
		return intent.Tenant{}, false, err
	}
	x, err := c.tenantOf(name, &spec, vrf)
	if err == nil {
		err = l.pfc.PutTenant(x)
	}
	if err != nil {
		return intent.Tenant{}, false, c.refusal("spec.sites", err)
	}
	if created {
		t = &tenant{name: name, vrf: vrf}
		l.tenants[name] = t
	}
	changed(c, t, tenantPrefix, spec, created)
	c.setEdges()
	c.settle()
	return viewTenant(t), created, nil
}

// DeleteTenant removes a tenant that no PFC policy refers to.
func (c *Core) DeleteTenant(name string, pre Precondition) error {
	l := &c.lossless
	t, err := findResource(l.tenants, tenantKind, name, pre)
	if err == nil && t == nil {
		err = noResource(tenantKind, name)
	}
	if err != nil {
		return err
	}
	if used := c.tenantUsers(name); len(used) > 0 {
		return inUse(tenantKind, name, used)
	}
	if err := l.pfc.DeleteTenant(name); err != nil {
		return c.refusal("name", err)
	}
	delete(l.tenants, name)
	l.saves[tenantPrefix+name], l.stale = true, true
	c.setEdges()
	c.event(TenantDeleted, name, "", nil)
	c.settle()
	return nil
}

// tenantUsers returns what refers to a tenant.
func (c *Core) tenantUsers(name string) (out []string) {
	for _, r := range inOrder(c.lossless.requests) {
		if r.spec.Tenant == name {
			out = append(out, pfcPrefix+r.name)
		}
	}
	return out
}
