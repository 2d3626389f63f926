package access

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
)

// Principal is who makes a request. The zero value is nobody, who has the scope [Open] alone.
type Principal struct {
	// Name is the name of the user, token or certificate.
	Name string  `json:"name"`
	Way  api.Way `json:"way"`
	api.Grant
	// ID is the id of a token.
	ID string `json:"id,omitempty"`
	// SessionID is the id of a session by cookie.
	SessionID string `json:"session,omitempty"`
	// Expires is the end of the token or session; zero: never.
	Expires time.Time `json:"expires,omitzero"`
	// CSRF is what changes by this principal must carry; "": nothing. Sessions by cookie have one.
	CSRF string `json:"csrf,omitempty"`
	// Claims holds the values of OpenID Connect claims that confer project membership.
	Claims map[string][]string `json:"claims,omitempty"`
	// Projects maps the principal's projects to its role in each project. The deciding controller
	// fills the map ([Projects.Join]); sessions do not hold it.
	Projects map[string]api.ProjectRole `json:"-"`
	all      *Projects
}

// Anybody is the principal of requests to an API that asks for no credentials.
var Anybody = Principal{Name: "anybody", Way: api.WayNone, Grant: api.Grant{Role: api.RoleAdmin}}

// Known reports whether the request has a principal at all.
func (p *Principal) Known() bool { return p.Way != "" }

// Key distinguishes principals, where their use of the API is counted and sessions are their own.
// It is "" for requests without a principal.
func (p *Principal) Key() string {
	switch p.Way {
	case "", api.WayNone:
		return ""
	case api.WayToken:
		return string(p.Way) + " " + p.ID
	}
	return string(p.Way) + " " + p.Name
}

// CSRFHeader is the header that a request by a session by cookie carries.
const CSRFHeader = "X-Weft-CSRF"

// Forged reports whether a request by a principal may have been sent by a page of another origin:
// a change by a session by cookie that lacks the session's CSRF token.
func (p *Principal) Forged(r *http.Request) bool {
	reads := slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, r.Method)
	return p.CSRF != "" && !reads && !same(r.Header.Get(CSRFHeader), p.CSRF)
}

// May reports whether the principal has a scope.
func (p *Principal) May(s Scope) bool {
	return s == Open || p.Known() && (Has(p.Role, s) || p.member(s))
}

// member reports whether a principal has a scope in some project.
func (p *Principal) member(s Scope) bool {
	for _, role := range p.Projects {
		if s == TenantRead || s == TenantWrite && role == api.ProjectEditor {
			return true
		}
	}
	return false
}

// Uses reports whether the principal may use the resource of a name with a scope.
func (p *Principal) Uses(name string, s Scope) bool {
	if p.everywhere(s) {
		return true
	}
	of := p.all.Of(name)
	if of == "" && p.Role == api.RoleTenant && api.Covers(p.Tenant, name) {
		of = p.Tenant // whose project an administrator has not made
	}
	role, ok := p.Projects[of]
	return ok && (s == TenantRead || s == TenantWrite && role == api.ProjectEditor)
}

// everywhere reports whether a principal has a scope for the resources of all projects.
func (p *Principal) everywhere(s Scope) bool {
	return p.Known() && p.Role != api.RoleTenant && Has(p.Role, s)
}

// Owns reports whether the principal may see the resource of a name with the scope [TenantRead].
func (p *Principal) Owns(name string) bool { return p.Uses(name, TenantRead) }

// Sight returns what the principal may know of, as a change takes it; nil: of everything.
func (p *Principal) Sight() func(name string) bool {
	if p.everywhere(TenantRead) {
		return nil
	}
	return p.Owns
}

// ProjectNames returns the projects that the principal is a member of, in order.
func (p *Principal) ProjectNames() []string { return slices.Sorted(maps.Keys(p.Projects)) }

// RoleText is the role, with the name of a tenant: "tenant/acme".
func (p *Principal) RoleText() string {
	if p.Role == api.RoleTenant {
		return string(p.Role) + "/" + p.Tenant
	}
	return string(p.Role)
}

// Session returns what the principal is for itself.
func (p *Principal) Session() api.Session {
	s := api.Session{Name: p.Name, Way: p.Way, Grant: p.Grant, Expires: p.Expires, CSRF: p.CSRF,
		Scopes: []string{}}
	for _, name := range p.ProjectNames() {
		s.Projects = append(s.Projects, api.SessionProject{Name: name, Role: p.Projects[name]})
	}
	for _, scope := range Scopes() {
		if p.May(scope) {
			s.Scopes = append(s.Scopes, string(scope))
		}
	}
	return s
}

type principalKey struct{}

// With returns a context of a request by a principal.
func With(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// Of returns the principal of a context: nobody, where it has none.
func Of(ctx context.Context) *Principal {
	if p, ok := ctx.Value(principalKey{}).(*Principal); ok {
		return p
	}
	return &Principal{}
}
