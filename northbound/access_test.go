package northbound

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/resource"
)

// audited is a context whose change has an entry for the audit log.
func audited(ctx context.Context) context.Context {
	ctx, _ = audit.With(ctx, api.AuditRecord{Timestamp: epochStart})
	return ctx
}

// tokenFor makes a token at a server.
func tokenFor(t testing.TB, s *Server, name string, g api.Grant, lifetime time.Duration) api.Token {
	t.Helper()
	made, err := s.cfg.Access.Keeper.CreateToken(audited(t.Context()), &access.Anybody,
		&api.TokenRequest{Name: name, Grant: g, Lifetime: api.Duration(lifetime)})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// rows returns the cells of the rows of a table of a page, below the row that begins with head.
func rows(t testing.TB, page, head string) [][]string {
	t.Helper()
	text, err := os.ReadFile("../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "\n"+head)
	if !ok {
		t.Fatalf("%s has no table %q", page, head)
	}
	var out [][]string
	for i, line := range strings.Split(table, "\n")[1:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		if i > 0 {
			out = append(out, cells)
		}
	}
	return out
}

// operationsOf returns the operations of a server by method and path.
func operationsOf(s *Server) map[string]*huma.Operation {
	out := make(map[string]*huma.Operation)
	for path, item := range s.api.OpenAPI().Paths {
		for method, op := range map[string]*huma.Operation{
			"GET": item.Get, "PUT": item.Put, "POST": item.Post, "PATCH": item.Patch, "DELETE": item.Delete,
		} {
			if op != nil {
				out[method+" "+path] = op
			}
		}
	}
	return out
}

// TestEveryOperationNamesItsScope: an operation without a scope is a bug of this program, and no
// client may call the operation.
func TestEveryOperationNamesItsScope(t *testing.T) {
	s, _, _ := newTestServer(t)
	for at, op := range operationsOf(s) {
		scope, ok := scopeOf(op)
		if !ok || scope != access.Open && !slices.Contains(access.Scopes(), scope) {
			t.Errorf("%s: give the operation a scope: Security: asks(access.…)", at)
		}
	}
	huma.Register(s.api, huma.Operation{OperationID: "forgotten", Method: "GET",
		Path: "/v1/forgotten"}, func(context.Context, *struct{}) (*struct{}, error) {
		t.Error("an operation without a scope was called")
		return nil, nil
	})
	if p := problemIn(t, do(s, "GET", "/v1/forgotten", ""), 403,
		codeDenied); !strings.Contains(p.Detail, "names no scope") {
		t.Error(p.Detail)
	}
}

// TestRolesAndOperations tries every role on every operation, as docs/access.md has them.
func TestRolesAndOperations(t *testing.T) {
	s, _ := newFabricServer(t, ev.ModeStructured)
	s.cfg.Cluster = &fakeCluster{}
	tokens := map[string]string{"nobody": ""}
	tokens["admin"] = tokenFor(t, s, "root", api.Grant{Role: api.RoleAdmin}, 0).Secret
	for _, role := range []api.Role{api.RoleViewer, api.RoleOperator} {
		tokens[string(role)] = tokenFor(t, s, string(role), api.Grant{Role: role}, 0).Secret
	}
	tokens["tenant"] = tokenFor(t, s, "acme-ci", api.Grant{Role: api.RoleTenant, Tenant: "acme"},
		0).Secret
	member := tokenFor(t, s, "somebody", api.Grant{Role: api.RoleOfProjects}, 0)
	tokens["member"] = member.Secret
	spec := api.ProjectSpec{Members: []api.ProjectMember{{Way: api.WayToken, Name: member.ID,
		Role: api.ProjectEditor}}}
	if _, _, err := projectsOf(s).Put(t.Context(), "acme", spec, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}

	may := make(map[string]map[string]string) // by scope and role
	for _, r := range rows(t, "access.md",
		"| scope | covers | viewer | operator | tenant | member | admin |") {
		may[strings.Trim(r[0], "`")] = map[string]string{"viewer": r[2], "operator": r[3], "tenant": r[4],
			"member": r[5], "admin": r[6], "nobody": "no"}
	}
	may["open"]["nobody"] = "yes"
	parameter := regexp.MustCompile(`\{\w+\}`)
	tried := 0
	scopes := map[string]access.Scope{"GET /metrics": access.Read, "GET /openapi.json": access.Self}
	for at, op := range operationsOf(s) {
		scopes[at], _ = scopeOf(op)
	}
	for at, of := range scopes {
		scope := string(of)
		method, path, _ := strings.Cut(at, " ")
		for _, role := range slices.Sorted(maps.Keys(tokens)) {
			if role == "admin" && scope == string(access.Administer) &&
				strings.HasPrefix(path, "/v1/projects") {
				continue // it would take the member's project away
			}
			for _, name := range []string{"acme", "acme-7", "acme.7", "acme7", "acm", "other"} {
				target := parameter.ReplaceAllString(path, name)
				ctx, cancel := context.WithCancel(t.Context())
				if endless(path) {
					cancel()
				}
				r := httptest.NewRequest(method, target,
					strings.NewReader(`{"name": "`+name+`", "spec": {}}`)).WithContext(ctx)
				r.Header.Set("Content-Type", "application/json")
				if tokens[role] != "" {
					r.Header.Set("Authorization", "Bearer "+tokens[role])
				}
				w := httptest.NewRecorder()
				s.Handler().ServeHTTP(w, r)
				cancel()
				tried++
				var p api.Problem
				_ = json.Unmarshal(w.Body.Bytes(), &p)
				want := 0 // any other
				switch verdict := may[scope][role]; {
				case verdict == "yes":
				case verdict == "its own" && (!strings.Contains(path, "{name}") || name == "acme" ||
					name == "acme-7" || name == "acme.7"):
				case verdict == "no" && role == "nobody":
					want = http.StatusUnauthorized
				case verdict == "no", verdict == "its own":
					want = http.StatusForbidden
				default:
					t.Fatalf("docs/access.md says nothing about %s and the scope %q of %s", role, scope, at)
				}
				refused := w.Code == http.StatusUnauthorized || w.Code == http.StatusForbidden
				own := path == usersPath+"/{user}/password" &&
					strings.Contains(p.Detail, "own password alone") && role != "admin"
				// what the body names
				inBody := at == "POST /v1/session" || method == "POST" &&
					(role == "tenant" || role == "member") && strings.HasPrefix(scope, "tenant")
				switch {
				case want != 0 && w.Code != want:
					t.Errorf("%s %s: %s gets %d, want %d: %.200s", method, target, role, w.Code, want, w.Body)
				case want == 0 && refused && !own && !inBody:
					t.Errorf("%s %s: %s gets %d: %.200s", method, target, role, w.Code, w.Body)
				}
			}
		}
	}
	if tried < 2000 {
		t.Errorf("only %d requests", tried)
	}
}

// TestTenantsBodies: a resource written by a tenant must bear the tenant's name, and a tenant's
// lists contain only resources of the tenant.
func TestTenantsBodies(t *testing.T) {
	s, _, _ := newTestServer(t)
	admin := "Bearer " + tokenFor(t, s, "root", api.Grant{Role: api.RoleAdmin}, 0).Secret
	acme := "Bearer " + tokenFor(t, s, "acme-ci", api.Grant{Role: api.RoleTenant, Tenant: "acme"},
		0).Secret
	for n, name := range []string{"other-1", "acme2"} {
		if w := do(s, "POST", groupsPath, groupBody(name, n+1), "Authorization", admin); w.Code != 201 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	n := 0
	for name, want := range map[string]int{"acme": 201, "acme-1": 201, "acme.1": 201, "other-2": 403,
		"acme2x": 403, "ac": 403, "": 422} {
		n++
		if w := do(s, "POST", groupsPath, groupBody(name, 10+n), "Authorization", acme); w.Code != want {
			t.Errorf("POST of %q: %d %s, want %d", name, w.Code, w.Body, want)
		}
	}
	// The path belongs to the tenant; the name in the body belongs to another tenant.
	if w := do(s, "PUT", groupsPath+"/acme-1", groupBody("other-1", 1), "Authorization",
		acme); w.Code != 422 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for as, want := range map[string]int{acme: 3, admin: 5} {
		w := do(s, "GET", groupsPath, "", "Authorization", as)
		var list api.List[api.MulticastGroup]
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list.Items) != want {
			t.Errorf("%d groups, want %d: %v", len(list.Items), want, err)
		}
	}
}

// TestProjectsOfARequest: members have their role in the project, the header narrows the sender's
// rights to one project, and all requests of a project share one limit.
func TestProjectsOfARequest(t *testing.T) {
	s, _, _ := newTestServer(t)
	now := epochStart
	s.cfg.Now = func() time.Time { return now }
	admin := "Bearer " + tokenFor(t, s, "root", api.Grant{Role: api.RoleAdmin}, 0).Secret
	viewer := "Bearer " + tokenFor(t, s, "watch", api.Grant{Role: api.RoleViewer}, 0).Secret
	ann, bob := tokenFor(t, s, "ann", api.Grant{Role: api.RoleOfProjects}, 0),
		tokenFor(t, s, "bob", api.Grant{Role: api.RoleOfProjects}, 0)
	two := 2
	for name, spec := range map[string]api.ProjectSpec{
		"acme": {Quotas: api.ProjectQuotas{Requests: &two},
			Members: []api.ProjectMember{{Way: api.WayToken, Name: ann.ID, Role: api.ProjectEditor},
				{Way: api.WayToken, Name: bob.ID, Role: api.ProjectViewer}}},
		"blue": {Members: []api.ProjectMember{{Way: api.WayToken, Name: ann.ID,
			Role: api.ProjectViewer}}},
	} {
		if _, _, err := projectsOf(s).Put(t.Context(), name, spec, resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	a, b := "Bearer "+ann.Secret, "Bearer "+bob.Secret
	for i, c := range []struct {
		as, project, method, name string
		want                      int
	}{
		{a, "", "PUT", "acme-1", 201}, {a, "", "PUT", "blue-1", 403}, {b, "", "PUT", "acme-2", 403},
		{b, "", "GET", "acme-1", 200}, {b, "", "GET", "blue-1", 403},
		{a, "blue", "PUT", "acme-3", 403}, {a, "blue", "GET", "acme-1", 403},
		{a, "acme", "GET", "acme-1", 200}, {b, "blue", "GET", "acme-1", 403},
		{a, "", "DELETE", "blue-1", 403}, {b, "", "DELETE", "acme-1", 403}, // seen, and not changed
		{admin, "acme", "PUT", "acme-4", 201}, {admin, "acme", "PUT", "other", 403},
		{admin, "none", "GET", "acme-1", 403},
		{viewer, "acme", "PUT", "acme-5", 403}, {viewer, "acme", "GET", "acme-1", 200},
		{viewer, "acme", "GET", "other", 403},
	} {
		now = now.Add(time.Second)
		body := ""
		if c.method == "PUT" {
			body = groupBody(c.name, 10+i)
		}
		headers := []string{"Authorization", c.as}
		if c.project != "" {
			headers = append(headers, projectHeader, c.project)
		}
		if w := do(s, c.method, groupsPath+"/"+c.name, body, headers...); w.Code != c.want {
			t.Errorf("%d: %s %s: %d %s, want %d", i, c.method, c.name, w.Code, w.Body, c.want)
		}
	}
	// A member who sees everything in one project sees nothing of the network.
	if w := do(s, "GET", "/v1/switches", "", "Authorization", admin, projectHeader,
		"acme"); w.Code != 403 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	now = now.Add(time.Minute)
	for i, want := range []int{200, 200, 429} { // at the quota and above it, of both together
		if w := do(s, "GET", groupsPath, "", "Authorization", []string{a, b, b}[i], projectHeader,
			"acme"); w.Code != want || want == 429 && (w.Header().Get("Retry-After") == "" ||
			!strings.Contains(w.Body.String(), "at most 2 requests a second")) {
			t.Errorf("request %d: %d %s, want %d", i+1, w.Code, w.Body, want)
		}
	}
	if w := do(s, "GET", groupsPath, "", "Authorization", a, projectHeader, "blue"); w.Code != 200 {
		t.Errorf("another project: %d %s", w.Code, w.Body)
	}
	now = now.Add(500 * time.Millisecond)
	if w := do(s, "GET", groupsPath, "", "Authorization", b); w.Code != 200 {
		t.Errorf("half a second later: %d %s", w.Code, w.Body)
	}
	for range 5 { // who is in several projects has no project's bound
		if w := do(s, "GET", groupsPath, "", "Authorization", a); w.Code != 200 {
			t.Errorf("in both projects: %d %s", w.Code, w.Body)
		}
	}
	var session api.Session
	if w := do(s, "GET", sessionPath, "", "Authorization", a); json.Unmarshal(w.Body.Bytes(),
		&session) != nil || len(session.Projects) != 2 ||
		!slices.Contains(session.Scopes, "tenant:write") {
		t.Errorf("%s", w.Body)
	}
}
