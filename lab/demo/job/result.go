package job

import (
	"fmt"
	"math"
	"strings"

	"github.com/weft-sdn/weft/api"
)

// Result has the results of the demo of jobs.
type Result struct {
	Demo string `json:"demo"`
	Jobs int    `json:"jobs"`
	// Go: the fabric was ready for both before they started.
	Go bool `json:"go"`
	// ReadinessMs is how long an answer to the question takes, the median of some.
	ReadinessMs float64 `json:"readinessMs"`
	// NoGoCause is why the fabric is not ready for a job with a dead host.
	NoGoCause string `json:"noGoCause"`
	// OtherJobDipPct is the drop in the other job's goodput afterwards, in percent of the goodput
	// during an equal time before.
	OtherJobDipPct float64 `json:"otherJobDipPct"`
	// Corrupt is the number of wrong octets in the receivers' memory.
	Corrupt  int     `json:"corrupt"`
	Profiles int     `json:"profiles"` // EV profiles of pairs of racks
	Groups   int     `json:"groups"`   // multicast groups that are programmed
	Seconds  float64 `json:"seconds"`  // wall time

	cause  string // object that is the cause
	failed int    // queue pairs of the other job that are in error
}

// check reports what is not as the demo promises.
func (r *Result) check() error {
	var wrong []string
	say := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	say(!r.Go, "the fabric was not ready before the start")
	say(r.cause != victim, "the cause is %q, want %s", r.NoGoCause, victim)
	say(r.OtherJobDipPct >= mostDip, "the other job has slowed down by %v %%", r.OtherJobDipPct)
	say(r.failed > 0, "%d queue pairs of the other job are in error", r.failed)
	say(r.Corrupt > 0, "%d octets are not what was written", r.Corrupt)
	say(r.Groups != 1, "%d groups are programmed, want 1", r.Groups)
	if len(wrong) > 0 {
		return fmt.Errorf("demo: %s", strings.Join(wrong, "; "))
	}
	return nil
}

// tell sums up.
func (d *demo) tell() {
	r := &d.result
	fmt.Fprintf(d.Out,
		"\n  %d octets wrong; the job that was not concerned lost %.1f %% of its goodput.\n",
		r.Corrupt, max(0, r.OtherJobDipPct))
}

// reasons returns what is in the way of a job in a line.
func reasons(r *api.JobReadiness) string {
	if r.Go {
		return "GO"
	}
	var out []string
	for i := range r.Blockers {
		b := &r.Blockers[i]
		out = append(out, fmt.Sprintf("%s %s: %s", b.Kind, b.Object, b.Why))
	}
	return strings.Join(out, "; ")
}

// dip is by how much a goodput is below the one before, in percent.
func dip(before, after float64) float64 {
	if before == 0 {
		return 100
	}
	return math.Round((before-after)/before*1e4) / 1e2
}

// megabits is octets a second for people.
func megabits(octets float64) string { return fmt.Sprintf("%.0f Mb/s", octets*8/1e6) }
