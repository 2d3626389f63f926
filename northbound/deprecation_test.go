package northbound

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"
)

// TestDeprecations: an answer of a deprecated operation says since when it is, and when it will be
// gone; so does a refusal. The document marks that operation. Others say nothing.
func TestDeprecations(t *testing.T) {
	since := time.Date(2027, 2, 3, 4, 5, 6, 0, time.FixedZone("", 3600))
	deprecations["delete-multicast-group"] = deprecation{since, since.AddDate(1, 0, 0)}
	defer delete(deprecations, "delete-multicast-group")
	s, _, _ := newTestServer(t)
	if w := do(s, http.MethodPost, groupsPath, groupBody("g1", 1)); w.Code != http.StatusCreated {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for _, status := range []int{http.StatusNoContent, http.StatusNotFound} {
		w := do(s, http.MethodDelete, groupsPath+"/g1", "")
		if w.Code != status || w.Header().Get("Deprecation") != "@1801623906" ||
			w.Header().Get("Sunset") != "Thu, 03 Feb 2028 03:05:06 GMT" {
			t.Errorf("%d %v, want %d", w.Code, w.Header(), status)
		}
	}
	if h := do(s, http.MethodGet, groupsPath+"/g1", "").Header(); h.Get("Deprecation") != "" ||
		h.Get("Sunset") != "" {
		t.Errorf("of an operation that stays: %v", h)
	}
	document, err := s.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var of struct {
		Paths map[string]map[string]struct {
			OperationID string
			Deprecated  bool
		}
	}
	if err := json.Unmarshal(document, &of); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, methods := range of.Paths {
		for _, op := range methods {
			_, want := deprecations[op.OperationID]
			if want {
				found++
			}
			if op.Deprecated != want {
				t.Errorf("%s: deprecated is %v in the document", op.OperationID, op.Deprecated)
			}
		}
	}
	if found != len(deprecations) {
		t.Errorf("%d of %d deprecated operations exist", found, len(deprecations))
	}
	for id, d := range deprecations {
		if !d.since.Before(d.sunset) {
			t.Errorf("%s is gone at %v, and deprecated since %v", id, d.sunset, d.since)
		}
	}
}
