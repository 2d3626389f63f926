package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
)

// TestCauseTable: a cause says which jobs it hurts, and how many more.
func TestCauseTable(t *testing.T) {
	for want, jobs := range map[string]*api.CauseJobs{
		"":                                    nil,
		"  hurts     1 job: a\n":              {Count: 1, Names: []string{"a"}},
		"  hurts     7 jobs: a, b and 5 more": {Count: 7, Names: []string{"a", "b"}},
	} {
		var out bytes.Buffer
		c := api.Cause{Finding: api.Finding{Severity: api.SeverityFault, What: "It fails"}, Jobs: jobs}
		causeTable(&out, []api.Cause{c})
		if text := out.String(); !strings.Contains(text, want) ||
			strings.Contains(text, "hurts") != (jobs != nil) {
			t.Errorf("%q, want %q", text, want)
		}
	}
}

// TestRepairs: a repair is a row of a table with counts, and a record of CSV with the names.
func TestRepairs(t *testing.T) {
	c := api.Cause{Finding: api.Finding{ID: "link/a", Object: "links/a", Severity: api.SeverityFault,
		What: "It loses, packets", Since: time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC),
		Repair: &api.Repair{Part: "optic", Name: "t0 → t1", Denied: true, Hosts: []string{"h1", "h2"},
			Evidence: []string{"Probes: 1.", "Counters: 2."}}},
		Jobs: &api.CauseJobs{Count: 3, Names: []string{"a", "b"}}}
	var table, csv bytes.Buffer
	all := []api.Cause{c}
	repairTable(&table, all)
	repairCSV(&csv, all)
	rows := strings.Split(table.String(), "\n")
	if want := "optic  t0 → t1  " + clockTime(c.Since) +
		"  no      2      a b and 1 more  Probes: 1. Counters: 2."; rows[1] != want {
		t.Errorf("%q, want %q", rows[1], want)
	}
	if want := "id,part,name,object,severity,since,inUse,what,evidence,hosts,jobs\n" +
		"link/a,optic,t0 → t1,links/a,fault,2026-11-29T08:00:00Z,false,\"It loses, packets\"," +
		"Probes: 1. Counters: 2.,h1 h2,a b and 1 more\n"; csv.String() != want {
		t.Errorf("%q, want %q", csv.String(), want)
	}
}
