package northbound

import (
	"context"
	"time"

	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/controller/resource"
)

const losslessTag = "lossless tenants"

// srv6Policy, tenant and pfcPolicy are what clients get.
type srv6Policy struct {
	Name    string                  `json:"name" doc:"Name of the SRv6 policy."`
	Version uint64                  `json:"version" doc:"Changes with every change of the spec; also the ETag."`
	Created time.Time               `json:"created,omitzero" doc:"When it was created."`
	Spec    intent.SRv6PolicySpec   `json:"spec" doc:"What a client wants, defaults filled in."`
	Status  intent.SRv6PolicyStatus `json:"status" doc:"What the controller says."`

	Changes []intent.SwitchChange `json:"changes,omitempty" doc:"Of a dry run: what switches would be told."`
}

type tenant struct {
	Name    string              `json:"name" doc:"Name of the tenant."`
	Version uint64              `json:"version" doc:"Changes with every change of the spec; also the ETag."`
	Created time.Time           `json:"created,omitzero" doc:"When it was created."`
	Spec    intent.TenantSpec   `json:"spec" doc:"What a client wants."`
	Status  intent.TenantStatus `json:"status" doc:"What the controller says."`

	Changes []intent.SwitchChange `json:"changes,omitempty" doc:"Of a dry run: what switches would be told."`
}

type pfcPolicy struct {
	Name    string                 `json:"name" doc:"Name of the PFC policy."`
	Version uint64                 `json:"version" doc:"Changes with every change of the spec; also the ETag."`
	Created time.Time              `json:"created,omitzero" doc:"When it was created."`
	Spec    intent.PFCPolicySpec   `json:"spec" doc:"What a client wants, defaults filled in."`
	Status  intent.PFCPolicyStatus `json:"status" doc:"What the controller says."`

	Changes []intent.SwitchChange `json:"changes,omitempty" doc:"Of a dry run: what switches would be told."`
}

func (s *Server) registerLossless() {
	policies := &collection[intent.SRv6PolicySpec, srv6Policy]{
		path: "/v1/srv6-policies", one: "srv6-policy", many: "srv6-policies", noun: "SRv6 policy", tag: losslessTag,
		example: map[string]any{"metric": "delay"}, deleted: "Refused while a tenant or a PFC policy refers to it.",
		all: func(ctx context.Context) ([]srv6Policy, error) {
			all, err := s.controller.SRv6Policies(ctx)
			return converted(all, err, func(p intent.SRv6Policy) srv6Policy { return srv6Policy(p) })
		},
		get: func(ctx context.Context, name string) (srv6Policy, error) {
			p, err := s.controller.SRv6Policy(ctx, name)
			return srv6Policy(p), err
		},
		draft: func(p *srv6Policy) draftOf[intent.SRv6PolicySpec] {
			return draftOf[intent.SRv6PolicySpec]{Name: p.Name, Version: p.Version, Spec: p.Spec}
		},
		changed: func(r *srv6Policy, changes []intent.SwitchChange) { r.Changes = changes },
		put: func(ctx context.Context, name string, spec intent.SRv6PolicySpec, pre resource.Precondition) (srv6Policy, bool, error) {
			p, created, err := s.controller.PutSRv6Policy(ctx, name, spec, pre)
			return srv6Policy(p), created, err
		},
		del: s.controller.DeleteSRv6Policy,
	}
	tenants := &collection[intent.TenantSpec, tenant]{
		path: "/v1/tenants", one: "tenant", noun: "tenant", tag: losslessTag,
		example: map[string]any{"rate": 40_000_000_000}, deleted: "Refused while a PFC policy refers to it.",
		all: func(ctx context.Context) ([]tenant, error) {
			all, err := s.controller.Tenants(ctx)
			return converted(all, err, func(t intent.Tenant) tenant { return tenant(t) })
		},
		get: func(ctx context.Context, name string) (tenant, error) {
			t, err := s.controller.Tenant(ctx, name)
			return tenant(t), err
		},
		draft: func(t *tenant) draftOf[intent.TenantSpec] {
			return draftOf[intent.TenantSpec]{Name: t.Name, Version: t.Version, Spec: t.Spec}
		},
		changed: func(r *tenant, changes []intent.SwitchChange) { r.Changes = changes },
		put: func(ctx context.Context, name string, spec intent.TenantSpec, pre resource.Precondition) (tenant, bool, error) {
			t, created, err := s.controller.PutTenant(ctx, name, spec, pre)
			return tenant(t), created, err
		},
		del: s.controller.DeleteTenant,
	}
	requests := &collection[intent.PFCPolicySpec, pfcPolicy]{
		path: "/v1/pfc-policies", one: "pfc-policy", many: "pfc-policies", noun: "PFC policy", tag: losslessTag,
		example: map[string]any{"buffer": 33_554_432},
		created: "One that would close a circle of queues which wait for each other is refused (409), and the detail has the circle; with allowCycle it is accepted, and Degraded.",
		all: func(ctx context.Context) ([]pfcPolicy, error) {
			all, err := s.controller.PFCPolicies(ctx)
			return converted(all, err, func(p intent.PFCPolicy) pfcPolicy { return pfcPolicy(p) })
		},
		get: func(ctx context.Context, name string) (pfcPolicy, error) {
			p, err := s.controller.PFCPolicy(ctx, name)
			return pfcPolicy(p), err
		},
		draft: func(p *pfcPolicy) draftOf[intent.PFCPolicySpec] {
			return draftOf[intent.PFCPolicySpec]{Name: p.Name, Version: p.Version, Spec: p.Spec}
		},
		changed: func(r *pfcPolicy, changes []intent.SwitchChange) { r.Changes = changes },
		put: func(ctx context.Context, name string, spec intent.PFCPolicySpec, pre resource.Precondition) (pfcPolicy, bool, error) {
			p, created, err := s.controller.PutPFCPolicy(ctx, name, spec, pre)
			return pfcPolicy(p), created, err
		},
		del: s.controller.DeletePFCPolicy,
	}
	policies.registerAll(s)
	tenants.registerAll(s)
	requests.registerAll(s)
}
