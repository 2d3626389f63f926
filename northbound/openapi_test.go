package northbound

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/controller/mrc/ev"

	"github.com/weft-sdn/weft/api"
)

// TestOpenAPIGolden: a change of the contract shows in a diff.
func TestOpenAPIGolden(t *testing.T) {
	s, _, _ := newTestServer(t)
	got, err := s.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	const file = "testdata/openapi.json"
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := firstDifference(string(got)+"\n", string(want)); d != "the same" {
		t.Errorf("%s (run with -update to accept):\n%s", file, d)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/openapi.json", nil))
	var served bytes.Buffer
	if err := json.Indent(&served, w.Body.Bytes(), "", "  "); err != nil || w.Code != 200 {
		t.Fatalf("/openapi.json: %d, %v", w.Code, err)
	}
	if d := firstDifference(strings.TrimSpace(served.String()), string(got)); d != "the same" {
		t.Errorf("/openapi.json differs from the document:\n%s", d)
	}
}

// TestOpenAPISane checks what a generator of clients relies on.
func TestOpenAPISane(t *testing.T) {
	s, _, _ := newTestServer(t)
	b, err := s.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	if v, _ := doc["openapi"].(string); !strings.HasPrefix(v, "3.1.") {
		t.Errorf("openapi is %q", v)
	}
	if servers, _ := doc["servers"].([]any); len(servers) == 0 {
		t.Error("no servers: a client would have to guess them")
	}
	schemas := doc["components"].(map[string]any)["schemas"].(map[string]any)
	walk(schemas, func(at string, m map[string]any) {
		if _, ok := m["patternDescription"].(string); ok {
			t.Errorf("%s has patternDescription, which OpenAPI does not know", at)
		}
	})
	used := make(map[string]bool)
	walk(doc, func(at string, m map[string]any) {
		ref, ok := m["$ref"].(string)
		if !ok {
			return
		}
		name, ok := strings.CutPrefix(ref, "#/components/schemas/")
		if !ok || schemas[name] == nil {
			t.Errorf("%s refers to %s, which is not there", at, ref)
		}
		used[name] = true
	})
	for name := range schemas {
		if !used[name] {
			t.Errorf("schema %s is not used", name)
		}
	}
	ids := make(map[string]bool)
	inPath := regexp.MustCompile(`\{(\w+)\}`)
	var operations []string
	for path, item := range doc["paths"].(map[string]any) {
		for method, v := range item.(map[string]any) {
			op := v.(map[string]any)
			at := strings.ToUpper(method) + " " + path
			operations = append(operations, at)
			id, _ := op["operationId"].(string)
			if id == "" || ids[id] {
				t.Errorf("%s: operationId %q is empty or taken", at, id)
			}
			ids[id] = true
			if op["summary"] == nil || len(op["tags"].([]any)) != 1 {
				t.Errorf("%s: no summary, or not one tag", at)
			}
			var declared []string
			params, _ := op["parameters"].([]any)
			for _, p := range params {
				p := p.(map[string]any)
				if p["in"] == "path" {
					declared = append(declared, p["name"].(string))
				}
				if p["description"] == nil {
					t.Errorf("%s: parameter %s has no description", at, p["name"])
				}
			}
			var wanted []string
			for _, m := range inPath.FindAllStringSubmatch(path, -1) {
				wanted = append(wanted, m[1])
			}
			slices.Sort(declared)
			slices.Sort(wanted)
			if !slices.Equal(declared, wanted) {
				t.Errorf("%s declares the path parameters %v", at, declared)
			}
			good := false
			for code, r := range op["responses"].(map[string]any) {
				good = good || strings.HasPrefix(code, "2") || code == "302"
				content, _ := r.(map[string]any)["content"].(map[string]any)
				if code[0] >= '4' && code[0] <= '5' && path != "/readyz" && content[api.ProblemType] == nil {
					t.Errorf("%s: %s is not a problem", at, code)
				}
			}
			if !good {
				t.Errorf("%s has no good end", at)
			}
		}
	}
	for _, want := range []string{
		"GET /v1/topology", "GET /v1/switches", "GET /v1/switches/{id}/tables",
		"GET /v1/switches/{id}/tables/{table}/entries",
		"GET /v1/switches/{id}/counters", "POST /v1/multicast-groups", "GET /v1/multicast-groups",
		"GET /v1/multicast-groups/{name}",
		"PUT /v1/multicast-groups/{name}", "PATCH /v1/multicast-groups/{name}",
		"DELETE /v1/multicast-groups/{name}",
		"GET /v1/multicast-groups/{name}/tree", "GET /v1/multicast-groups/{name}/state",
		"POST /v1/multicast-groups/{name}:reset",
		"GET /v1/fabric", "GET /v1/ev-profiles", "GET /v1/ev-profiles/{name}",
		"PUT /v1/ev-profiles/{name}", "PATCH /v1/ev-profiles/{name}",
		"DELETE /v1/ev-profiles/{name}", "GET /v1/ev-profiles/{name}/evs",
		"GET /v1/ev-profiles/{name}/evs/{ev}/path",
		"GET /v1/cc-profiles", "POST /v1/cc-profiles", "GET /v1/cc-profiles/{name}",
		"PUT /v1/cc-profiles/{name}", "PATCH /v1/cc-profiles/{name}",
		"DELETE /v1/cc-profiles/{name}", "GET /v1/hosts", "GET /v1/hosts/{name}",
		"PUT /v1/hosts/{name}/ports/{port}", "GET /v1/links",
		"GET /v1/links/{id}", "PUT /v1/links/{id}", "PUT /v1/nodes/{id}", "PUT /v1/planes/{plane}",
		"GET /v1/suspects", "GET /v1/ev-probes",
		"GET /v1/events", "GET /healthz", "GET /readyz", "GET /v1/bgp-peers", "GET /v1/bgp-peers/{name}",
	} {
		if !slices.Contains(operations, want) {
			t.Errorf("%s is not in the document", want)
		}
	}
}

// TestStatusesAreDocumented: an operation answers all kinds of faulty requests only with statuses
// from the operation's documentation.
func TestStatusesAreDocumented(t *testing.T) {
	quick := func(c *Config) { c.Limits.Rate = 1e6 } // this is one client
	plain, _, _ := newTestServer(t, quick)
	fabric, _ := newFabricServer(t, ev.ModeStructured)
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("letmein\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	locked, _, _ := newTestServer(t, quick, func(c *Config) { c.TokenFile = tokens })
	seen := make(map[int]int)
	for _, s := range []*Server{plain, fabric, locked} {
		for path, item := range s.api.OpenAPI().Paths {
			for method, op := range map[string]*huma.Operation{
				"GET": item.Get, "PUT": item.Put, "POST": item.Post, "PATCH": item.Patch, "DELETE": item.Delete,
			} {
				if op == nil || endless(path) {
					continue
				}
				for _, name := range []string{"x", "1", strings.Repeat("y", 600)} {
					at := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, name)
					for _, request := range []struct{ query, body, contentType string }{
						{"", "", ""}, {"?nosuch=1", "", ""}, {"?limit=x&continue=y&denied=z", "", ""},
						{"?limit=0", "", ""},
						{"", "{", "application/json"}, {"", `{"nosuch": 1}`, "application/json"},
						{"", `{"spec": {}}`, "application/json"},
						{"", `{"spec": {}}`, "text/csv"}, {"", `{"spec": 7}`, "application/merge-patch+json"},
						{"", `{"name": "other", "spec": {"admin": "drained"}}`, "application/json"},
					} {
						r := httptest.NewRequest(method, at+request.query, strings.NewReader(request.body))
						if request.contentType != "" {
							r.Header.Set("Content-Type", request.contentType)
						}
						w := httptest.NewRecorder()
						s.Handler().ServeHTTP(w, r)
						seen[w.Code]++
						if op.Responses[strconv.Itoa(w.Code)] == nil {
							t.Errorf("%s %s, %s: %d is not documented: %.300s", method,
								at[:min(len(at), 60)]+request.query, request.body, w.Code, w.Body)
						}
					}
				}
			}
		}
	}
	for _, status := range []int{200, 400, 401, 404, 415, 422, 501} {
		if seen[status] == 0 {
			t.Errorf("no request was answered by %d", status)
		}
	}
}

func walk(v any, visit func(at string, m map[string]any)) { walkAt("", v, visit) }

func walkAt(at string, v any, visit func(at string, m map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(at, v)
		for k, e := range v {
			walkAt(at+"/"+k, e, visit)
		}
	case []any:
		for _, e := range v {
			walkAt(at, e, visit)
		}
	}
}
