package telemetry

import (
	"flag"
	"testing"

	"github.com/weft-sdn/weft/test/reference"
)

var update = flag.Bool("update", false, "write docs/reference/telemetry.md")

// TestReference: docs/reference/telemetry.md has the metrics of the history.
func TestReference(t *testing.T) {
	page := "# Metrics of the history\n\nGenerated from the program by `go test ./telemetry -run " +
		"TestReference -update`. [telemetry.md](../telemetry.md#metrics) names the objects.\n"
	for k := range Kind(kinds) {
		page += "\n## " + k.String() + "\n\n" + reference.Head("metric", "unit", "meaning")
		for _, m := range Metrics(k) {
			if m.Meaning == "" {
				t.Errorf("%v %s has no meaning", k, m.Name)
			}
			page += reference.Row("`"+m.Name+"`", m.Unit, m.Meaning)
		}
	}
	reference.Page(t, "..", "telemetry.md", page, *update)
}
