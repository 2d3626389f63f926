package northbound

import (
	"errors"
	"net/http"
	"testing"
)

// TestRelease: a controller withholds a finished answer to a GET, whatever its subject, if the
// controller may no longer decide by then. The controller still answers questions about itself.
func TestRelease(t *testing.T) {
	var deposed error
	s, f, _ := newTestServer(t, func(c *Config) { c.Current = func() error { return deposed } })
	if w := do(s, "POST", groupsPath, groupBody("g1", 1)); w.Code != http.StatusCreated {
		t.Fatal(w.Code, w.Body)
	}
	paths := []string{groupsPath, groupsPath + "/g1", "/v1/topology", "/v1/switches", "/v1/tokens",
		"/v1/events/latest", "/openapi.json"}
	tags := make(map[string]string)
	for _, path := range paths {
		w := do(s, "GET", path, "")
		if w.Code != http.StatusOK || w.Header().Get("Retry-After") != "" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		tags[path] = w.Header().Get("ETag")
	}
	if tags[groupsPath+"/g1"] == "" {
		t.Error("no ETag")
	}
	deposed = errors.New("the lease is over")
	for _, path := range paths {
		w := do(s, "GET", path, "")
		p := problemIn(t, w, http.StatusServiceUnavailable, "no_decider")
		if w.Header().Get("Retry-After") != "1" || w.Header().Get("ETag") != "" || p.Instance == "" {
			t.Errorf("%s: %v %+v", path, w.Header(), p)
		}
	}
	problemIn(t, do(s, "GET", groupsPath+"/none", ""), http.StatusNotFound, "not_found")
	for _, path := range []string{"/healthz", "/metrics"} {
		if w := do(s, "GET", path, ""); w.Code != http.StatusOK {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	// A change that was kept was: its answer is given.
	if w := do(s, "POST", groupsPath, groupBody("g2", 2)); w.Code != http.StatusCreated ||
		len(f.Groups.Items) != 2 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := do(s, "DELETE", groupsPath+"/g1", ""); w.Code != http.StatusNoContent ||
		len(f.Groups.Items) != 1 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
