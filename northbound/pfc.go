package northbound

import (
	"context"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/controller/resource"
)

// PFC is what the API needs of a controller for lossless tenants over SRv6, in
// the manner of [Controller]. A resource that another one refers to cannot be
// deleted ([intent.CodeConflict]).
type PFC interface {
	SRv6Policies(ctx context.Context) ([]intent.SRv6Policy, error)
	SRv6Policy(ctx context.Context, name string) (intent.SRv6Policy, error)
	PutSRv6Policy(ctx context.Context, name string, spec intent.SRv6PolicySpec, pre resource.Precondition) (p intent.SRv6Policy, created bool, err error)
	DeleteSRv6Policy(ctx context.Context, name string, pre resource.Precondition) error

	Tenants(ctx context.Context) ([]intent.Tenant, error)
	Tenant(ctx context.Context, name string) (intent.Tenant, error)
	PutTenant(ctx context.Context, name string, spec intent.TenantSpec, pre resource.Precondition) (t intent.Tenant, created bool, err error)
	DeleteTenant(ctx context.Context, name string, pre resource.Precondition) error

	PFCPolicies(ctx context.Context) ([]intent.PFCPolicy, error)
	PFCPolicy(ctx context.Context, name string) (intent.PFCPolicy, error)
	PutPFCPolicy(ctx context.Context, name string, spec intent.PFCPolicySpec, pre resource.Precondition) (p intent.PFCPolicy, created bool, err error)
	DeletePFCPolicy(ctx context.Context, name string, pre resource.Precondition) error
}

var _ PFC = (*controller.Controller)(nil)
