package service

import (
	"testing"

	"github.com/weft-sdn/weft/controller/inventory"
)

// TestMultipath: the fabric's controller learns the wants of jobs under each setting of profiles in
// the configuration. Without a fabric no controller does.
func TestMultipath(t *testing.T) {
	for _, c := range []struct {
		mode, profiles string
		want           bool
	}{{"", "jobs", false}, {"stev", "all", true}, {"stev", "jobs", true}} {
		inv := inventory.Default()
		inv.MRC = inventory.DefaultMRC(c.mode)
		inv.MRC.Profiles = c.profiles
		if m := newMultipath(&inv); (m != nil) != c.want {
			t.Errorf("mode %q, profiles %q: what jobs want is told: %v", c.mode, c.profiles, m != nil)
		}
	}
}
