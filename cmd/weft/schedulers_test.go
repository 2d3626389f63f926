package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/northbound/northboundtest"
)

// fabricAPI returns the API of the fabric of northboundtest.
func fabricAPI(t *testing.T, change ...func(*northbound.Config)) *httptest.Server {
	t.Helper()
	multipath, snap := northboundtest.NewFabric(ev.ModeStructured)
	fake, err := newFakeAPI(append(change, func(c *northbound.Config) { c.Multipath = multipath })...)
	if err != nil {
		t.Fatal(err)
	}
	fake.Snapshot = snap
	server := httptest.NewServer(fake.handler)
	t.Cleanup(server.Close)
	return server
}

func environmentOf(t *testing.T, api *httptest.Server, stdout, stderr io.Writer) environment {
	none := t.TempDir() + "/none"
	return environment{stdin: strings.NewReader(""), stdout: stdout, stderr: stderr,
		getenv: func(name string) string {
			return map[string]string{"WEFT_SERVER": api.URL, "WEFT_CREDENTIALS": none}[name]
		}}
}

// TestTopographServe: topograph's password is the controller's token; the command adds no separate
// token.
func TestTopographServe(t *testing.T) {
	tokens := t.TempDir() + "/tokens"
	if err := os.WriteFile(tokens, []byte("letmein\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	api := fabricAPI(t, func(c *northbound.Config) { c.TokenFile = tokens })
	ctx, stop := context.WithCancel(t.Context())
	said, stdout := io.Pipe()
	done := make(chan int)
	go func() {
		done <- execute(ctx, []string{"topograph", "serve", "--listen", "127.0.0.1:0"},
			environmentOf(t, api, stdout, io.Discard))
	}()
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.Fields(line)[2]
	for token, want := range map[string]int{"letmein": http.StatusOK, "no": http.StatusUnauthorized} {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost,
			url+"/api/netq/telemetry/v1/object/topologygraph/fetch-topology", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != want ||
			strings.Contains(string(body), `"h1-*-a1"`) != (want == http.StatusOK) {
			t.Errorf("with the token %q: %d %s, %v; want %d", token, resp.StatusCode, body, err, want)
		}
	}
	stop()
	if status := <-done; status != exitOK {
		t.Errorf("it ended with status %d", status)
	}
}

// TestSchedulersPage: the commands of docs/schedulers.md print what the page shows.
func TestSchedulersPage(t *testing.T) {
	server := fabricAPI(t)
	blocks := regexp.MustCompile("(?ms)^```\n\\$ weft (.*?)\n(.*?)^```$").
		FindAllStringSubmatch(document(t, "docs/schedulers.md"), -1)
	if len(blocks) < 2 {
		t.Fatalf("docs/schedulers.md has %d commands", len(blocks))
	}
	for _, b := range blocks {
		var stdout, stderr strings.Builder
		env := environmentOf(t, server, &stdout, &stderr)
		if status := execute(t.Context(), strings.Fields(b[1]), env); status != exitOK {
			t.Errorf("weft %s: status %d: %s", b[1], status, stderr.String())
		}
		if stdout.String() != b[2] {
			t.Errorf("weft %s prints\n%s\nand docs/schedulers.md has\n%s", b[1], stdout.String(), b[2])
		}
	}
}
