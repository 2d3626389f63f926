package nscc

import (
	"math"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
)

// newPaced returns a QPCC with a window of cwnd octets, possibly less than a packet of 4,096.
func newPaced(t *testing.T, cwnd int, change func(*Config)) *QPCC {
	t.Helper()
	c := newQPCC(t, func(c *Config) {
		c.MinCwnd, c.DisableQA = 128, false
		if change != nil {
			change(c)
		}
	})
	c.cwnd = int64(cwnd)
	c.aim()
	return c
}

// TestNextSend: with a window of a packet or less, packets are as many base round trips apart as
// windows make a packet. Larger windows, and those that cannot be less than a packet, have no pace.
func TestNextSend(t *testing.T) {
	for _, x := range []struct{ least, cwnd, trips int }{
		{128, 4097, 0}, {128, 4096, 1}, {128, 2048, 2}, {128, 128, 32},
		{4095, 4096, 1}, {4096, 4096, 0},
	} {
		c := newPaced(t, x.cwnd, func(c *Config) { c.MinCwnd = x.least })
		if at := c.NextSend(); at > 0 {
			t.Errorf("%+v: the first packet waits until %v", x, at)
		}
		c.OnSend(mrc.Sent{Now: time.Second, Size: 4096, InFlight: 4096})
		want := time.Duration(0)
		if x.trips > 0 {
			want = time.Second + time.Duration(x.trips)*reference.RTT
		}
		if at := c.NextSend(); at != want {
			t.Errorf("%+v: the next packet leaves after %v, want %v", x, at, want)
		}
	}
	c := newPaced(t, 2048, nil)
	c.OnSACK(mrc.SACK{Now: us, RTT: 3 * us, RTTValid: true})
	c.cwnd = 2048
	c.OnSend(mrc.Sent{Now: time.Second, Size: 4096, InFlight: 4096})
	if at, want := c.NextSend(), time.Second+6*us; at != want {
		t.Errorf("with a base round trip of 3us the next packet leaves after %v, want %v", at, want)
	}
}

// TestCrowdedFloor: only in a crowded network windows become less than a packet, and they stay
// greater than nothing.
func TestCrowdedFloor(t *testing.T) {
	n := reference
	if got := DefaultConfig(n).MinCwnd; got != 4096 {
		t.Errorf("the least window is %d octets, want 4096", got)
	}
	n.Crowded = true
	for mtu, want := range map[int]int{4096: 128, 256: 8} {
		n.MTU = mtu
		c := DefaultConfig(n)
		if c.MinCwnd != want || c.Validate() != nil {
			t.Errorf("MTU %d: the least window is %d octets, want %d; %v", mtu, c.MinCwnd, want,
				c.Validate())
		}
	}
}

// TestPacedTarget: the target of windows below a packet is greater by the fourth root of a packet
// over the window, and that of a packet joins.
func TestPacedTarget(t *testing.T) {
	for cwnd, want := range map[int]float64{8192: 13500, 4097: 13500, 4096: 13500, 256: 27000,
		2048: 13500 * math.Pow(2, 0.25)} {
		c := newPaced(t, cwnd, func(c *Config) { c.TargetWindow = 20_000 })
		if got := c.TargetDelay(); math.Abs(float64(got)-want) > 1 {
			t.Errorf("the target with a window of %d octets is %v, want %v ns", cwnd, got, want)
		}
	}
	if got := newPaced(t, 256, nil).TargetDelay(); got != 9*us {
		t.Errorf("the target without a TargetWindow is %v, want 9us", got)
	}
}

// TestPacedIncrease: what a window of a packet gains by a SACK, one below gains in proportion, by
// each packet: a proportional increase, a fair one, and that of a period.
func TestPacedIncrease(t *testing.T) {
	for _, delay := range []time.Duration{3 * us, 9 * us} {
		gain := func(cwnd, least int) float64 {
			c := newPaced(t, cwnd, func(c *Config) { c.MinCwnd, c.Fi = least, c.Fi/50 })
			c.cfg.Alpha /= 50
			c.OnSACK(sack(time.Second, 4096, delay, false))
			return float64(c.Window() - cwnd)
		}
		whole := gain(4096, 4096)
		for _, cwnd := range []int{4096, 2048, 512} {
			want := whole * float64(cwnd) / 4096
			if got := gain(cwnd, 128); want < 10 || math.Abs(got-want) > 3 {
				t.Errorf("delay %v: a window of %d octets gains %v, want %v", delay, cwnd, got, want)
			}
		}
	}
}

// TestPacedCut: with a window of a packet or less a marked sample above the target cuts by itself,
// as it is the average, and rule 1 is left out.
func TestPacedCut(t *testing.T) {
	for _, cwnd := range []int{4096, 2048} {
		c := newPaced(t, cwnd, nil)
		c.cfg.Eta = 0
		c.adapt.restart(0)
		c.OnSACK(sack(time.Second, 0, 12*us, true))
		// 1 - 0.8 x (12 - 9) / 12
		if got, want := c.Window(), cwnd*8/10; got != want && got != want-1 {
			t.Errorf("a window of %d becomes %d by a delay of 12us, want %d", cwnd, got, want)
		}
		if got := c.AverageDelay(); got != 12*us {
			t.Errorf("the average is %v, want the sample, 12us", got)
		}
		c.OnNACK(mrc.NACK{Now: 2 * time.Second, Size: 4096})
		if n := c.Stats().QuickAdapts; n != 0 {
			t.Errorf("a window of %d was set by rule 1", cwnd)
		}
	}
	// A window above a packet has the average and rule 1, which leaves a packet.
	c := newPaced(t, 100_000, nil)
	c.adapt.restart(0)
	c.OnNACK(mrc.NACK{Now: time.Second, Size: 4096})
	if c.Window() != 4096 || c.Stats().QuickAdapts != 1 {
		t.Errorf("rule 1 made a window of %d octets, %d times, want 4096, once", c.Window(),
			c.Stats().QuickAdapts)
	}
	c = newPaced(t, 4097, nil)
	if c.OnSACK(sack(time.Second, 0, 8*us, true)); c.AverageDelay() != 100*time.Nanosecond {
		t.Errorf("the average is %v, want 100ns", c.AverageDelay())
	}
}

// TestPacedLoss: a NACK or an expired timer takes a packet, and a half at most.
func TestPacedLoss(t *testing.T) {
	for _, x := range []struct{ cwnd, want int }{{100_000, 95_904}, {8192, 4096}, {8190, 4095},
		{4096, 2048}, {512, 256}, {200, 128}} {
		c := newPaced(t, x.cwnd, func(c *Config) { c.DisableQA = true })
		c.OnNACK(mrc.NACK{Now: us, Size: 4096})
		if c.Window() != x.want {
			t.Errorf("a NACK makes %d octets of a window of %d, want %d", c.Window(), x.cwnd, x.want)
		}
		c.cwnd = int64(x.cwnd)
		c.OnLoss(mrc.Loss{Now: us, Size: 4096, Timeout: true})
		if c.Window() != x.want {
			t.Errorf("a timer makes %d octets of a window of %d, want %d", c.Window(), x.cwnd, x.want)
		}
	}
}

// TestPacedPenalty: a penalty slows a queue pair "down to a window of one packet per RTT" (OCP MRC
// 1.0, section 7.5.1), and does not reduce a window below that.
func TestPacedPenalty(t *testing.T) {
	for cwnd, want := range map[int]int{100_000: 95_904, 8192: 4096, 5000: 4096, 4096: 4096,
		512: 512} {
		c := newPaced(t, cwnd, nil)
		if c.penalise(4096, 127, false); c.Window() != want {
			t.Errorf("penalty 127 makes %d octets of a window of %d, want %d", c.Window(), cwnd, want)
		}
	}
}
