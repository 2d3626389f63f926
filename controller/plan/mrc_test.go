package plan

import (
	"strings"
	"testing"

	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/packet"
)

func TestMRCValidate(t *testing.T) {
	if err := DefaultMRC().Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want   string
		change func(*MRC)
	}{
		{"DSCP Control: 64, want at most 63", func(m *MRC) { m.DSCP.Control = 64 }},
		{"priorities 8 and 7, want at most 7", func(m *MRC) { m.DataPriority = 8 }},
		{"priority of the control class: 1, want at least 2", func(m *MRC) { m.DataPriority, m.ControlPriority = 2, 1 }},
		{"packets of the data class: 0, want 1", func(m *MRC) { m.DataPackets = 0 }},
		{"packets of the control class: 0, want 1", func(m *MRC) { m.ControlPackets = 0 }},
		{"ECN thresholds: 9 to 8", func(m *MRC) { m.ECNMin, m.ECNMax = 9, 8 }},
		{"trim size: 81 octets, want 82", func(m *MRC) { m.TrimSize = packet.MinTrimLen - 1 }},
		{"trim size: 9217 octets", func(m *MRC) { m.TrimSize = maxTrimSize + 1 }},
	} {
		m := DefaultMRC()
		c.change(&m)
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", m, err, c.want)
		}
	}
}

// TestClasses: the pipeline takes what is planned, each port has both classes once, and DSCPs that are the same are there once.
func TestClasses(t *testing.T) {
	n := network(sample.Clos(2, 2, 3))
	c := codec(t)
	m := DefaultMRC()
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
