package northbound

import (
	"slices"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

const losslessTag = "lossless tenants"

func (s *Server) registerLossless() {
	srv6Policies().over(s.controller.SRv6Policies()).registerAll(s)
	tenants().over(s.controller.Tenants()).registerAll(s)
	pfcPolicies().over(s.controller.PFCPolicies()).registerAll(s)
}

// srv6Policies describes the SRv6 policies.
func srv6Policies() *collection[api.SRv6PolicySpec, api.SRv6Policy] {
	return &collection[api.SRv6PolicySpec, api.SRv6Policy]{
		path: "/v1/srv6-policies", reads: access.Read, writes: access.Configure, one: "srv6-policy", many: "srv6-policies", noun: "SRv6 policy", tag: losslessTag,
		example: map[string]any{"metric": "delay"}, deleted: "Refused while a tenant or a PFC policy refers to it.",
		draft: func(p *api.SRv6Policy) api.Request[api.SRv6PolicySpec] {
			return api.Request[api.SRv6PolicySpec]{Name: p.Name, Version: p.Version, Spec: p.Spec}
		},
		changed: func(r *api.SRv6Policy, changes []api.SwitchChange) { r.Changes = changes },
	}
}

// tenants describes the tenants.
func tenants() *collection[api.TenantSpec, api.Tenant] {
	return &collection[api.TenantSpec, api.Tenant]{
		path: "/v1/tenants", reads: access.TenantRead, writes: access.TenantWrite, one: "tenant", noun: "tenant", tag: losslessTag,
		example: map[string]any{"rate": 40_000_000_000}, deleted: "Refused while a PFC policy refers to it.",
		draft: func(t *api.Tenant) api.Request[api.TenantSpec] {
			return api.Request[api.TenantSpec]{Name: t.Name, Version: t.Version, Spec: t.Spec}
		},
		changed: func(r *api.Tenant, changes []api.SwitchChange) { r.Changes = changes },
	}
}

// pfcPolicies describes the PFC policies.
func pfcPolicies() *collection[api.PFCPolicySpec, api.PFCPolicy] {
	return &collection[api.PFCPolicySpec, api.PFCPolicy]{
		path: "/v1/pfc-policies", reads: access.TenantRead, writes: access.TenantWrite, one: "pfc-policy", many: "pfc-policies", noun: "PFC policy", tag: losslessTag,
		example: map[string]any{"buffer": 33_554_432},
		created: "One that would close a circle of queues which wait for each other is refused (409), and the detail has the circle; with allowCycle it is accepted, and Degraded.",
		draft: func(p *api.PFCPolicy) api.Request[api.PFCPolicySpec] {
			return api.Request[api.PFCPolicySpec]{Name: p.Name, Version: p.Version, Spec: p.Spec}
		},
		changed: func(r *api.PFCPolicy, changes []api.SwitchChange) { r.Changes = changes },
		hide:    hideCycle,
	}
}

// hideCycle takes the queues of a circle out of a PFC policy: they may be those of others. That there is
// a circle stays.
func hideCycle(r *api.PFCPolicy) {
	if len(r.Status.Cycle) == 0 {
		return
	}
	r.Status.Cycle, r.Status.Conditions = nil, slices.Clone(r.Status.Conditions)
	for i := range r.Status.Conditions {
		if c := &r.Status.Conditions[i]; c.Reason == api.ReasonDeadlock {
			c.Message = "its queues wait for each other in a circle, with those of others"
		}
	}
}
