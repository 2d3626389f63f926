package spray

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/packet"
)

// TestControl: what is not data leaves the rotation and the states of values alone.
func TestControl(t *testing.T) {
	s := newSet(t, profile(4, 1), nil)
	s.Feedback(0, s.evs[2].path.ID, mrc.SignalMarked)
	before := slices.Clone(s.data.ring)
	for range 9 {
		if p, ok := s.Next(0, mrc.UseControl, AllPorts); !ok || index(p.ID) == 2 {
			t.Errorf("path %+v %v, want a GOOD one", p, ok)
		}
	}
	wantState(t, s, 2, Skip)
	if s.data.turns != 0 || !slices.Equal(s.data.ring, before) {
		t.Error("the rotation went on")
	}
	for i := range 4 {
		s.Feedback(0, s.evs[i].path.ID, mrc.SignalMarked)
	}
	if _, ok := s.Next(0, mrc.UseProbe, AllPorts); !ok {
		t.Error("none, with all of them SKIP")
	}
	sent, probes := uint64(0), uint64(0)
	for i := range 4 {
		c, err := s.Counts(i)
		if err != nil {
			t.Fatal(err)
		}
		sent += c.Sent
		probes += c.Probes
	}
	if sent != 0 || probes != 1 {
		t.Errorf("%d packets and %d probes counted, want 0 and 1", sent, probes)
	}
}

func TestProbes(t *testing.T) {
	s := newSet(t, profile(2, 2), func(c *Config) {
		c.BadAfter, c.ProbeInterval, c.ProbeMaxInterval = 1, 100, 350
	})
	if _, ok := s.NextProbe(); ok {
		t.Error("a probe is due with all values GOOD")
	}
	s.Feedback(1000, s.evs[1].path.ID, mrc.SignalTimeout)
	s.Feedback(1010, s.evs[0].path.ID, mrc.SignalTimeout)
	var times []time.Duration
	for now := time.Duration(1000); now < 3000; now++ {
		if at, ok := s.NextProbe(); !ok || at < now {
			t.Fatalf("next probe at %v %v, now %v", at, ok, now)
		}
		if p, ok := s.Probe(now, AllPorts); ok && index(p.ID) == 1 {
			times = append(times, now)
			s.Feedback(now, p.ID, mrc.SignalProbeLost)
		}
	}
	// Doubling, to the greatest interval.
	if want := []time.Duration{1100, 1300, 1650, 2000, 2350, 2700}; !slices.Equal(times, want) {
		t.Errorf("probes at %v, want %v", times, want)
	}
	if _, ok := s.Probe(time.Second, packet.PortMask(0).With(3)); ok {
		t.Error("a probe by a port that no value has")
	}
	// A port that is down is not probed.
	s.SetPorts(packet.PortMask(0).With(1))
	if p, ok := s.Probe(time.Second, AllPorts); !ok || index(p.ID) != 0 {
		t.Errorf("probes %+v %v, want the one on the port that is up", p, ok)
	}
	c, err := s.Counts(1)
	if err != nil || c.Probes != 6 || c.ProbesLost != 6 || c.Lost != 1 {
		t.Errorf("counts %+v %v", c, err)
	}
}
