package northbound

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
)

// known implements Causes with one past.
type known struct{ noCauses }

func (known) Past(from, at time.Time, sees func(kind, id string) bool) (v api.Past) {
	v.Since, v.At, v.Changes = from, at, []api.PastChange{}
	for _, t := range []api.PastThing{{Kind: "job", ID: "acme-1", State: "blocked"},
		{Kind: "job", ID: "x", State: "blocked"},
		{Kind: "multicast-group", ID: "acme", State: "degraded"},
		{Kind: "multicast-group", ID: "other", State: "degraded"},
		{Kind: "switch", ID: "acme", State: "down"}, {Kind: "cause", ID: "acme", State: "fault: a"}} {
		if sees(t.Kind, t.ID) {
			v.Things = append(v.Things, t)
		}
	}
	return v
}

// TestPast: the server has the past that the watcher of causes has seen, and refuses invalid
// moments.
func TestPast(t *testing.T) {
	s, f, _ := newTestServer(t)
	s.watch()
	f.Down["n1"] = true
	if _, err := s.cfg.Causes.Causes(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := do(s, "GET", "/v1/past?from=2020-01-01T00:00:00Z", "")
	var v api.Past
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Code != 200 {
		t.Fatalf("%d %s, %v", w.Code, w.Body, err)
	}
	down := false
	for _, x := range v.Things {
		down = down || x == api.PastThing{Kind: "switch", ID: "n1", State: "down"}
	}
	if !down || len(v.Changes) == 0 {
		t.Error(w.Body)
	}
	for _, at := range []string{"yesterday", "2100-01-01T00:00:00Z"} {
		if w = do(s, "GET", "/v1/past?at="+at, ""); w.Code != 422 ||
			!strings.Contains(w.Body.String(), at) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	var ago api.Past
	if w = do(s, "GET", "/v1/past?from=1h", ""); json.Unmarshal(w.Body.Bytes(), &ago) != nil ||
		len(ago.Changes) != len(v.Changes) {
		t.Errorf("an hour ago: %d %s", w.Code, w.Body)
	}
}

// TestPastOfProjects: members of projects get the groups and jobs of their projects alone.
func TestPastOfProjects(t *testing.T) {
	s, _, _ := newTestServer(t)
	s.cfg.Causes = known{}
	tokenFor(t, s, "root", api.Grant{Role: api.RoleAdmin}, 0)
	acme := "Bearer " + tokenFor(t, s, "ci", api.Grant{Role: api.RoleTenant, Tenant: "acme"}, 0).Secret
	if _, _, err := projectsOf(s).Put(t.Context(), "acme", api.ProjectSpec{},
		resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	w := do(s, "GET", "/v1/past?from=2020-01-01T00:00:00Z", "", "Authorization", acme)
	var own api.Past
	if err := json.Unmarshal(w.Body.Bytes(), &own); err != nil || len(own.Things) != 2 ||
		own.Things[0].ID != "acme-1" || own.Things[1].ID != "acme" {
		t.Errorf("%v: a member gets %s", err, w.Body)
	}
}
