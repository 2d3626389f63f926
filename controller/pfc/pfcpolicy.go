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
	return resource.Written[api.PFCPolicySpec, decided[api.PFCPolicyStatus], api.PFCPolicy]{
		All: f.pfcPolicies, Env: f.env, Decide: f.decidePFC, View: f.viewPFCPolicy, Gone: f.gonePFC}
}

// viewPFCPolicy returns the present state of a PFC policy: queues and tunnels are looked at when
// somebody asks.
func (f *Feature) viewPFCPolicy(r *pfcPolicy) api.PFCPolicy {
	v := api.PFCPolicy{Name: r.Name, Version: r.Version, Created: r.Created, Spec: r.Spec,
		Status: r.Decided.status}
	v.Status.Conditions = slices.Clone(r.Decided.status.Conditions)
	v.Status.Nodes, v.Status.Tunnels = f.pfcNodes(r), f.pfcTunnels(r)
	return v
}

func (f *Feature) decidePFC(old, r *pfcPolicy, pre resource.Precondition) error {
	r.Spec = f.env.Inventory().PFC.Defaults.Complete(r.Spec)
	if old != nil && old.Spec == r.Spec {
		return resource.ErrUnchanged
	}
	if err := r.Spec.Validate(f.pfcEnv(r.Name, pre)); err != nil {
		return err
	}
	// Its SRv6 policy is the same: the core refuses another.
	learned := old != nil && old.Decided.Learned && old.Spec.Tenant == r.Spec.Tenant
	if err := f.core.PutPFCPolicy(tunnelPolicy(r.Name, &r.Spec, learned)); err != nil {
		return f.refusalFor(pre, "spec.srv6Policy", err)
	}
	r.Decided.Learned, r.Decided.put, r.Decided.err, f.stale = learned, true, nil, true
	return nil
}

func (f *Feature) gonePFC(r *pfcPolicy, _ resource.Precondition) error {
	f.core.DeletePFCPolicy(r.Name)
	f.left("PFC policy "+r.Name, api.EventPFCPolicyDeleted, r.Name)
	return nil
}
