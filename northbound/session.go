package northbound

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

const (
	sessionPath  = "/v1/session"
	sessionsPath = "/v1/sessions"
	accessTag    = "access"
	// signInOperation may have to be tried again.
	signInOperation = "sign-in"
)

// sessionAnswer is a session, with its cookie if any.
type sessionAnswer struct {
	SetCookie []http.Cookie `header:"Set-Cookie"`
	Body      api.Session
}

func (s *Server) registerSession() {
	tags := []string{accessTag}
	register(s, huma.Operation{
		OperationID: "get-session", Method: http.MethodGet, Security: asks(access.Open),
		Path: sessionPath, Tags: tags,
		Summary: "Who am I?", Description: "Who makes the request and what it may do. Without " +
			"credentials that count, name, way and role are empty, and ways has the ways to sign in.",
	}, func(ctx context.Context, _ *struct{}) (*api.Session, error) {
		out := access.Of(ctx).Session()
		out.Ways = s.cfg.Access.Authenticator.Ways()
		return &out, nil
	})
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: signInOperation, Method: http.MethodPost, Security: asks(access.Open),
		Path: sessionPath, Tags: tags,
		Summary: "Sign in",
		Description: "Begins a session with a local user's name and password, or with a token, and " +
			"sets its cookie. Ten attempts with a password may come from an address at once, then one " +
			"every six seconds; 429 has Retry-After.",
		Errors: []int{401, 409, 413, 415, 429, 501, 503},
	}), s.signIn)
	s.registerOIDC()
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "sign-out", Method: http.MethodDelete, Security: asks(access.Self),
		Path: sessionPath, Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Sign out", Description: "Ends the session of the cookie.", Errors: []int{404, 503},
	}), func(ctx context.Context, _ *struct{}) (*struct {
		SetCookie http.Cookie `header:"Set-Cookie"`
	}, error) {
		p := access.Of(ctx)
		if p.SessionID == "" {
			return nil, newProblem(string(api.CodeNotFound), "the request has no session")
		}
		if err := s.cfg.Access.Keeper.SignOut(ctx, p.SessionID); err != nil {
			return nil, accessProblem(err)
		}
		return &struct {
			SetCookie http.Cookie `header:"Set-Cookie"`
		}{sessionCookie(ctx, "")}, nil
	})
}

// SessionParam is exported because huma passes over other embedded types.
type SessionParam struct {
	ID string `path:"id" maxLength:"64" doc:"Id of the session."`
}

func (s *Server) registerSessions() {
	tags, keeper := []string{accessTag}, s.cfg.Access.Keeper
	register(s, huma.Operation{
		OperationID: "list-sessions", Method: http.MethodGet, Security: asks(access.Self),
		Path: sessionsPath, Tags: tags, Summary: "List the sessions",
		Description: "Sessions that have not ended, in the order in which they began: for who " +
			"administers all of them, for anybody else its own.", Errors: []int{422},
	}, func(ctx context.Context, in *PageParams) (*api.List[api.OpenSession], error) {
		items, next, err := page(*in, keeper.Sessions(access.Of(ctx)), sessionKey)
		if err != nil {
			return nil, err
		}
		return &api.List[api.OpenSession]{Items: items, Continue: next}, nil
	})
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "end-session", Method: http.MethodDelete, Security: asks(access.Self),
		Path: sessionsPath + "/{id}", Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "End a session", Description: "It counts no more at once. Administrators end every " +
			"session, anybody else its own.",
		Errors: []int{404, 503},
	}), func(ctx context.Context, in *SessionParam) (*struct{}, error) {
		return nil, accessProblem(keeper.EndSession(ctx, access.Of(ctx), in.ID))
	})
}

// sessionKey orders sessions in a list: by time, then by id.
func sessionKey(o *api.OpenSession) string {
	return o.Created.UTC().Format(sortedTime) + " " + o.ID
}

// sessionCookie returns the cookie of a session; "" removes it.
func sessionCookie(ctx context.Context, value string) http.Cookie {
	c := http.Cookie{
		Name: cookieNameOf(exchangeOf(ctx)), Value: value, Path: "/", HttpOnly: true, Secure: true,
		SameSite: http.SameSiteStrictMode,
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// cookieNameOf returns the cookie's name at the server that the client asked. That server may have
// forwarded the request.
func cookieNameOf(c *exchange) string {
	return access.CookieName(c.Request.TLS != nil && !isForwarded(c.Request) || c.forwardedTLS)
}

func (s *Server) signIn(
	ctx context.Context, in *struct{ Body api.SignIn },
) (*sessionAnswer, error) {
	keeper, body := s.cfg.Access.Keeper, &in.Body
	var p access.Principal
	var cookie string
	var err error
	switch {
	case body.Token != "" && body.User == "" && body.Password == "":
		p, cookie, err = keeper.SignInToken(ctx, body.Token)
	case body.Device != "" && body.User == "" && body.Password == "" && body.Token == "":
		p, cookie, err = s.signInDevice(ctx, body.Device)
	case body.User != "" && body.Token == "" && body.Device == "":
		p, cookie, err = keeper.SignIn(ctx, body.User, body.Password, exchangeOf(ctx).client())
	default:
		f := api.FieldError{Field: "user", Code: api.CodeInvalid, Value: valueText(body.User),
			Want: "user and password, token, or device"}
		return nil, newProblem(string(api.CodeInvalid), f.Error(), f)
	}
	if err != nil {
		return nil, accessProblem(err)
	}
	if s.controller != nil {
		s.controller.Members().Join(&p)
	}
	if body.Bearer {
		out := &sessionAnswer{Body: p.Session()}
		out.Body.CSRF, out.Body.Token = "", access.Bearer(cookie)
		return out, nil
	}
	return &sessionAnswer{SetCookie: []http.Cookie{sessionCookie(ctx, cookie)}, Body: p.Session()}, nil
}
