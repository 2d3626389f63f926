package nscc

import (
	"math"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
)

// TestCrowdedConfig: with deep queues T is more of a round trip, one at most; in a crowded network
// the proportional increase has a bound, and T is for a quarter of a bandwidth-delay product.
func TestCrowdedConfig(t *testing.T) {
	n := Network{Rate: 100e6, RTT: 4 * time.Millisecond, MTU: 4096, Trimming: true}
	if c := DefaultConfig(n); c.TargetDelay != 3*time.Millisecond || c.TargetWindow != 0 {
		t.Errorf("T is %v for windows of %d octets, want 3ms for all", c.TargetDelay, c.TargetWindow)
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
	if c.TargetWindow != 12_500 || c.Validate() != nil {
		t.Errorf("T is for windows of %d octets, want 12500; %v", c.TargetWindow, c.Validate())
	}
	n.RTT = 4 * us
	n.Crowded = false
	free := DefaultConfig(n).Alpha
	n.Crowded = true
	if got := DefaultConfig(n).Alpha; got != free {
		t.Errorf("alpha with a short round trip is %v, want %v as elsewhere", got, free)
	}
}

// TestTargetWindow: the target delay is bounded and proportional to the square root of the
// configured window divided by the window of the queue pair, both relative to the capacity of the
// path. Without a configured window, the target delay is equal for all windows.
func TestTargetWindow(t *testing.T) {
	for _, x := range []struct {
		window, cwnd int
		short        bool // half of the path
		want         time.Duration
	}{
		{0, 5000, false, 9 * us}, {20_000, 20_000, false, 9 * us}, {20_000, 80_000, false, 4500},
		{20_000, 15_000, false, 10392}, {20_000, 5000, false, 13500},
		{20_000, 10_000, true, 9 * us}, {20_000, 40_000, true, 4500},
	} {
		c := newQPCC(t, func(c *Config) { c.TargetWindow = x.window })
		rtt := reference.RTT
		if x.short {
			rtt /= 2
		}
		c.cwnd = int64(x.cwnd)
		c.OnSACK(mrc.SACK{Now: us, RTT: rtt, RTTValid: true})
		if got := c.TargetDelay(); got != x.want {
			t.Errorf("%+v: the target is %v", x, got)
		}
		was := c.Stats().FairIncreases
		c.OnSACK(mrc.SACK{Now: 2 * us, RTT: rtt + x.want, RTTValid: true})
		if c.Stats().FairIncreases != was+1 {
			t.Errorf("%+v: no fair increase at a delay of %v", x, x.want)
		}
	}
}

// TestQuickAdaptBegins: the first SACK begins a period of rule 1, which lasts for a base round trip
// and a target delay, and the next begins after its end, whenever the clock starts.
func TestQuickAdaptBegins(t *testing.T) {
	for _, start := range []time.Duration{0, 1, time.Second} {
		c := newQPCC(t, func(c *Config) { c.DisableQA = false })
		c.OnSACK(sack(start, 4096, 0, false))
		end := start + c.base + c.target
		if !c.adapt.running || c.adapt.end != end {
			t.Errorf("after a SACK at %v: running %v, until %v; want until %v", start, c.adapt.running,
				c.adapt.end, end)
		}
		c.OnSACK(sack(end, 4096, 0, false))
		if c.adapt.end != end {
			t.Errorf("a SACK at the end of the period, %v, has moved it to %v", end, c.adapt.end)
		}
		if c.OnSACK(sack(end+1, 4096, 0, false)); c.adapt.end <= end {
			t.Errorf("no new period after %v", end)
		}
	}
}

// TestNoCutAtTheTarget: rule 4 cuts where the average delay is above the target, and not at it.
func TestNoCutAtTheTarget(t *testing.T) {
	for above, cuts := range map[float64]uint64{-1: 0, 0: 0, 1: 1} {
		c := newQPCC(t, nil)
		c.avg = float64(c.target) + above
		c.cut(time.Second)
		if c.stats.Cuts != cuts {
			t.Errorf("%v ns above the target: %d cuts, want %d", above, c.stats.Cuts, cuts)
		}
	}
}
