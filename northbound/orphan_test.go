package northbound

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
)

// TestOrphans: the API lists orphans by switch and counts orphans. A dry run of a deletion deletes
// nothing, and deleting a switch's orphans keeps the orphans of other switches.
func TestOrphans(t *testing.T) {
	s, f, _ := newTestServer(t)
	for _, name := range []string{"multicast-group-5@n1", "tenant-2@n1", "multicast-group-5@n6"} {
		kind, _, _ := strings.Cut(name, "-")
		f.Strays = append(f.Strays, api.Orphan{Name: name, Switch: name[strings.Index(name, "@")+1:],
			Kind: api.OrphanKind(kind), Entries: 3})
	}
	do := func(method, path string, status int) string {
		t.Helper()
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != status {
			t.Errorf("%s %s: %d, want %d: %s", method, path, w.Code, status, w.Body)
		}
		return w.Body.String()
	}
	listed := func(path string, names ...string) {
		t.Helper()
		var list api.List[api.Orphan]
		if err := json.Unmarshal([]byte(do("GET", path, 200)), &list); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range list.Items {
			got = append(got, o.Name)
		}
		if strings.Join(got, " ") != strings.Join(names, " ") {
			t.Errorf("%s: %q, want %q", path, got, names)
		}
	}
	listed("/v1/orphans", "multicast-group-5@n1", "multicast-group-5@n6", "tenant-2@n1")
	listed("/v1/orphans?switch=n6", "multicast-group-5@n6")
	listed("/v1/orphans?limit=2", "multicast-group-5@n1", "multicast-group-5@n6")
	do("GET", "/v1/orphans?switch=n7", 422)
	do("DELETE", "/v1/orphans", 422)
	do("DELETE", "/v1/orphans?switch=n7", 404)
	do("DELETE", "/v1/orphans/tenant-3@n1", 404)
	if m := do("GET", "/metrics", 200); !strings.Contains(m,
		`weft_switch_orphans{kind="multicast",switch="n1"} 1`) ||
		!strings.Contains(m, `weft_switch_orphan_entries{kind="tenant",switch="n1"} 3`) {
		t.Error("the metrics lack orphans")
	}
	for _, path := range []string{"/v1/orphans/tenant-2@n1?dryRun=true",
		"/v1/orphans?switch=n1&dryRun=true"} {
		if body := do("DELETE", path, 200); !strings.Contains(body, `"entity":"multicast/64"`) {
			t.Errorf("%s: %s", path, body)
		}
	}
	listed("/v1/orphans", "multicast-group-5@n1", "multicast-group-5@n6", "tenant-2@n1")
	do("DELETE", "/v1/orphans/tenant-2@n1", 204)
	if body := do("DELETE", "/v1/orphans?switch=n1", 200); !strings.Contains(body,
		`{"deleted":["multicast-group-5@n1"]}`) {
		t.Errorf("deleted: %s", body)
	}
	listed("/v1/orphans", "multicast-group-5@n6")
}
