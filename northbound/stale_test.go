package northbound

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/mrc"
)

// staleBed is a Front for a member without a decider, together with the readings of the member's
// store.
type staleBed struct {
	*Front
	groups   Reading
	projects Reading
	access   *access.Control
	stale    *Server
}

func newStaleBed(t *testing.T) *staleBed {
	t.Helper()
	b := &staleBed{}
	control, err := access.InMemory(t.Context(), access.Config{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	b.access = control
	cfg := DefaultConfig()
	cfg.Access, cfg.Hosts = control, []string{"*"}
	cfg.Now = func() time.Time { return epochStart.Add(time.Minute) }
	cfg.Cluster = &fakeCluster{err: ErrStoreUnavailable}
	kept := Kept{Members: func() *access.Projects {
		specs := make(map[string]api.ProjectSpec)
		for _, p := range b.projects.Items {
			specs[p.(api.Project).Name] = p.(api.Project).Spec
		}
		return access.NewProjects(specs)
	}}
	for _, k := range append(controller.Kinds(), mrc.Kinds()...) {
		last := func() Reading { return Reading{At: epochStart} }
		switch k.Zero().(type) {
		case api.MulticastGroup:
			last = func() Reading { return b.groups }
		case api.Project:
			last = func() Reading { return b.projects }
		}
		if k.Creates {
			kept.Kinds = append(kept.Kinds, KeptKind{k, last})
		}
	}
	b.stale, err = NewStale(cfg, kept)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Stale = b.stale
	b.Front = NewFront(cfg)
	member, err := NewMember(cfg, http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	b.Set(member)
	return b
}

func (b *staleBed) do(method, target, token string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

// namesIn returns the names of a list.
func namesIn(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var list api.List[api.MulticastGroup]
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	var names []string
	for _, g := range list.Items {
		names = append(names, g.Name)
	}
	return strings.Join(names, " ")
}

// TestStale: a controller that cannot ask any other controller answers with the data read earlier,
// states the age of the data, and refuses requests for objects missing from the store.
func TestStale(t *testing.T) {
	b := newStaleBed(t)
	const list = groupsPath + "?consistency=stale"
	p := problemIn(t, b.do("GET", list, ""), http.StatusServiceUnavailable, "store_unavailable")
	if !strings.Contains(p.Detail, "has not read the store") {
		t.Errorf("before the first reading: %q", p.Detail)
	}
	b.groups = Reading{
		Items: []any{api.MulticastGroup{Name: "g10", Version: 3},
			api.MulticastGroup{Name: "g9", Version: 8, Created: epochStart}}, Revision: 77,
		At: epochStart.Add(-100 * time.Millisecond),
	}
	labelled := func(w *httptest.ResponseRecorder) {
		t.Helper()
		h := w.Header()
		if h.Get("Weft-Consistency") != "stale" || h.Get("Age") != "61" ||
			h.Get("Weft-Store-Revision") != "77" {
			t.Errorf("header %v, want stale, 61 s of age and revision 77", h)
		}
	}
	w := b.do("GET", list, "")
	labelled(w)
	if names := namesIn(t, w); names != "g9 g10" {
		t.Errorf("%s", names)
	}
	w = b.do("GET", groupsPath+"/g9?consistency=stale", "")
	labelled(w)
	if w.Code != http.StatusOK || w.Header().Get("ETag") != `"8"` ||
		!strings.Contains(w.Body.String(), `"version":8`) ||
		strings.Contains(w.Body.String(), "conditions") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	w = b.do("GET", list+"&limit=1", "")
	var page api.List[api.MulticastGroup]
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || len(page.Items) != 1 {
		t.Fatalf("a page: %s", w.Body)
	}
	if names := namesIn(t, b.do("GET", list+"&limit=1&continue="+page.Continue, "")); names != "g10" {
		t.Errorf("the second page: %s", names)
	}
	if p := problemIn(t, b.do("GET", groupsPath+"/none?consistency=stale", ""), http.StatusNotFound,
		"not_found"); !strings.Contains(p.Detail, "when the store was read") {
		t.Errorf("%q", p.Detail)
	}
	for _, path := range []string{"/v1/srv6-policies", "/v1/tenants", "/v1/pfc-policies",
		"/v1/networks", "/v1/cc-profiles"} {
		if w := b.do("GET", path+"?consistency=stale", ""); w.Code != http.StatusOK ||
			w.Header().Get("Age") != "60" {
			t.Errorf("%s: %d %v %s", path, w.Code, w.Header(), w.Body)
		}
	}
	for _, path := range []string{"/v1/switches", "/v1/events", "/v1/topology", "/v1/links",
		"/v1/controllers", groupsPath + "/g9/tree", "/metrics", "/v1/nothing"} {
		p := problemIn(t, b.do("GET", path+"?consistency=stale", ""), http.StatusUnprocessableEntity,
			"invalid")
		if p.Field != "query.consistency" || p.Value != "stale" ||
			!strings.Contains(p.Detail, "linearizable") {
			t.Errorf("%s: %+v", path, p)
		}
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		p := problemIn(t, b.do(method, groupsPath+"/g9?consistency=stale", ""),
			http.StatusUnprocessableEntity, "invalid")
		if p.Field != "query.consistency" ||
			!strings.Contains(p.Detail, "by the controller that decides") {
			t.Errorf("%s: %+v", method, p)
		}
	}
	// A missing resource is missing whoever decides.
	for _, path := range []string{groupsPath, groupsPath + "/g9", "/v1/switches"} {
		p := problemIn(t, b.do("GET", path+"?consistency=eventual", ""), http.StatusUnprocessableEntity,
			"invalid")
		if p.Field != "query.consistency" || p.Value != "eventual" {
			t.Errorf("%s: %+v", path, p)
		}
	}
	for _, value := range []string{"linearizable", ""} {
		problemIn(t, b.do("GET", groupsPath+"?consistency="+value, ""), http.StatusServiceUnavailable,
			"store_unavailable")
	}
	// Whoever asks for no stale answer gets none.
	w = b.do("GET", groupsPath, "")
	problemIn(t, w, http.StatusServiceUnavailable, "store_unavailable")
	if w.Header().Get("Weft-Consistency") != "" || w.Header().Get("Age") != "" {
		t.Errorf("%v", w.Header())
	}
}

// TestConsistencyValues: the decider accepts consistency=linearizable, refuses unknown values, and
// refuses the parameter for operations without it.
func TestConsistencyValues(t *testing.T) {
	s, _, _ := newTestServer(t)
	if w := do(s, "GET", groupsPath+"?consistency=linearizable", ""); w.Code != http.StatusOK ||
		w.Header().Get("Weft-Consistency") != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	for _, value := range []string{"Stale", "eventual", "stale,linearizable"} {
		if p := problemIn(t, do(s, "GET", groupsPath+"?consistency="+value, ""),
			http.StatusUnprocessableEntity, "invalid"); p.Field != "query.consistency" || p.Value != value {
			t.Errorf("%q: %+v", value, p)
		}
	}
	problemIn(t, do(s, "GET", "/v1/switches?consistency=linearizable", ""), http.StatusBadRequest,
		"malformed")
	// Without a view of the store the server gives no stale answer, and no answer that pretends to be
	// stale.
	problemIn(t, do(s, "GET", groupsPath+"?consistency=stale", ""), http.StatusNotImplemented,
		"not_configured")
	problemIn(t, do(s, "GET", groupsPath+"/g1?consistency=stale", ""), http.StatusNotImplemented,
		"not_configured")
}

// TestStaleAccess: a stale reading shows a principal what a linearizable one shows it.
func TestStaleAccess(t *testing.T) {
	b := newStaleBed(t)
	grant := func(name string, g api.Grant) api.Token {
		t.Helper()
		made, err := b.access.Keeper.CreateToken(audited(t.Context()), &access.Anybody,
			&api.TokenRequest{Name: name, Grant: g})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	admin, member := grant("root", api.Grant{Role: api.RoleAdmin}),
		grant("someone", api.Grant{Role: api.RoleOfProjects})
	b.groups = Reading{Items: []any{api.MulticastGroup{Name: "acme-1", Version: 1},
		api.MulticastGroup{Name: "other-1", Version: 2}, api.MulticastGroup{Name: "acme", Version: 3}},
		Revision: 1, At: epochStart}
	b.projects = Reading{Items: []any{
		api.Project{Name: "acme", Spec: api.ProjectSpec{Members: []api.ProjectMember{{Way: api.WayToken,
			Name: member.ID, Role: api.ProjectViewer}}}}, api.Project{Name: "other"},
	}, Revision: 1, At: epochStart}
	const list = groupsPath + "?consistency=stale"
	if names := namesIn(t, b.do("GET", list, admin.Secret)); names != "acme acme-1 other-1" {
		t.Errorf("an administrator sees %s", names)
	}
	if names := namesIn(t, b.do("GET", list, admin.Secret, projectHeader,
		"other")); names != "other-1" {
		t.Errorf("an administrator in the project other sees %s", names)
	}
	if names := namesIn(t, b.do("GET", list, member.Secret)); names != "acme acme-1" {
		t.Errorf("a member sees %s", names)
	}
	if names := namesIn(t, b.do("GET", "/v1/projects?consistency=stale",
		member.Secret)); names != "acme" {
		t.Errorf("a member sees the projects %s", names)
	}
	problemIn(t, b.do("GET", groupsPath+"/other-1?consistency=stale", member.Secret),
		http.StatusForbidden, "forbidden")
	problemIn(t, b.do("GET", "/v1/srv6-policies?consistency=stale", member.Secret),
		http.StatusForbidden, "forbidden")
	problemIn(t, b.do("GET", list, member.Secret, projectHeader, "other"), http.StatusForbidden,
		"forbidden")
	problemIn(t, b.do("GET", list, ""), http.StatusUnauthorized, "unauthorized")
	problemIn(t, b.do("GET", list, "weft_nobody"), http.StatusUnauthorized, "unauthorized")
	problemIn(t, b.do("GET", "/v1/switches?consistency=stale", ""), http.StatusUnauthorized,
		"unauthorized")
}
