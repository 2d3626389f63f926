package main

import (
	"io"
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/northbound"
)

func document(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// eachCommand calls f with weft and every command below it.
func eachCommand(f func(*cobra.Command)) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		f(c)
	}
	walk(newRoot(environment{stdin: strings.NewReader(""), stdout: io.Discard,
		stderr: io.Discard, getenv: func(string) string { return "" }}))
}

// documentedCodes reads the table of errors: "| 409 | `a`, `b`: … |" gives both
// codes that status, "| 405, 413 | `a`, `b` |" each the one in its place.
func documentedCodes(t *testing.T, text string) map[string]int {
	t.Helper()
	_, section, _ := strings.Cut(text, "\n## Errors\n")
	section, _, _ = strings.Cut(section, "\n## ")
	codes := make(map[string]int)
	code := regexp.MustCompile("`([a-z_]+)`")
	for _, row := range regexp.MustCompile(
		`(?m)^\| (\d{3}(?:, \d{3})*) \| (.*) \|$`).FindAllStringSubmatch(section, -1) {
		statuses, found := strings.Split(row[1], ", "), code.FindAllStringSubmatch(row[2], -1)
		for i, c := range found {
			at := statuses[0]
			if len(statuses) > 1 {
				if len(statuses) != len(found) {
					t.Fatalf("docs/api.md, Errors: which code has which status in %q?", row[0])
				}
				at = statuses[i]
			}
			status, err := strconv.Atoi(at)
			if err != nil {
				t.Fatal(err)
			}
			if other, twice := codes[c[1]]; twice {
				t.Errorf("docs/api.md, Errors: %s has the statuses %d and %d", c[1], other, status)
			}
			codes[c[1]] = status
		}
	}
	return codes
}

// TestDocumentedCodes: every code is in docs/api.md with its status.
func TestDocumentedCodes(t *testing.T) {
	if got, want := documentedCodes(t, document(t, "docs/api.md")),
		northbound.Codes(); !maps.Equal(got, want) {
		t.Errorf("docs/api.md, Errors: the codes have the statuses\n%v, want\n%v", got, want)
	}
}
