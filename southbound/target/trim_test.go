package target_test

import (
	"fmt"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/southbound/target"
)

// TestTrimSizes: each hardware accepts the sizes that it trims to; Lint names the hardware for one
// octet less or more.
func TestTrimSizes(t *testing.T) {
	for _, c := range []struct {
		chip        target.Hardware
		least, most uint16 // 0: none
	}{
		{"arista-7060x6", 206, 206},
		{"tomahawk-5", 206, 206},
		{"spectrum-4", 256, 4084},
		{"spectrum-5", 256, 4084},
		{"sn5600", 256, 4084},
		{"spectrum-1", 0, 0},
		{"spectrum-2", 0, 0},
		{"spectrum-3", 0, 0},
		{"trident-3", 0, 0},
		{"tomahawk-1", 0, 0},
		{"tomahawk-2", 0, 0},
		{"cisco-8000", 0, 0},
		{"sonic-vs", 0, 0},
		{"sonic-vpp", 0, 0},
	} {
		for size, fine := range map[uint16]bool{c.least - min(c.least, 1): false, c.least: c.least > 0,
			c.most: c.most > 0, c.most + 1: false} {
			t.Run(fmt.Sprintf("%s %d", c.chip, size), func(t *testing.T) {
				d := target.Device{Name: "s1", System: target.SONiC, Version: "202605", Chip: c.chip}
				m := api.SwitchModel{Trimming: &api.ModelTrimming{Octets: size, DSCP: 1, DSCPLastHop: 2}}
				wrong := false
				for _, f := range d.Lint(&m) {
					wrong = wrong || f.Severity == target.Wrong && f.Feature == target.Trimming
				}
				if wrong == fine {
					t.Errorf("named: %v, want %v: %+v", wrong, !fine, d.Lint(&m))
				}
			})
		}
	}
}
