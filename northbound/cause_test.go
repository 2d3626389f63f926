package northbound

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/northbound/causes"
	"github.com/weft-sdn/weft/store"
)

// causesAt returns the causes that a server tells somebody, and the token of the next page.
func causesAt(t *testing.T, s *Server, query string, headers ...string) ([]api.Cause, string) {
	t.Helper()
	var list api.List[api.Cause]
	w := do(s, "GET", "/v1/causes"+query, "", headers...)
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return list.Items, list.Continue
}

// TestCauses: a port that is down gives one cause, in the API and as a metric. Pages end with a
// token; the server refuses a token behind a cause that has ended.
func TestCauses(t *testing.T) {
	s, f := newFabricServer(t, ev.ModeStructured)
	now := epochStart
	s.cfg.Now = func() time.Time { return now }
	s.watch()
	all, _ := causesAt(t, s, "")
	before := len(all)
	for i := range all {
		if all[i].Kind == "link" {
			t.Errorf("before: %+v", all[i].Finding)
		}
	}
	f.Cut("64512:10.0.1.1", 11)
	f.Cut("64512:10.0.1.2", 11)
	now = now.Add(time.Second)
	all, _ = causesAt(t, s, "?limit=1000")
	links := 0
	for i := range all {
		c := &all[i]
		if c.Kind != "link" {
			continue
		}
		links++
		if c.Severity != api.SeverityFault || !strings.HasSuffix(c.What, "has failed") ||
			!strings.HasPrefix(c.Object, "links/") {
			t.Errorf("%+v", c)
		}
	}
	if links != 2 || len(all) < before+2 {
		t.Fatalf("%d causes are links of %d, want 2", links, len(all))
	}
	var repairs struct{ Items []api.Cause }
	w := do(s, "GET", "/v1/repairs", "")
	if err := json.Unmarshal(w.Body.Bytes(), &repairs); err != nil || len(repairs.Items) != 2 ||
		repairs.Items[0].Repair.Part != "cable" || len(repairs.Items[0].Repair.Evidence) == 0 {
		t.Errorf("%d, %v: %+v, want the cables of the two links", w.Code, err, repairs.Items)
	}
	metrics := do(s, "GET", "/metrics", "").Body.String()
	if n := strings.Count(metrics, "\nweft_cause{"); n != len(all) {
		t.Errorf("%d causes as metrics, %d by the API", n, len(all))
	}
	for _, want := range []string{`weft_causes{severity="work"} 0`,
		`what="` + all[0].What + `"} 1`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	first, next := causesAt(t, s, "?limit=1")
	if len(first) != 1 || first[0].ID != all[0].ID || next == "" {
		t.Fatalf("a page of one: %+v, %q", first, next)
	}
	rest, end := causesAt(t, s, "?limit="+strings.Repeat("9", 2)+"&continue="+next)
	if len(rest) != len(all)-1 || rest[0].ID != all[1].ID || end != "" {
		t.Errorf("the rest is %d of %d, %q", len(rest), len(all)-1, end)
	}
	if p := problemIn(t, do(s, "GET", "/v1/causes?continue="+encodeToken("link/over"), ""), 422,
		string(api.CodeInvalid)); !strings.Contains(p.Detail, "begin with the first page") {
		t.Error(p.Detail)
	}
}

// watch gives the server causes, by its clock of now.
func (s *Server) watch() {
	s.cfg.Causes = causes.NewWatcher(func(ctx context.Context) (*causes.Known, error) {
		return Known(ctx, &s.cfg, s.controller)
	}, s.cfg.Now)
	s.metrics.causes = s.cfg.Causes
}

// TestCausesOfMembers: a project member gets the problems of its own resources, and no causes of
// the network.
func TestCausesOfMembers(t *testing.T) {
	s, c, _ := newTestServer(t)
	admin := "Bearer " + tokenFor(t, s, "root", api.Grant{Role: api.RoleAdmin}, 0).Secret
	acme := "Bearer " + tokenFor(t, s, "ci", api.Grant{Role: api.RoleTenant, Tenant: "acme"}, 0).Secret
	for n, name := range []string{"acme-1", "other-1"} {
		if w := do(s, "POST", groupsPath, groupBody(name, n+1), "Authorization",
			admin); w.Code != http.StatusCreated {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		g := c.Groups.Items[name]
		g.Status.Conditions.Set(api.Accepted, false, "NotPlannable", "no path", epochStart)
		c.Groups.Items[name] = g
	}
	c.Down["n6"] = true
	if _, _, err := projectsOf(s).Put(t.Context(), "acme", api.ProjectSpec{},
		resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	own, _ := causesAt(t, s, "", "Authorization", acme)
	if len(own) != 1 || own[0].ID != "group/acme-1" || len(own[0].Follows) != 0 ||
		own[0].Jobs != nil {
		t.Errorf("%+v", own)
	}
	all, _ := causesAt(t, s, "", "Authorization", admin)
	if len(all) != 1 || all[0].ID != "switch/n6" || len(all[0].Follows) != 2 {
		t.Errorf("%+v", all)
	}
	if j := all[0].Jobs; j == nil || j.Count != 1 || j.Names[0] != "on switch n6" {
		t.Errorf("the lost switch hurts %+v", j)
	}
	if a := do(s, "GET", "/v1/causes", "", "Authorization", acme); strings.Contains(a.Body.String(),
		"jobs") {
		t.Errorf("a member learns of jobs: %s", a.Body)
	}
	viewer := "Bearer " + tokenFor(t, s, "v", api.Grant{Role: api.RoleViewer}, 0).Secret
	if all, _ := causesAt(t, s, "", "Authorization", viewer); len(all) != 1 ||
		all[0].ID != "switch/n6" {
		t.Errorf("a viewer gets %+v", all)
	}
}

// TestLastWriter: the last successful write of a resource names its writer; failures, and other
// resources, do not count.
func TestLastWriter(t *testing.T) {
	s, _, _ := newTestServer(t)
	s.cfg.Access = nil
	if lastWriter(t.Context(), &s.cfg) != nil {
		t.Error("a server without an audit log knows writers")
	}
	s.cfg.Access = &access.Control{Log: audit.NewLog(store.NewMemory(), "c1", nil)}
	for i, w := range []struct {
		by, path string
		outcome  api.AuditOutcome
	}{
		{"ann", "/v1/links/a,1~b,1", api.AuditSuccess},
		{"bob", "/v1/links/a%2C1~b%2C1?fieldManager=x", api.AuditSuccess},
		{"eve", "/v1/links/a,1~b,1", api.AuditFailure},
		{"dan", "/v1/links/a,2~b,2", api.AuditSuccess},
	} {
		if err := s.cfg.Access.Log.Write(t.Context(), api.AuditRecord{
			Timestamp: epochStart.Add(time.Duration(i) * time.Minute), Outcome: w.outcome,
			SessionInfo:    api.AuditSession{User: api.AuditUser{Identity: w.by}},
			ServiceRequest: api.AuditRequest{Path: w.path}}); err != nil {
			t.Fatal(err)
		}
	}
	last := lastWriter(t.Context(), &s.cfg)
	for object, want := range map[string]string{"links/a,1~b,1": "bob", "links/a,2~b,2": "dan",
		"links/a,3~b,3": ""} {
		if by, at := last(object); by != want || at.IsZero() != (want == "") {
			t.Errorf("%s: %q at %v, want %q", object, by, at, want)
		}
	}
}
