package service

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/runner"
)

// TestTalk: the fabric's controller learns the needs of jobs as soon as it is present, whichever
// profiles the configuration wants.
func TestTalk(t *testing.T) {
	var none atomic.Pointer[runner.Runner]
	for _, c := range []struct {
		mode, profiles string
		want           bool
	}{{"", "jobs", false}, {"stev", "all", true}, {"stev", "jobs", true}} {
		o := &Options{Inventory: inventory.Default()}
		o.Inventory.MRC = inventory.DefaultMRC(c.mode)
		o.Inventory.MRC.Profiles = c.profiles
		set := talk(o, &none)
		if (set != nil) != c.want {
			t.Errorf("mode %q, profiles %q: jobs are told of: %v", c.mode, c.profiles, set != nil)
		}
		if set != nil && !errors.Is(set(t.Context(), nil), errStarting) {
			t.Error("jobs are told of before there is anybody to tell")
		}
	}
}
