package prove

import (
	"math"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
)

// TestCellLoss: the loss of an EV is the weighted mean of its probes, however few. A result of
// several probes counts like the same number of single results.
func TestCellLoss(t *testing.T) {
	type result struct{ sent, received int }
	for name, results := range map[string][]result{
		"the first is lost":       {{1, 0}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
		"the first four are lost": {{4, 0}, {4, 4}, {4, 4}, {4, 4}},
		"one alone":               {{1, 0}},
		"one arrives":             {{1, 1}},
		"half of each":            {{2, 1}, {2, 1}, {2, 1}},
		"many, then lost":         {{1000, 1000}, {16, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			at := &fabric.Attached{Host: fabric.Host{Name: "a"}}
			p := &probe{profile: &Profile{}, host: &Host{Attached: at}, peer: "b"}
			var lost, weights float64
			for i, r := range results {
				p.note(time.Duration(i), &hostapi.ProbeResult{Sent: r.sent, Received: r.received})
				for range r.sent {
					lost, weights = lost*(1-lossWeight), weights*(1-lossWeight)
					lost += lossWeight * float64(r.sent-r.received) / float64(r.sent)
					weights += lossWeight
				}
				if got, want := p.profile.cells[p.ev].loss, lost/weights; math.Abs(got-want) > 1e-9 {
					t.Errorf("loss %v after %d results, want %v", got, i+1, want)
				}
			}
		})
	}
}

// TestCellWeight: one probe among many has a sixteenth of their weight.
func TestCellWeight(t *testing.T) {
	at := &fabric.Attached{Host: fabric.Host{Name: "a"}}
	p := &probe{profile: &Profile{}, host: &Host{Attached: at}, peer: "b"}
	p.note(0, &hostapi.ProbeResult{Sent: 1000, Received: 1000})
	p.note(1, &hostapi.ProbeResult{Sent: 1})
	if got := p.profile.cells[p.ev].loss; math.Abs(got-1.0/16) > 1e-9 {
		t.Errorf("loss %v after one of many was lost, want 1/16", got)
	}
}

// TestCellRoundTrips: results without an answer leave the round trips that were seen before.
func TestCellRoundTrips(t *testing.T) {
	at := &fabric.Attached{Host: fabric.Host{Name: "a"}}
	p := &probe{profile: &Profile{}, host: &Host{Attached: at}, peer: "b"}
	ms := time.Millisecond
	for i, r := range []hostapi.ProbeResult{{Sent: 2, Received: 1, RTTMin: ms, RTTMean: 2 * ms,
		RTTMax: 3 * ms}, {Sent: 2}} {
		p.note(time.Duration(i), &r)
		if c := p.profile.cells[p.ev]; c.rttMin != ms || c.rttMean != 2*ms || c.rttMax != 3*ms {
			t.Errorf("after %d results: round trips %v, %v, %v", i+1, c.rttMin, c.rttMean, c.rttMax)
		}
	}
}
