package api

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
)

// TestProjectSpecs: what a project may have, at the bounds and beyond them.
func TestProjectSpecs(t *testing.T) {
	known := func(name string) bool { return name == "there" }
	env := ProjectEnv{MaxSlice: 255, Host: known, Switch: known}
	prefix := func(p string) ProjectSpec {
		return ProjectSpec{Proxies: []ProjectPrefix{{Prefix: netip.MustParsePrefix(p)}}}
	}
	qpns := func(first, last uint32) ProjectSpec {
		return ProjectSpec{QPNs: []ProjectRange{{First: first, Last: last}}}
	}
	slice := func(n uint32) ProjectSpec { return ProjectSpec{Slices: []ProjectSlice{{Slice: n}}} }
	member := func(m ProjectMember) ProjectSpec {
		if m.Role == "" {
			m.Role = ProjectEditor
		}
		return ProjectSpec{Members: []ProjectMember{m}}
	}
	n := func(i int) *int { return &i }
	for i, x := range []struct {
		spec ProjectSpec
		want string // the field that is wrong
	}{
		{member(ProjectMember{Way: WayUser, Name: "ann"}), ""},
		{member(ProjectMember{Way: WayToken, Name: "id"}), ""},
		{member(ProjectMember{Way: WayCertificate, Name: "ci"}), ""},
		{member(ProjectMember{Way: WayOIDC, Name: "ann"}), ""},
		{member(ProjectMember{Way: WayOIDC, Claim: "g", Value: "v"}), ""},
		{member(ProjectMember{Way: WayUser, Name: "ann", Role: ProjectViewer}), ""},
		{member(ProjectMember{Way: WayUser, Name: "ann", Role: "owner"}), "spec.members[0].role"},
		{member(ProjectMember{Way: WayNone, Name: "ann"}), "spec.members[0].way"},
		{member(ProjectMember{Way: WayFile, Name: "ann"}), "spec.members[0].way"},
		{member(ProjectMember{Way: WayUser}), "spec.members[0].name"},
		{member(ProjectMember{Way: WayOIDC}), "spec.members[0].name"},
		{member(ProjectMember{Way: WayOIDC, Claim: "g"}), "spec.members[0].value"},
		{member(ProjectMember{Way: WayOIDC, Value: "v"}), "spec.members[0].claim"},
		{member(ProjectMember{Way: WayOIDC, Name: "ann", Claim: "g", Value: "v"}),
			"spec.members[0].name"},
		{member(ProjectMember{Way: WayUser, Claim: "g", Value: "v"}), "spec.members[0].claim"},
		{member(ProjectMember{Way: WayUser, Name: "ann", Claim: "g", Value: "v"}),
			"spec.members[0].claim"},
		{ProjectSpec{Members: []ProjectMember{{Way: WayUser, Name: "a", Role: ProjectEditor},
			{Way: WayToken, Name: "a", Role: ProjectEditor}}}, ""},
		{ProjectSpec{Members: []ProjectMember{{Way: WayUser, Name: "a", Role: ProjectEditor},
			{Way: WayUser, Name: "a", Role: ProjectViewer}}}, "spec.members[1].name"},
		{ProjectSpec{Members: []ProjectMember{{Way: WayOIDC, Claim: "g", Value: "a", Role: ProjectEditor},
			{Way: WayOIDC, Claim: "g", Value: "b", Role: ProjectEditor}}}, ""},
		{ProjectSpec{Members: []ProjectMember{{Way: WayOIDC, Claim: "g", Value: "a", Role: ProjectEditor},
			{Way: WayOIDC, Claim: "g", Value: "a", Role: ProjectViewer}}}, "spec.members[1].value"},
		{ProjectSpec{Hosts: []ProjectHost{{Name: "there"}}}, ""},
		{ProjectSpec{Hosts: []ProjectHost{{Name: "nowhere"}}}, "spec.hosts[0].name"},
		{ProjectSpec{Hosts: []ProjectHost{{Name: "there"}, {Name: "there"}}}, "spec.hosts[1].name"},
		{ProjectSpec{Ports: []ProjectPort{{Switch: "there", Port: 1}, {Switch: "there", Port: 2}}}, ""},
		{ProjectSpec{Ports: []ProjectPort{{Switch: "nowhere", Port: 1}}}, "spec.ports[0].switch"},
		{ProjectSpec{Ports: []ProjectPort{{Switch: "there", Port: 1}, {Switch: "there", Port: 1}}},
			"spec.ports[1].port"},
		{prefix("2001:db8::/32"), ""}, {prefix("2001:db8::1/128"), ""},
		{prefix("2001:db8::1/64"), "spec.proxies[0].prefix"},
		{prefix("192.0.2.0/24"), ""}, {prefix("192.0.2.1/24"), "spec.proxies[0].prefix"},
		{prefix("::ffff:192.0.2.0/120"), "spec.proxies[0].prefix"},
		{ProjectSpec{Proxies: []ProjectPrefix{{}}}, "spec.proxies[0].prefix"},
		{qpns(2, 2), ""}, {qpns(2, maxQPN), ""}, {qpns(1, 2), "spec.qpns[0].last"},
		{qpns(5, 4), "spec.qpns[0].last"}, {qpns(4, maxQPN+1), "spec.qpns[0].last"},
		{slice(0), "spec.slices[0].slice"}, {slice(1), ""}, {slice(255), ""},
		{slice(256), "spec.slices[0].slice"},
		{ProjectSpec{Priorities: []ProjectPriority{{Priority: 0}, {Priority: MaxPriority}}}, ""},
		{ProjectSpec{Priorities: []ProjectPriority{{Priority: MaxPriority + 1}}},
			"spec.priorities[0].priority"},
		{ProjectSpec{Quotas: ProjectQuotas{Groups: n(0), Receivers: n(0), Tenants: n(0), Policies: n(0),
			Requests: n(1)}}, ""}, {ProjectSpec{Quotas: ProjectQuotas{Groups: n(-1)}}, "spec.quotas.groups"},
		{ProjectSpec{Quotas: ProjectQuotas{Requests: n(0)}}, "spec.quotas.requests"},
	} {
		err := x.spec.Validate(env)
		var refused *Error
		switch {
		case x.want == "" && err != nil, x.want != "" && !errors.As(err, &refused):
			t.Errorf("%d: %+v: %v, want %q", i, x.spec, err, x.want)
		case x.want != "" && !slices.ContainsFunc(refused.Fields,
			func(f FieldError) bool { return f.Field == x.want }):
			t.Errorf("%d: %+v: %v, want %q", i, x.spec, err, x.want)
		}
	}
}

// TestNamesAndProjects: the resource names of a project; of several matching projects, the longest
// project name wins.
func TestNamesAndProjects(t *testing.T) {
	for name, want := range map[string]bool{"acme": true, "acme-1": true, "acme.1": true,
		"acme1": false, "acm": false, "xacme": false, "acme/1": false, "": false} {
		if Covers("acme", name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
	for _, name := range []string{"", "-x", ".x"} {
		if Covers("", name) {
			t.Errorf("%q is no project's", name)
		}
	}
	known := func(p string) bool { return p == "a" || p == "a-b" || p == "a.b" }
	for name, want := range map[string]string{"a": "a", "a-b": "a-b", "a-b-c": "a-b", "a.b.c": "a.b",
		"a-c": "a", "ab": "", "": ""} {
		if got := ProjectOf(name, known); got != want {
			t.Errorf("%q is of %q, want %q", name, got, want)
		}
	}
}
