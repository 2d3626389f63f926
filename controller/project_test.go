package controller

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
)

func refusalOf(t *testing.T, err error) *api.Error {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no refusal", err)
	}
	return e
}

// asMember is a change by a member of a project.
func asMember(project string) resource.Precondition {
	return resource.Precondition{Sees: func(name string) bool { return api.Covers(project, name) }}
}

func site(sw string, port uint32) api.TenantSite { return api.TenantSite{Switch: sw, Port: port} }

// acme has everything of a1 and a2, globex of b1 and b2, on the network of pfcNetwork.
func acmeSpec() api.ProjectSpec {
	return api.ProjectSpec{
		Hosts:   []api.ProjectHost{{Name: "a1"}, {Name: "a2"}},
		Ports:   []api.ProjectPort{{Switch: "R1", Port: 11}, {Switch: "R3", Port: 11}},
		Proxies: []api.ProjectPrefix{{Prefix: netip.MustParsePrefix("2001:db8:aaaa::/64")}},
		QPNs:    []api.ProjectRange{{First: 100, Last: 199}}, Slices: []api.ProjectSlice{{Slice: 1}},
		Priorities: []api.ProjectPriority{{Priority: 3}},
	}
}

func globexSpec() api.ProjectSpec {
	return api.ProjectSpec{
		Hosts:   []api.ProjectHost{{Name: "b1"}, {Name: "b2"}},
		Ports:   []api.ProjectPort{{Switch: "R1", Port: 12}, {Switch: "R3", Port: 12}},
		Proxies: []api.ProjectPrefix{{Prefix: netip.MustParsePrefix("2001:db8:bbbb::/64")}},
		QPNs:    []api.ProjectRange{{First: 200, Last: 299}}, Slices: []api.ProjectSlice{{Slice: 2}},
		Priorities: []api.ProjectPriority{{Priority: 2}},
	}
}

func putProject(t *testing.T, c *Core, name string, spec api.ProjectSpec) {
	t.Helper()
	if _, _, err := c.Projects().Put(name, spec, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
}

// twoProjects is a core with the projects acme and globex, and SRv6 policies.
func twoProjects(t *testing.T) *Core {
	t.Helper()
	c := pfcCore(t, nil)
	putProject(t, c, "acme", acmeSpec())
	putProject(t, c, "globex", globexSpec())
	if _, _, err := c.SRv6Policies().Put("wan", wanSpec(), resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTenantNamesTheirPort: a tenant with the port of another project's host as its own site is
// refused, whoever asks, and nothing changes.
func TestTenantNamesTheirPort(t *testing.T) {
	c := twoProjects(t)
	if _, _, err := c.Tenants().Put("globex", tenantSpec(2, 2, 12), asMember("globex")); err != nil {
		t.Fatal(err)
	}
	good := func() api.TenantSpec { return tenantSpec(1, 3, 11) }
	for _, edit := range []struct {
		field string
		edit  func(*api.TenantSpec)
	}{
		{"spec.sites[0].port", func(s *api.TenantSpec) { s.Sites[0].Port = 12 }},
		{"spec.sites[2].port", func(s *api.TenantSpec) { s.Sites = append(s.Sites, site("R3", 12)) }},
		{"spec.sites[0].port", func(s *api.TenantSpec) { s.Sites[0].Port = 99 }}, // is there none
		{"spec.sites[0].port", func(s *api.TenantSpec) { s.Sites[0].Switch = "R2" }},
		{"spec.sites[0].port", func(s *api.TenantSpec) { s.Sites[0].Switch = "nowhere" }},
		{"spec.slice", func(s *api.TenantSpec) { s.Slice = 2 }},
		{"spec.slice", func(s *api.TenantSpec) { s.Slice = 3 }},
		{"spec.priority", func(s *api.TenantSpec) { s.Priority = 2 }},
		{"spec.policies[0]", func(s *api.TenantSpec) { s.Policies[0] = "none" }},
	} {
		s := good()
		edit.edit(&s)
		before := c.pfcState()
		for _, pre := range []resource.Precondition{{}, asMember("acme")} {
			_, _, err := c.Tenants().Put("acme-t", s, pre)
			e := refusalOf(t, err)
			if e.Code != api.CodeForbidden || len(e.Fields) != 1 || e.Fields[0].Field != edit.field {
				t.Errorf("%s: %v", edit.field, err)
			}
			if strings.Contains(err.Error(), "globex") && pre.Sees != nil {
				t.Errorf("%s: a member reads %v", edit.field, err)
			}
		}
		if !reflect.DeepEqual(c.pfcState(), before) {
			t.Errorf("%s: something changed", edit.field)
		}
	}
	if _, _, err := c.Tenants().Put("acme-t", good(), asMember("acme")); err != nil {
		t.Fatal(err)
	}
	// A change of what is there is no way around.
	s := good()
	s.Sites[1].Port = 12
	if _, _, err := c.Tenants().Put("acme-t", s, asMember("acme")); refusalOf(t,
		err).Code != api.CodeForbidden {
		t.Error(err)
	}
	for name, want := range map[string]api.Code{"globex": api.CodeForbidden, "acme-t": ""} {
		_, _, err := c.PFCPolicies().Put("acme-p", api.PFCPolicySpec{SRv6Policy: "wan", Tenant: name},
			asMember("acme"))
		if want == "" && err != nil || want != "" && refusalOf(t, err).Code != want {
			t.Errorf("a policy of tenant %s: %v", name, err)
		}
	}
	// A resource outside all projects may not use things that a project has for itself, and a member
	// creates no resources outside projects.
	own := tenantSpec(7, 4, 12)
	own.Policies = nil
	if _, _, err := c.Tenants().Put("theirs", own, resource.Precondition{}); refusalOf(t,
		err).Code != api.CodeForbidden || !strings.Contains(err.Error(), "globex") {
		t.Error(err)
	}
	if _, _, err := c.Tenants().Put("nobody-1", good(), asMember("nobody")); refusalOf(t,
		err).Code != api.CodeForbidden {
		t.Error(err)
	}
}

// TestGroupNamesTheirs: the source, receivers, proxy address and designated QPN of a group are its
// project's.
func TestGroupNamesTheirs(t *testing.T) {
	c := twoProjects(t)
	// a1 a2 b1 b2
	host := func(i int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("2001:db8:1:%d::1", i)) }
	good := func() api.MulticastGroupSpec {
		return api.MulticastGroupSpec{
			ProxyAddress: netip.MustParseAddr("2001:db8:aaaa::1"), DesignatedQPN: 100,
			Source:    api.GroupSource{Address: host(1), QPN: 8},
			Receivers: []api.GroupReceiver{{Address: host(2), QPN: 9}},
		}
	}
	for _, edit := range []struct {
		field string
		edit  func(*api.MulticastGroupSpec)
	}{
		{"spec.source.address", func(s *api.MulticastGroupSpec) { s.Source.Address = host(3) }},
		// of no host
		{"spec.source.address", func(s *api.MulticastGroupSpec) { s.Source.Address = host(9) }},
		{"spec.receivers[0].address",
			func(s *api.MulticastGroupSpec) { s.Receivers[0].Address = host(4) }},
		{"spec.receivers[1].address", func(s *api.MulticastGroupSpec) {
			s.Receivers = append(s.Receivers, api.GroupReceiver{Address: host(3), QPN: 7})
		}},
		{"spec.proxyAddress",
			func(s *api.MulticastGroupSpec) { s.ProxyAddress = netip.MustParseAddr("2001:db8:bbbb::1") }},
		{"spec.proxyAddress",
			func(s *api.MulticastGroupSpec) { s.ProxyAddress = netip.MustParseAddr("2001:db8:aaab::1") }},
		{"spec.designatedQpn", func(s *api.MulticastGroupSpec) { s.DesignatedQPN = 99 }},
		{"spec.designatedQpn", func(s *api.MulticastGroupSpec) { s.DesignatedQPN = 200 }},
	} {
		s := good()
		edit.edit(&s)
		for _, pre := range []resource.Precondition{{}, asMember("acme")} {
			_, _, err := c.Groups().Put("acme", s, pre)
			e := refusalOf(t, err)
			if e.Code != api.CodeForbidden || len(e.Fields) != 1 || e.Fields[0].Field != edit.field ||
				pre.Sees != nil && strings.Contains(err.Error(), "globex") {
				t.Errorf("%s: %v", edit.field, err)
			}
		}
	}
	for _, qpn := range []uint32{100, 199} { // both ends of the range
		s := good()
		s.DesignatedQPN = qpn
		if _, _, err := c.Groups().Put("acme", s, asMember("acme")); err != nil &&
			refusalOf(t, err).Code == api.CodeForbidden {
			t.Errorf("%d: %v", qpn, err)
		}
	}
}

// TestAssignments: a thing belongs to one project unless both projects share it, and a thing in use
// is not taken away.
func TestAssignments(t *testing.T) {
	c := twoProjects(t)
	third := func(edit func(*api.ProjectSpec)) error {
		var s api.ProjectSpec
		edit(&s)
		_, _, err := c.Projects().Put("third", s, resource.Precondition{})
		if err == nil {
			if err := c.Projects().Delete("third", resource.Precondition{}); err != nil {
				t.Fatal(err)
			}
		}
		return err
	}
	for field, edit := range map[string]func(*api.ProjectSpec){
		"spec.hosts[0].name": func(s *api.ProjectSpec) { s.Hosts = []api.ProjectHost{{Name: "a1"}} },
		"spec.ports[0].port": func(s *api.ProjectSpec) {
			s.Ports = []api.ProjectPort{{Switch: "R3", Port: 12}}
		},
		"spec.proxies[0].prefix": func(s *api.ProjectSpec) {
			s.Proxies = []api.ProjectPrefix{{Prefix: netip.MustParsePrefix("2001:db8::/32")}}
		},
		"spec.qpns[0].first": func(s *api.ProjectSpec) {
			s.QPNs = []api.ProjectRange{{First: 50, Last: 100}}
		},
		"spec.slices[0].slice": func(s *api.ProjectSpec) {
			s.Slices = []api.ProjectSlice{{Slice: 2, Shared: true}}
		},
		"spec.priorities[0].priority": func(s *api.ProjectSpec) { s.Priorities = []api.ProjectPriority{{Priority: 2}} },
	} {
		if e := refusalOf(t, third(edit)); e.Code != api.CodeConflict || e.Fields[0].Field != field {
			t.Errorf("%s: %v", field, e)
		}
	}
	if err := third(func(s *api.ProjectSpec) {
		s.QPNs = []api.ProjectRange{{First: 50, Last: 99},
			{First: 300, Last: 300}}
	}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"acme-x", "globex.1"} {
		if _, _, err := c.Projects().Put(name, api.ProjectSpec{}, resource.Precondition{}); refusalOf(t,
			err).Code != api.CodeConflict {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Both share it, one after the other.
	shared := globexSpec()
	shared.Slices[0].Shared, shared.Priorities[0].Shared = true, true
	putProject(t, c, "globex", shared)
	also := acmeSpec()
	also.Priorities = append(also.Priorities, api.ProjectPriority{Priority: 2})
	if _, _, err := c.Projects().Put("acme", also, resource.Precondition{}); refusalOf(t,
		err).Code != api.CodeConflict {
		t.Error("shared by one of two:", err)
	}
	also.Priorities[1].Shared = true
	putProject(t, c, "acme", also)
	if _, _, err := c.Tenants().Put("acme", tenantSpec(1, 2, 11), asMember("acme")); err != nil {
		t.Fatal(err)
	}
	// In use.
	also.Priorities = also.Priorities[:1]
	if _, _, err := c.Projects().Put("acme", also, resource.Precondition{}); refusalOf(t,
		err).Code != api.CodeConflict || !strings.Contains(err.Error(), "tenants/acme uses priority 2") {
		t.Error(err)
	}
	if err := c.Projects().Delete("acme", resource.Precondition{}); refusalOf(t,
		err).Code != api.CodeConflict {
		t.Error(err)
	}
	p, err := c.Projects().Get("acme")
	if err != nil {
		t.Fatal(err)
	}
	uses := make(map[string][]string)
	for _, x := range p.Status.Things {
		uses[fmt.Sprintf("%s %s", x.Kind, x.Name)] = x.UsedBy
	}
	if len(uses) != 9 || !slices.Equal(uses["port R1/11"], []string{"tenants/acme"}) ||
		len(uses["priority 3"]) != 0 || len(uses["priority 2"]) != 1 || p.Status.Used.Tenants != 1 {
		t.Errorf("%+v", p.Status)
	}
	// Things that administrators use cannot go to one project.
	own := tenantSpec(7, 4, 0)
	own.Sites, own.Policies = []api.TenantSite{site("R1", 12)}, nil
	shared.Hosts, shared.Ports = nil, shared.Ports[1:]
	putProject(t, c, "globex", shared)
	if _, _, err := c.Tenants().Put("own", own, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	again := globexSpec()
	again.Slices[0].Shared, again.Priorities[0].Shared = true, true
	if _, _, err := c.Projects().Put("globex", again, resource.Precondition{}); refusalOf(t,
		err).Code != api.CodeConflict || !strings.Contains(err.Error(), "tenants/own") {
		t.Error(err)
	}
}

// TestQuotas: at a quota, below it and above it.
func TestQuotas(t *testing.T) {
	n := func(i int) *int { return &i }
	for _, limit := range []int{0, 1, 2, 3} {
		c := twoProjects(t)
		s := acmeSpec()
		s.Slices = append(s.Slices, api.ProjectSlice{Slice: 5}, api.ProjectSlice{Slice: 6})
		s.Quotas.Tenants, s.Bandwidth = n(limit), 300
		putProject(t, c, "acme", s)
		made := 0
		for i, sw := range []string{"R1", "R3"} {
			spec := api.TenantSpec{Slice: []uint32{1, 5}[i], Priority: 3, Rate: 150,
				Sites: []api.TenantSite{site(sw, 11)}}
			_, _, err := c.Tenants().Put(fmt.Sprintf("acme-%d", i), spec, resource.Precondition{})
			if i < limit != (err == nil) {
				t.Errorf("%d of %d: %v", i+1, limit, err)
			}
			if err == nil {
				made++
			} else if e := refusalOf(t, err); e.Code != api.CodeLimit ||
				*e.Fields[0].Limit != int64(limit) ||
				!strings.Contains(e.Error(), fmt.Sprintf("at most %d tenants of project acme, which has %d",
					limit, made)) {
				t.Error(err)
			}
		}
		p, _ := c.Projects().Get("acme")
		if got := p.Status; got.Used.Tenants != made || *got.Left.Tenants != limit-made ||
			*got.Left.Bandwidth != 300-uint64(made)*150 {
			t.Errorf("of %d: %+v", limit, got)
		}
		if made < 2 {
			continue
		}
		// Bandwidth: at it, above it, and without a rate; less is always taken.
		for rate, ok := range map[uint64]bool{150: true, 151: false, 0: false, 149: true} {
			spec := api.TenantSpec{Slice: 5, Priority: 3, Rate: rate,
				Sites: []api.TenantSite{site("R3", 11)}}
			if _, _, err := c.Tenants().Put("acme-1", spec, resource.Precondition{}); (err == nil) != ok {
				t.Errorf("rate %d: %v", rate, err)
			}
		}
		s.Quotas.Tenants = n(0)
		putProject(t, c, "acme", s) // below what there is
		spec := api.TenantSpec{Slice: 6, Priority: 3, Rate: 100, Sites: []api.TenantSite{site("R3", 11)}}
		if _, _, err := c.Tenants().Put("acme-1", spec, resource.Precondition{}); err != nil {
			t.Errorf("a change of what is there: %v", err)
		}
	}
}

// TestTenantsBecomeProjects: after the first start the things that the role tenant had before
// projects belong to the tenant's project, once, shared with further users.
func TestTenantsBecomeProjects(t *testing.T) {
	c := pfcCore(t, nil)
	if _, _, err := c.SRv6Policies().Put("wan", wanSpec(), resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	for name, spec := range map[string]api.TenantSpec{
		"acme":     {Slice: 1, Priority: 3, Sites: []api.TenantSite{site("R1", 11)}},
		"globex-1": {Slice: 2, Priority: 3, Sites: []api.TenantSite{site("R3", 12)}},
		"own":      {Slice: 3, Priority: 4, Sites: []api.TenantSite{site("R1", 12)}},
	} {
		if _, _, err := c.Tenants().Put(name, spec, resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	s := store.NewMemory()
	keep := func(c *Core) {
		t.Helper()
		if err := s.Apply(context.Background(), c.Ready(0).Saves); err != nil {
			t.Fatal(err)
		}
	}
	keep(c)
	if err := s.Apply(context.Background(), []store.Op{
		{Key: "projects-made"}, // as of before
		{Key: "access/users/ann", Value: []byte(`{"name":"ann","role":"tenant","tenant":"acme"}`)},
		{Key: "access/tokens/1", Value: []byte(`{"id":"1","role":"tenant","tenant":"globex"}`)},
		{Key: "access/users/bob", Value: []byte(`{"name":"bob","role":"admin"}`)},
	}); err != nil {
		t.Fatal(err)
	}
	start := func() *Core {
		t.Helper()
		records, _, err := s.List(context.Background(), "")
		if err != nil {
			t.Fatal(err)
		}
		c := pfcCore(t, records)
		keep(c)
		return c
	}
	c = start()
	if len(c.projects.Notes()) != 2 || len(c.Projects().List()) != 2 {
		t.Fatalf("%q, %+v", c.projects.Notes(), c.Projects().List())
	}
	for name, want := range map[string]api.ProjectSpec{
		"acme": {
			Ports: []api.ProjectPort{{Switch: "R1", Port: 11}}, Slices: []api.ProjectSlice{{Slice: 1}},
			Priorities: []api.ProjectPriority{{Priority: 3, Shared: true}},
		},
		"globex": {
			Ports: []api.ProjectPort{{Switch: "R3", Port: 12}}, Slices: []api.ProjectSlice{{Slice: 2}},
			Priorities: []api.ProjectPriority{{Priority: 3, Shared: true}},
		},
	} {
		p, err := c.Projects().Get(name)
		if err != nil || fmt.Sprint(p.Spec.Ports, p.Spec.Slices,
			p.Spec.Priorities) != fmt.Sprint(want.Ports, want.Slices, want.Priorities) {
			t.Errorf("%s: %+v, %v", name, p.Spec, err)
		}
		if err := c.projects.Check("tenants/", p.Status.Resources[0][len("tenants/"):],
			mustTenant(t, c, p.Status.Resources[0][len("tenants/"):]), asMember(name)); err != nil {
			t.Errorf("%s may not have what it has: %v", name, err)
		}
	}
	// Once: an administrator's decision stays.
	if err := c.Tenants().Delete("globex-1", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Projects().Delete("globex", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	keep(c)
	if c = start(); len(c.projects.Notes()) != 0 || len(c.Projects().List()) != 1 {
		t.Errorf("at the second start: %q, %+v", c.projects.Notes(), c.Projects().List())
	}
}

func mustTenant(t *testing.T, c *Core, name string) api.TenantSpec {
	t.Helper()
	x, err := c.Tenants().Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return x.Spec
}

// TestNoDocumentNamesTheirs: whatever a member writes, no resource of the member's project names a
// thing of another project.
func TestNoDocumentNamesTheirs(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	c := twoProjects(t)
	theirs := globexSpec()
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	addr := func() netip.Addr {
		return netip.MustParseAddr(pick("2001:db8:1:1::1", "2001:db8:1:2::1", "2001:db8:1:3::1",
			"2001:db8:1:4::1", "2001:db8:aaaa::1", "2001:db8:bbbb::1", "2001:db8:aaaa::2", "::"))
	}
	number := func() uint32 { return []uint32{1, 2, 3, 11, 12, 100, 150, 199, 200, 250}[rng.IntN(10)] }
	taken := 0
	for range 3000 {
		name := pick("acme", "acme-1", "acme.2")
		switch rng.IntN(3) {
		case 0:
			s := api.MulticastGroupSpec{ProxyAddress: addr(), DesignatedQPN: number(),
				Source: api.GroupSource{Address: addr(), QPN: number()}}
			for range rng.IntN(3) {
				s.Receivers = append(s.Receivers, api.GroupReceiver{Address: addr(), QPN: number()})
			}
			_, _, _ = c.Groups().Put(name, s, asMember("acme"))
		case 1:
			// A good spec, any part of which the cases replace.
			s := api.TenantSpec{Slice: 1, Priority: 3, Sites: []api.TenantSite{site("R1", 11),
				site("R3", 11)}[:1+rng.IntN(2)]}
			if rng.IntN(3) == 0 {
				s.Slice = number()
			}
			if rng.IntN(3) == 0 {
				s.Priority = uint8(rng.IntN(5))
			}
			if rng.IntN(3) == 0 {
				s.Sites[rng.IntN(len(s.Sites))] = site(pick("R1", "R2", "R3", "x"), number())
			}
			if _, _, err := c.Tenants().Put(name, s, asMember("acme")); err == nil {
				taken++
			}
		default:
			_, _, _ = c.PFCPolicies().Put(name, api.PFCPolicySpec{SRv6Policy: pick("wan", "x"),
				Tenant: pick("acme", "acme-1", "globex", "other")}, asMember("acme"))
		}
		if rng.IntN(4) == 0 {
			_ = c.PFCPolicies().Delete(name, asMember("acme"))
			_ = c.Tenants().Delete(name, asMember("acme"))
			_ = c.Groups().Delete(name, asMember("acme"))
		}
	}
	if taken == 0 {
		t.Error("nothing was ever taken")
	}
	for _, x := range c.Tenants().List() {
		for _, s := range x.Spec.Sites {
			if slices.Contains(theirs.Ports, api.ProjectPort{Switch: s.Switch, Port: s.Port}) ||
				x.Spec.Slice == 2 || x.Spec.Priority == 2 {
				t.Errorf("%s has %+v", x.Name, x.Spec)
			}
		}
	}
	for _, x := range c.Groups().List() {
		for _, a := range append([]api.GroupReceiver{{Address: x.Spec.Source.Address}},
			x.Spec.Receivers...) {
			if h := c.Inventory().Host(a.Address); h == nil || h.Name[0] != 'a' {
				t.Errorf("%s has %v", x.Name, a.Address)
			}
		}
		if !theirs.Proxies[0].Prefix.IsValid() ||
			theirs.Proxies[0].Prefix.Contains(x.Spec.ProxyAddress) || x.Spec.DesignatedQPN > 199 {
			t.Errorf("%s has %+v", x.Name, x.Spec)
		}
	}
}
