package topograph

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/clients/scheduler"
	"github.com/weft-sdn/weft/clients/scheduler/schedulertest"
)

// ask sends a request, as topograph's provider does, and returns status and body.
func ask(t *testing.T, method, url, token, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestNetQ: the calls of topograph v1.0.0 (pkg/providers/netq), and what it makes of the answers:
// exactly one graph, hosts of tier -1, links from a tier to a higher one.
func TestNetQ(t *testing.T) {
	server := httptest.NewServer(Handler(func(_ context.Context, token string) (*scheduler.Facts,
		error) {
		if token != "secret" {
			return nil, &api.Problem{Status: http.StatusUnauthorized, Code: "unauthorized"}
		}
		return schedulertest.Clos(2, 1, 2), nil
	}))
	defer server.Close()
	status, body := ask(t, "POST", server.URL+"/api/netq/auth/v1/login", "",
		`{"username":"topograph", "password":"secret"}`)
	var s session
	if err := json.Unmarshal([]byte(body), &s); err != nil || status != http.StatusOK ||
		s.Token != "secret" || len(s.Premises) != 1 || !s.Premises[0].Viewed {
		t.Fatalf("login: %d %s, %v", status, body, err)
	}
	status, body = ask(t, "GET", server.URL+"/api/netq/auth/v1/select/opid/1", s.Token, "")
	if status != http.StatusOK || strings.TrimSpace(body) != `{"access_token":"secret"}` {
		t.Fatalf("select: %d %s", status, body)
	}
	const fetch = "/api/netq/telemetry/v1/object/topologygraph/fetch-topology?timestamp=0"
	status, body = ask(t, "POST", server.URL+fetch, s.Token,
		`{"filters": [], "subgroupNestingDepth":2}`)
	var graphs []graph
	if err := json.Unmarshal([]byte(body), &graphs); err != nil || status != http.StatusOK ||
		len(graphs) != 1 {
		t.Fatalf("fetch: %d %s, %v", status, body, err)
	}
	tiers := make(map[string]int)
	for _, n := range graphs[0].Nodes[0].Nodes {
		tiers[n.ID] = n.Tier
	}
	var links []string
	for _, l := range graphs[0].Links {
		low, high, _ := strings.Cut(l.ID, "-*-")
		if tiers[low]+1 != tiers[high] {
			t.Errorf("link %s joins tiers %d and %d", l.ID, tiers[low], tiers[high])
		}
		links = append(links, low+" "+high)
	}
	slices.Sort(links)
	want := []string{"P1-T0-1 P1-T1-1", "P1-T0-2 P1-T1-3", "P1-T1-1 fabric", "P1-T1-3 fabric",
		"n001 P1-T0-1", "n002 P1-T0-1", "n003 P1-T0-2", "n004 P1-T0-2"}
	if !slices.Equal(links, want) {
		t.Errorf("links %q, want %q", links, want)
	}

	for _, x := range []struct {
		method, path, token, body string
		want                      int
	}{
		{"POST", "/api/netq/auth/v1/login", "", "no JSON", http.StatusBadRequest},
		{"POST", "/api/netq/auth/v1/login", "", `{"username":"` + strings.Repeat("x", mostLogin) + `"}`,
			http.StatusBadRequest},
		{"POST", "/api/netq/auth/v1/login", "", `{"username":"u"}`, http.StatusUnauthorized},
		{"GET", "/api/netq/auth/v1/select/opid/1", "", "", http.StatusUnauthorized},
		{"POST", fetch, "", "", http.StatusUnauthorized},
		{"POST", fetch, "other", "", http.StatusUnauthorized},
		{"GET", "/nmx/v1/compute-nodes", s.Token, "", http.StatusNotFound},
	} {
		if status, body := ask(t, x.method, server.URL+x.path, x.token, x.body); status != x.want {
			t.Errorf("%s %s: %d %s, want %d", x.method, x.path, status, body, x.want)
		}
	}
}
