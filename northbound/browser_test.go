package northbound

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/weft-sdn/weft/access"
)

// TestBrowserHeaders: every answer, secrets and refusals included, says what a browser must not do
// with it; over TLS it forbids the way back to HTTP. An answer that a member forwards has each
// header once, and the dashboard's files are cached as their own headers say.
func TestBrowserHeaders(t *testing.T) {
	dashboard := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
	})
	s, _, _ := newTestServer(t, func(c *Config) { c.Dashboard = dashboard })
	base, _ := serve(t, s)
	member, _ := newTestMember(t, base, func(c *Config) { c.Dashboard = dashboard })
	for name, server := range map[string]*Server{"decider": s, "member": member} {
		for _, c := range []struct{ method, path, body, cache string }{
			{"POST", tokensPath, `{"name":"a","role":"viewer"}`, "no-store"},
			{"POST", sessionPath, `{"user":"a","password":"b"}`, "no-store"},
			{"GET", "/v1/backup", "", "no-store"}, {"GET", groupsPath, "", "no-store"},
			{"GET", "/openapi.json", "", "no-store"}, {"GET", "/v1/nothing", "", "no-store"},
			{"PUT", "/metrics", "", "no-store"}, {"GET", "/metrics", "", "no-store"},
			{"GET", "/healthz", "", "no-store"}, {"GET", "/", "", "no-cache"},
		} {
			for scheme, hsts := range map[string]int{"http": 0, "https": 1} {
				w := do(server, c.method, scheme+"://example.com"+c.path, c.body)
				h := w.Header()
				if !slices.Equal(h.Values("X-Content-Type-Options"), []string{"nosniff"}) ||
					!slices.Equal(h.Values("Cache-Control"), []string{c.cache}) ||
					len(h.Values("Strict-Transport-Security")) != hsts {
					t.Errorf("%s: %s %s by %s: %d, %v", name, c.method, c.path, scheme, w.Code, h)
				}
			}
		}
	}
}

// TestOpenAPIAtOnce: clients that request the document at the same time share one text, made once.
func TestOpenAPIAtOnce(t *testing.T) {
	s, _, _ := newTestServer(t)
	if scope := plainRoutes["/openapi.json"]; scope != access.Self {
		t.Fatal(scope)
	}
	for _, path := range []string{"/openapi.json", "/openapi-3.0.yaml"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var all sync.WaitGroup
		texts := make([]string, 60)
		for i := range texts {
			all.Go(func() {
				w := httptest.NewRecorder()
				s.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
				texts[i] = w.Body.String()
			})
		}
		all.Wait()
		runtime.ReadMemStats(&after)
		// 60 copies of the text by a growing recorder, in addition to making the text once.
		most := uint64(60*4*len(texts[0]) + 400<<20)
		took := after.TotalAlloc - before.TotalAlloc
		texts = slices.Compact(texts)
		if len(texts) != 1 || len(texts[0]) < 1<<16 || took > most {
			t.Errorf("%s: %d texts of %d octets took %d MiB, want one and at most %d", path, len(texts),
				len(texts[0]), took>>20, most>>20)
		}
	}
}
