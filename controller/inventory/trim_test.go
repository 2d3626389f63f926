package inventory

import (
	"fmt"
	"strings"
	"testing"
)

// TestTrimSize: a fabric without a configured size trims to the size that the hardware of all
// switches uses, or to the default if no common size exists.
func TestTrimSize(t *testing.T) {
	for _, c := range []struct {
		hardware string // of its switches
		classes  string
		want     uint16
	}{
		{"", "", 146},
		{"tomahawk-5 tomahawk-5", "", 206},
		{"spectrum-4", "", 256},
		{"spectrum-4 spectrum-5 p4", "", 256},
		{"arista-7060x6 p4", "", 206},
		{"spectrum-4 tomahawk-5", "", 146},
		{"spectrum-3", "", 146}, // does not trim
		{"spectrum-4", "trimSize: 300", 300},
		{"tomahawk-5", "trimSize: 146", 146}, // the lint names it
		{"tomahawk-5", "trimSize: 0", 0},
		{"tomahawk-5", "trimLength: true", 206},
	} {
		var b strings.Builder
		b.WriteString("switches:\n")
		for i, h := range strings.Fields(c.hardware) {
			fmt.Fprintf(&b, "- {name: s%d, address: '192.0.2.1:%d', mac: '02:00:00:00:00:%02x'", i,
				8000+i, i)
			if h != "p4" {
				fmt.Fprintf(&b, ", system: sonic, hardware: %s", h)
			}
			b.WriteString("}\n")
		}
		if c.hardware == "" {
			b.Reset()
		}
		fmt.Fprintf(&b, "mrc: {mode: usid-f3216, classes: {%s}}\n",
			c.classes)
		inv, err := Load([]byte(b.String()))
		if err != nil {
			t.Fatalf("%s: %v", b.String(), err)
		}
		if got := inv.MRC.Classes.TrimSize; got != c.want {
			t.Errorf("hardware %q, classes {%s}: %d octets, want %d", c.hardware, c.classes, got, c.want)
		}
	}
}
