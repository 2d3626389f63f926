package flows

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/test/seeds"
)

const incastOctets = 8 << 20

// incast has all other hosts write octets each to the first.
func incast(t testing.TB, c lab.ClosConfig, mode ev.Mode, l links, octets int,
	seed uint64) *experiment {
	t.Helper()
	f := newFabric(t, c, mode, l, seed)
	hosts := f.Network.Hosts
	var flows []lab.FlowConfig
	for _, h := range hosts[1:] {
		flows = append(flows, lab.FlowConfig{From: h.Name, To: hosts[0].Name, Bytes: octets})
	}
	e := f.write(t, seed, nil, flows...)
	e.run(time.Minute)
	return e
}

// TestIncast: 15 hosts write 8 MiB each to one, however packets say their path. What does not fit
// is trimmed, nothing else is lost, no timer expires, and the last link is never idle for long.
func TestIncast(t *testing.T) {
	t.Parallel()
	first, n := seeds.Range(t, 1, 1)
	for _, mode := range []ev.Mode{ev.ModeStructured, ev.ModeF1616, ev.ModeECMP} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			for seed := first; seed < first+n; seed++ {
				e := incast(t, lab.ClosConfig{}, mode, fast, incastOctets, seed)
				c, s := e.counts(), e.sum()
				t.Logf("seed %d: %v, goodput %.3f of the bottleneck, fairness %.3f, %d of %d packets "+
					"trimmed, %d marked; %d losses inferred, %d duplicates, %d probes",
					seed, e.span(), e.goodput(), e.fairness(), c.trimmed, s.RequestsSent, c.marked, s.SACKLosses+
						s.ProbeLosses, s.Duplicates, s.ProbesSent)
				if c.trimmed == 0 || c.marked == 0 {
					t.Errorf("seed %d: %d trimmed, %d marked, want some", seed, c.trimmed, c.marked)
				}
				if g := e.goodput(); g < 0.9 {
					t.Errorf("seed %d: goodput %.3f of the bottleneck, want 0.9", seed, g)
				}
				if f := e.fairness(); f < 0.95 {
					t.Errorf("seed %d: Jain's index of the flows' rates %.3f, want 0.95", seed, f)
				}
			}
		})
	}
}

// TestIncastAgainstPublicSimulator: the same incast on one plane, in uet-htsim 40ccb05 (htsim_uec
// -linkspeed 400000 -sender_cc_algo nscc -load_balancing_algo bitmap -paths 128 -mtu 4160, two
// tiers of 4 switches, 1 us links; its queue is 420,160 octets, marked from 87,360 to 336,960): the
// last flow ends after 2,572.6 us, half of them after 2,428.5 us, Jain's index of the rates is
// 0.986, and there are 1,883 NACKs. A packet there takes 4,160 octets of the link, here 4,230.
func TestIncastAgainstPublicSimulator(t *testing.T) {
	t.Parallel()
	e := incast(t, lab.ClosConfig{Planes: 1}, ev.ModeStructured, fast, incastOctets, seeds.One(t, 1))
	var ends []time.Duration
	for _, x := range e.Flows {
		ends = append(ends, x.Ended-x.Began)
	}
	slices.Sort(ends)
	micros := func(d time.Duration) float64 { return d.Seconds() * 1e6 * 4160 / dataOctets }
	last, half := micros(ends[len(ends)-1]), micros(ends[len(ends)/2])
	s := e.sum()
	t.Logf("for packets of 4,160 octets: ends after %.1f us, half after %.1f us; fairness %.3f, %d "+
		"NACKs", last, half, e.fairness(), s.NACKsReceived)
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

// TestIncastSlow is the incast at the speed of a real-time demo: what NSCC compares delays with
// must have grown with the round trip.
func TestIncastSlow(t *testing.T) {
	t.Parallel()
	e := incast(t, lab.ClosConfig{}, ev.ModeStructured, links{100e6, 500 * time.Microsecond}, 1<<20,
		seeds.One(t, 1))
	t.Logf("%v, goodput %.3f, fairness %.3f, %d trimmed, %d probes", e.span(), e.goodput(),
		e.fairness(), e.counts().trimmed, e.sum().ProbesSent)
	if g := e.goodput(); g < 0.9 {
		t.Errorf("goodput %.3f of the bottleneck, want 0.9", g)
	}
}
