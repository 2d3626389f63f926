package access

import (
	"slices"

	"github.com/weft-sdn/weft/api"
)

// Scope is what an operation asks of a principal. Each operation of the API has one.
type Scope string

// The scopes.
const (
	// Open operations need no principal.
	Open Scope = "open"
	// Self is what every principal may do: see who it is, and sign out.
	Self Scope = "self"
	// Read covers the network and its resources.
	Read Scope = "read"
	// TenantRead and TenantWrite cover groups, tenants, PFC policies and, to read, projects. Members
	// of projects have both for their projects' resources.
	TenantRead  Scope = "tenant:read"
	TenantWrite Scope = "tenant:write"
	// Operate covers drains.
	Operate Scope = "operate"
	// Configure covers what tenants share: networks, policies, profiles, orphans.
	Configure Scope = "configure"
	// Administer covers users, tokens, the audit log, backups and controllers.
	Administer Scope = "administer"
)

// Scopes returns all scopes that a principal can have.
func Scopes() []Scope {
	return []Scope{Self, Read, TenantRead, TenantWrite, Operate, Configure, Administer}
}

// grants are the scopes of each role.
var grants = map[api.Role][]Scope{
	api.RoleViewer:     {Self, Read, TenantRead},
	api.RoleOperator:   {Self, Read, TenantRead, Operate},
	api.RoleTenant:     {Self, TenantRead, TenantWrite},
	api.RoleOfProjects: {Self}, // and what its projects give it
	api.RoleAdmin:      Scopes(),
}

// Has reports whether a role has a scope.
func Has(r api.Role, s Scope) bool { return s == Open || slices.Contains(grants[r], s) }
