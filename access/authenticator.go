package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/certs"
)

// Times bound a session.
type Times struct {
	// Idle is how long it lasts without a request, Absolute how long at most.
	Idle, Absolute time.Duration
}

// DefaultTimes returns the defaults.
func DefaultTimes() Times { return Times{Idle: 30 * time.Minute, Absolute: 12 * time.Hour} }

// Config defines which credentials count.
type Config struct {
	// Tokens are the digests of the tokens of a file; each is an administrator's.
	Tokens [][sha256.Size]byte
	// Certificates map client certificates to principals. A client with any other is refused.
	Certificates []CertificateRule
	// Verified reports whether clients have shown certificates that an authority has signed, which
	// keeps the API closed even where no rule maps one.
	Verified bool
	// OIDC reports whether sessions may come from an OpenID Connect provider.
	OIDC bool
	// Times of sessions. Default DefaultTimes.
	Times Times
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// CertificateRule maps a client certificate to a principal.
type CertificateRule struct {
	Name      string `yaml:"name" doc:"principals of client certificates ([access.md](access.md#ways-to-show-who-you-are)); needs 'tls.ca'" default:"none"`
	api.Grant `yaml:",inline"`
}

// static reports whether a way to sign in is configured, beside users and tokens of the store.
func (c *Config) static() bool {
	return len(c.Tokens) > 0 || len(c.Certificates) > 0 || c.Verified || c.OIDC
}

// Authenticator finds the principals of requests. Its methods may be called from any goroutine.
type Authenticator struct {
	cfg Config
	dir *Directory
}

// NewAuthenticator returns an authenticator on a directory.
func NewAuthenticator(cfg Config, dir *Directory) *Authenticator {
	if cfg.Times == (Times{}) {
		cfg.Times = DefaultTimes()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Authenticator{cfg: cfg, dir: dir}
}

// Required reports whether the API asks for credentials: if a way to show credentials is
// configured, or if users or tokens exist.
func (g *Authenticator) Required() bool { return g.cfg.static() || !g.dir.Empty() }

// Ways returns the ways to sign in.
func (g *Authenticator) Ways() []api.Way {
	var out []api.Way
	for _, w := range []struct {
		way api.Way
		on  bool
	}{
		{api.WayNone, !g.Required()}, {api.WayFile, len(g.cfg.Tokens) > 0}, {api.WayToken, true},
		{api.WayUser, true},
		{api.WayCertificate, len(g.cfg.Certificates) > 0}, {api.WayOIDC, g.cfg.OIDC},
	} {
		if w.on {
			out = append(out, w.way)
		}
	}
	return out
}

// Names of the cookie of a session. The name with the prefix is for TLS: a browser takes it from
// this host alone, and only over TLS (RFC 6265bis, section 4.1.3).
const (
	cookieName       = "weft-session"
	secureCookieName = "__Host-" + cookieName
)

// CookieName returns the name of the cookie of sessions at a server with or without TLS.
func CookieName(tls bool) string {
	if tls {
		return secureCookieName
	}
	return cookieName
}

// Identify returns the principal of a request: nobody without valid credentials, and anybody if the
// API asks for no credentials. An error describes the fault of the credentials and wraps
// [ErrCredentials], or [ErrStore] if the store cannot answer; the principal is nobody then.
func (g *Authenticator) Identify(r *http.Request) (Principal, error) {
	p, err := g.identify(r)
	if !p.Known() && !g.Required() {
		return Anybody, nil
	}
	return p, err
}

func (g *Authenticator) identify(r *http.Request) (Principal, error) {
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, text, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return Principal{}, fmt.Errorf("%w: the scheme of Authorization is %q: want Bearer",
				ErrCredentials, clip(scheme))
		}
		return g.Token(r.Context(), strings.TrimSpace(text))
	}
	if c, err := r.Cookie(CookieName(r.TLS != nil)); err == nil {
		return g.session(r.Context(), c.Value)
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return g.certificate(r.TLS.VerifiedChains[0][0])
	}
	return Principal{}, nil
}

// certificate returns the principal of a certificate signed by a client authority. A signature
// alone does not suffice, because the same authority may sign certificates of hosts, switches and
// controllers. The first rule that names the certificate counts.
func (g *Authenticator) certificate(c *x509.Certificate) (Principal, error) {
	have := names(c)
	for _, r := range g.cfg.Certificates {
		if slices.Contains(have, r.Name) {
			return Principal{Name: r.Name, Way: api.WayCertificate, Grant: r.Grant, Expires: c.NotAfter}, nil
		}
	}
	return Principal{}, fmt.Errorf(
		"%w: no principal has the certificate of %q: want one of its names %q in api.access.certificates",
		ErrCredentials, clip(c.Subject.String()), clip(strings.Join(have, " ")))
}

// names returns the names that a certificate is for. If a certificate has alternative names, its
// common name does not count (RFC 9525, section 2). A client certificate of "weft certs" also has
// the client's short name.
func names(c *x509.Certificate) []string {
	out := slices.Concat(c.DNSNames, c.EmailAddresses)
	if id, err := certs.IdentityOf(c); err == nil && id.Kind == certs.KindClient {
		out = append(out, id.Name)
	}
	for _, u := range c.URIs {
		out = append(out, u.String())
	}
	if len(out) == 0 && c.Subject.CommonName != "" {
		out = append(out, c.Subject.CommonName)
	}
	return out
}

// clip bounds what of a client's text is sent back.
func clip(s string) string { return s[:min(len(s), 64)] }

// Token returns the principal of a token: a token of the file, or a token that the API has made.
func (g *Authenticator) Token(ctx context.Context, text string) (Principal, error) {
	given := sha256.Sum256([]byte(text))
	match := 0
	for i := range g.cfg.Tokens { // all of them: the time taken says nothing
		match |= subtle.ConstantTimeCompare(given[:], g.cfg.Tokens[i][:])
	}
	if match == 1 {
		return Principal{Name: fileName(given), Way: api.WayFile, Grant: api.Grant{Role: api.RoleAdmin}},
			nil
	}
	if value, ok := strings.CutPrefix(text, sessionMark); ok {
		p, err := g.session(ctx, value)
		p.CSRF = "" // no browser adds the token by itself
		return p, err
	}
	id, secret, ok := split(tokenMark, text)
	if !ok {
		return Principal{}, fmt.Errorf("%w: the token is not one of this API", ErrCredentials)
	}
	if err := g.dir.ready(); err != nil {
		return Principal{}, err
	}
	t, ok := g.dir.token(ctx, id)
	if !ok || !same(t.Digest, digest(secret)) {
		return Principal{}, fmt.Errorf("%w: the token is unknown, or was revoked", ErrCredentials)
	}
	now := g.cfg.Now()
	if !t.Expires.IsZero() && !now.Before(t.Expires) {
		return Principal{}, fmt.Errorf("%w: token %s expired at %s", ErrCredentials, t.Name,
			t.Expires.Format(time.RFC3339))
	}
	g.dir.used(ctx, tokenPrefix+id, t.LastUsed, now)
	return t.principal(), nil
}

// fileName derives a principal's name from the digest of its token in the file.
func fileName(digest [sha256.Size]byte) string {
	return "token-file:" + hex.EncodeToString(digest[:4])
}

func (t *token) principal() Principal {
	return Principal{Name: t.Name, Way: api.WayToken, Grant: t.Grant, ID: t.ID, Expires: t.Expires}
}

// errSession is a session that is over.
var errSession = fmt.Errorf("%w: the session has ended", ErrCredentials)

// session returns the principal of a session.
func (g *Authenticator) session(ctx context.Context, value string) (Principal, error) {
	id, secret, ok := split("", value)
	if !ok {
		return Principal{}, errSession
	}
	if err := g.dir.ready(); err != nil {
		return Principal{}, err
	}
	s, ok := g.dir.session(ctx, id)
	if !ok || !same(s.Digest, digest(secret)) {
		return Principal{}, errSession
	}
	p, ok := g.counts(&s,
		func(name string) (user, bool) { return g.dir.user(ctx, name) },
		func(id string) (token, bool) { return g.dir.token(ctx, id) })
	if !ok {
		return Principal{}, errSession
	}
	g.dir.used(ctx, sessionPrefix+id, s.LastUsed, g.cfg.Now())
	p.Expires, p.CSRF, p.SessionID = s.end(g.cfg.Times), csrfOf(secret), id
	return p, nil
}

// counts returns the principal of a session with its present rights. ok is false if the session has
// ended: by time, or because its user or token may sign in no more. users and tokens find existing
// users and tokens.
func (g *Authenticator) counts(s *session, users func(name string) (user, bool),
	tokens func(id string) (token, bool)) (p Principal, ok bool) {
	p = s.Principal
	switch p.Way {
	case api.WayUser:
		var u user
		u, ok = users(p.Name)
		ok = ok && !s.Created.Before(u.Changed)
		p.Grant = u.Grant
	case api.WayToken:
		var t token
		t, ok = tokens(p.ID)
		ok = ok && (t.Expires.IsZero() || g.cfg.Now().Before(t.Expires))
		p.Grant = t.Grant
	case api.WayFile:
		ok = slices.ContainsFunc(g.cfg.Tokens, func(d [sha256.Size]byte) bool {
			return p.Name == fileName(d)
		})
	case api.WayOIDC:
		ok = g.cfg.OIDC
	default:
		ok = true
	}
	return p, ok && !s.ended(g.cfg.Times, g.cfg.Now())
}

// end is when a session ends at the latest: with the role of its principal, if that ends.
func (s *session) end(t Times) time.Time {
	end := s.Created.Add(t.Absolute)
	if e := s.Principal.Expires; !e.IsZero() && e.Before(end) {
		return e
	}
	return end
}

func (s *session) ended(t Times, now time.Time) bool {
	last := s.LastUsed
	if last.Before(s.Created) {
		last = s.Created
	}
	// The last use is noted once a minute.
	return now.Sub(last) > t.Idle+useEvery || !now.Before(s.end(t))
}

// tokenMark begins every token made by the API, so scanners for leaked secrets can recognize
// tokens.
const tokenMark = "weft_"

// sessionMark begins a session that is used as a bearer token.
const sessionMark = "wefts_"

// secretOctets is the length of the random part of tokens and cookies: 256 bits.
const secretOctets = 32

// newID returns an id that is no secret, of 96 random bits.
func newID() string { return random(12) }

func newSecret() string { return random(secretOctets) }

func random(octets int) string {
	b := make([]byte, octets)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// joined is what a client sends for an id and a secret, and split the reverse.
func joined(mark, id, secret string) string { return mark + id + "_" + secret }

func split(mark, text string) (id, secret string, ok bool) {
	if text, ok = strings.CutPrefix(text, mark); !ok {
		return "", "", false
	}
	id, secret, ok = strings.Cut(text, "_")
	return id, secret, ok && len(id) == 24 && len(secret) == 2*secretOctets
}

// digest is how a random secret is kept. A secret of 256 random bits needs no slow hash.
func digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// same compares digests in a time that says nothing about them.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// csrfOf derives the token against forged requests (CSRF) from the secret of a cookie: a page of
// another origin knows neither.
func csrfOf(secret string) string { return digest("csrf:" + secret)[:32] }
