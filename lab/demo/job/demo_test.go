package job

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
)

// TestDemo runs the demo with real sessions of every kind on loopback.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("in real time")
	}
	var out strings.Builder
	r, err := Run(t.Context(), Options{Out: &out})
	t.Log(out.String())
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	if r.Jobs != 2 || r.ReadinessMs <= 0 || r.Profiles == 0 || r.Seconds <= 0 ||
		!strings.HasPrefix(r.NoGoCause, "nic "+victim+": ") {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"GO for both", drained + " is drained", "NO-GO for train"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q", want)
		}
	}
}

// TestResult: the line that programs read, and what makes the demo fail.
func TestResult(t *testing.T) {
	good := Result{Demo: "job", Jobs: 2, Go: true, NoGoCause: "nic H5: gone", Groups: 1, cause: victim}
	line, err := json.Marshal(good)
	const want = `{"demo":"job","jobs":2,"go":true,"readinessMs":0,"noGoCause":"nic H5: gone",` +
		`"otherJobDipPct":0,"corrupt":0,"profiles":0,"groups":1,"seconds":0}`
	if err != nil || string(line) != want {
		t.Errorf("%s, %v\nwant %s", line, err, want)
	}
	if err := good.check(); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*Result){
		"not ready before":    func(r *Result) { r.Go = false },
		`cause is "link x"`:   func(r *Result) { r.NoGoCause, r.cause = "link x", "x" },
		"slowed down by 20 %": func(r *Result) { r.OtherJobDipPct = 20 },
		"2 queue pairs":       func(r *Result) { r.failed = 2 },
		"3 octets":            func(r *Result) { r.Corrupt = 3 },
		"0 groups":            func(r *Result) { r.Groups = 0 },
	} {
		r := good
		spoil(&r)
		if err := r.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", r, err, want)
		}
	}
}

// TestWorkloads: the jobs have no host in common, and the ring passes through all of its ranks.
func TestWorkloads(t *testing.T) {
	used := make(map[string]string)
	for _, j := range []workload{ring, experts} {
		if err := j.place(); err != nil {
			t.Fatal(err)
		}
		for _, h := range j.ranks {
			if other := used[h]; other != "" {
				t.Errorf("%s is in %s and %s", h, other, j.name)
			}
			used[h] = j.name
		}
		flows := j.flows(1)
		n := len(j.ranks)
		want := n
		if j.pattern == api.PatternAllToAll {
			want = n * (n - 1)
		}
		if len(flows) != want {
			t.Errorf("%s has %d flows, want %d", j.name, len(flows), want)
		}
	}
	if used[victim] != ring.name || len(used) != fabric.Hosts {
		t.Errorf("the hosts are %v", used)
	}
}

func TestDip(t *testing.T) {
	for _, c := range [][3]float64{{100, 90, 10}, {100, 100, 0}, {100, 110, -10}, {0, 5, 100}} {
		if got := dip(c[0], c[1]); got != c[2] {
			t.Errorf("from %v to %v: %v, want %v", c[0], c[1], got, c[2])
		}
	}
}
