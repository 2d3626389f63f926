package main

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/lab/demo/figure"
)

// figureRow is a row of the table of figures in docs/conformance.md: its command and length.
var figureRow = regexp.MustCompile(
	"(?m)^\\| [^|]+ \\| [^|]+ \\| `weft ([^`|]+)` \\| (short|long) \\|")

// TestFigures runs each figure of "weft demo figure" and the commands of the table of figures in
// docs/conformance.md: each ends with status 0 and a JSON document. The long ones run with
// WEFT_FIGURES, as make soak sets it.
func TestFigures(t *testing.T) {
	if testing.Short() {
		t.Skip("many packets on one goroutine each")
	}
	rows := figureRow.FindAllStringSubmatch(document(t, "docs/conformance.md"), -1)
	for _, f := range figure.All {
		rows = append(rows, []string{"", "demo figure " + f.Name, "short"})
	}
	const least = 20
	if len(rows) < least {
		t.Fatalf("%d figures, want %d at least", len(rows), least)
	}
	ran := map[string]bool{} // by command
	for _, row := range rows {
		command := row[1]
		if ran[command] {
			continue // two figures of one command
		}
		ran[command] = true
		t.Run(strings.ReplaceAll(command, " ", "_"), func(t *testing.T) {
			if row[2] == "long" && os.Getenv("WEFT_FIGURES") == "" {
				t.Skip("long: WEFT_FIGURES=1 runs it")
			}
			t.Parallel()
			showFigure(t.Context(), t, strings.Fields(command))
		})
	}
}

// showFigure runs a demo, which must report that all its promises hold.
func showFigure(ctx context.Context, t *testing.T, args []string) {
	t.Helper()
	var out, errs strings.Builder
	status := execute(ctx, args, environment{
		stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: os.Getenv,
	})
	if status != exitOK {
		t.Fatalf("status %d: %s\n%s", status, errs.String(), out.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var r struct{ Demo string }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil || r.Demo == "" {
		t.Errorf("the last line is %q, want the JSON document of a demo: %v", lines[len(lines)-1], err)
	}
}
