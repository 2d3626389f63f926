package controller

import (
	"slices"

	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/controller/pfc"
)

func requestOf(name string, s *intent.PFCPolicySpec, learned bool) pfc.Request {
	return pfc.Request{
		Name: name, Policy: s.SRv6Policy, Tenant: s.Tenant, Scenario: s.Scenario, BestEffort: s.Tunnel == intent.PolicyBestEffort,
		Buffer: s.Buffer, XOFF: s.XOFF, XON: s.XON, AllowCycle: s.AllowCycle, MaxPause: s.MaxPause.D(), Learned: learned,
	}
}

// PFCPolicies returns all PFC policies, by name.
func (c *Core) PFCPolicies() []intent.PFCPolicy {
	out := make([]intent.PFCPolicy, 0, len(c.lossless.requests))
	for _, r := range inOrder(c.lossless.requests) {
		out = append(out, c.viewPFCPolicy(r))
	}
	return out
}

// viewPFCPolicy returns a PFC policy as it is now: queues and tunnels are looked
// at when somebody asks.
func (c *Core) viewPFCPolicy(r *pfcPolicy) intent.PFCPolicy {
	v := intent.PFCPolicy{Name: r.name, Version: r.version, Created: r.created, Spec: r.spec, Status: r.status}
	v.Status.Conditions = slices.Clone(r.status.Conditions)
	v.Status.Nodes, v.Status.Tunnels = c.pfcNodes(r), c.pfcTunnels(r)
	return v
}

// PFCPolicy returns a PFC policy. Errors of it and the methods below are
// *intent.Error.
func (c *Core) PFCPolicy(name string) (intent.PFCPolicy, error) {
	if r := c.lossless.requests[name]; r != nil {
		return c.viewPFCPolicy(r), nil
	}
	return intent.PFCPolicy{}, noResource(pfcKind, name)
}

// PutPFCPolicy creates a PFC policy or replaces its spec. What is refused
// changes nothing.
func (c *Core) PutPFCPolicy(name string, spec intent.PFCPolicySpec, pre Precondition) (intent.PFCPolicy, bool, error) {
	l := &c.lossless
	r, err := findResource(l.requests, pfcKind, name, pre)
	if err == nil && r == nil {
		err = intent.ValidateName(name)
	}
	if err != nil {
		return intent.PFCPolicy{}, false, err
	}
	spec = c.inv.PFC.Defaults.Complete(spec)
	if r != nil && r.spec == spec {
		return c.viewPFCPolicy(r), false, nil
	}
	if err := spec.Validate(c.pfcEnv(name)); err != nil {
		return intent.PFCPolicy{}, false, err
	}
	created := r == nil
	learned := !created && r.learned && r.spec.SRv6Policy == spec.SRv6Policy && r.spec.Tenant == spec.Tenant
	if err := l.pfc.PutRequest(requestOf(name, &spec, learned)); err != nil {
		return intent.PFCPolicy{}, false, c.refusal("spec.srv6Policy", err)
	}
	if created {
		r = &pfcPolicy{name: name}
		l.requests[name] = r
	}
	r.learned = learned
	changed(c, r, pfcPrefix, spec, created)
	c.settle()
	return c.viewPFCPolicy(r), created, nil
}

// DeletePFCPolicy removes a PFC policy.
func (c *Core) DeletePFCPolicy(name string, pre Precondition) error {
	l := &c.lossless
	r, err := findResource(l.requests, pfcKind, name, pre)
	if err == nil && r == nil {
		err = noResource(pfcKind, name)
	}
	if err != nil {
		return err
	}
	l.pfc.DeleteRequest(name)
	delete(l.requests, name)
	l.saves[pfcPrefix+name], l.stale = true, true
	c.event(PFCPolicyDeleted, name, "", nil)
	c.settle()
	return nil
}
