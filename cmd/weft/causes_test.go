package main

import (
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
)

// TestCauseTable: a cause says which jobs it hurts, and how many more.
func TestCauseTable(t *testing.T) {
	for want, jobs := range map[string]*api.CauseJobs{
		"":                                    nil,
		"  hurts     1 job: a\n":              {Count: 1, Names: []string{"a"}},
		"  hurts     7 jobs: a, b and 5 more": {Count: 7, Names: []string{"a", "b"}},
	} {
		var out strings.Builder
		c := api.Cause{Finding: api.Finding{Severity: api.SeverityFault, What: "It fails"}, Jobs: jobs}
		if err := causeTable(&out, []api.Cause{c}); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); !strings.Contains(text, want) ||
			strings.Contains(text, "hurts") != (jobs != nil) {
			t.Errorf("%q, want %q", text, want)
		}
	}
}
