package northbound

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// TestDashboardIsOpen: the page asks for the token, so the page itself is open; everything else
// needs credentials.
func TestDashboardIsOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, _ := newTestServer(t, func(c *Config) {
		c.TokenFile = file
		c.Dashboard = http.HandlerFunc(func(w http.ResponseWriter,
			r *http.Request) {
			_, _ = w.Write([]byte("page " + r.URL.Path))
		})
	})
	for target, want := range map[string]int{
		"/": 200, "/assets/index.js": 200, "/assets": 401, "/v1/topology": 401, "/nothing": 401,
		"//": 401, "/assets/../v1/topology": 401,
	} {
		w := do(s, "GET", target, "")
		if w.Code != want {
			t.Errorf("GET %s: %d, want %d", target, w.Code, want)
		}
		// A path is what it says: no path of files leads to the API.
		if want == 200 && w.Body.String() != "page "+target {
			t.Errorf("GET %s: %q", target, w.Body)
		}
	}
	if w := do(s, "HEAD", "/", ""); w.Code != 200 {
		t.Errorf("HEAD /: %d", w.Code)
	}
	problemIn(t, do(s, "POST", "/", "{}", "Authorization", "Bearer secret"), 405, "method_not_allowed")

	without, _, _ := newTestServer(t, func(c *Config) { c.TokenFile = file })
	problemIn(t, do(without, "GET", "/", ""), 401, "unauthorized")
	problemIn(t, do(without, "GET", "/", "", "Authorization", "Bearer secret"), 404, "not_found")
}
