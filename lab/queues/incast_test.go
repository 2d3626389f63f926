package queues

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/endpoint/mrc"
	"github.com/weft-sdn/weft/endpoint/nscc"
	"github.com/weft-sdn/weft/test/seeds"
)

// incast has all other hosts write octets each to host 0, over every path.
func incast(t testing.TB, c Config, octets int) *experiment {
	t.Helper()
	e := newExperiment(t, c, octets)
	for from := 1; from < c.Hosts(); from++ {
		e.connect(from, 0, 1, 0, spinePaths(t, c), nil)
	}
	e.finish(time.Minute)
	return e
}

const incastOctets = 8 << 20

// TestIncast: 15 hosts write 8 MiB each to one. What does not fit is trimmed, nothing else is lost, no timer expires, and the last link is never idle for long: of its bits payload
// can have 0.969, the rest being headers.
func TestIncast(t *testing.T) {
	large(t)
	first, n := seeds.Range(t, 1, 2)
	for seed := first; seed < first+n; seed++ {
		c := DefaultConfig()
		c.Seed = seed
		e := incast(t, c, incastOctets)
		total, s := e.fabric.Total(), e.sum()
		t.Logf("seed %d: %v, goodput %.3f of the bottleneck, fairness %.3f, %d of %d packets trimmed, %d marked; %d losses inferred, %d duplicates, %d probes",
			seed, e.span(), e.goodput(), e.fairness(), total.Trimmed, s.RequestsSent, total.Marked, s.SACKLosses+s.ProbeLosses, s.Duplicates, s.ProbesSent)
		if total.Trimmed == 0 || total.Marked == 0 {
			t.Errorf("seed %d: %d trimmed, %d marked, want some", seed, total.Trimmed, total.Marked)
		}
		if g := e.goodput(); g < 0.9 {
			t.Errorf("seed %d: goodput %.3f of the bottleneck, want 0.9", seed, g)
		}
		if f := e.fairness(); f < 0.95 {
			t.Errorf("seed %d: Jain's index of the flows' rates %.3f, want 0.95", seed, f)
		}
	}
}

// TestIncastAgainstPublicSimulator: the same incast on one plane, in uet-htsim 40ccb05 (htsim_uec -linkspeed 400000 -sender_cc_algo nscc -load_balancing_algo bitmap -paths 128 -mtu
// 4160, two tiers of 4 switches, 1 us links; its queue is 420,160 octets, marked from 87,360 to 336,960): the last flow ends after 2,572.6 us, half of them after 2,428.5 us,
// Jain's index of the rates is 0.986, and there are 1,883 NACKs. A packet there takes 4,160 octets of the link, here 4,230.
func TestIncastAgainstPublicSimulator(t *testing.T) {
	large(t)
	c := DefaultConfig()
	c.Planes = 1
	c.Seed = seeds.One(t, 1)
	e := incast(t, c, incastOctets)
	var ends []time.Duration
	for _, x := range e.flows {
		ends = append(ends, x.last)
	}
	slices.Sort(ends)
	micros := func(d time.Duration) float64 { return d.Seconds() * 1e6 * 4160 / float64(dataFrame+wireOverhead) }
	last, half := micros(ends[len(ends)-1]), micros(ends[len(ends)/2])
	s := e.sum()
	t.Logf("for packets of 4,160 octets: ends after %.1f us, half after %.1f us; fairness %.3f, %d NACKs", last, half, e.fairness(), s.NACKsReceived)
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if got < want*(1-tolerance) || got > want*(1+tolerance) {
			t.Errorf("%s %.4g, want %.4g within %v", what, got, want, tolerance)
		}
	}
	near("time in us", last, 2572.6, 0.02)
	near("time of half the flows in us", half, 2428.5, 0.05)
	near("fairness", e.fairness(), 0.986, 0.04)
	near("NACKs", float64(s.NACKsReceived), 1883, 0.05)
}

// TestIncastSlow is the incast at the speed of a real-time demo: what NSCC compares delays with must have grown with the round trip.
func TestIncastSlow(t *testing.T) {
	c := DefaultConfig()
	c.Rate, c.Delay = 100e6, 500*time.Microsecond
	c.Queue = c.BDP(dataFrame)
	c.MarkMin, c.MarkMax = c.Queue/5, c.Queue*4/5
	c.Seed = seeds.One(t, 1)
	e := incast(t, c, 1<<20)
	t.Logf("%v, goodput %.3f, fairness %.3f, %d trimmed, %d probes", e.span(), e.goodput(), e.fairness(), e.fabric.Total().Trimmed, e.sum().ProbesSent)
	if g := e.goodput(); g < 0.9 {
		t.Errorf("goodput %.3f of the bottleneck, want 0.9", g)
	}
}

// TestNewcomer: a connection that comes to a link that another one fills gets its half of it.
func TestNewcomer(t *testing.T) {
	large(t)
	c := DefaultConfig()
	c.Seed = seeds.One(t, 1)
	e := newExperiment(t, c, 1<<20)
	a := e.connect(4, 0, 128, 0, spinePaths(t, c), nil)
	b := e.connect(8, 0, 128, 200*time.Microsecond, spinePaths(t, c), nil)
	e.rates(100 * time.Microsecond)
	alone := e.rates(100*time.Microsecond, a)[0]
	e.rates(300 * time.Microsecond)
	before := e.fabric.Total().Trimmed
	both := e.rates(400*time.Microsecond, a, b)
	trimmed := e.fabric.Total().Trimmed - before
	t.Logf("alone %.3f, then %.3f, %d trimmed", alone, both, trimmed)
	if alone < 0.9 {
		t.Errorf("a connection alone gets %.3f of the link", alone)
	}
	if x, y := both[0], both[1]; x+y < 0.9 || min(x, y) < 0.35 {
		t.Errorf("two get %.3f of the link, want about half each", both)
	}
	if trimmed != 0 {
		t.Errorf("%d packets trimmed once both were there", trimmed)
	}
}

// TestPenaltySlows: the greatest penalty of a responder slows its requestor down to packets a round trip, and none lets it go again.
func TestPenaltySlows(t *testing.T) {
	large(t)
	c := DefaultConfig()
	e := newExperiment(t, c, 1<<20)
	flow, backlog := nscc.FlowControl{Enabled: true, Low: 1 << 20, High: 2 << 20}, 0
	x := e.connect(4, 0, 256, 0, spinePaths(t, c), func(_, receiver *mrc.QPConfig) {
		receiver.Penalty = func(time.Duration) (uint8, bool) { return flow.Penalty(backlog), flow.Restore }
	})
	rate := func(waiting int) float64 {
		backlog = waiting
		e.rates(100 * time.Microsecond)
		return e.rates(100*time.Microsecond, x)[0]
	}
	full, none, again := rate(0), rate(2<<20), rate(0)
	t.Logf("%.3f of the link, with the greatest penalty %.3f, then %.3f", full, none, again)
	// One packet a round trip is 0.005 of it.
	if full < 0.9 || none > 0.02 || again < 0.9 {
		t.Error("want the link filled, almost nothing, and the link filled")
	}
}
