package simulate

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/controller/mrc/flows"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/test/seeds"
)

// A drawn scenario has a fabric of up to 64 hosts, jobs and a fault, for both models.
func drawn(seed uint64, most int) string {
	r := rand.New(rand.NewPCG(seed, 0))
	pick := func(of ...int) int { return of[r.IntN(len(of))] }
	planes, t1, hosts, tiers := pick(1, 2, 4), pick(2, 3, 4), pick(2, 3, 4), 2
	t0 := pick(2, 3, 4, 6)
	for t0*hosts > most {
		t0, hosts = max(2, t0-1), max(2, hosts-1)
	}
	text := fmt.Sprintf("clos: {planes: %d, tiers: %d, t0: %d, t1: %d, hostsPerT0: %d, rate: 100G}\n",
		planes, tiers, t0, t1, hosts)
	if t0%2 == 0 && t1%2 == 0 && r.IntN(4) == 0 {
		text = strings.Replace(text, "tiers: 2", "tiers: 3, pods: 2, t2: 2", 1)
	}
	text += "mode: usid-structured\nlimit: 1s\njobs:\n"
	names := make([]string, t0*hosts)
	for i := range names {
		names[i] = fmt.Sprintf("H%d", i+1)
	}
	if r.IntN(2) == 0 {
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	jobs := 1
	if len(names) >= 8 {
		jobs += r.IntN(2)
	}
	for j := range jobs {
		of := names[j*len(names)/jobs : (j+1)*len(names)/jobs]
		of = of[:len(of)/2*2]
		all := flows.Collectives()
		text += fmt.Sprintf(`- name: j%d
  hosts: "%s"
  communicators: [{name: all, ranks: 0-%d}]
  step: {compute: %dus, bytes: {all: %dKiB}, collective: {all: %s}}
  steps: 30
`, j, strings.Join(of, ","), len(of)-1, pick(0, 50, 200), 512*pick(1, 2, 4), all[r.IntN(len(all))])
	}
	plane := 1 + r.IntN(planes)
	what := fmt.Sprintf("link P%d-T0-%d P%d-T1-1", plane, 1, plane)
	switch r.IntN(4) {
	case 0:
		what = fmt.Sprintf("switch P%d-T1-%d", plane, 1+r.IntN(t1))
	case 1:
		if planes > 1 {
			what = fmt.Sprintf("plane %d", plane)
		}
	case 2:
		return text
	}
	if strings.Contains(text, "tiers: 3") && strings.HasPrefix(what, "switch") && t1 == 2 {
		return text // the only T1 of a pod and plane
	}
	return text + "events: [{at: 0s, fail: " + what + "}]\n"
}

// usual returns the mean step of each job in a model, without the first two steps, and without the
// tenth that took longest and the tenth that took least of the others.
func usual(t *testing.T, text, model string) (out []time.Duration) {
	t.Helper()
	s, err := Parse([]byte("model: " + model + "\n" + text))
	if err != nil {
		t.Fatalf("%v of\n%s", err, text)
	}
	r, err := Run(t.Context(), s)
	if err != nil {
		t.Fatalf("%v of\n%s", err, text)
	}
	for _, j := range r.Jobs {
		if len(j.Steps) < 3 {
			return nil // cut off
		}
		took := []time.Duration{}
		for _, x := range j.Steps[2:] {
			took = append(took, x.Took)
		}
		slices.Sort(took)
		took = took[len(took)/10 : len(took)-len(took)/10]
		sum := time.Duration(0)
		for _, d := range took {
			sum += d
		}
		out = append(out, sum/time.Duration(len(took)))
	}
	return out
}

// TestFlowsAsPackets: over random fabrics, jobs and faults the usual step of model flows is within
// 25 % of that of model packets. WEFT_FLOWS_CASES=200 runs so many cases of up to 64 hosts, of
// which 95 % must be within 10 %.
func TestFlowsAsPackets(t *testing.T) {
	cases, most := 6, 8
	if text := os.Getenv("WEFT_FLOWS_CASES"); text != "" {
		var err error
		if cases, err = strconv.Atoi(text); err != nil {
			t.Fatalf("WEFT_FLOWS_CASES=%q: want a number of cases", text)
		}
		most = 64
	} else {
		long(t)
	}
	first, _ := seeds.Range(t, 1, uint64(cases))
	type outcome struct {
		seed    uint64
		off     float64
		f, p    time.Duration
		text    string
		missing bool
	}
	results := make([][]outcome, cases)
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i := range cases {
		seed := first + uint64(i)
		size := most
		if most == 64 && seed%10 != 1 {
			size = 16 // every tenth is large: packets take long
		}
		text := drawn(seed, size)
		all.Go(func() error {
			packets, fluid := usual(t, text, modelPackets), usual(t, text, modelFlows)
			if len(packets) != len(fluid) {
				results[i] = []outcome{{seed: seed, text: text, missing: true}}
			}
			for j := range min(len(packets), len(fluid)) {
				results[i] = append(results[i], outcome{seed: seed, text: text, f: fluid[j], p: packets[j],
					off: float64(fluid[j])/float64(packets[j]) - 1})
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	within, count := 0, 0
	for _, r := range slices.Concat(results...) {
		count++
		off := max(r.off, -r.off)
		if off <= 0.10 && !r.missing {
			within++
		} else {
			t.Logf("seed %d: flows say %v, packets %v, %+.1f %%\n%s", r.seed, r.f, r.p, 100*r.off, r.text)
		}
		if off > 0.25 || r.missing {
			t.Errorf("seed %d: %+.1f %%, want 25 %% at most", r.seed, 100*r.off)
		}
	}
	t.Logf("%d of %d steps are within 10 %%", within, count)
	if count >= 100 && float64(within) < 0.95*float64(count) { // else one case is more than 5 %
		t.Errorf("%d of %d steps are within 10 %%, want 95 %%", within, count)
	}
}

// TestFlowsAlone: chains and trees that have the fabric to themselves take as long by both models,
// within 5 %, with chunks longer than the latency of links and shorter.
func TestFlowsAlone(t *testing.T) {
	long(t)
	for _, c := range []flows.Collective{flows.Pipeline, flows.AllReduceTree} {
		for _, ranks := range []int{2, 3, 4, 6} {
			for _, planes := range []int{1, 4} {
				text := fmt.Sprintf(`
clos: {planes: %d, t0: 3, t1: 4, hostsPerT0: 2, rate: 100G}
mode: usid-structured
jobs:
- name: a
  hosts: "H[1-%d]"
  step: {bytes: {all: 512KiB}, collective: {all: %s}}
  steps: 4
`, planes, ranks, c)
				fluid, packets := usual(t, text, modelFlows)[0], usual(t, text, modelPackets)[0]
				if off := float64(fluid)/float64(packets) - 1; max(off, -off) > 0.05 {
					t.Errorf("%s of %d ranks, %d planes: flows say %v, packets %v, %+.1f %%", c, ranks, planes,
						fluid, packets, 100*off)
				}
			}
		}
	}
}

// TestFlowsSame: the same scenario gives the same octets.
func TestFlowsSame(t *testing.T) {
	text := "model: flows\n" + small +
		"events: [{at: 300us, fail: switch P1-T1-1}, {at: 1ms, drain: switch P2-T1-1}]"
	var outputs []string
	for range 2 {
		s, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Compare(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := errors.Join(r.Text(&out), r.JSON(&out), r.HTML(&out)); err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, out.String())
	}
	if outputs[0] != outputs[1] {
		t.Errorf("one run says\n%s\nand another\n%s", outputs[0], outputs[1])
	}
}

// TestAlike: the run of a part that is alike says what the part's own run says, a switch that an
// event names is like no other, and neither is one with a link of another rate.
func TestAlike(t *testing.T) {
	const one = `
clos: {planes: 2, t0: 5, t1: 3, hostsPerT0: 2}
jobs:
- name: train
  hosts: "H[1-6]"
  step: {compute: 10us, bytes: {all: 1MiB}, collective: {all: all-to-all}}
  steps: 4
`
	for _, x := range []struct {
		sweep, text string
		runs        int
	}{
		{"fail=each-t1", one, 2},
		{"fail=each-t1", one + "events: [{at: 0s, fail: link P1-T0-1 P1-T1-2}]", 3},
		{"fail=each-t0", one, 8}, // by plane: three racks of the job, and the idle racks
		{"fail=each-link", one, 8},
		{"fail=each-host", one, 4}, // by rack of the job, and the idle hosts
		// Ring b stops without H3, and ring c without H8: the second job differs.
		{"fail=each-host", `
clos: {planes: 1, t0: 4, t1: 1, hostsPerT0: 10}
jobs:
- name: rings
  hosts: "H[1-10],H[11-13],H[21-23]"
  communicators: [{name: b, ranks: "0-4,10-12"}, {name: c, ranks: "5-9,13-15"}]
  step: {bytes: {b: 16MiB, c: 16MiB}, collective: {b: all-reduce-ring, c: all-reduce-ring}}
  steps: 4
- name: other
  hosts: "H14,H31"
  step: {bytes: {all: 16MiB}, collective: {all: all-to-all}}
  steps: 8
`, 19},
	} {
		text := "model: flows\nmode: usid-structured\n" + x.text
		s, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		events, err := s.Sweep(x.sweep, 20*time.Microsecond)
		if err != nil {
			t.Fatal(err)
		}
		r, err := RunSweep(t.Context(), s, events)
		if err != nil {
			t.Fatal(err)
		}
		if r.Runs != x.runs || r.Events != len(events) || len(r.Swept) != len(events)*len(s.Jobs) {
			t.Errorf("%s, %s: %d runs of %d events, want %d", x.sweep, x.text, r.Runs, r.Events, x.runs)
		}
		for _, got := range r.Swept {
			own, err := Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			own.Events = append(own.Events, Event{At: 20 * time.Microsecond,
				Fail: strings.TrimPrefix(got.Event.What, "fail ")})
			if err := own.Complete(); err != nil {
				t.Fatal(err)
			}
			result, err := Run(t.Context(), own)
			if err != nil {
				t.Fatal(err)
			}
			job := result.Jobs[slices.IndexFunc(result.Jobs, func(j JobResult) bool {
				return j.Name == got.Job
			})]
			want := phase(job, job, 20*time.Microsecond, result.Ended)
			told := result.Events[len(result.Events)-1]
			if d := want.Median - got.Median; max(d, -d) > 2 || want.Steps != got.Steps ||
				job.Failed != got.Failed || !reflect.DeepEqual(told, got.Event) {
				t.Errorf("%s, %s: as %q it takes %+v, %q, %+v; by itself %+v, %q, %+v", got.Event.What,
					x.text, got.As, got.Phase, got.Failed, got.Event, want, job.Failed, told)
			}
		}
	}
	s, err := Parse([]byte("model: flows\nclos: {t1: 3}\njobs: [{name: a}]"))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(s.network.Links, func(l lab.Link) bool {
		return l.A == "P1-T1-3" || l.B == "P1-T1-3"
	})
	s.network.Links[i].Rate /= 2
	if k := s.kinds(); k["P1-T1-2"] != "P1-T1-1" || k["P1-T1-3"] != "P1-T1-3" {
		t.Errorf("kinds with a slower link of P1-T1-3: %v", k)
	}
}

// TestOverlap: two maintenances and an event drain a switch, and the switch stays drained until the
// last drain ends.
func TestOverlap(t *testing.T) {
	s, err := Parse([]byte("model: flows\n" + small + `
maintenances:
- {name: a, objects: [switch P1-T1-1], from: 1ms, until: 3ms}
- {name: b, objects: [switch P1-T1-1], from: 2ms, until: 5ms}
events: [{at: 4ms, drain: switch P1-T1-1}, {at: 6ms, undrain: switch P1-T1-1}]
`))
	if err != nil {
		t.Fatal(err)
	}
	changes, _, _ := s.changes()
	for i, c := range changes {
		if drained := len(c.State.Nodes) > 0; drained != (i < len(changes)-1) {
			t.Errorf("change %d of %d, at %v: drained is %v", i+1, len(changes), c.At, drained)
		}
	}
}

// TestTold: hosts do not know of a failure until the controller tells the hosts, nor of a second
// failure of the same part until the controller tells of the second failure.
func TestTold(t *testing.T) {
	s, err := Parse([]byte("model: flows\n" + small + `
times: {detect: 2ms, tell: 1ms}
events: [{at: 1ms, fail: switch P1-T1-1}, {at: 2ms, fail: switch P1-T1-1}, {at: 3ms, fail: plane 2}]
`))
	if err != nil {
		t.Fatal(err)
	}
	changes, _, place := s.changes()
	var untold []int
	for _, c := range changes {
		untold = append(untold, len(c.Untold.Nodes))
	}
	all := len(changes[2].State.Nodes)
	if want := []int{1, 1, all, all, all - 1, 0}; !slices.Equal(untold, want) ||
		!slices.Equal(place, []int{0, 1, 2}) {
		t.Errorf("hosts do not know of %v nodes, want %v; events are changes %v", untold, want, place)
	}
}

// TestRows: two events at one time get two rows: the loss of a host takes no paths from hosts, and
// the loss of a T1 takes paths from four.
func TestRows(t *testing.T) {
	s, err := Parse([]byte("model: flows\n" + small +
		"events: [{at: 1ms, fail: host H1}, {at: 1ms, fail: switch P1-T1-1}]"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if r.Events[0].Hosts != 0 || r.Events[1].Hosts != 4 {
		t.Errorf("want 0 hosts and 4, but the events are %+v", r.Events)
	}
}

// TestSweepFirst: the loss of either of two hosts cuts off both hosts, and a sweep names the first
// rank only for the host with a run.
func TestSweepFirst(t *testing.T) {
	s, err := Parse([]byte(`
model: flows
clos: {planes: 2, t0: 2, t1: 2, hostsPerT0: 2}
jobs:
- name: pair
  hosts: "H[1-2]"
  step: {bytes: {all: 1MiB}, collective: {all: all-to-all}}
  steps: 4
`))
	if err != nil {
		t.Fatal(err)
	}
	events, err := s.Sweep("fail=each-host", 20*time.Microsecond)
	if err != nil {
		t.Fatal(err)
	}
	r, err := RunSweep(t.Context(), s, events[:2])
	if err != nil {
		t.Fatal(err)
	}
	a, b := r.Swept[0], r.Swept[1]
	const both = "2 of 2 ranks are cut off"
	if r.Runs != 1 || a.Failed != both+", H1 first" || b.Failed != both {
		t.Errorf("%d runs say %q of %v and %q of %v", r.Runs, a.Failed, a.Event.What, b.Failed,
			b.Event.What)
	}
}

// TestDocument: docs/simulate.md shows what its commands say, "..." being what it leaves out.
func TestDocument(t *testing.T) {
	long(t)
	text, err := os.ReadFile("../../docs/simulate.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, block := range strings.Split(string(text), "$ weft simulate docs/examples/")[1:] {
		lines := strings.Split(block, "\n")
		var out bytes.Buffer
		for _, line := range lines[1:] {
			if line == "```" {
				break
			}
			if out.Len() == 0 {
				scenario, err := os.ReadFile("../../docs/examples/" + lines[0])
				if err != nil {
					t.Fatal(err)
				}
				s, err := Parse(scenario)
				if err != nil {
					t.Fatal(err)
				}
				r, err := Compare(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Text(&out); err != nil {
					t.Fatal(err)
				}
			}
			if shown++; line != "..." && line != "" && !strings.Contains(out.String(), line+"\n") {
				t.Errorf("%s does not say %q, but\n%s", lines[0], line, out.String())
			}
		}
	}
	if shown < 10 {
		t.Errorf("the page shows %d lines of output", shown)
	}
}

// paper is the fabric of the MRC paper with a job of 8,192 ranks in 32 racks.
const paper = `
model: flows
clos: {planes: 8, t0: 512, t1: 256, hostsPerT0: 256, rate: 100G}
jobs:
- name: train
  hosts: H[1-8192]
  layout: {tp: 8, dp: 1024}
  step: {compute: 4ms, bytes: {dp: 64MiB, tp: 1MiB}}
  steps: 3
`

// BenchmarkSweep runs a sweep of all 2,048 T1s of the fabric of 131,072 NICs.
func BenchmarkSweep(b *testing.B) {
	for b.Loop() {
		start := time.Now()
		s, err := Parse([]byte(paper))
		if err != nil {
			b.Fatal(err)
		}
		events, err := s.Sweep("fail=each-t1", 5*time.Millisecond)
		if err != nil || len(events) != 2048 {
			b.Fatal(len(events), err)
		}
		b.ReportMetric(time.Since(start).Seconds(), "s/set-up")
		if n, err := strconv.Atoi(os.Getenv("WEFT_SWEEP_EVENTS")); err == nil {
			events = events[:n]
		}
		r, err := RunSweep(b.Context(), s, events)
		if err != nil || r.Events != len(events) || !r.Holds() {
			b.Fatalf("%+v, %v", r, err)
		}
	}
}
