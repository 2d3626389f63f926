package northbound

import (
	"context"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/resource"
)

// PFC is what the API needs of a controller for lossless tenants over SRv6, in
// the manner of [Controller]. A resource that another one refers to cannot be
// deleted ([api.CodeConflict]).
type PFC interface {
	SRv6Policies(ctx context.Context) ([]api.SRv6Policy, error)
	SRv6Policy(ctx context.Context, name string) (api.SRv6Policy, error)
	PutSRv6Policy(ctx context.Context, name string, spec api.SRv6PolicySpec, pre resource.Precondition) (p api.SRv6Policy, created bool, err error)
	DeleteSRv6Policy(ctx context.Context, name string, pre resource.Precondition) error

	Tenants(ctx context.Context) ([]api.Tenant, error)
	Tenant(ctx context.Context, name string) (api.Tenant, error)
	PutTenant(ctx context.Context, name string, spec api.TenantSpec, pre resource.Precondition) (t api.Tenant, created bool, err error)
	DeleteTenant(ctx context.Context, name string, pre resource.Precondition) error

	PFCPolicies(ctx context.Context) ([]api.PFCPolicy, error)
	PFCPolicy(ctx context.Context, name string) (api.PFCPolicy, error)
	PutPFCPolicy(ctx context.Context, name string, spec api.PFCPolicySpec, pre resource.Precondition) (p api.PFCPolicy, created bool, err error)
	DeletePFCPolicy(ctx context.Context, name string, pre resource.Precondition) error
}

var _ PFC = (*controller.Controller)(nil)
