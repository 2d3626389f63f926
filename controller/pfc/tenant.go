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
	return tenantResources{f}
}

// tenantResources implements resource.Resources.
type tenantResources struct{ *Feature }

// List returns the tenants, by name.
func (f tenantResources) List() []api.Tenant {
	return resource.Views(f.tenants, viewTenant)
}

func viewTenant(t *tenant) api.Tenant {
	v := api.Tenant{Name: t.Name, Version: t.Version, Created: t.Created, Spec: t.Spec.Complete(),
		Status: t.Decided.status}
	v.Status.Conditions = slices.Clone(t.Decided.status.Conditions)
	return v
}

// Get implements resource.Resources.
func (f tenantResources) Get(name string) (api.Tenant, error) {
	return resource.View(f.tenants, name, viewTenant)
}

// Put implements resource.Resources.
func (f tenantResources) Put(
	name string, spec api.TenantSpec, pre resource.Precondition,
) (api.Tenant, bool, error) {
	t, err := f.tenants.CheckPut(name, pre)
	if err != nil {
		return api.Tenant{}, false, err
	}
	spec = spec.Complete()
	if t != nil && t.Spec.Equal(&spec) {
		return viewTenant(t), false, nil
	}
	if err := spec.Validate(f.pfcEnv(name, pre)); err != nil {
		return api.Tenant{}, false, err
	}
	created := t == nil
	vrf := uint16(0)
	if !created {
		vrf = t.Decided.VRF
		for _, r := range f.pfcPolicies.All() {
			if r.Spec.Tenant == name && !slices.Contains(spec.Policies, r.Spec.SRv6Policy) {
				return api.Tenant{}, false, inUse(SRv6Kind.Record, r.Spec.SRv6Policy,
					[]string{PFCKind.Prefix + r.Name})
			}
		}
	} else if vrf, err = f.freeVRF(spec.Sites); err != nil {
		return api.Tenant{}, false, err
	}
	x, err := f.tunnelTenant(name, &spec, vrf)
	if err == nil {
		err = f.core.PutTenant(x)
	}
	if err != nil {
		return api.Tenant{}, false, f.refusalFor(pre, "spec.sites", err)
	}
	t = f.tenants.Put(name, spec, f.env.Wall())
	t.Decided.VRF, t.Decided.put, t.Decided.err, f.stale = vrf, true, nil, true
	f.setEdges()
	return viewTenant(t), created, nil
}

// Delete implements resource.Resources.
func (f tenantResources) Delete(name string, pre resource.Precondition) error {
	if _, err := f.tenants.CheckDelete(name, pre); err != nil {
		return err
	}
	if used := f.tenantUsers(name); len(used) > 0 {
		return inUse(TenantKind.Record, name, pre.VisibleOf(used))
	}
	if err := f.core.DeleteTenant(name); err != nil {
		return f.refusalFor(pre, "name", err)
	}
	f.tenants.Delete(name)
	f.deleted = append(f.deleted, "tenant "+name)
	f.stale = true
	f.setEdges()
	f.env.Event(api.EventTenantDeleted, name, "", nil)
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
