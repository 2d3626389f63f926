package pfc

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/pfc/tunnel"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/resource"
)

// tenantOf returns a tenant with nodes for switches, its SIDs, and the prefixes
// of its sites.
func (f *Feature) tunnelTenant(name string, s *api.TenantSpec, vrf uint16) (tunnel.Tenant, error) {
	t := tunnel.Tenant{Name: name, VRF: vrf, Slice: s.Slice, Priority: s.Priority, Rate: s.Rate,
		Policies: slices.Clone(s.Policies)}
	for _, x := range s.Sites {
		n, err := f.nodeOf(x.Switch)
		if err != nil {
			return t, err
		}
		site := tunnel.Site{Node: n.ID, Port: x.Port, Address: n.Loopback, Prefixes: f.sitePrefixes(&x)}
		if site.SID, err = f.env.Net.ServiceSID(n, vrf); err != nil {
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
func (f *Feature) sitePrefixes(s *api.TenantSite) []netip.Prefix {
	if len(s.Prefixes) > 0 {
		return slices.Clone(s.Prefixes)
	}
	prefixes, _ := f.env.Net.Attached(s.Switch, s.Port)
	return prefixes
}

// freeVRF returns the lowest number that no tenant and no orphan has. A tenant at the ports of an
// orphan goes on with its number.
func (f *Feature) freeVRF(sites []api.TenantSite) (uint16, error) {
	taken := make(map[uint16]bool)
	for _, t := range f.tenants.All() {
		taken[t.Decided.VRF] = true
	}
	orphans := f.orphanVRFs()
	for _, s := range sites {
		if vrf := f.found[s.Switch][s.Port]; orphans[vrf] && !taken[vrf] {
			return vrf, nil
		}
	}
	for vrf := uint16(1); vrf <= plan.MaxVRF; vrf++ {
		if !taken[vrf] && !orphans[vrf] {
			return vrf, nil
		}
	}
	return 0, api.Refuse([]api.FieldError{{
		Field: "name", Code: api.CodeLimit, Value: "one more", Want: fmt.Sprintf("at most %d tenants",
			plan.MaxVRF), Limit: api.Limit(plan.MaxVRF),
	}})
}

// Tenants returns the tenants.
func (f *Feature) Tenants() resource.Resources[api.TenantSpec, api.Tenant] {
	return resource.Written[api.TenantSpec, decided[api.TenantStatus], api.Tenant]{All: f.tenants,
		Env: f.env, Decide: f.decideTenant, View: viewTenant, Gone: f.goneTenant, Changed: f.setEdges}
}

func viewTenant(t *tenant) api.Tenant {
	v := api.Tenant{Name: t.Name, Version: t.Version, Created: t.Created, Spec: t.Spec.Complete(),
		Status: t.Decided.status}
	v.Status.Conditions = slices.Clone(t.Decided.status.Conditions)
	return v
}

func (f *Feature) decideTenant(old, t *tenant, pre resource.Precondition) (err error) {
	t.Spec = t.Spec.Complete()
	if old != nil && old.Spec.Equal(&t.Spec) {
		return resource.ErrUnchanged
	}
	if err := t.Spec.Validate(f.pfcEnv(t.Name, pre)); err != nil {
		return err
	}
	vrf := t.Decided.VRF
	for _, r := range f.pfcPolicies.All() {
		if r.Spec.Tenant == t.Name && !slices.Contains(t.Spec.Policies, r.Spec.SRv6Policy) {
			return inUse(SRv6Kind.Record, r.Spec.SRv6Policy, []string{PFCKind.Prefix + r.Name})
		}
	}
	if old == nil {
		if vrf, err = f.freeVRF(t.Spec.Sites); err != nil {
			return err
		}
	}
	x, err := f.tunnelTenant(t.Name, &t.Spec, vrf)
	if err == nil {
		err = f.core.PutTenant(x)
	}
	if err != nil {
		return f.refusalFor(pre, "spec.sites", err)
	}
	t.Decided.VRF, t.Decided.put, t.Decided.err, f.stale = vrf, true, nil, true
	return nil
}

func (f *Feature) goneTenant(t *tenant, pre resource.Precondition) error {
	if used := f.tenantUsers(t.Name); len(used) > 0 {
		return inUse(TenantKind.Record, t.Name, pre.VisibleOf(used))
	}
	if err := f.core.DeleteTenant(t.Name); err != nil {
		return f.refusalFor(pre, "name", err)
	}
	f.left("tenant "+t.Name, api.EventTenantDeleted, t.Name)
	return nil
}

// tenantUsers returns what refers to a tenant.
func (f *Feature) tenantUsers(name string) (out []string) {
	for _, r := range f.pfcPolicies.All() {
		if r.Spec.Tenant == name {
			out = append(out, PFCKind.Prefix+r.Name)
		}
	}
	return out
}
