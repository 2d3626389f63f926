package pfc

import (
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/pfc/tunnel"
	"github.com/weft-sdn/weft/controller/resource"
)

func tunnelPolicy(name string, s *api.PFCPolicySpec, learned bool) tunnel.PFCPolicy {
	return tunnel.PFCPolicy{
		Name: name, SRv6Policy: s.SRv6Policy, Tenant: s.Tenant, Scenario: s.Scenario,
		BestEffort: s.Tunnel == api.PolicyModeBestEffort,
		Buffer:     s.Buffer, XOFF: s.XOFF, XON: s.XON, AllowCycle: s.AllowCycle,
		MaxPause: s.MaxPause.D(),
		Learned:  learned,
	}
}

// PFCPolicies returns the PFC policies.
func (f *Feature) PFCPolicies() resource.Resources[api.PFCPolicySpec, api.PFCPolicy] {
	return pfcResources{f}
}

// pfcResources implements resource.Resources.
type pfcResources struct{ *Feature }

// List returns the PFC policies, by name.
func (f pfcResources) List() []api.PFCPolicy {
	return resource.Views(f.pfcPolicies, f.viewPFCPolicy)
}

// viewPFCPolicy returns a PFC policy as it is now: queues and tunnels are looked
// at when somebody asks.
func (f *Feature) viewPFCPolicy(r *pfcPolicy) api.PFCPolicy {
	v := api.PFCPolicy{Name: r.Name, Version: r.Version, Created: r.Created, Spec: r.Spec,
		Status: r.Decided.status}
	v.Status.Conditions = slices.Clone(r.Decided.status.Conditions)
	v.Status.Nodes, v.Status.Tunnels = f.pfcNodes(r), f.pfcTunnels(r)
	return v
}

// Get implements resource.Resources.
func (f pfcResources) Get(name string) (api.PFCPolicy, error) {
	return resource.View(f.pfcPolicies, name, f.viewPFCPolicy)
}

// Put implements resource.Resources.
func (f pfcResources) Put(
	name string, spec api.PFCPolicySpec, pre resource.Precondition,
) (api.PFCPolicy, bool, error) {
	r, err := f.pfcPolicies.CheckPut(name, pre)
	if err != nil {
		return api.PFCPolicy{}, false, err
	}
	spec = f.env.Inventory().PFC.Defaults.Complete(spec)
	if r != nil && r.Spec == spec {
		return f.viewPFCPolicy(r), false, nil
	}
	if err := spec.Validate(f.pfcEnv(name, pre)); err != nil {
		return api.PFCPolicy{}, false, err
	}
	created := r == nil
	// Its SRv6 policy is the same: the core refuses another.
	learned := !created && r.Decided.Learned && r.Spec.Tenant == spec.Tenant
	if err := f.core.PutPFCPolicy(tunnelPolicy(name, &spec, learned)); err != nil {
		return api.PFCPolicy{}, false, f.refusalFor(pre, "spec.srv6Policy", err)
	}
	r = f.pfcPolicies.Put(name, spec, f.env.Wall())
	r.Decided.Learned, r.Decided.put, r.Decided.err, f.stale = learned, true, nil, true
	return f.viewPFCPolicy(r), created, nil
}

// Delete implements resource.Resources.
func (f pfcResources) Delete(name string, pre resource.Precondition) error {
	if _, err := f.pfcPolicies.CheckDelete(name, pre); err != nil {
		return err
	}
	f.core.DeletePFCPolicy(name)
	f.pfcPolicies.Delete(name)
	f.deleted = append(f.deleted, "PFC policy "+name)
	f.stale = true
	f.env.Event(api.EventPFCPolicyDeleted, name, "", nil)
	return nil
}
