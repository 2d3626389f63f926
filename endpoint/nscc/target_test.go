package nscc

import (
	"math"
	"testing"
	"time"

	"github.com/weft-sdn/weft/endpoint/mrc"
)

// TestCrowdedConfig: with deep queues T is more of a round trip, one at most; in a crowded network
// the proportional increase has a bound, and a third of T is of every path.
func TestCrowdedConfig(t *testing.T) {
	n := Network{Rate: 100e6, RTT: 4 * time.Millisecond, MTU: 4096, Trimming: true}
	if c := DefaultConfig(n); c.TargetDelay != 3*time.Millisecond || c.TargetEnds != 1 {
		t.Errorf("T is %v and the same by %v of it, want 3ms and all", c.TargetDelay, c.TargetEnds)
	}
	for queue, want := range map[float64]time.Duration{1: 3 * time.Millisecond,
		1.25: 3750 * us, 2: 4 * time.Millisecond} {
		n.Queue = queue
		if got := DefaultConfig(n).TargetDelay; got != want {
			t.Errorf("T with queues of %v products is %v, want %v", queue, got, want)
		}
	}
	n.Crowded = true
	c := DefaultConfig(n)
	if got, want := c.Alpha*c.TargetDelay.Seconds(), 4*4096/3.; math.Abs(got-want) > 1e-6 {
		t.Errorf("alpha T is %v, want %v", got, want)
	}
	if c.TargetEnds != 1./3 || c.Validate() != nil {
		t.Errorf("the same by %v of T, %v", c.TargetEnds, c.Validate())
	}
	n.RTT = 4 * us
	n.Crowded = false
	free := DefaultConfig(n).Alpha
	n.Crowded = true
	if got := DefaultConfig(n).Alpha; got != free {
		t.Errorf("alpha with a short round trip is %v, want %v as elsewhere", got, free)
	}
}

// TestTargetEnds: by a short path the target is its part of that of the longest, and what all paths
// have besides.
func TestTargetEnds(t *testing.T) {
	for _, x := range []struct {
		ends float64
		want time.Duration
	}{{1, 9 * us}, {0.5, 6750 * time.Nanosecond}, {0, 4500 * time.Nanosecond}} {
		c := newQPCC(t, func(c *Config) { c.TargetEnds = x.ends })
		if got := c.TargetDelay(); got != 9*us {
			t.Errorf("ends %v: T is %v by the longest path, want 9us", x.ends, got)
		}
		c.OnSACK(mrc.SACK{Now: us, RTT: reference.RTT / 2, RTTValid: true})
		if got := c.TargetDelay(); got != x.want {
			t.Errorf("ends %v: T is %v by half of the path, want %v", x.ends, got, x.want)
		}
		was := c.Stats().FairIncreases
		c.OnSACK(mrc.SACK{Now: 2 * us, RTT: reference.RTT/2 + x.want, RTTValid: true})
		if c.Stats().FairIncreases != was+1 {
			t.Errorf("ends %v: no fair increase at a delay of %v", x.ends, x.want)
		}
	}
}
