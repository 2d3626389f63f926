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
	OIDC         *OIDC                    `yaml:"oidc"`
	Sessions     Sessions                 `yaml:"sessions"`
	Audit        Audit                    `yaml:"audit"`
}

// OIDC names an OpenID Connect provider; see package access/oidc.
type OIDC struct {
	Issuer   string `yaml:"issuer"`
	ClientID string `yaml:"clientId"`
	// ClientSecretFile has the secret of the client; none for a public client.
	ClientSecretFile string `yaml:"clientSecretFile"`
	// RedirectURL is that of /v1/oidc/callback for browsers.
	RedirectURL string `yaml:"redirectUrl"`
	// Scopes are asked for besides openid. Default profile and email.
	Scopes []string `yaml:"scopes"`
	// Name is the claim with the name of a principal. Default email.
	Name  string      `yaml:"name"`
	Roles []oidc.Rule `yaml:"roles"`
	// Claims are those that projects name members by. Default those of roles.
	Claims []string `yaml:"claims"`
	// RoleLifetime is how long a role holds before its owner signs in again. Default 1h.
	RoleLifetime api.Duration `yaml:"roleLifetime"`
	// TrustedAudiences are clients of the provider that an ID token may be for as well.
	TrustedAudiences []string `yaml:"trustedAudiences"`
	// EmailVerifiedText takes "true" for email_verified, besides true.
	EmailVerifiedText bool `yaml:"emailVerifiedText"`
}

// Config returns the section with its defaults and the client's secret. A file that others can use
// is refused.
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
	// Idle is how long a session lasts without a request, default 30m; Absolute how long at most,
	// default 12h.
	Idle     api.Duration `yaml:"idle"`
	Absolute api.Duration `yaml:"absolute"`
}

// Audit bounds the audit log.
type Audit struct {
	// Octets of the records of each chain; default 8 MiB.
	Octets int `yaml:"octets"`
	// Age of records; default 2160h.
	Age api.Duration `yaml:"age"`
	// Noted is a file where the newest record of each chain is noted, outside the store.
	Noted string `yaml:"noted"`
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
			v.bad(at+"name", "%q is there twice", c.Name)
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
		v.bad(at+"issuer", "%q is not the https URL of a provider", o.Issuer)
	}
	if o.ClientID == "" {
		v.bad(at+"clientId", "is missing")
	}
	if u, err := url.Parse(o.RedirectURL); o.RedirectURL != "" && (err != nil || u.Host == "" ||
		u.Path != "/v1/oidc/callback" || u.Scheme != "https" && !isLoopback(u)) {
		v.bad(at+"redirectUrl", "%q is not the https URL of this API with the path /v1/oidc/callback",
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

// isLoopback reports whether a URL is one of this machine, for which http will do.
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
