package main

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/northbound"
)

// TestTraceJourney: a journey is shown hop by hop, as text and as JSON, and wrong flags are named.
func TestTraceJourney(t *testing.T) {
	const frame = "20010db8000500000000000000000001"
	fake, err := newFakeAPI(func(c *northbound.Config) {
		c.Traces = func(_ context.Context, sw string, _ northbound.TraceFilter,
			take func(api.PacketTrace, uint64) error) error {
			if sw != "n6" {
				return northbound.ErrNoTraces
			}
			return take(api.PacketTrace{Record: json.RawMessage(`{"id":7,"origin":"received","port":11,` +
				`"length":60,"frame":"` + frame + `","outcome":{"result":"transmitted","port":11,` +
				`"length":60,"frame":"` + frame + `"}}`)}, 0)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(fake.handler)
	defer server.Close()
	run := func(status int, args ...string) (out, failed string) {
		t.Helper()
		var stdout, stderr strings.Builder
		got := execute(t.Context(), append([]string{"trace", "journey"}, args...), environment{
			stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
			getenv: func(name string) string {
				return map[string]string{"WEFT_SERVER": server.URL, "WEFT_DATA_DIR": t.TempDir()}[name]
			},
		})
		if got != status {
			t.Fatalf("%v: status %d, want %d: %s", args, got, status, stderr.String())
		}
		return stdout.String(), stderr.String()
	}
	text, _ := run(0, "--from", "s1")
	for _, want := range []string{"== n6, port 11, from host s1\n", "received on port 11, 60 octets",
		"Delivered to s1.\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	text, _ = run(0, "--from", "s1", "--json")
	var j api.Journey
	if err := json.Unmarshal([]byte(text), &j); err != nil || !j.Complete || len(j.Hops) != 1 ||
		!strings.Contains(string(j.Hops[0].Record), frame) {
		t.Errorf("%v: %s", err, text)
	}
	if _, text = run(2); !strings.Contains(text, "want --from or --group") {
		t.Error(text)
	}
	if _, text = run(1, "--from", "nobody"); !strings.Contains(text, `query.from is nobody`) {
		t.Error(text)
	}
}
