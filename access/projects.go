package access

import (
	"slices"

	"github.com/weft-sdn/weft/api"
)

// Projects are the kept projects with their members. A Projects does not change; nil has none.
type Projects struct {
	specs map[string]api.ProjectSpec
}

// NewProjects returns the projects of specs by name, which must not change any more.
func NewProjects(specs map[string]api.ProjectSpec) *Projects { return &Projects{specs: specs} }

// Has reports whether a project exists.
func (ps *Projects) Has(name string) bool {
	if ps == nil {
		return false
	}
	_, ok := ps.specs[name]
	return ok
}

// Of returns the project of a resource by its name; "": the administrators'.
func (ps *Projects) Of(name string) string { return api.ProjectOf(name, ps.Has) }

// Requests returns the requests a second that a project has, 0 for no limit.
func (ps *Projects) Requests(name string) int {
	if ps.Has(name) {
		if n := ps.specs[name].Quotas.Requests; n != nil {
			return *n
		}
	}
	return 0
}

// Join gives a principal its project memberships. A principal with the role tenant becomes editor
// of its tenant's project.
func (ps *Projects) Join(p *Principal) {
	p.all, p.Projects = ps, nil
	join := func(name string, role api.ProjectRole) {
		if p.Projects == nil {
			p.Projects = make(map[string]api.ProjectRole)
		}
		if p.Projects[name] != api.ProjectEditor {
			p.Projects[name] = role
		}
	}
	if p.Role == api.RoleTenant && p.Tenant != "" {
		join(p.Tenant, api.ProjectEditor)
	}
	if ps == nil {
		return
	}
	id := p.Name
	if p.Way == api.WayToken {
		id = p.ID
	}
	for name := range ps.specs {
		for _, m := range ps.specs[name].Members {
			if m.Way != p.Way {
				continue
			}
			if m.Claim == "" && m.Name == id || m.Claim != "" &&
				slices.Contains(p.Claims[m.Claim], m.Value) {
				join(name, m.Role)
			}
		}
	}
}

// Narrow has a principal act as a member of one project alone: an administrator as its editor, who
// sees everything as its viewer. ok is false where the principal is no member.
func (p *Principal) Narrow(project string) (ok bool) {
	role, ok := p.Projects[project]
	if !ok && p.all.Has(project) {
		switch {
		case Has(p.Role, TenantWrite) && p.Role != api.RoleTenant:
			role, ok = api.ProjectEditor, true
		case Has(p.Role, TenantRead) && p.Role != api.RoleTenant:
			role, ok = api.ProjectViewer, true
		}
	}
	if ok {
		p.Grant = api.Grant{Role: api.RoleOfProjects}
		p.Projects = map[string]api.ProjectRole{project: role}
	}
	return ok
}
