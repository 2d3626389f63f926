package northbound

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/access/oidc"
	"github.com/weft-sdn/weft/api"
)

const (
	oidcLoginPath    = "/v1/oidc/login"
	oidcCallbackPath = "/v1/oidc/callback"
	oidcDevicePath   = "/v1/oidc/device"
	// callbackOperation begins a session.
	callbackOperation = "oidc-callback"
)

// oidcCookie names the cookie that holds a sign-in attempt while the browser visits the provider.
// The cookie returns with a navigation from the provider, so the cookie cannot use SameSite=Strict.
const oidcCookie = "weft-oidc"

// Purposes of sealed values.
const (
	attemptPurpose = "attempt to sign in"
	devicePurpose  = "device's sign-in"
)

// redirect is an answer that sends a browser elsewhere.
type redirect struct {
	Location  string        `header:"Location"`
	SetCookie []http.Cookie `header:"Set-Cookie"`
}

func (s *Server) registerOIDC() {
	tags := []string{accessTag}
	found := map[string]*huma.Response{"302": {Description: "Where the browser goes."}}
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "oidc-login", Method: http.MethodGet, Security: asks(access.Open),
		Path: oidcLoginPath, Tags: tags, DefaultStatus: http.StatusFound, Responses: found,
		Summary:     "Sign in by the OpenID Connect provider",
		Description: "Sends a browser to the provider (authorization code flow with PKCE).",
		Errors:      []int{501, 503},
	}), s.oidcLogin)
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: callbackOperation, Method: http.MethodGet, Security: asks(access.Open),
		Path: oidcCallbackPath, Tags: tags, DefaultStatus: http.StatusFound, Responses: found,
		Summary:     "Come back from the OpenID Connect provider",
		Description: "Begins a session and sets its cookie.", Errors: []int{401, 501, 503},
	}), s.oidcCallback)
	register(s, huma.Operation{
		OperationID: "oidc-device", Method: http.MethodPost, Security: asks(access.Open),
		Path: oidcDevicePath, Tags: tags,
		Summary: "Begin a device's sign-in by the OpenID Connect provider",
		Description: "For programs without a browser (RFC 8628). POST /v1/session with the handle in " +
			"device ends it.", Errors: []int{429, 501, 503},
	}, s.oidcDevice)
}

func (s *Server) provider() (*oidc.Provider, error) {
	if s.cfg.OIDC == nil {
		return nil, newProblem(codeNoSection,
			"no OpenID Connect provider is configured (api.access.oidc)")
	}
	return s.cfg.OIDC, nil
}

func (s *Server) oidcLogin(ctx context.Context, in *struct {
	Return string `query:"return" maxLength:"1024" doc:"Path of this server where the browser goes afterwards. Default: /."`
}) (*redirect, error) {
	p, err := s.provider()
	if err != nil {
		return nil, err
	}
	// A path of this server: "//host" and "/\\host" are others' (WHATWG URL, section 4.4).
	if !strings.HasPrefix(in.Return, "/") || strings.HasPrefix(in.Return, "//") ||
		strings.ContainsAny(in.Return, "\\\t\r\n") {
		in.Return = "/"
	}
	attempt, url, err := p.Begin(ctx, in.Return, s.cfg.Now())
	if err != nil {
		return nil, accessProblem(err)
	}
	sealed, err := s.cfg.Access.Signer.Seal(ctx, attemptPurpose, attempt)
	if err != nil {
		return nil, accessProblem(err)
	}
	return &redirect{Location: url, SetCookie: []http.Cookie{attemptCookie(sealed)}}, nil
}

func attemptCookie(value string) http.Cookie {
	c := http.Cookie{Name: oidcCookie, Value: value, Path: oidcCallbackPath, HttpOnly: true,
		Secure: true, SameSite: http.SameSiteLaxMode, MaxAge: 600}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

func (s *Server) oidcCallback(ctx context.Context, in *struct {
	Code    string `query:"code" maxLength:"4096" doc:"Code of the provider."`
	State   string `query:"state" maxLength:"1024" doc:"That of the attempt."`
	Error   string `query:"error" maxLength:"256" doc:"Why the provider refuses."`
	Text    string `query:"error_description" maxLength:"4096" doc:"The same in words."`
	ErrorAt string `query:"error_uri" maxLength:"4096" doc:"A page about it."`
	Session string `query:"session_state" maxLength:"1024" doc:"Ignored."`
	Issuer  string `query:"iss" maxLength:"1024" doc:"Ignored: the ID token has the issuer."`
	Scope   string `query:"scope" maxLength:"4096" doc:"Ignored."`
}) (*redirect, error) {
	p, err := s.provider()
	if err != nil {
		return nil, err
	}
	if in.Error != "" {
		return nil, newProblem(codeUnauthorized, "the provider says "+clip(in.Error+" "+in.Text,
			maxFieldText))
	}
	var attempt oidc.Attempt
	cookie := s.attemptOf(ctx)
	if cookie == "" {
		return nil, newProblem(codeUnauthorized,
			"the browser has no attempt to sign in: want "+oidcLoginPath+" first")
	}
	if err := s.cfg.Access.Signer.Open(ctx, attemptPurpose, cookie, &attempt); err != nil {
		return nil, accessProblem(err)
	}
	who, err := p.Finish(ctx, &attempt, in.State, in.Code, s.cfg.Now())
	if err != nil {
		return nil, accessProblem(err)
	}
	_, value, err := s.cfg.Access.Keeper.Begin(ctx, who)
	if err != nil {
		return nil, accessProblem(err)
	}
	return &redirect{Location: attempt.Return, SetCookie: []http.Cookie{sessionCookie(ctx, value),
		attemptCookie("")}}, nil
}

// attemptOf returns the sealed attempt of a browser.
func (s *Server) attemptOf(ctx context.Context) string {
	c, err := exchangeOf(ctx).Request.Cookie(oidcCookie)
	if err != nil {
		return ""
	}
	return c.Value
}

func (s *Server) oidcDevice(ctx context.Context, _ *struct{}) (*api.DeviceSignIn, error) {
	p, err := s.provider()
	if err != nil {
		return nil, err
	}
	if err := s.cfg.Access.Keeper.Try(exchangeOf(ctx).client()); err != nil {
		return nil, accessProblem(err)
	}
	audit.Of(ctx).Unchanged() // the session that follows is the change
	device, out, err := p.BeginDevice(ctx)
	if err != nil {
		return nil, accessProblem(err)
	}
	if out.Handle, err = s.cfg.Access.Signer.Seal(ctx, devicePurpose, device); err != nil {
		return nil, accessProblem(err)
	}
	return out, nil
}

// signInDevice begins a session of whom the provider names for a device's handle.
func (s *Server) signInDevice(
	ctx context.Context, handle string,
) (none access.Principal, _ string, _ error) {
	p, err := s.provider()
	if err != nil {
		return none, "", err
	}
	var device oidc.Device
	if err := s.cfg.Access.Signer.Open(ctx, devicePurpose, handle, &device); err != nil {
		return none, "", err
	}
	who, err := p.FinishDevice(ctx, &device, s.cfg.Now())
	if err != nil {
		return none, "", err
	}
	return s.cfg.Access.Keeper.Begin(ctx, who)
}
