// Package oidc signs people in by an OpenID Connect provider: in a browser by the authorization
// code flow with PKCE (RFC 7636), and elsewhere by the device flow (RFC 8628). Claims of the ID
// token and of the UserInfo endpoint become a role.
package oidc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

var (
	// ErrProvider reports a provider that cannot be reached or that sends an invalid answer.
	ErrProvider = errors.New("the OpenID Connect provider cannot be used now")
	// ErrPending reports that somebody has yet to confirm a device's sign-in.
	ErrPending = errors.New("the sign-in was not confirmed yet")
)

// Config names the provider and what its claims mean.
type Config struct {
	Issuer, ClientID, ClientSecret string
	// RedirectURL is the URL of the API's /v1/oidc/callback for browsers.
	RedirectURL string
	// Scopes are asked for, besides openid.
	Scopes []string
	// Name is the claim with the name of the principal.
	Name string
	// Roles give principals roles: the first rule that holds counts. Without one that holds nobody
	// signs in.
	Roles []Rule
	// Claims are kept with a session: members of projects are named by them. Default: those that Roles
	// name.
	Claims []string
	// RoleLifetime is how long a role holds before it must be shown again. Default
	// [DefaultRoleLifetime].
	RoleLifetime time.Duration
	// TrustedAudiences lists further clients, besides this client, that an ID token may name as
	// audience.
	TrustedAudiences []string
	// EmailVerifiedText takes the claim email_verified also as the text "true", as some providers
	// send it. OpenID Connect Core 1.0, section 5.1, wants a boolean.
	EmailVerifiedText bool
}

// DefaultRoleLifetime is the default of Config.RoleLifetime.
const DefaultRoleLifetime = time.Hour

// Rule gives a role to whom a claim has a value, alone or in a list.
type Rule struct {
	Claim     string `yaml:"claim" doc:"who gets which role: the first rule that holds" default:"required"`
	Value     string `yaml:"value" doc:"who gets which role: the first rule that holds" default:"required"`
	api.Grant `yaml:",inline"`
}

// Provider is an OpenID Connect provider. Its methods may be called from any goroutine.
type Provider struct {
	cfg    Config
	client *http.Client
	// life is the context of the provider, which reads keys again by it. end cancels life, and running
	// waits for discoveries.
	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	// mu guards the fields below it. Nobody holds it while the provider is asked.
	mu     sync.Mutex
	found  *gooidc.Provider // nil before its configuration was read
	latest *discovery       // nil: none is under way
}

// askTimeout bounds a request to the provider.
const askTimeout = 10 * time.Second

// patience is how long callers wait for one discovery before they begin another discovery, so a
// hanging connection holds up no other callers.
const patience = time.Second

// discovery is a question for the provider's configuration.
type discovery struct {
	began time.Time
	done  chan struct{} // closed at its end
	err   error         // why it failed; set before done is closed
}

// New returns a provider. The first use asks the provider for its configuration.
func New(cfg Config) *Provider {
	if cfg.RoleLifetime == 0 {
		cfg.RoleLifetime = DefaultRoleLifetime
	}
	p := &Provider{cfg: cfg, client: &http.Client{Timeout: askTimeout}}
	p.life, p.end = context.WithCancel(gooidc.ClientContext(context.Background(), p.client))
	return p
}

// Close ends the connections to the provider.
func (p *Provider) Close() {
	p.end()
	p.running.Wait()
	p.client.CloseIdleConnections()
}

func (p *Provider) context(ctx context.Context) context.Context {
	return gooidc.ClientContext(ctx, p.client)
}

// find returns the provider with its configuration (OpenID Connect Discovery 1.0, section 4).
// Concurrent callers share a discovery while the discovery is young.
func (p *Provider) find(ctx context.Context) (*gooidc.Provider, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for {
		found, d := p.discover()
		if found != nil {
			return found, nil
		}
		old := time.NewTimer(patience - time.Since(d.began))
		select {
		case <-d.done:
		case <-old.C:
		case <-ctx.Done():
			old.Stop()
			return nil, fmt.Errorf("%w: it does not answer: %w", ErrProvider, ctx.Err())
		}
		old.Stop()
		select {
		case <-d.done:
			if d.err != nil {
				return nil, fmt.Errorf("%w: %w", ErrProvider, d.err)
			}
		default:
		}
	}
}

// discover returns the configuration if it is known, and else a discovery to wait for.
func (p *Provider) discover() (*gooidc.Provider, *discovery) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil || p.latest != nil && time.Since(p.latest.began) < patience {
		return p.found, p.latest
	}
	d := &discovery{began: time.Now(), done: make(chan struct{})}
	p.latest = d
	p.running.Go(func() {
		found, err := gooidc.NewProvider(p.life, p.cfg.Issuer)
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.found == nil {
			p.found = found
		}
		if p.latest == d {
			p.latest = nil
		}
		d.err = err
		close(d.done)
	})
	return nil, d
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
func (p *Provider) Begin(ctx context.Context, back string, now time.Time) (*Attempt, string,
	error) {
	found, err := p.find(ctx)
	if err != nil {
		return nil, "", err
	}
	a := &Attempt{State: oauth2.GenerateVerifier(), Nonce: oauth2.GenerateVerifier(),
		Verifier: oauth2.GenerateVerifier(), Return: back, Expires: now.Add(attemptTime)}
	url := p.oauth(found).AuthCodeURL(a.State, gooidc.Nonce(a.Nonce),
		oauth2.S256ChallengeOption(a.Verifier))
	return a, url, nil
}

// Finish returns the principal of an attempt that came back with a state and a code.
func (p *Provider) Finish(ctx context.Context, a *Attempt, state, code string,
	now time.Time) (access.Principal, error) {
	if state == "" || state != a.State {
		return access.Principal{}, fmt.Errorf("%w: the answer of the provider is of another attempt",
			access.ErrCredentials)
	}
	if now.After(a.Expires) {
		return access.Principal{}, fmt.Errorf("%w: the attempt took more than %v", access.ErrCredentials,
			attemptTime)
	}
	found, err := p.find(ctx)
	if err != nil {
		return access.Principal{}, err
	}
	t, err := p.oauth(found).Exchange(p.context(ctx), code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return access.Principal{}, refusal(err)
	}
	return p.principal(ctx, found, t, a.Nonce, now)
}

// refusal is the error of a token endpoint. An error in an answer is the client's fault.
func refusal(err error) error {
	var r *oauth2.RetrieveError
	if errors.As(err, &r) && r.ErrorCode != "" &&
		r.Response.StatusCode < http.StatusInternalServerError {
		if r.ErrorCode == "authorization_pending" || r.ErrorCode == "slow_down" { // RFC 8628, section 3.5
			return ErrPending
		}
		return fmt.Errorf("%w: the provider says %s %s", access.ErrCredentials, r.ErrorCode,
			r.ErrorDescription)
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
		UserCode: r.UserCode, VerificationURI: r.VerificationURI,
		VerificationURIComplete: r.VerificationURIComplete,
		Interval:                api.Duration(max(time.Duration(r.Interval), 5) * time.Second),
		Expires:                 r.Expiry,
	}, nil
}

// FinishDevice asks once whether the sign-in was confirmed. The error is [ErrPending] until it is.
func (p *Provider) FinishDevice(ctx context.Context, d *Device, now time.Time) (access.Principal,
	error) {
	if now.After(d.Expires) {
		return access.Principal{}, fmt.Errorf("%w: the device's sign-in has expired",
			access.ErrCredentials)
	}
	found, err := p.find(ctx)
	if err != nil {
		return access.Principal{}, err
	}
	// The form of RFC 8628, section 3.4: the library's method waits until it is confirmed.
	t, err := p.oauth(found).Exchange(p.context(ctx), "",
		oauth2.SetAuthURLParam("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
		oauth2.SetAuthURLParam("device_code", d.Code))
	if err != nil {
		return access.Principal{}, refusal(err)
	}
	return p.principal(ctx, found, t, "", now)
}

// maxAhead is how far the clock of a provider may be ahead: an ID token of later is refused
// (OpenID Connect Core 1.0, section 3.1.3.7, step 10).
const maxAhead = 5 * time.Minute

// principal returns whom a token is about. nonce, when not empty, is that of the attempt.
func (p *Provider) principal(ctx context.Context, found *gooidc.Provider, t *oauth2.Token,
	nonce string, now time.Time) (access.Principal, error) {
	raw, ok := t.Extra("id_token").(string)
	if !ok {
		return access.Principal{}, fmt.Errorf("%w: it gives no ID token", ErrProvider)
	}
	id, err := found.Verifier(&gooidc.Config{ClientID: p.cfg.ClientID}).Verify(p.context(ctx), raw)
	if err != nil {
		return access.Principal{}, fmt.Errorf("%w: ID token: %w", access.ErrCredentials, err)
	}
	if id.IssuedAt.After(now.Add(maxAhead)) {
		return access.Principal{}, fmt.Errorf("%w: the ID token was issued at %s (iat), which is %v "+
			"from now: want at most %v", access.ErrCredentials, id.IssuedAt.UTC().Format(time.RFC3339),
			id.IssuedAt.Sub(now).Round(time.Second), maxAhead)
	}
	if nonce != "" && id.Nonce != nonce {
		return access.Principal{}, fmt.Errorf("%w: the ID token is of another attempt",
			access.ErrCredentials)
	}
	var signed, told map[string]any
	if err := id.Claims(&signed); err != nil {
		return access.Principal{}, fmt.Errorf("%w: %w", ErrProvider, err)
	}
	if err := p.cfg.audience(id.Audience, signed["azp"]); err != nil {
		return access.Principal{}, err
	}
	if found.UserInfoEndpoint() != "" {
		info, err := found.UserInfo(p.context(ctx), oauth2.StaticTokenSource(t))
		if err != nil {
			return access.Principal{}, fmt.Errorf("%w: %w", ErrProvider, err)
		}
		if info.Subject != id.Subject { // OpenID Connect Core 1.0, section 5.3.2
			return access.Principal{}, fmt.Errorf("%w: the provider describes another person",
				access.ErrCredentials)
		}
		if err := info.Claims(&told); err != nil {
			return access.Principal{}, fmt.Errorf("%w: %w", ErrProvider, err)
		}
	}
	who, err := p.cfg.principal(signed, told)
	who.Expires = now.Add(p.cfg.RoleLifetime)
	return who, err
}

// audience checks whom an ID token was issued for (OpenID Connect Core 1.0, section 3.1.3.7, steps
// 3 to 5). That this client is in aud was checked.
func (c *Config) audience(aud []string, azp any) error {
	for _, a := range aud {
		if a != c.ClientID && !slices.Contains(c.TrustedAudiences, a) {
			return fmt.Errorf("%w: the ID token is also for the audience %q, which "+
				"api.access.oidc.trustedAudiences does not name", access.ErrCredentials, clip(a))
		}
	}
	if azp != c.ClientID && (azp != nil || len(aud) > 1) {
		to := "nobody"
		if azp != nil {
			to = strconv.Quote(clip(fmt.Sprint(azp)))
		}
		return fmt.Errorf("%w: the ID token was issued to %s (azp): want %q", access.ErrCredentials, to,
			c.ClientID)
	}
	return nil
}

// maxText bounds what of a provider's text is sent on, in octets.
const maxText = 64

func clip(s string) string { return s[:min(len(s), maxText)] }

// Claims that belong together.
const (
	claimEmail    = "email"
	claimVerified = "email_verified"
)

// principal maps claims to a principal: claims that the provider signed, and claims that the
// provider returned on request. Signed claims take precedence.
func (c *Config) principal(signed, told map[string]any) (access.Principal, error) {
	claims := make(map[string]any, len(signed)+len(told))
	maps.Copy(claims, told)
	maps.Copy(claims, signed)
	delete(claims, claimEmail)
	if email := c.email(signed, told); email != "" {
		claims[claimEmail] = email
	}
	name, _ := claims[c.Name].(string)
	if name == "" {
		if c.Name == claimEmail {
			return access.Principal{},
				fmt.Errorf("%w: the provider gives no claim email that it says is verified (email_verified)",
					access.ErrCredentials)
		}
		return access.Principal{}, fmt.Errorf("%w: the provider gives no claim %s", access.ErrCredentials,
			c.Name)
	}
	if err := api.ValidatePrincipal(name); err != nil {
		return access.Principal{}, fmt.Errorf("%w: the claim %s: %w", access.ErrCredentials, c.Name, err)
	}
	for _, r := range c.Roles {
		if has(claims[r.Claim], r.Value) {
			kept, err := c.kept(claims)
			return access.Principal{Name: name, Way: api.WayOIDC, Grant: r.Grant, Claims: kept}, err
		}
	}
	return access.Principal{}, fmt.Errorf("%w: no rule of api.access.oidc.roles gives %s a role",
		access.ErrCredentials, name)
}

// email returns the address that the provider reports as verified, "" for none, because anybody may
// claim an address. The address and its verification come from one source, so a signed statement
// about one address does not vouch for another, unsigned address. The signed claims decide if they
// contain a verification. If the signed claims contain only the address, the other source must name
// the same address.
func (c *Config) email(signed, told map[string]any) string {
	from := told
	if address, ok := signed[claimEmail]; ok {
		if _, says := signed[claimVerified]; says || told[claimEmail] != address {
			from = signed
		}
	}
	verified := from[claimVerified] == true || c.EmailVerifiedText && from[claimVerified] == "true"
	if address, _ := from[claimEmail].(string); verified {
		return address
	}
	return ""
}

// maxValues bounds the values of a claim that a session keeps.
const maxValues = 1024

// kept returns the texts of the claims that name project members. Claim values of other types name
// no members.
func (c *Config) kept(claims map[string]any) (map[string][]string, error) {
	names := c.Claims
	if names == nil {
		for _, r := range c.Roles {
			names = append(names, r.Claim)
		}
	}
	out := make(map[string][]string)
	for _, name := range names {
		var values []string
		switch claim := claims[name].(type) {
		case string:
			values = []string{claim}
		case []any:
			for _, v := range claim {
				if text, ok := v.(string); ok {
					values = append(values, text)
				}
			}
		}
		if len(values) > maxValues {
			return nil, fmt.Errorf("%w: the claim %s has %d values: want at most %d", access.ErrCredentials,
				name, len(values), maxValues)
		}
		if values != nil {
			out[name] = values
		}
	}
	return out, nil
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
