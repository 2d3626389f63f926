package drop

import (
	"regexp"
	"testing"
)

// TestNames checks that every reason has a unique name, valid as a metric label, and an
// explanation.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for r := range Reasons() {
		if name := r.String(); !regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`).MatchString(name) || seen[name] {
			t.Errorf("reason %d is called %q", uint8(r), name)
		} else {
			seen[name] = true
		}
		if r.Text() == "" {
			t.Errorf("%v has no explanation", r)
		}
	}
}

func TestCounts(t *testing.T) {
	var c Counts
	c[NoProgram], c[PFCRefused] = 2, 3
	if c.Total() != 5 {
		t.Errorf("total %d, want 5", c.Total())
	}
	got := map[string]uint64{}
	for r, n := range c.All() {
		got[r.String()] = n
	}
	if len(got) != int(PFCRefused) || got["no_program"] != 2 || got["pfc_refused"] != 3 {
		t.Errorf("counts %v", got)
	}
}
