package pfc

import (
	"slices"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
)

// Kinds of the feature.
var (
	SRv6Kind = kind.New[api.SRv6PolicySpec, api.SRv6Policy](kind.About{
		Names:  kind.Names{One: "srv6-policy", Noun: "SRv6 policy"},
		Prefix: "srv6-policies/", Creates: true,
		Heading: kind.HeadingLossless, Reads: access.Read, Writes: access.Configure,
		Example: map[string]any{"metric": "delay"},
		Deleted: "Refused while a tenant or a PFC policy refers to the SRv6 policy.",
		Events:  []string{"srv6-policy"},
	})
	TenantKind = kind.New[api.TenantSpec, api.Tenant](kind.About{
		Names: kind.Names{One: "tenant", Noun: "tenant"}, Prefix: "tenants/", Creates: true,
		Heading: kind.HeadingLossless, Reads: access.TenantRead, Writes: access.TenantWrite,
		Example: map[string]any{"rate": 40_000_000_000},
		Deleted: "Refused while a PFC policy refers to the tenant.",
		Events:  []string{"tenant"},
	})
	PFCKind = kind.Hiding(kind.New[api.PFCPolicySpec, api.PFCPolicy](kind.About{
		Names: kind.Names{One: "pfc-policy", Noun: "PFC policy"}, Prefix: "pfc-policies/", Creates: true,
		Heading: kind.HeadingLossless, Reads: access.TenantRead, Writes: access.TenantWrite,
		Example: map[string]any{"buffer": 33_554_432},
		Created: "One that would close a circle of queues which wait for each other is refused " +
			"(409), and the detail has the circle; with allowCycle it is accepted, and " +
			"Degraded.",
		Deleted: "The tunnels of the policy end, and with them the pauses.",
		Events:  []string{"pfc-policy", "pfc"},
	}), hideCycle)
)

// hideCycle takes the queues of a circle out of a PFC policy: they may be those of others. That
// there is a circle stays.
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
