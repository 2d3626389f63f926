package topograph

import (
	"strings"
	"testing"

	"github.com/weft-sdn/weft/clients/scheduler"
	"github.com/weft-sdn/weft/clients/scheduler/schedulertest"
)

func TestWriteGraph(t *testing.T) {
	var out strings.Builder
	if err := WriteGraph(&out, scheduler.NewTree(schedulertest.Clos(1, 1, 1))); err != nil {
		t.Fatal(err)
	}
	want := `{
  "instances": [
    {
      "id": "n001",
      "network_layers": [
        "P1-T0-1",
        "P1-T1-1",
        "fabric"
      ]
    }
  ]
}
`
	if out.String() != want {
		t.Errorf("%s\nwant %s", out.String(), want)
	}
}
