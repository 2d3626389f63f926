// Package reference keeps the pages of docs/reference as the program makes them.
package reference

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// Page compares a page of docs/reference with the text that the program makes, and with update
// writes that text. Root is the folder of the project.
func Page(t testing.TB, root, name, text string, update bool) {
	t.Helper()
	file := filepath.Join(root, "docs", "reference", name)
	if update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, got := strings.Split(text, "\n"), strings.Split(string(page), "\n")
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("%s:%d is not what the program makes (run with -update): want\n%s", file, i+1,
				want[i])
		}
	}
	if len(got) > len(want) {
		t.Fatalf("%s has %d lines more than the program makes (run with -update)", file,
			len(got)-len(want))
	}
}

// Row returns a row of a Markdown table.
func Row(cells ...string) string {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.Join(strings.Fields(c), " "), "|", `\|`)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// Head returns the first two rows of a Markdown table.
func Head(columns ...string) string {
	return Row(columns...) + strings.Repeat("|---", len(columns)) + "|\n"
}

// described matches the parts of the text of a metric's description, which offers no other access.
var described = regexp.MustCompile(
	`fqName: "(\w+)", help: ("(?:[^"\\]|\\.)*"),.* variableLabels: {(.*?)}`)

// Metrics returns the table of metrics, by name.
func Metrics(all []*prometheus.Desc) string {
	var rows []string
	for _, d := range all {
		p := described.FindStringSubmatch(d.String())
		help, _ := strconv.Unquote(p[2])
		rows = append(rows, Row("`"+p[1]+"`", strings.ReplaceAll(p[3], ",", ", "), help))
	}
	slices.Sort(rows)
	return Head("metric", "labels", "meaning") + strings.Join(slices.Compact(rows), "")
}
