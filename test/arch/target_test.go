package arch

import (
	"path"
	"strings"
	"testing"
)

// mostTargetLines bounds what a target takes.
const mostTargetLines = 1500

// targets lists the folders of each target that the controller programs without P4, without the
// folders shared by all targets.
var targets = map[string][]string{
	"SONiC": {"southbound/sonic", "southbound/target/sonic"},
	"Linux": {"dataplane/kernel"},
}

// TestTargetSize: a target stays within mostTargetLines lines of Go without its tests.
func TestTargetSize(t *testing.T) {
	lines := make(map[string]int)
	for _, s := range handwritten(t) {
		if !strings.HasSuffix(s.path, "_test.go") {
			lines[path.Dir(s.path)] += strings.Count(s.text, "\n")
		}
	}
	for name, folders := range targets {
		n := 0
		for _, f := range folders {
			if lines[f] == 0 {
				t.Errorf("%s: there is no code in %s", name, f)
			}
			n += lines[f]
		}
		if n > mostTargetLines {
			t.Errorf("%s takes %d lines, want at most %d", name, n, mostTargetLines)
		}
		t.Logf("%s: %d lines", name, n)
	}
}
