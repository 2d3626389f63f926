package controller

import (
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/pfc"
	"github.com/weft-sdn/weft/controller/resource"
)

func requestOf(name string, s *api.PFCPolicySpec, learned bool) pfc.Request {
	return pfc.Request{
		Name: name, Policy: s.SRv6Policy, Tenant: s.Tenant, Scenario: s.Scenario, BestEffort: s.Tunnel == api.PolicyModeBestEffort,
		Buffer: s.Buffer, XOFF: s.XOFF, XON: s.XON, AllowCycle: s.AllowCycle, MaxPause: s.MaxPause.D(), Learned: learned,
	}
}

// listPFCPolicies returns all PFC policies, by name.
func (c *Core) listPFCPolicies() []api.PFCPolicy {
	out := make([]api.PFCPolicy, 0, c.lossless.requests.Len())
	for _, r := range c.lossless.requests.All() {
		out = append(out, c.viewPFCPolicy(r))
	}
	return out
}

// viewPFCPolicy returns a PFC policy as it is now: queues and tunnels are looked
// at when somebody asks.
func (c *Core) viewPFCPolicy(r *pfcPolicy) api.PFCPolicy {
	v := api.PFCPolicy{Name: r.Name, Version: r.Version, Created: r.Created, Spec: r.Spec, Status: r.Decided.status}
	v.Status.Conditions = slices.Clone(r.Decided.status.Conditions)
	v.Status.Nodes, v.Status.Tunnels = c.pfcNodes(r), c.pfcTunnels(r)
	return v
}

// pfcPolicy returns a PFC policy. Errors of it and the methods below are
// *api.Error.
func (c *Core) pfcPolicy(name string) (api.PFCPolicy, error) {
	r, err := c.lossless.requests.Find(name)
	if err != nil {
		return api.PFCPolicy{}, err
	}
	return c.viewPFCPolicy(r), nil
}

// putPFCPolicy creates a PFC policy or replaces its spec. What is refused
// changes nothing.
func (c *Core) putPFCPolicy(name string, spec api.PFCPolicySpec, pre resource.Precondition) (api.PFCPolicy, bool, error) {
	l := &c.lossless
	r, err := l.requests.Check(name, pre)
	if err == nil && r == nil {
		err = api.ValidateName(name)
	}
	if err != nil {
		return api.PFCPolicy{}, false, err
	}
	spec = c.inv.PFC.Defaults.Complete(spec)
	if r != nil && r.Spec == spec {
		return c.viewPFCPolicy(r), false, nil
	}
	if err := spec.Validate(c.pfcEnv(name)); err != nil {
		return api.PFCPolicy{}, false, err
	}
	created := r == nil
	learned := !created && r.Decided.Learned && r.Spec.SRv6Policy == spec.SRv6Policy && r.Spec.Tenant == spec.Tenant
	if err := l.pfc.PutRequest(requestOf(name, &spec, learned)); err != nil {
		return api.PFCPolicy{}, false, c.refusal("spec.srv6Policy", err)
	}
	r = l.requests.Put(name, spec, c.wall())
	r.Decided.Learned, r.Decided.put, r.Decided.err, l.stale = learned, true, nil, true
	c.settle()
	return c.viewPFCPolicy(r), created, nil
}

// deletePFCPolicy removes a PFC policy.
func (c *Core) deletePFCPolicy(name string, pre resource.Precondition) error {
	l := &c.lossless
	if _, err := l.requests.CheckDelete(name, pre); err != nil {
		return err
	}
	l.pfc.DeleteRequest(name)
	l.requests.Delete(name)
	l.stale = true
	c.event(api.EventPFCPolicyDeleted, name, "", nil)
	c.settle()
	return nil
}
