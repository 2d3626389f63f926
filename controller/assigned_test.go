package controller

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/access/oidc"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/project"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
)

// bare returns the spec of a project with one thing alone.
func bare(edit func(*api.ProjectSpec)) (s api.ProjectSpec) {
	edit(&s)
	return s
}

// TestOneProjectOrShared: each kind of thing is one project's, unless both projects share it: one
// of two is not enough. A host also has the port that it hangs off. Values beside those of another
// project are free.
func TestOneProjectOrShared(t *testing.T) {
	host := func(name string) func(bool) api.ProjectSpec {
		return func(shared bool) api.ProjectSpec {
			return api.ProjectSpec{Hosts: []api.ProjectHost{{Name: name, Shared: shared}}}
		}
	}
	port := func(sw string, n uint32) func(bool) api.ProjectSpec {
		return func(shared bool) api.ProjectSpec {
			return api.ProjectSpec{Ports: []api.ProjectPort{{Switch: sw, Port: n, Shared: shared}}}
		}
	}
	proxy := func(p string) func(bool) api.ProjectSpec {
		return func(shared bool) api.ProjectSpec {
			return api.ProjectSpec{Proxies: []api.ProjectPrefix{{Prefix: netip.MustParsePrefix(p),
				Shared: shared}}}
		}
	}
	qpns := func(first, last uint32) func(bool) api.ProjectSpec {
		return func(shared bool) api.ProjectSpec {
			return api.ProjectSpec{QPNs: []api.ProjectRange{{First: first, Last: last, Shared: shared}}}
		}
	}
	slice := func(n uint32) func(bool) api.ProjectSpec {
		return func(shared bool) api.ProjectSpec {
			return api.ProjectSpec{Slices: []api.ProjectSlice{{Slice: n, Shared: shared}}}
		}
	}
	priority := func(n uint8) func(bool) api.ProjectSpec {
		return func(shared bool) api.ProjectSpec {
			return api.ProjectSpec{Priorities: []api.ProjectPriority{{Priority: n, Shared: shared}}}
		}
	}
	for _, x := range []struct {
		name   string
		a, b   func(shared bool) api.ProjectSpec
		common bool
	}{
		{"a host", host("a1"), host("a1"), true}, {"hosts", host("a1"), host("a2"), false},
		{"a port", port("R1", 11), port("R1", 11), true},
		{"ports of a switch", port("R1", 11), port("R1", 12), false},
		{"ports of one number", port("R1", 11), port("R3", 11), false},
		{"the port of a host", host("a1"), port("R1", 11), true},
		{"the host of a port", port("R1", 11), host("a1"), true},
		{"the port of another host", host("a1"), port("R1", 12), false},
		{"a prefix", proxy("2001:db8:a::/64"), proxy("2001:db8:a::/64"), true},
		{"a prefix within", proxy("2001:db8:a::/48"), proxy("2001:db8:a:1::/64"), true},
		{"a prefix around", proxy("2001:db8:a:1::/64"), proxy("2001:db8:a::/48"), true},
		{"the next prefix", proxy("2001:db8:a::/64"), proxy("2001:db8:a:1::/64"), false},
		{"a range", qpns(10, 20), qpns(10, 20), true}, {"the end of a range", qpns(10, 20), qpns(20, 30),
			true}, {"the begin of a range", qpns(20, 30), qpns(10, 20), true},
		{"the next range", qpns(10, 20), qpns(21, 30), false},
		{"the range before", qpns(21, 30), qpns(10, 20), false},
		{"a range around", qpns(15, 16), qpns(10, 20), true},
		{"a slice", slice(1), slice(1), true}, {"slices", slice(1), slice(2), false},
		{"a priority", priority(1), priority(1), true}, {"priorities", priority(1), priority(2), false},
	} {
		for _, shared := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
			c := pfcCore(t, nil)
			putProject(t, c, "one", x.a(shared[0]))
			_, _, err := c.Projects().Put("two", x.b(shared[1]), resource.Precondition{})
			if free := !x.common || shared[0] && shared[1]; free != (err == nil) {
				t.Errorf("%s, shared %v: %v", x.name, shared, err)
			}
			if err != nil && !strings.Contains(err.Error(), "project one has it") {
				t.Errorf("%s: %v", x.name, err)
			}
		}
	}
}

// TestAdministratorsThings: a resource outside all projects may name shared and unassigned things.
// The resource may not name a thing that a project has for itself, nor the port of a project's
// host.
func TestAdministratorsThings(t *testing.T) {
	for _, shared := range []bool{false, true} {
		c := pfcCore(t, nil)
		putProject(t, c, "acme", bare(func(s *api.ProjectSpec) {
			s.Hosts = []api.ProjectHost{{Name: "a1", Shared: shared}}
			s.Slices = []api.ProjectSlice{{Slice: 5, Shared: shared}}
		}))
		own := func(slice, port uint32) error {
			_, _, err := c.Tenants().Put("own", api.TenantSpec{Slice: slice, Priority: 4,
				Sites: []api.TenantSite{site("R1", port)}}, resource.Precondition{})
			return err
		}
		for _, x := range []struct {
			what        string
			slice, port uint32
			theirs      bool
		}{{"what nobody has", 6, 12, false}, {"a slice", 5, 12, true},
			{"the port of a host", 6, 11, true}} {
			err := own(x.slice, x.port)
			if x.theirs && !shared {
				if e := refusalOf(t, err); e.Code != api.CodeForbidden ||
					!strings.Contains(e.Error(), "what no project has for itself, but to project acme") &&
						!strings.Contains(e.Error(), "acme") {
					t.Errorf("%s: %v", x.what, err)
				}
			} else if err != nil {
				t.Errorf("%s, shared %v: %v", x.what, shared, err)
			}
		}
		if !shared {
			continue
		}
		// Things used by administrators must stay shared. The project may change in any other respect.
		if err := own(5, 11); err != nil {
			t.Fatal(err)
		}
		p, err := c.Projects().Get("acme")
		if err != nil {
			t.Fatal(err)
		}
		p.Spec.Bandwidth = 7
		putProject(t, c, "acme", p.Spec)
		p.Spec.Slices[0].Shared = false
		if _, _, err := c.Projects().Put("acme", p.Spec, resource.Precondition{}); refusalOf(t,
			err).Code != api.CodeConflict || !strings.Contains(err.Error(), "tenants/own uses slice 5") {
			t.Error(err)
		}
	}
}

// TestWithoutProject: a member makes nothing where no project has the name, whatever it names.
func TestWithoutProject(t *testing.T) {
	free := api.TenantSpec{Slice: 7, Priority: 4, Sites: []api.TenantSite{site("R2", 9)}}
	for _, c := range []*Core{pfcCore(t, nil), twoProjects(t)} {
		_, _, err := c.Tenants().Put("nobody-1", free, asMember("nobody"))
		if e := refusalOf(t, err); e.Code != api.CodeForbidden ||
			!strings.Contains(e.Error(), "no project has the name nobody-1") {
			t.Error(err)
		}
		if err := c.projects.Check(project.Tenants, "nobody-1", free,
			resource.Precondition{}); err != nil {
			t.Errorf("an administrator: %v", err)
		}
	}
}

// TestWhoHasIt: the refusal names the project with the thing only to administrators, and names no
// project for an unassigned thing.
func TestWhoHasIt(t *testing.T) {
	c := twoProjects(t)
	for _, x := range []struct {
		what   string
		edit   func(*api.TenantSpec)
		theirs bool
	}{
		{"a slice of globex", func(s *api.TenantSpec) { s.Slice = 2 }, true},
		{"a slice of nobody", func(s *api.TenantSpec) { s.Slice = 3 }, false},
		{"a policy that is not there", func(s *api.TenantSpec) { s.Policies[0] = "none" }, false},
	} {
		s := tenantSpec(1, 3, 11)
		x.edit(&s)
		for _, pre := range []resource.Precondition{{}, asMember("acme")} {
			_, _, err := c.Tenants().Put("acme-t", s, pre)
			text := refusalOf(t, err).Error()
			if named := strings.Contains(text, "but to project"); named != (x.theirs && pre.Sees == nil) {
				t.Errorf("%s: %v", x.what, err)
			}
		}
	}
}

// TestPoliciesBetweenPorts: a project may name an existing SRv6 policy if the project has ports at
// both ends. The project sees the list of these policies.
func TestPoliciesBetweenPorts(t *testing.T) {
	for _, x := range []struct {
		at   []string
		both bool
	}{{[]string{"R1"}, false}, {[]string{"R3"}, false}, {[]string{"R1", "R3"}, true},
		{[]string{"R2"}, false}, {nil, false}} {
		c := pfcCore(t, nil)
		if _, _, err := c.SRv6Policies().Put("wan", wanSpec(), resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		putProject(t, c, "acme", bare(func(s *api.ProjectSpec) {
			for _, sw := range x.at {
				s.Ports = append(s.Ports, api.ProjectPort{Switch: sw, Port: 40})
			}
		}))
		names := func() bool {
			return c.projects.Check(project.Policies, "acme",
				api.PFCPolicySpec{SRv6Policy: "wan", Tenant: "acme"}, asMember("acme")) == nil
		}
		p, err := c.Projects().Get("acme")
		if err != nil || names() != x.both || slices.Contains(p.Status.Policies, "wan") != x.both {
			t.Errorf("ports at %v: %v, sees %v, %v", x.at, names(), p.Status.Policies, err)
		}
		if err := c.SRv6Policies().Delete("wan", resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		if p, err = c.Projects().Get("acme"); names() || err != nil || len(p.Status.Policies) != 0 {
			t.Errorf("ports at %v: the policy is gone, and still named: %v, %v", x.at, p.Status.Policies,
				err)
		}
	}
}

// TestEachQuota: groups, receivers, tenants and policies below, at and above the quota, and the
// rest of the quota.
func TestEachQuota(t *testing.T) {
	host := func(i int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("2001:db8:1:%d::1", i)) }
	group := func(receivers int) api.MulticastGroupSpec {
		s := api.MulticastGroupSpec{ProxyAddress: netip.MustParseAddr("2001:db8:aaaa::1"),
			DesignatedQPN: 100, Source: api.GroupSource{Address: host(1), QPN: 8}}
		for i := range receivers {
			s.Receivers = append(s.Receivers, api.GroupReceiver{Address: host(2), QPN: uint32(100 + i)})
		}
		return s
	}
	n := func(i int) *int { return &i }
	left := func(c *Core) api.ProjectLeft {
		t.Helper()
		p, err := c.Projects().Get("acme")
		if err != nil {
			t.Fatal(err)
		}
		return p.Status.Left
	}
	for _, k := range []struct {
		kind  string
		one   any
		quota func(*api.ProjectQuotas) **int
		left  func(api.ProjectLeft) *int
		each  int // receivers of a resource count one by one
	}{
		{project.Groups, group(1), func(q *api.ProjectQuotas) **int { return &q.Groups },
			func(l api.ProjectLeft) *int { return l.Groups }, 1},
		{project.Groups, group(2), func(q *api.ProjectQuotas) **int { return &q.Receivers },
			func(l api.ProjectLeft) *int { return l.Receivers }, 2},
		{project.Tenants, tenantSpec(1, 3, 11), func(q *api.ProjectQuotas) **int { return &q.Tenants },
			func(l api.ProjectLeft) *int { return l.Tenants }, 1},
		{project.Policies, api.PFCPolicySpec{SRv6Policy: "wan", Tenant: "acme"},
			func(q *api.ProjectQuotas) **int { return &q.Policies },
			func(l api.ProjectLeft) *int { return l.Policies }, 1},
	} {
		for limit := range 5 {
			c := twoProjects(t)
			s := acmeSpec()
			*k.quota(&s.Quotas) = n(limit)
			putProject(t, c, "acme", s)
			// Resources of other projects count for nothing.
			c.projects.Took(k.kind, "globex-1", k.one)
			c.projects.Took(k.kind, "free", k.one)
			for made := range 5 {
				name := fmt.Sprintf("acme-%d", made)
				err := c.projects.Check(k.kind, name, k.one, asMember("acme"))
				if fits := (made+1)*k.each <= limit; fits != (err == nil) {
					t.Fatalf("%s%s with a quota of %d: %v", k.kind, name, limit, err)
				} else if !fits {
					if e := refusalOf(t, err); e.Code != api.CodeLimit || *e.Fields[0].Limit != int64(limit) {
						t.Errorf("%v", e)
					}
					break
				}
				c.projects.Took(k.kind, name, k.one)
				if got := k.left(left(c)); got == nil || *got != limit-(made+1)*k.each {
					t.Errorf("%d of %d: %v are left", made+1, limit, got)
				}
				if err := c.projects.Check(k.kind, name, k.one, asMember("acme")); err != nil {
					t.Errorf("the same again: %v", err)
				}
			}
		}
	}
	// Receivers of an existing group count once.
	c := twoProjects(t)
	s := acmeSpec()
	s.Quotas.Receivers = n(5)
	putProject(t, c, "acme", s)
	c.projects.Took(project.Groups, "acme-1", group(2))
	c.projects.Took(project.Groups, "acme-2", group(2))
	for receivers, ok := range map[int]bool{1: true, 2: true, 3: true, 4: false} {
		if err := c.projects.Check(project.Groups, "acme-1", group(receivers),
			asMember("acme")); (err == nil) != ok {
			t.Errorf("%d receivers: %v", receivers, err)
		}
	}
	// With a quota below the present use, nothing is left, and the controller still accepts a smaller
	// use.
	s.Quotas.Receivers, s.Bandwidth = n(1), 100
	putProject(t, c, "acme", s)
	rated := tenantSpec(1, 3, 11)
	rated.Rate = 150
	c.projects.Took(project.Tenants, "acme-t", rated)
	if l := left(c); *l.Receivers != 0 || *l.Bandwidth != 0 {
		t.Errorf("%d receivers and %d bit/s are left", *l.Receivers, *l.Bandwidth)
	}
	for rate, ok := range map[uint64]bool{151: false, 150: true, 149: true, 100: true, 0: false} {
		rated.Rate = rate
		if err := c.projects.Check(project.Tenants, "acme-t", rated,
			asMember("acme")); (err == nil) != ok {
			t.Errorf("rate %d: %v", rate, err)
		}
	}
}

// TestMostProjects: clients can create projects up to the limit; at the limit existing projects
// still change.
func TestMostProjects(t *testing.T) {
	c := pfcCore(t, nil)
	for i := range project.MaxProjects {
		if _, _, err := c.projects.Projects().Put(fmt.Sprintf("p%d", i), api.ProjectSpec{},
			resource.Precondition{}); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if _, _, err := c.projects.Projects().Put("more", api.ProjectSpec{},
		resource.Precondition{}); refusalOf(t, err).Code != api.CodeLimit {
		t.Error(err)
	}
	if _, _, err := c.projects.Projects().Put("p0", api.ProjectSpec{Bandwidth: 1},
		resource.Precondition{}); err != nil {
		t.Error(err)
	}
}

// TestNamesOfProjects: the name of a project never lies within the name of another project, in
// either order of creation. A new project must have the things that the resources under its name
// use.
func TestNamesOfProjects(t *testing.T) {
	for _, names := range [][2]string{{"q", "q-1"}, {"q-1", "q"}, {"q.1", "q"}} {
		c := pfcCore(t, nil)
		putProject(t, c, names[0], api.ProjectSpec{})
		if _, _, err := c.Projects().Put(names[1], api.ProjectSpec{},
			resource.Precondition{}); refusalOf(t, err).Code != api.CodeConflict {
			t.Errorf("%v: %v", names, err)
		}
	}
	c := pfcCore(t, nil)
	putProject(t, c, "q", api.ProjectSpec{})
	putProject(t, c, "q1", api.ProjectSpec{})
	if _, _, err := c.Tenants().Put("late-1",
		api.TenantSpec{Slice: 7, Priority: 4, Sites: []api.TenantSite{site("R1", 12)}},
		resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	s := api.ProjectSpec{Ports: []api.ProjectPort{{Switch: "R1", Port: 12}},
		Slices: []api.ProjectSlice{{Slice: 7}}}
	if _, _, err := c.Projects().Put("late", s, resource.Precondition{}); refusalOf(t,
		err).Code != api.CodeConflict ||
		!strings.Contains(err.Error(), "tenants/late-1 uses priority 4") {
		t.Error(err)
	}
	s.Priorities = []api.ProjectPriority{{Priority: 4}}
	putProject(t, c, "late", s)
}

// TestMembersFollowProjects: whoever asks for the members gets them after each change, and once.
func TestMembersFollowProjects(t *testing.T) {
	c := pfcCore(t, nil)
	c.projects.Take()
	if _, ok := c.projects.Take(); ok {
		t.Error("nothing has changed")
	}
	if _, _, err := c.projects.Projects().Put("acme", api.ProjectSpec{},
		resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if ps, ok := c.projects.Take(); !ok || !ps.Has("acme") {
		t.Error("a project was made")
	}
	if err := c.projects.Projects().Delete("acme", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if ps, ok := c.projects.Take(); !ok || ps.Has("acme") {
		t.Error("a project is gone")
	}
}

// TestWhoBecomesAProject: tenants of users, certificates and OpenID Connect do, with the hosts and
// proxy addresses of their groups; other roles do not, and a project that an administrator has made
// stays.
func TestWhoBecomesAProject(t *testing.T) {
	host := func(i int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("2001:db8:1:%d::1", i)) }
	before := pfcCore(t, nil)
	putProject(t, before, "kept", api.ProjectSpec{Bandwidth: 5})
	s := store.NewMemory()
	if err := s.Apply(context.Background(), before.Ready(0).Saves); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(context.Background(), []store.Op{
		{Key: "projects-made"}, // as of before
		{Key: "access/users/ann", Value: []byte(`{"name":"ann","role":"tenant","tenant":"kept"}`)},
		{Key: "access/users/bob", Value: []byte(`{"name":"bob","role":"viewer","tenant":"ghost"}`)},
		{Key: "access/users/cy", Value: []byte(`{"name":"cy","role":"tenant","tenant":"acme"}`)},
	}); err != nil {
		t.Fatal(err)
	}
	records, _, err := s.List(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	_, inv := pfcNetwork()
	inv.API.Access.Certificates = []access.CertificateRule{{Name: "ci",
		Grant: api.Grant{Role: api.RoleTenant, Tenant: "bycert"}}}
	inv.API.TLS = &inventory.TLS{Cert: "c.pem", Key: "c.key", CA: "ca.pem"}
	inv.API.Access.OIDC = &inventory.OIDC{Issuer: "https://login.example.com", ClientID: "weft",
		Roles: []oidc.Rule{{Claim: "g", Value: "x",
			Grant: api.Grant{Role: api.RoleTenant, Tenant: "byclaim"}}}}
	c, err := NewCore(Config{Inventory: inv, Start: time.Unix(1e9, 0)}, records)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range c.Projects().List() {
		names = append(names, p.Name)
	}
	if !slices.Equal(names, []string{"acme", "bycert", "byclaim", "kept"}) {
		t.Errorf("projects %v", names)
	}
	if p, err := c.Projects().Get("kept"); err != nil || p.Spec.Bandwidth != 5 {
		t.Errorf("%+v, %v", p.Spec, err)
	}
	// Groups use a host by the address. A host that has left the inventory does not count, and only
	// the proxy address counts, not the neighboring addresses.
	c = pfcCore(t, nil)
	f := project.New(&c.env)
	if _, err := f.Load(store.Record{Key: "access/users/cy",
		Value: []byte(`{"name":"cy","role":"tenant","tenant":"acme"}`)}); err != nil {
		t.Fatal(err)
	}
	f.Took(project.Groups, "acme", api.MulticastGroupSpec{
		ProxyAddress: netip.MustParseAddr("2001:db8:aaaa::1"), DesignatedQPN: 100,
		Source:    api.GroupSource{Address: host(1), QPN: 8},
		Receivers: []api.GroupReceiver{{Address: host(9), QPN: 9}},
	})
	f.Start()
	p, err := f.Projects().Get("acme")
	want := api.ProjectSpec{
		Hosts:   []api.ProjectHost{{Name: "a1"}},
		Proxies: []api.ProjectPrefix{{Prefix: netip.MustParsePrefix("2001:db8:aaaa::1/128")}},
		QPNs:    []api.ProjectRange{{First: 100, Last: 100}},
	}
	if err != nil || fmt.Sprintf("%+v", p.Spec) != fmt.Sprintf("%+v", want) {
		t.Errorf("%+v, %v", p.Spec, err)
	}
}
