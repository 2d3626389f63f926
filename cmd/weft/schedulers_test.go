package main

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/northbound/northboundtest"
)

// TestSchedulersPage: the commands of docs/schedulers.md print what the page shows.
func TestSchedulersPage(t *testing.T) {
	multipath, snap := northboundtest.NewFabric(ev.ModeStructured)
	fake, err := newFakeAPI(func(c *northbound.Config) { c.Multipath = multipath })
	if err != nil {
		t.Fatal(err)
	}
	fake.Snapshot = snap
	server := httptest.NewServer(fake.handler)
	defer server.Close()
	blocks := regexp.MustCompile("(?ms)^```\n\\$ weft (.*?)\n(.*?)^```$").
		FindAllStringSubmatch(document(t, "docs/schedulers.md"), -1)
	if len(blocks) < 3 {
		t.Fatalf("docs/schedulers.md has %d commands", len(blocks))
	}
	for _, b := range blocks {
		var stdout, stderr strings.Builder
		env := environment{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr,
			getenv: func(name string) string {
				return map[string]string{"WEFT_SERVER": server.URL,
					"WEFT_CREDENTIALS": t.TempDir() + "/none"}[name]
			}}
		if status := execute(t.Context(), strings.Fields(b[1]), env); status != exitOK {
			t.Errorf("weft %s: status %d: %s", b[1], status, stderr.String())
		}
		if stdout.String() != b[2] {
			t.Errorf("weft %s prints\n%s\nand docs/schedulers.md has\n%s", b[1], stdout.String(), b[2])
		}
	}
}
