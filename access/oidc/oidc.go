// Package oidc signs people in by an OpenID Connect provider: in a browser by the authorization code
// flow with PKCE (RFC 7636), and elsewhere by the device flow (RFC 8628). Claims of the ID token and
// of the UserInfo endpoint become a role.
package oidc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

var (
	// ErrProvider reports a provider that cannot be reached, or answers what it should not.
	ErrProvider = errors.New("the OpenID Connect provider cannot be used now")
	// ErrPending reports that somebody has yet to confirm a device's sign-in.
	ErrPending = errors.New("the sign-in was not confirmed yet")
)

// Config names the provider and what its claims mean.
type Config struct {
	Issuer, ClientID, ClientSecret string
	// RedirectURL is that of the API's /v1/oidc/callback for browsers.
	RedirectURL string
	// Scopes are asked for, besides openid.
	Scopes []string
	// Name is the claim with the name of the principal.
	Name string
	// Roles give principals roles: the first rule that holds counts. Without one that holds nobody
	// signs in.
	Roles []Rule
}

// Rule gives a role to whom a claim has a value, alone or in a list.
type Rule struct {
	Claim     string `yaml:"claim"`
	Value     string `yaml:"value"`
	api.Grant `yaml:",inline"`
}

// Provider is an OpenID Connect provider. Its methods may be called from any goroutine.
type Provider struct {
	cfg    Config
	client *http.Client

	// mu guards the field below it.
	mu    sync.Mutex
	found *gooidc.Provider // nil before its configuration was read
}

// askTimeout bounds a request to the provider.
const askTimeout = 10 * time.Second

// New returns a provider. It is asked for its configuration when it is needed first.
func New(cfg Config) *Provider {
	return &Provider{cfg: cfg, client: &http.Client{Timeout: askTimeout}}
}

// Close ends the connections to the provider.
func (p *Provider) Close() { p.client.CloseIdleConnections() }

func (p *Provider) context(ctx context.Context) context.Context {
	return gooidc.ClientContext(ctx, p.client)
}

// find returns the provider with its configuration (OpenID Connect Discovery 1.0, section 4).
func (p *Provider) find(ctx context.Context) (*gooidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil {
		// The provider keeps its context, to read keys again: it must not end with the request.
		found, err := gooidc.NewProvider(p.context(context.WithoutCancel(ctx)), p.cfg.Issuer)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrProvider, err)
		}
		p.found = found
	}
	return p.found, nil
}

func (p *Provider) oauth(found *gooidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.cfg.ClientID, ClientSecret: p.cfg.ClientSecret, RedirectURL: p.cfg.RedirectURL,
		Endpoint: found.Endpoint(), Scopes: append([]string{gooidc.ScopeOpenID}, p.cfg.Scopes...),
	}
}

// Attempt is what a browser's sign-in must come back with.
type Attempt struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	// Return is the path of this server where the browser goes afterwards.
	Return  string    `json:"return"`
	Expires time.Time `json:"expires"`
}

// attemptTime is how long a person may take to sign in.
const attemptTime = 10 * time.Minute

// Begin returns a new attempt, and where the browser goes for it.
func (p *Provider) Begin(ctx context.Context, back string, now time.Time) (*Attempt, string, error) {
	found, err := p.find(ctx)
	if err != nil {
		return nil, "", err
	}
	a := &Attempt{State: oauth2.GenerateVerifier(), Nonce: oauth2.GenerateVerifier(), Verifier: oauth2.GenerateVerifier(), Return: back, Expires: now.Add(attemptTime)}
	url := p.oauth(found).AuthCodeURL(a.State, gooidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier))
	return a, url, nil
}

// Finish returns the principal of an attempt that came back with a state and a code.
func (p *Provider) Finish(ctx context.Context, a *Attempt, state, code string, now time.Time) (access.Principal, error) {
	if state == "" || state != a.State {
		return access.Principal{}, fmt.Errorf("%w: the answer of the provider is of another attempt", access.ErrCredentials)
	}
	if now.After(a.Expires) {
		return access.Principal{}, fmt.Errorf("%w: the attempt took more than %v", access.ErrCredentials, attemptTime)
	}
	found, err := p.find(ctx)
	if err != nil {
		return access.Principal{}, err
	}
	t, err := p.oauth(found).Exchange(p.context(ctx), code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return access.Principal{}, refusal(err)
	}
	return p.principal(ctx, found, t, a.Nonce)
}

// refusal is the error of a token endpoint: one that it answers with is the client's.
func refusal(err error) error {
	var r *oauth2.RetrieveError
	if errors.As(err, &r) && r.ErrorCode != "" && r.Response.StatusCode < http.StatusInternalServerError {
		if r.ErrorCode == "authorization_pending" || r.ErrorCode == "slow_down" { // RFC 8628, section 3.5
			return ErrPending
		}
		return fmt.Errorf("%w: the provider says %s %s", access.ErrCredentials, r.ErrorCode, r.ErrorDescription)
	}
	return fmt.Errorf("%w: %w", ErrProvider, err)
}

// Device is a sign-in that is confirmed elsewhere.
type Device struct {
	Code    string    `json:"code"` // the device's, a secret
	Expires time.Time `json:"expires"`
}

// BeginDevice asks the provider for a device's sign-in (RFC 8628, section 3.1).
func (p *Provider) BeginDevice(ctx context.Context) (*Device, *api.DeviceSignIn, error) {
	found, err := p.find(ctx)
	if err != nil {
		return nil, nil, err
	}
	if found.Endpoint().DeviceAuthURL == "" {
		return nil, nil, fmt.Errorf("%w: it has no device flow", ErrProvider)
	}
	r, err := p.oauth(found).DeviceAuth(p.context(ctx))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrProvider, err)
	}
	return &Device{Code: r.DeviceCode, Expires: r.Expiry}, &api.DeviceSignIn{
		UserCode: r.UserCode, VerificationURI: r.VerificationURI, VerificationURIComplete: r.VerificationURIComplete,
		Interval: api.Duration(max(time.Duration(r.Interval), 5) * time.Second), Expires: r.Expiry,
	}, nil
}

// FinishDevice asks once whether the sign-in was confirmed. The error is [ErrPending] until it is.
func (p *Provider) FinishDevice(ctx context.Context, d *Device, now time.Time) (access.Principal, error) {
	if now.After(d.Expires) {
		return access.Principal{}, fmt.Errorf("%w: the device's sign-in has expired", access.ErrCredentials)
	}
	found, err := p.find(ctx)
	if err != nil {
		return access.Principal{}, err
	}
	// The form of RFC 8628, section 3.4: the library's method waits until it is confirmed.
	t, err := p.oauth(found).Exchange(p.context(ctx), "",
		oauth2.SetAuthURLParam("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), oauth2.SetAuthURLParam("device_code", d.Code))
	if err != nil {
		return access.Principal{}, refusal(err)
	}
	return p.principal(ctx, found, t, "")
}

// principal returns whom a token is about. nonce, when not empty, is that of the attempt.
func (p *Provider) principal(ctx context.Context, found *gooidc.Provider, t *oauth2.Token, nonce string) (access.Principal, error) {
	raw, ok := t.Extra("id_token").(string)
	if !ok {
		return access.Principal{}, fmt.Errorf("%w: it gives no ID token", ErrProvider)
	}
	id, err := found.Verifier(&gooidc.Config{ClientID: p.cfg.ClientID}).Verify(p.context(ctx), raw)
	if err != nil {
		return access.Principal{}, fmt.Errorf("%w: ID token: %w", access.ErrCredentials, err)
	}
	if nonce != "" && id.Nonce != nonce {
		return access.Principal{}, fmt.Errorf("%w: the ID token is of another attempt", access.ErrCredentials)
	}
	claims := make(map[string]any)
	if found.UserInfoEndpoint() != "" {
		info, err := found.UserInfo(p.context(ctx), oauth2.StaticTokenSource(t))
		if err != nil {
			return access.Principal{}, fmt.Errorf("%w: %w", ErrProvider, err)
		}
		if info.Subject != id.Subject { // OpenID Connect Core 1.0, section 5.3.2
			return access.Principal{}, fmt.Errorf("%w: the provider describes another person", access.ErrCredentials)
		}
		if err := info.Claims(&claims); err != nil {
			return access.Principal{}, fmt.Errorf("%w: %w", ErrProvider, err)
		}
	}
	signed := make(map[string]any)
	if err := id.Claims(&signed); err != nil {
		return access.Principal{}, fmt.Errorf("%w: %w", ErrProvider, err)
	}
	maps.Copy(claims, signed) // what is signed counts more
	return p.cfg.principal(claims)
}

// principal maps claims.
func (c *Config) principal(claims map[string]any) (access.Principal, error) {
	if verified, _ := claims["email_verified"].(bool); !verified {
		delete(claims, "email") // anybody may say that it is his
	}
	name, _ := claims[c.Name].(string)
	if name == "" {
		return access.Principal{}, fmt.Errorf("%w: the provider gives no claim %s", access.ErrCredentials, c.Name)
	}
	for _, r := range c.Roles {
		if has(claims[r.Claim], r.Value) {
			return access.Principal{Name: name, Way: api.WayOIDC, Grant: r.Grant}, nil
		}
	}
	return access.Principal{}, fmt.Errorf("%w: no rule of api.access.oidc.roles gives %s a role", access.ErrCredentials, name)
}

// has reports whether a claim is a value, or a list with it.
func has(claim any, value string) bool {
	switch claim := claim.(type) {
	case string:
		return claim == value
	case []any:
		return slices.Contains(claim, any(value))
	}
	return false
}
