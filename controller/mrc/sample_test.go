package mrc

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
)

// TestSamples: a sample counts the packets carried by a profile's EVs on all its hosts, however
// often a host restarts its counts, the denied EVs, and the EVs that some host found bad.
func TestSamples(t *testing.T) {
	w := newBed(t, 1, func(c *Config) { c.Probes.Rate = 0 }).clos(1, 3, 2, 2).start()
	w.run(time.Second)
	const mine = "leaf1-1:leaf1-2"
	sample := func() ProfileSample {
		t.Helper()
		for _, s := range w.core.Samples() {
			if s.Name == mine {
				return s
			}
		}
		t.Fatalf("no sample of %s in %+v", mine, w.core.Samples())
		return ProfileSample{}
	}
	p, _ := w.core.Profile(mine)
	evs := allEVs(p.Outcome.Profile, p.Source, p.Destination)
	counts := func(host string, ev hostapi.EV, sent, lost uint64) {
		t.Helper()
		if err := w.core.EVCounts(host,
			&hostapi.EVCounts{Counts: []hostapi.EVCount{{Profile: mine, EV: ev, Sent: sent,
				Lost: lost}}}); err != nil {
			t.Fatal(err)
		}
	}
	if s := sample(); s != (ProfileSample{Name: mine, Active: len(evs)}) {
		t.Errorf("at first %+v, want %d active EVs", s, len(evs))
	}
	counts("h1-1", evs[0], 100, 1)
	counts("h1-1", evs[1], 50, 0)
	counts("h1-1", evs[0], 130, 4)
	counts("h1-2", evs[0], 1000, 0)
	counts("h1-1", evs[0], 30, 2) // counted anew: what lies between is not known
	counts("h1-1", evs[0], 40, 2)
	if s := sample(); s.Sent != 130+50+1000+10 || s.Lost != 4 {
		t.Errorf("%+v, want 1190 packets sent and 4 lost", s)
	}
	for _, host := range []string{"h1-1", "h1-2"} {
		for _, ev := range evs[:2] {
			if err := w.core.EVEvents(host,
				&hostapi.EVEvents{Events: []hostapi.EVEvent{{Profile: mine, EV: ev,
					State: hostapi.EVAssumedBad}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s := sample(); s.AssumedBad != 2 {
		t.Errorf("%+v, want 2 EVs that are assumed bad", s)
	}
}
