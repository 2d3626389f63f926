package northbound

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

const (
	tokensPath = "/v1/tokens"
	usersPath  = "/v1/users"
)

// IDParam is exported because huma passes over other embedded types.
type IDParam struct {
	ID string `path:"id" maxLength:"64" doc:"Id of the token."`
}

// UserParam is exported because huma passes over other embedded types.
type UserParam struct {
	User string `path:"user" maxLength:"253" doc:"Name of the user."`
}

type created[R any] struct {
	Location string `header:"Location"`
	Body     R
}

func (s *Server) registerTokens() {
	tags, keeper := []string{accessTag}, s.cfg.Access.Keeper
	register(s, huma.Operation{
		OperationID: "list-tokens", Method: http.MethodGet, Security: asks(access.Administer),
		Path: tokensPath, Tags: tags, Summary: "List the tokens", Errors: []int{422},
	}, func(_ context.Context, in *PageParams) (*api.List[api.Token], error) {
		items, next, err := page(*in, keeper.Tokens(),
			func(t *api.Token) string { return t.Name + " " + t.ID })
		if err != nil {
			return nil, err
		}
		return &api.List[api.Token]{Items: items, Continue: next}, nil
	})
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "create-token", Method: http.MethodPost, Security: asks(access.Administer),
		Path: tokensPath, Tags: tags, DefaultStatus: http.StatusCreated,
		Summary: "Make a token", Description: "The answer has the token in secret, and nothing has it " +
			"afterwards: the controller keeps a digest.",
		Errors: []int{409, 413, 415, 422, 503},
	}), func(ctx context.Context, in *struct{ Body api.TokenRequest }) (*created[api.Token], error) {
		t, err := keeper.CreateToken(ctx, access.Of(ctx), &in.Body)
		if err != nil {
			return nil, accessProblem(err)
		}
		return &created[api.Token]{Location: tokensPath + "/" + t.ID, Body: t}, nil
	})
	register(s, huma.Operation{
		OperationID: "get-token", Method: http.MethodGet, Security: asks(access.Administer),
		Path: tokensPath + "/{id}", Tags: tags, Summary: "Get a token", Errors: []int{404},
	}, func(_ context.Context, in *IDParam) (*api.Token, error) {
		t, err := keeper.Token(in.ID)
		return &t, accessProblem(err)
	})
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "delete-token", Method: http.MethodDelete, Security: asks(access.Administer),
		Path: tokensPath + "/{id}", Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Revoke a token", Description: "It counts no more at once, and neither do its sessions.",
		Errors: []int{404, 409, 503},
	}), func(ctx context.Context, in *IDParam) (*struct{}, error) {
		return nil, accessProblem(keeper.DeleteToken(ctx, in.ID))
	})
}

func (s *Server) registerUsers() {
	tags, keeper := []string{accessTag}, s.cfg.Access.Keeper
	register(s, huma.Operation{
		OperationID: "list-users", Method: http.MethodGet, Security: asks(access.Administer),
		Path: usersPath, Tags: tags, Summary: "List the local users", Errors: []int{422},
	}, func(_ context.Context, in *PageParams) (*api.List[api.User], error) {
		items, next, err := page(*in, keeper.Users(), func(u *api.User) string { return u.Name })
		if err != nil {
			return nil, err
		}
		return &api.List[api.User]{Items: items, Continue: next}, nil
	})
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "create-user", Method: http.MethodPost, Security: asks(access.Administer),
		Path: usersPath, Tags: tags, DefaultStatus: http.StatusCreated,
		Summary:     "Add a local user",
		Description: "The password is kept as a hash by argon2id (RFC 9106).",
		Errors:      []int{409, 413, 415, 422, 429, 503},
	}), func(ctx context.Context, in *struct{ Body api.UserRequest }) (*created[api.User], error) {
		u, err := keeper.AddUser(ctx, &in.Body)
		if err != nil {
			return nil, accessProblem(err)
		}
		return &created[api.User]{Location: usersPath + "/" + u.Name, Body: u}, nil
	})
	register(s, huma.Operation{
		OperationID: "get-user", Method: http.MethodGet, Security: asks(access.Administer),
		Path: usersPath + "/{user}", Tags: tags, Summary: "Get a local user", Errors: []int{404},
	}, func(_ context.Context, in *UserParam) (*api.User, error) {
		u, err := keeper.User(in.User)
		return &u, accessProblem(err)
	})
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "delete-user", Method: http.MethodDelete, Security: asks(access.Administer),
		Path: usersPath + "/{user}", Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Remove a local user", Description: "Its sessions end.", Errors: []int{404, 409, 503},
	}), func(ctx context.Context, in *UserParam) (*struct{}, error) {
		return nil, accessProblem(keeper.RemoveUser(ctx, in.User))
	})
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "set-password", Method: http.MethodPut, Security: asks(access.Self),
		Path: usersPath + "/{user}/password", Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Set a local user's password",
		Description: "Users set their own, with the present one; administrators set that of every " +
			"user. The user's sessions end.",
		Errors: []int{404, 409, 413, 415, 422, 429, 503},
	}), func(ctx context.Context, in *struct {
		UserParam
		Body api.PasswordRequest
	}) (*struct{}, error) {
		by := access.Of(ctx)
		if !by.May(access.Administer) && (by.Way != api.WayUser || by.Name != in.User) {
			return nil, newProblem(codeDenied, by.Name+" may set its own password alone")
		}
		return nil, accessProblem(keeper.SetPassword(ctx, by, in.User, &in.Body))
	})
}

const auditPath = "/v1/audit"

func (s *Server) registerAudit() {
	tags := []string{accessTag}
	register(s, huma.Operation{
		OperationID: "list-audit-records", Method: http.MethodGet, Security: asks(access.Administer),
		Path: auditPath, Tags: tags,
		Summary:     "Read the audit log",
		Description: "Records of changes, refusals, failed sign-ins and reads of secrets, oldest first.",
		Errors:      []int{422, 503},
	}, s.listAudit)
	register(s, huma.Operation{
		OperationID: "list-audit-chains", Method: http.MethodGet, Security: asks(access.Administer),
		Path: auditPath + "/chains", Tags: tags,
		Summary: "List the chains of the audit log",
		Description: "Each record has the hash of the one before it in its chain. The newest hash, " +
			"noted elsewhere, proves later that no record before it was changed.",
		Errors: []int{503},
	}, func(ctx context.Context, _ *struct{}) (*api.List[api.AuditChain], error) {
		chains, err := s.cfg.Access.Log.Chains(ctx)
		if err != nil {
			return nil, newProblem(codeStore, err.Error())
		}
		return &api.List[api.AuditChain]{Items: chains}, nil
	})
}

func (s *Server) listAudit(ctx context.Context, in *struct {
	PageParams
	Identity string `query:"identity" maxLength:"253" doc:"Only requests of this principal."`
	Path     string `query:"path" maxLength:"512" doc:"Only requests whose paths begin with this."`
	Outcome  string `query:"outcome" enum:"success,failure" doc:"Only requests with this outcome."`
	Latest   bool   `query:"latest" doc:"The latest records that fit into a page, in place of the first."`
}) (*api.List[api.AuditRecord], error) {
	all, err := s.cfg.Access.Log.Records(ctx)
	if err != nil {
		return nil, newProblem(codeStore, err.Error())
	}
	all = slices.DeleteFunc(all, func(r api.AuditRecord) bool {
		return in.Identity != "" && r.SessionInfo.User.Identity != in.Identity ||
			in.Outcome != "" && string(r.Outcome) != in.Outcome ||
			len(r.ServiceRequest.Path) < len(in.Path) || r.ServiceRequest.Path[:len(in.Path)] != in.Path
	})
	if in.Latest {
		return &api.List[api.AuditRecord]{Items: append([]api.AuditRecord{},
			all[max(0, len(all)-in.Limit):]...)}, nil
	}
	items, next, err := page(in.PageParams, all, auditKey)
	if err != nil {
		return nil, err
	}
	return &api.List[api.AuditRecord]{Items: items, Continue: next}, nil
}

// sortedTime is a layout for UTC times: formatted times sort in chronological order.
const sortedTime = "2006-01-02T15:04:05.000000000Z"

// auditKey returns the sort key of a record in the list: time, then chain and number.
func auditKey(r *api.AuditRecord) string {
	return r.Timestamp.UTC().Format(sortedTime) + fmt.Sprintf(" %s %d", r.Chain, r.Seq)
}
