package simulate

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// roce has fabric and job from small with RoCEv2 hosts; a RoCEv2 host's one port has the rate of
// both ports of an MRC host.
var roce = strings.NewReplacer("planes: 2", "planes: 1", "100G", "200G", "mode: usid-structured",
	"transport: roce").Replace(small)

// TestRoCE: with one queue pair a pair of hosts a ring goes at the rate of the ports without loss,
// and far slower when a link loses 1 %, as the sender goes back to each lost packet.
func TestRoCE(t *testing.T) {
	long(t)
	r := compare(t, roce+"events: [{at: 1ms, fail: 'link P1-T0-1 H1', loss: 0.01}]\n")
	j, before := r.Jobs[0], r.Without[0]
	if share := float64(before.Median()) / float64(before.Least); share < 1 || share > 1.5 ||
		before.Resent > 0 {
		t.Errorf("without loss a step takes %.3f times the least time, and %d packets are sent again",
			share, before.Resent)
	}
	if last := r.Phases[len(r.Phases)-1]; j.Resent < 2000 || last.Increase < 0.2 || j.Failed != "" {
		t.Errorf("with loss: %d packets sent again, %+v, %q", j.Resent, last, j.Failed)
	}
}

// TestMulticast: a broadcast by a multicast group puts each packet once on the source's link, so
// that a step to 7 hosts takes about a seventh of the time of a broadcast by unicasts.
func TestMulticast(t *testing.T) {
	long(t)
	step := func(collective string) JobResult {
		text := strings.NewReplacer("hostsPerT0: 2", "hostsPerT0: 4", "dp: 4}", "dp: 8}",
			"bytes: {dp: 2MiB}", "bytes: {dp: 2MiB}, collective: {dp: "+collective+"}", "100us", "0s",
			"steps: 12", "steps: 3").Replace(roce)
		j := compare(t, text).Jobs[0]
		if len(j.Steps) != 3 || j.Failed != "" || j.Resent > 0 {
			t.Fatalf("%s: %d steps, %q, %d packets sent again", collective, len(j.Steps), j.Failed,
				j.Resent)
		}
		return j
	}
	unicast, multicast := step("broadcast"), step(string(BroadcastMulticast))
	if unicast.Packets != 7*multicast.Packets {
		t.Errorf("the source sends %d packets by unicasts, and %d by the group: want 7 times as many",
			unicast.Packets, multicast.Packets)
	}
	times := float64(unicast.Median()) / float64(multicast.Median())
	t.Logf("%.2f times as fast", times)
	if times < 6 || multicast.Median() > 2*time.Duration(float64(multicast.Least)) {
		t.Errorf("a step takes %v by unicasts, %v by the group, %v at least", unicast.Median(),
			multicast.Median(), multicast.Least)
	}
}

// TestGroupsOfTheirOwn: messages share a queue pair if they go to the same ranks, and not if only
// the source, the first and the last rank are the same.
func TestGroupsOfTheirOwn(t *testing.T) {
	of := func(also ...int) pairKey { return (&numbered{from: 0, to: 1, also: also}).key() }
	for _, c := range []struct {
		a, b pairKey
		same bool
	}{{of(), of(), true}, {of(2, 5), of(2, 5), true}, {of(2, 5), of(3, 5), false},
		{of(2, 5), of(5), false}, {of(), of(5), false}} {
		if (c.a == c.b) != c.same {
			t.Errorf("%v and %v: the same: %v, want %v", c.a, c.b, c.a == c.b, c.same)
		}
	}
}

// update has tests write the files that documents show.
var update = flag.Bool("update", false, "write the pictures of the documents")

// TestPaper: what the figures of the MRC paper say holds in the scenarios of the examples, which
// are smaller than the paper's, and the pictures of docs/simulate.md are theirs.
func TestPaper(t *testing.T) {
	long(t)
	const folder = "../../docs/examples/simulate/"
	files, err := filepath.Glob(folder + "paper/*.yaml")
	large, failed := filepath.Glob(folder + "paper/*/*.yaml")
	if err = errors.Join(err, failed); err != nil || len(files) == 0 || len(large) == 0 {
		t.Fatalf("%v, %v, %v", files, large, err)
	}
	for _, file := range append(files, append(large, folder+"dead-t1.yaml")...) {
		t.Run(strings.TrimPrefix(file, folder), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(large, file) { // minutes: it only has to be right
				if _, err := Parse(text); err != nil {
					t.Error(err)
				}
				return
			}
			r := compare(t, string(text))
			if !r.Holds() {
				t.Errorf("%+v", r.Verdicts)
			}
			var picture bytes.Buffer
			if err := r.Picture(&picture); err != nil {
				t.Fatal(err)
			}
			name := "../../docs/images/simulate-" + strings.TrimSuffix(filepath.Base(file), "yaml") + "svg"
			if *update {
				if err := os.WriteFile(name, picture.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if kept, err := os.ReadFile(name); err != nil || !bytes.Equal(kept, picture.Bytes()) {
				t.Errorf("%s is not what the scenario gives (%v): run with -update", name, err)
			}
		})
	}
}

// TestShare: an expectation of a share bounds the speed of a job from both sides.
func TestShare(t *testing.T) {
	j := JobResult{Least: 9, Steps: []StepTime{{0, 10}, {10, 20}, {30, 20}}}
	for _, c := range []struct {
		share   []float64
		between []time.Duration
		holds   bool
	}{{[]float64{0.4}, nil, true}, {[]float64{0.5}, nil, false}, {[]float64{0.4, 0.5}, nil, true},
		{[]float64{0.3, 0.44}, nil, false}, {[]float64{0.9}, []time.Duration{0, 10}, true},
		{[]float64{0.9}, []time.Duration{10, 40}, false}} {
		if v := judge(Expectation{Share: c.share, Between: c.between}, j, j, 50); v.Holds != c.holds {
			t.Errorf("%v between %v: %v, %s", c.share, c.between, v.Holds, v.Why)
		}
	}
}
