package simulate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
)

// TestTalks: a job is a record of the controller when it says who talks to whom.
func TestTalks(t *testing.T) {
	for text, want := range map[string]bool{
		"layout: {dp: 16}": true, "steps: 1": false,
		"communicators: [{name: a, ranks: 0-3, pattern: ring}]":                        true,
		"communicators: [{name: a, ranks: 0-3, pattern: ring}, {name: b, ranks: 4-5}]": false,
	} {
		s, err := Parse([]byte("jobs: [{name: a, " + text + "}]"))
		if err != nil || s.Jobs[0].talks() != want {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

// TestRecords: jobs, maintenances and drains are those of the controller in the run, by its rules:
// it refuses a maintenance of a lower priority than a running job, and the drain of a last path,
// and hosts leave what it drains.
func TestRecords(t *testing.T) {
	long(t)
	const text = `
  priority: 5
maintenances:
- {name: low, objects: [switch P1-T1-1], from: 1ms, until: 1500us, priority: 4}
- {name: equal, at: 1ms, objects: [switch P1-T1-1, link P2-T0-1 P2-T1-1], from: 4ms, until: 8ms,
  lead: 2ms, priority: 5}
events: [{at: 3ms, drain: link H1 P1-T0-1}, {at: 5ms, drain: plane 2}]
`
	r := compare(t, strings.Replace(small, "steps: 12", "steps: 40", 1)+text)
	var says strings.Builder
	for _, n := range r.Notices {
		fmt.Fprintln(&says, n.At, n.Says)
	}
	last := 0
	for _, want := range []string{
		"0s Job train starts: GO.",
		"0s Maintenance low is refused: spec.priority is 4: want 5 or more",
		"1ms Maintenance equal is accepted.",
		"1ms Job train loses by maintenance equal: paths of 2 pairs of racks, and 0 of its ranks",
		"2ms Maintenance equal: its objects are drained.",
		"5ms Refused: drain plane 2: plane 2: the last path from host H1",
		"8ms Maintenance equal: ended",
	} {
		at := strings.Index(says.String()[last:], want)
		if at < 0 {
			t.Fatalf("the controller does not say %q after %q:\n%s", want, says.String()[:last],
				says.String())
		}
		last += at
	}
	for i, want := range []struct {
		what  string
		hosts bool
	}{
		{"maintenance low: drain switch P1-T1-1", false},
		{"maintenance low: undrain switch P1-T1-1", false},
		{"maintenance equal: drain switch P1-T1-1", true},
		{"maintenance equal: drain link P2-T0-1 P2-T1-1", true},
		{"drain link H1 P1-T0-1", true},
		{"drain plane 2", false},
		{"maintenance equal: undrain switch P1-T1-1", false}, // probes have to come through first
	} {
		if e := r.Events[i]; e.What != want.what || e.Hosts > 0 != want.hosts ||
			e.Hosts > 0 && e.Told > time.Millisecond {
			t.Errorf("event %d is %+v, want %+v", i, e, want)
		}
	}
	r = compare(t, strings.Replace(small, "steps: 12", "steps: 40", 1)+text+"model: flows\n")
	if e := r.Events[0]; e.What != "maintenance low: drain switch P1-T1-1" || e.Hosts != 4 {
		t.Errorf("with flows, which refuse nothing, event 0 is %+v", e)
	}
}

// TestRefused: the refusal of a job is one notice, at 0, before the jobs begin.
func TestRefused(t *testing.T) {
	s, err := Parse([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	_, control, err := s.fabric()
	if err != nil {
		t.Fatal(err)
	}
	j := &s.Jobs[0]
	j.hosts[3] = "nowhere"
	by := &client{control: control}
	by.place(s)
	by.start(j)
	by.put(j, api.JobDone)
	if n := by.notices; len(n) != 1 || n[0].At != 0 || !strings.Contains(n[0].Says, "refused") {
		t.Errorf("want one refusal at 0s, but the notices are %+v", n)
	}
}
