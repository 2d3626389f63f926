package northbound

import (
	"github.com/weft-sdn/weft/api"
)

const losslessTag = "lossless tenants"

func (s *Server) registerLossless() {
	policies := &collection[api.SRv6PolicySpec, api.SRv6Policy]{
		path: "/v1/srv6-policies", one: "srv6-policy", many: "srv6-policies", noun: "SRv6 policy", tag: losslessTag,
		example: map[string]any{"metric": "delay"}, deleted: "Refused while a tenant or a PFC policy refers to it.",
		all: s.controller.SRv6Policies, get: s.controller.SRv6Policy, put: s.controller.PutSRv6Policy, del: s.controller.DeleteSRv6Policy,
		draft: func(p *api.SRv6Policy) draftOf[api.SRv6PolicySpec] {
			return draftOf[api.SRv6PolicySpec]{Name: p.Name, Version: p.Version, Spec: p.Spec}
		},
		changed: func(r *api.SRv6Policy, changes []api.SwitchChange) { r.Changes = changes },
	}
	tenants := &collection[api.TenantSpec, api.Tenant]{
		path: "/v1/tenants", one: "tenant", noun: "tenant", tag: losslessTag,
		example: map[string]any{"rate": 40_000_000_000}, deleted: "Refused while a PFC policy refers to it.",
		all: s.controller.Tenants, get: s.controller.Tenant, put: s.controller.PutTenant, del: s.controller.DeleteTenant,
		draft: func(t *api.Tenant) draftOf[api.TenantSpec] {
			return draftOf[api.TenantSpec]{Name: t.Name, Version: t.Version, Spec: t.Spec}
		},
		changed: func(r *api.Tenant, changes []api.SwitchChange) { r.Changes = changes },
	}
	requests := &collection[api.PFCPolicySpec, api.PFCPolicy]{
		path: "/v1/pfc-policies", one: "pfc-policy", many: "pfc-policies", noun: "PFC policy", tag: losslessTag,
		example: map[string]any{"buffer": 33_554_432},
		created: "One that would close a circle of queues which wait for each other is refused (409), and the detail has the circle; with allowCycle it is accepted, and Degraded.",
		all:     s.controller.PFCPolicies, get: s.controller.PFCPolicy, put: s.controller.PutPFCPolicy, del: s.controller.DeletePFCPolicy,
		draft: func(p *api.PFCPolicy) draftOf[api.PFCPolicySpec] {
			return draftOf[api.PFCPolicySpec]{Name: p.Name, Version: p.Version, Spec: p.Spec}
		},
		changed: func(r *api.PFCPolicy, changes []api.SwitchChange) { r.Changes = changes },
	}
	policies.registerAll(s)
	tenants.registerAll(s)
	requests.registerAll(s)
}
