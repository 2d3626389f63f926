package plan

import (
	"testing"

	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
)

// TestClasses: the pipeline takes what is planned, each port has both classes once, and DSCPs that are the same are there once.
func TestClasses(t *testing.T) {
	n := network(sample.Clos(2, 2, 3))
	c := codec(t)
	m := inventory.DefaultClasses()
	m.DSCP.TrimmedLastHop, m.DSCP.TrimmableRetx = m.DSCP.Trimmed, m.DSCP.Trimmable
	for i := range n.Inventory.Switches {
		sw := &n.Inventory.Switches[i]
		ports := len(n.fabricPorts(sw)) + len(n.hostPorts(sw))
		seen := map[string]bool{}
		for _, e := range n.Classes(sw, m) {
			if _, err := c.Encode(e); err != nil {
				t.Errorf("%s: %v: %v", sw.Name, e, err)
			}
			if seen[string(e.Key())] {
				t.Errorf("%s: twice: %v", sw.Name, e)
			}
			seen[string(e.Key())] = true
		}
		if want := 4 + 2*ports + 1; len(seen) != want {
			t.Errorf("%s: %d entries, want %d", sw.Name, len(seen), want)
		}
	}
}
