package inventory

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/access/oidc"
	"github.com/weft-sdn/weft/api"
)

// Access defines who may use the API, beside the users and tokens that the API keeps.
type Access struct {
	// Certificates map client certificates (API.TLS.CA) to principals.
	Certificates []access.CertificateRule `yaml:"certificates"`
	OIDC         *OIDC                    `yaml:"oidc" doc:"OpenID Connect provider, and the name of this client there" default:"none"`
	Sessions     Sessions                 `yaml:"sessions"`
	Audit        Audit                    `yaml:"audit"`
}

// OIDC names an OpenID Connect provider; see package access/oidc.
type OIDC struct {
	Issuer            string       `yaml:"issuer" doc:"OpenID Connect provider, and the name of this client there" default:"none"`
	ClientID          string       `yaml:"clientId" doc:"OpenID Connect provider, and the name of this client there" default:"none"`
	ClientSecretFile  string       `yaml:"clientSecretFile" doc:"file with the secret of the client; others must not be able to read it" default:"a public client"`
	RedirectURL       string       `yaml:"redirectUrl" doc:"https URL of '/v1/oidc/callback' for browsers, as registered at the provider" default:"none"`
	Scopes            []string     `yaml:"scopes" doc:"scopes to ask for besides 'openid'; the claim with the name of a principal" default:"[profile, email]', 'email"`
	Name              string       `yaml:"name" doc:"scopes to ask for besides 'openid'; the claim with the name of a principal" default:"[profile, email]', 'email"`
	Roles             []oidc.Rule  `yaml:"roles" doc:"who gets which role: the first rule that holds" default:"required"`
	Claims            []string     `yaml:"claims" doc:"claims whose values sessions keep: projects may name members by them ([access.md](access.md#projects))" default:"the claims of roles"`
	RoleLifetime      api.Duration `yaml:"roleLifetime" doc:"how long a session by this provider lasts at most: then the role is asked for again. At least 1m" default:"1h"`
	TrustedAudiences  []string     `yaml:"trustedAudiences" doc:"other clients of the provider that an ID token may be for as well; it must be issued to this client all the same ('azp')" default:"none"`
	EmailVerifiedText bool         `yaml:"emailVerifiedText" doc:"take the text '\"true\"' for 'email_verified' as well, as some providers send it" default:"false"`
}

// Config returns the section with defaults and the client's secret. Config refuses a secret file
// that other users can access.
func (o *OIDC) Config() (oidc.Config, error) {
	c := oidc.Config{
		Issuer: o.Issuer, ClientID: o.ClientID, RedirectURL: o.RedirectURL, Scopes: o.Scopes,
		Name: cmp.Or(o.Name, "email"), Roles: o.Roles, Claims: o.Claims,
		RoleLifetime:     cmp.Or(o.RoleLifetime.D(), oidc.DefaultRoleLifetime),
		TrustedAudiences: o.TrustedAudiences, EmailVerifiedText: o.EmailVerifiedText,
	}
	if o.Scopes == nil {
		c.Scopes = []string{"profile", "email"}
	}
	if o.ClientSecretFile == "" {
		return c, nil
	}
	info, err := os.Stat(o.ClientSecretFile)
	if err != nil {
		return c, err
	}
	if info.Mode().Perm()&0o007 != 0 {
		return c, fmt.Errorf("%s has mode %#o: want one that others cannot use, such as 0600",
			o.ClientSecretFile, info.Mode().Perm())
	}
	secret, err := os.ReadFile(o.ClientSecretFile)
	c.ClientSecret = strings.TrimSpace(string(secret))
	return c, err
}

// Sessions are the times of sessions.
type Sessions struct {
	Idle     api.Duration `yaml:"idle" doc:"how long a session lasts without a request, and at most"`
	Absolute api.Duration `yaml:"absolute" doc:"how long a session lasts without a request, and at most"`
}

// Audit bounds the audit log.
type Audit struct {
	Octets int          `yaml:"octets" doc:"bounds of each chain of the audit log: size of its records in octets, and their age"`
	Age    api.Duration `yaml:"age" doc:"bounds of each chain of the audit log: size of its records in octets, and their age"`
	Noted  string       `yaml:"noted" doc:"file to which the decider adds the newest record of each chain of the audit log, every 10 s if there is one; for 'weft audit verify --noted-file' ([access.md](access.md#audit-log))" default:"none"`
}

func defaultAccess() Access {
	times, keep := access.DefaultTimes(), audit.DefaultKeep()
	return Access{
		Sessions: Sessions{Idle: api.Duration(times.Idle), Absolute: api.Duration(times.Absolute)},
		Audit:    Audit{Octets: keep.Octets, Age: api.Duration(keep.Age)},
	}
}

// Bounds of the audit log: a small one would forget what happened a moment ago, a large one would
// fill the store.
const (
	minAuditOctets, maxAuditOctets = 64 << 10, 1 << 30
	minAuditAge                    = time.Hour
)

func (v *validator) access() {
	a := &v.inv.API.Access
	seen := make(map[string]bool)
	for i, c := range a.Certificates {
		at := fmt.Sprintf("api.access.certificates[%d].", i)
		switch {
		case c.Name == "":
			v.bad(at+"name", "is missing")
		case api.ValidatePrincipal(c.Name) != nil:
			v.bad(at+"name", "is %.64q: want at most 253 printable characters", c.Name)
		case seen[c.Name]:
			v.bad(at+"name", "is %q, which is there twice: want each name once", c.Name)
		}
		seen[c.Name] = true
		v.grant(at, c.Grant)
	}
	if t := v.inv.API.TLS; len(a.Certificates) > 0 && (t == nil || t.CA == "") {
		v.bad("api.access.certificates",
			"has rules, and api.tls.ca names no authority of clients: want both")
	}
	v.oidc(a.OIDC)
	if s := a.Sessions; s.Idle.D() < time.Minute {
		v.bad("api.access.sessions.idle", "is %v: want at least 1m", s.Idle)
	} else if s.Absolute < s.Idle {
		v.bad("api.access.sessions.absolute", "is %v: want at least idle, %v", s.Absolute, s.Idle)
	}
	if n := a.Audit.Octets; n < minAuditOctets || n > maxAuditOctets {
		v.bad("api.access.audit.octets", "is %d: want %d to %d", n, minAuditOctets, maxAuditOctets)
	}
	if age := a.Audit.Age.D(); age < minAuditAge {
		v.bad("api.access.audit.age", "is %v: want at least %v", age, minAuditAge)
	}
}

func (v *validator) oidc(o *OIDC) {
	if o == nil {
		return
	}
	const at = "api.access.oidc."
	if u, err := url.Parse(o.Issuer); err != nil || u.Host == "" || u.Scheme != "https" &&
		!isLoopback(u) {
		v.bad(at+"issuer", "is %q: want the https URL of a provider", o.Issuer)
	}
	if o.ClientID == "" {
		v.bad(at+"clientId", "is missing")
	}
	if u, err := url.Parse(o.RedirectURL); o.RedirectURL != "" && (err != nil || u.Host == "" ||
		u.Path != "/v1/oidc/callback" || u.Scheme != "https" && !isLoopback(u)) {
		v.bad(at+"redirectUrl", "is %q: want the https URL of this API with the path /v1/oidc/callback",
			o.RedirectURL)
	}
	if d := o.RoleLifetime.D(); d != 0 && d < time.Minute {
		v.bad(at+"roleLifetime", "is %v: want at least 1m", o.RoleLifetime)
	}
	for i, a := range o.TrustedAudiences {
		if a == "" || a == o.ClientID {
			v.bad(fmt.Sprintf("%strustedAudiences[%d]", at, i),
				"is %q: want the id of another client of the provider", a)
		}
	}
	if len(o.Roles) == 0 {
		v.bad(at+"roles", "is empty: nobody could sign in")
	}
	for i, r := range o.Roles {
		if r.Claim == "" || r.Value == "" {
			v.bad(fmt.Sprintf("%sroles[%d]", at, i), "has no claim or no value: want both")
		}
		v.grant(fmt.Sprintf("%sroles[%d].", at, i), r.Grant)
	}
}

// isLoopback reports whether a URL points to this machine, where http is enough.
func isLoopback(u *url.URL) bool {
	a, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && a.IsLoopback())
}

// grant checks a role.
func (v *validator) grant(at string, g api.Grant) {
	for _, f := range g.Validate(at) {
		v.bad(f.Field, "is %s: want %s", f.Value, f.Want)
	}
}
