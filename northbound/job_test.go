package northbound

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/topology"
)

// TestReadinessOfMembers: project members learn that the network blocks their job, but not which
// part of the network. Members see everything about their own hosts and nothing about jobs of other
// projects.
func TestReadinessOfMembers(t *testing.T) {
	s, f, _ := newTestServer(t)
	f.Jobs.Asked = func(
		_ context.Context, name string, question any, _ resource.Precondition,
	) (any, error) {
		if _, ok := question.(api.ReadReadiness); !ok {
			return nil, kind.ErrNoQuestion
		}
		return api.JobReadiness{Name: name, Checks: []api.JobCheck{}, Blockers: []api.JobBlocker{
			{Kind: "switch", Object: "secret-t0", State: "bad", Why: "secret-t0 is not connected",
				Ranks: 8, Also: []string{"link secret-link: down"}},
			{Kind: "nic", Object: "n1-0", State: "bad", Why: "port 1 is down", Ranks: 1},
		}}, nil
	}
	admin := "Bearer " + tokenFor(t, s, "root", api.Grant{Role: api.RoleAdmin}, 0).Secret
	acme := "Bearer " +
		tokenFor(t, s, "ci", api.Grant{Role: api.RoleTenant, Tenant: "acme"}, 0).Secret
	_, _, err := projectsOf(s).Put(t.Context(), "acme", api.ProjectSpec{}, resource.Precondition{})
	if err != nil {
		t.Fatal(err)
	}
	read := func(name, as string) (int, string, api.JobReadiness) {
		t.Helper()
		a := do(s, "GET", "/v1/jobs/"+name+"/readiness", "", "Authorization", as)
		var r api.JobReadiness
		if a.Code == 200 {
			if err := json.Unmarshal(a.Body.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
		}
		return a.Code, a.Body.String(), r
	}
	if code, text, r := read("acme-j", admin); code != 200 || len(r.Blockers) != 2 ||
		r.Blockers[0].Object != "secret-t0" {
		t.Errorf("an administrator reads %d %s", code, text)
	}
	code, text, r := read("acme-j", acme)
	if code != 200 || strings.Contains(text, "secret") || len(r.Blockers) != 2 ||
		r.Blockers[0].Ranks != 8 || r.Blockers[1].Object != "n1-0" ||
		r.Blockers[1].Why != "port 1 is down" {
		t.Errorf("a member reads %d %s", code, text)
	}
	if code, text, _ := read("globex-j", acme); code != 403 {
		t.Errorf("a member reads of another project %d %s", code, text)
	}
}

// TestLeasesOfMembers: project members see the values that packets on the paths of their leases
// carry. No request shows members which switches and links of the network the paths cross.
func TestLeasesOfMembers(t *testing.T) {
	s, f, _ := newTestServer(t)
	shown := api.PathLeaseStatus{Phase: api.LeaseMoving, Reason: "link secret-link is down",
		Paths: []api.LeasedPath{{From: "n1", To: "n2", EV: api.LeaseEV{Value: "0xabc@1"},
			Nodes: []string{"secret-t1"}, Links: []topology.LinkID{"secret-link"}}},
		Former: []api.LeasedPath{{Nodes: []string{"secret-t1"},
			Links: []topology.LinkID{"secret-link"}}}}
	f.Leases.Show = func(l *api.PathLease, _ bool) { l.Status = shown }
	f.Leases.Asked = func(
		_ context.Context, name string, _ any, _ resource.Precondition,
	) (any, error) {
		return api.PathLease{Name: name, Version: 1, Status: shown,
			Spec: api.PathLeaseSpec{Pairs: []api.LeasePair{}}}, nil
	}
	admin := "Bearer " + tokenFor(t, s, "root", api.Grant{Role: api.RoleAdmin}, 0).Secret
	acme := "Bearer " +
		tokenFor(t, s, "ci", api.Grant{Role: api.RoleTenant, Tenant: "acme"}, 0).Secret
	_, _, err := projectsOf(s).Put(t.Context(), "acme", api.ProjectSpec{}, resource.Precondition{})
	if err != nil {
		t.Fatal(err)
	}
	body := `{"spec":{"pairs":[{"from":"n1","to":"n2"}]}}`
	for _, as := range []string{acme, admin} {
		for _, x := range [][2]string{{"PUT", "/v1/leases/acme-l"}, {"GET", "/v1/leases/acme-l"},
			{"GET", "/v1/leases"}, {"POST", "/v1/leases/acme-l:renew"},
			{"POST", "/v1/leases/acme-l:moved"}, {"PATCH", "/v1/leases/acme-l"}} {
			text := ""
			if x[0] == "PUT" || x[0] == "PATCH" {
				text = body
			}
			a := do(s, x[0], x[1], text, "Authorization", as)
			hidden := !strings.Contains(a.Body.String(), "secret")
			if a.Code/100 != 2 || hidden != (as == acme) ||
				!strings.Contains(a.Body.String(), "0xabc@1") {
				t.Errorf("%v: %d %s", x, a.Code, a.Body)
			}
		}
	}
	if a := do(s, "GET", "/v1/leases/other", "", "Authorization", acme); a.Code != 403 {
		t.Errorf("a lease of others: %d", a.Code)
	}
}

// TestRacksOfMembers: members of projects see their NICs by rack, and not the switches of a rack.
func TestRacksOfMembers(t *testing.T) {
	s, f, _ := newTestServer(t)
	f.Jobs.Asked = func(
		_ context.Context, name string, question any, _ resource.Precondition,
	) (any, error) {
		if _, ok := question.(api.ReadRacks); !ok {
			return nil, kind.ErrNoQuestion
		}
		return api.JobRacks{Name: name, Racks: []api.JobRack{{Name: "secret-1+secret-2",
			Switches: []string{"secret-1", "secret-2"}, Ranks: 1, Good: 1,
			NICs: []api.JobNIC{{Name: "n1-0", State: "good", Ports: 2, Up: 2}}}}}, nil
	}
	admin := "Bearer " + tokenFor(t, s, "root", api.Grant{Role: api.RoleAdmin}, 0).Secret
	acme := "Bearer " +
		tokenFor(t, s, "ci", api.Grant{Role: api.RoleTenant, Tenant: "acme"}, 0).Secret
	_, _, err := projectsOf(s).Put(t.Context(), "acme", api.ProjectSpec{}, resource.Precondition{})
	if err != nil {
		t.Fatal(err)
	}
	const path = "/v1/jobs/acme-j/racks"
	if a := do(s, "GET", path, "", "Authorization", admin); a.Code != 200 ||
		!strings.Contains(a.Body.String(), `"switches":["secret-1","secret-2"]`) {
		t.Errorf("an administrator reads %d %s", a.Code, a.Body)
	}
	a := do(s, "GET", path, "", "Authorization", acme)
	if text := a.Body.String(); a.Code != 200 || strings.Contains(text, "secret") ||
		!strings.Contains(text, `"name":"rack 1"`) || !strings.Contains(text, `"n1-0"`) {
		t.Errorf("a member reads %d %s", a.Code, text)
	}
	if a := do(s, "GET", "/v1/jobs/globex-j/racks", "", "Authorization", acme); a.Code != 403 {
		t.Errorf("a member reads of another project %d %s", a.Code, a.Body)
	}
	a = do(s, "GET", "/v1/job-dependents?kind=switch&name=n1", "", "Authorization", acme)
	if a.Code != 403 {
		t.Errorf("a member reads who depends on a switch: %d %s", a.Code, a.Body)
	}
}

// TestDependents: jobs depend on a part of the network, of a kind and with a name.
func TestDependents(t *testing.T) {
	s, _, _ := newTestServer(t)
	for query, want := range map[string]string{
		"?kind=link&name=l": "on link l", "?kind=plane&name=1": "on plane 1",
		"?kind=rack&name=r": "query.kind", "?kind=link": "query.name", "?name=l": "query.kind",
	} {
		a := do(s, "GET", "/v1/job-dependents"+query, "")
		if refused := strings.Contains(want, "query"); !strings.Contains(a.Body.String(), want) ||
			(a.Code == 422 || a.Code == 400) != refused || (a.Code == 200) == refused {
			t.Errorf("%q: %d %s, want %s", query, a.Code, a.Body, want)
		}
	}
}
