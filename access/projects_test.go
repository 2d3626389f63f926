package access

import (
	"slices"
	"testing"

	"github.com/weft-sdn/weft/api"
)

// TestJoinProjects: a principal is a member by its way and name, a token by its id, or by claims of
// its provider. With two roles in one project, the greater role counts.
func TestJoinProjects(t *testing.T) {
	member := func(way api.Way, name string, role api.ProjectRole) api.ProjectMember {
		return api.ProjectMember{Way: way, Name: name, Role: role}
	}
	ps := NewProjects(map[string]api.ProjectSpec{
		"acme": {Members: []api.ProjectMember{
			member(api.WayUser, "ann", api.ProjectEditor), member(api.WayToken, "id1", api.ProjectViewer),
			{Way: api.WayOIDC, Claim: "groups", Value: "acme-team", Role: api.ProjectEditor},
			member(api.WayOIDC, "bob@example.com", api.ProjectViewer),
		}},
		"blue": {Members: []api.ProjectMember{
			{Way: api.WayOIDC, Claim: "groups", Value: "acme-team", Role: api.ProjectViewer},
			member(api.WayCertificate, "ci", api.ProjectEditor),
			{Way: api.WayOIDC, Claim: "groups", Value: "blue-team", Role: api.ProjectEditor},
		}},
	})
	groups := func(values ...string) map[string][]string {
		return map[string][]string{"groups": values}
	}
	for _, x := range []struct {
		who        Principal
		acme, blue api.ProjectRole
	}{
		{Principal{Way: api.WayUser, Name: "ann"}, api.ProjectEditor, ""},
		{Principal{Way: api.WayCertificate, Name: "ann"}, "", ""},
		{Principal{Way: api.WayOIDC, Name: "ann"}, "", ""},
		{Principal{Way: api.WayToken, Name: "ann", ID: "id1"}, api.ProjectViewer, ""},
		{Principal{Way: api.WayToken, Name: "id1", ID: "id2"}, "", ""},
		{Principal{Way: api.WayUser, Name: "id1"}, "", ""},
		{Principal{Way: api.WayCertificate, Name: "ci"}, "", api.ProjectEditor},
		{Principal{Way: api.WayOIDC, Name: "x", Claims: groups("other", "acme-team")}, api.ProjectEditor,
			api.ProjectViewer},
		{Principal{Way: api.WayOIDC, Name: "x", Claims: groups("acme-team", "blue-team")},
			api.ProjectEditor, api.ProjectEditor},
		{Principal{Way: api.WayOIDC, Name: "x", Claims: groups("blue-team", "acme-team")},
			api.ProjectEditor, api.ProjectEditor},
		{Principal{Way: api.WayOIDC, Name: "bob@example.com", Claims: groups("acme-team")},
			api.ProjectEditor, api.ProjectViewer},
		{Principal{Way: api.WayOIDC, Name: "acme-team",
			Claims: map[string][]string{"roles": {"acme-team"}}}, "", ""},
		// a member by a claim has no name
		{Principal{Way: api.WayOIDC, Name: "", Claims: groups("")}, "", ""},
		{Principal{Way: api.WayUser, Name: "x", Claims: groups("acme-team")}, "", ""},
		{Principal{Way: api.WayUser, Name: "tom", Grant: api.Grant{Role: api.RoleTenant, Tenant: "acme"}},
			api.ProjectEditor, ""},
		{Principal{Way: api.WayUser, Name: "vic", Grant: api.Grant{Role: api.RoleViewer, Tenant: "acme"}},
			"", ""},
	} {
		p := x.who
		p.Projects = map[string]api.ProjectRole{"old": api.ProjectEditor}
		ps.Join(&p)
		if p.Projects["acme"] != x.acme || p.Projects["blue"] != x.blue || p.Projects["old"] != "" {
			t.Errorf("%+v is in %v, want acme %q, blue %q", x.who, p.Projects, x.acme, x.blue)
		}
	}
}

// TestWhatMembersMay: a principal's scopes for resources in its own projects, in other projects and
// outside of projects, and the resources visible to the principal.
func TestWhatMembersMay(t *testing.T) {
	ps := NewProjects(map[string]api.ProjectSpec{
		"acme": {Members: []api.ProjectMember{{Way: api.WayUser, Name: "ed", Role: api.ProjectEditor},
			{Way: api.WayUser, Name: "vi", Role: api.ProjectViewer}, {Way: api.WayUser, Name: "tom",
				Role: api.ProjectEditor}}},
		"blue": {},
		// This name lies within the name of a tenant without a project.
		"late-x": {},
	})
	tenant := func(of string) api.Grant { return api.Grant{Role: api.RoleTenant, Tenant: of} }
	for _, x := range []struct {
		name          string
		grant         api.Grant
		reads, writes string // which of the names
		sees          bool   // everything
	}{
		{"ed", api.Grant{Role: api.RoleOfProjects}, "acme acme-1", "acme acme-1", false},
		{"vi", api.Grant{Role: api.RoleOfProjects}, "acme acme-1", "", false},
		{"nobody", api.Grant{Role: api.RoleOfProjects}, "", "", false},
		{"nobody", tenant("acme"), "acme acme-1", "acme acme-1", false},
		{"nobody", tenant("late"), "late", "late", false},
		{"ed", api.Grant{Role: api.RoleViewer}, "acme acme-1 blue free late late-x", "acme acme-1", true},
		{"nobody", api.Grant{Role: api.RoleOperator}, "acme acme-1 blue free late late-x", "", true},
		{"nobody", api.Grant{Role: api.RoleAdmin}, "acme acme-1 blue free late late-x",
			"acme acme-1 blue free late late-x", true},
	} {
		p := Principal{Way: api.WayUser, Name: x.name, Grant: x.grant}
		ps.Join(&p)
		var reads, writes, other []string
		for _, name := range []string{"acme", "acme-1", "blue", "free", "late", "late-x"} {
			if p.Uses(name, TenantRead) {
				reads = append(reads, name)
			}
			if p.Uses(name, TenantWrite) {
				writes = append(writes, name)
			}
			if p.Uses(name, Operate) {
				other = append(other, name)
			}
			if sight := p.Sight(); sight != nil && sight(name) != p.Uses(name, TenantRead) {
				t.Errorf("%s %v may know of %s", x.name, x.grant, name)
			}
		}
		if got, want := join(reads), x.reads; got != want {
			t.Errorf("%s %v reads %q, want %q", x.name, x.grant, got, want)
		}
		if got, want := join(writes), x.writes; got != want {
			t.Errorf("%s %v writes %q, want %q", x.name, x.grant, got, want)
		}
		if operates := x.grant.Role == api.RoleOperator ||
			x.grant.Role == api.RoleAdmin; operates != (len(other) > 0) {
			t.Errorf("%s %v operates %q", x.name, x.grant, other)
		}
		if (p.Sight() == nil) != x.sees {
			t.Errorf("%s %v sees everything: %v", x.name, x.grant, !x.sees)
		}
		if p.May(TenantWrite) != (x.writes != "") || p.May(TenantRead) != (x.reads != "") {
			t.Errorf("%s %v: may read %v, write %v", x.name, x.grant, p.May(TenantRead), p.May(TenantWrite))
		}
	}
	// A principal without a name may do nothing, whatever its role says.
	nobody := Principal{Grant: api.Grant{Role: api.RoleAdmin}}
	ps.Join(&nobody)
	if nobody.Uses("acme", TenantRead) || nobody.Sight() == nil {
		t.Error("nobody sees something")
	}
}

func join(names []string) (out string) {
	for i, n := range names {
		if i > 0 {
			out += " "
		}
		out += n
	}
	return out
}

// TestNarrowToAProject: a principal that acts in one project has only its role in the project. An
// administrator acts as an editor, and a principal that sees everything acts as a viewer. No
// principal acts in a nonexistent project, or in a project without a role for the principal.
func TestNarrowToAProject(t *testing.T) {
	ps := NewProjects(map[string]api.ProjectSpec{
		"acme": {Members: []api.ProjectMember{{Way: api.WayUser, Name: "vi", Role: api.ProjectViewer},
			{Way: api.WayUser, Name: "root", Role: api.ProjectViewer}}}, "blue": {},
	})
	for _, x := range []struct {
		name    string
		grant   api.Grant
		project string
		want    api.ProjectRole // "": refused
	}{
		{"vi", api.Grant{Role: api.RoleOfProjects}, "acme", api.ProjectViewer},
		{"vi", api.Grant{Role: api.RoleOfProjects}, "blue", ""},
		{"x", api.Grant{Role: api.RoleViewer}, "blue", api.ProjectViewer},
		{"x", api.Grant{Role: api.RoleOperator}, "blue", api.ProjectViewer},
		{"x", api.Grant{Role: api.RoleAdmin}, "blue", api.ProjectEditor},
		{"x", api.Grant{Role: api.RoleAdmin}, "none", ""}, {"x", api.Grant{Role: api.RoleViewer}, "none",
			""},
		{"x", api.Grant{Role: api.RoleTenant, Tenant: "blue"}, "blue", api.ProjectEditor},
		{"x", api.Grant{Role: api.RoleTenant, Tenant: "blue"}, "acme", ""},
		{"root", api.Grant{Role: api.RoleAdmin}, "acme", api.ProjectViewer}, // as the project has it
	} {
		p := Principal{Way: api.WayUser, Name: x.name, Grant: x.grant}
		ps.Join(&p)
		ok := p.Narrow(x.project)
		if ok != (x.want != "") {
			t.Errorf("%s %v in %s: %v", x.name, x.grant, x.project, ok)
			continue
		}
		if !ok {
			continue
		}
		if p.Role != api.RoleOfProjects || !slices.Equal(p.ProjectNames(), []string{x.project}) ||
			p.Projects[x.project] != x.want || p.May(Read) || p.May(Administer) || p.Sight() == nil {
			t.Errorf("%s %v in %s: %+v", x.name, x.grant, x.project, p)
		}
	}
}

// TestRequestsOfProjects: the quota of a project that has one.
func TestRequestsOfProjects(t *testing.T) {
	two := 2
	ps := NewProjects(map[string]api.ProjectSpec{"acme": {Quotas: api.ProjectQuotas{Requests: &two}},
		"blue": {}})
	for name, want := range map[string]int{"acme": 2, "blue": 0, "none": 0} {
		if got := ps.Requests(name); got != want {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// TestTenantWithoutTenant: a principal with the role tenant but without a tenant belongs to no
// project.
func TestTenantWithoutTenant(t *testing.T) {
	for tenant, want := range map[string]int{"": 0, "a": 1} {
		p := Principal{Name: "ann", Grant: api.Grant{Role: api.RoleTenant, Tenant: tenant}}
		if new(Projects).Join(&p); len(p.Projects) != want {
			t.Errorf("of tenant %q: %v", tenant, p.Projects)
		}
	}
}
