package northbound

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestRoutes: the router finds the route of a path, its named segments and its methods, and
// redirects nothing.
func TestRoutes(t *testing.T) {
	var got string
	answers := func(with string) func(*exchange) {
		return func(c *exchange) { got = with + " " + c.route + " " + c.Param("name") }
	}
	steps := 0
	table := &router{steps: []func(*exchange){func(c *exchange) { steps++; c.Next() }},
		missing: answers("missing"), other: answers("other")}
	for _, path := range []string{"/", "/a/{name}", "/a/fixed/b", "/a/{name}/c", "/files/*"} {
		table.Handle(http.MethodGet, path, answers("got"))
	}
	table.Handle(http.MethodPut, "/a/{name}", answers("put"))
	for _, c := range []struct{ method, target, want, allow string }{
		{"GET", "/", "got / ", ""},
		{"GET", "/a/x", "got /a/:name x", ""},
		{"PUT", "/a/x", "put /a/:name x", ""},
		{"GET", "/a/fixed", "got /a/:name fixed", ""}, // a fixed segment that leads nowhere
		{"GET", "/a/fixed/b", "got /a/fixed/b ", ""},
		{"GET", "/a/fixed/c", "got /a/:name/c fixed", ""},
		{"GET", "/a/x%2Fy", "got /a/:name x/y", ""},
		{"GET", "/a/x%20y+z", "got /a/:name x y+z", ""},
		{"GET", "/files/", "got /files/* ", ""},
		{"GET", "/files/b/c.js", "got /files/* ", ""},
		{"GET", "/files", "missing  ", ""},
		{"GET", "/a/", "missing  ", ""},
		{"GET", "/a/x/", "missing  ", ""},
		{"GET", "//a/x", "missing  ", ""},
		{"GET", "/a/../a/x", "missing  ", ""},
		{"GET", "/files/../a/x", "missing  ", ""},
		{"GET", "/files//b", "missing  ", ""},
		{"GET", "/a/fixed/none", "missing  ", ""},
		{"HEAD", "/a/x", "other  x", "GET, PUT"},
		{"DELETE", "/a/fixed/b", "other  ", "GET"},
	} {
		got, steps = "", 0
		w := httptest.NewRecorder()
		table.ServeHTTP(w, httptest.NewRequest(c.method, "http://h"+c.target, nil))
		if got != c.want || w.Header().Get("Allow") != c.allow || steps != 1 {
			t.Errorf("%s %s: %q, allows %q, %d steps: want %q, %q, 1", c.method, c.target, got,
				w.Header().Get("Allow"), steps, c.want, c.allow)
		}
	}
	r := httptest.NewRequest(http.MethodOptions, "http://h/", nil)
	r.URL.Path = "*" // as of OPTIONS *
	table.ServeHTTP(httptest.NewRecorder(), r)
	if got != "missing  " {
		t.Errorf("OPTIONS *: %q", got)
	}
}
