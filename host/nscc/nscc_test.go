package nscc

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/packet"
)

// reference is the network for which NSCC defines its constants: on this network every factor of
// DefaultConfig is 1, except b, which is 0.75 with trimming.
var reference = Network{Rate: 100e9, RTT: 12 * time.Microsecond, MTU: 4096, Trimming: true}

const us = time.Microsecond

func newQPCC(t *testing.T, change func(*Config)) *QPCC {
	t.Helper()
	cfg := DefaultConfig(reference)
	cfg.DisableQA = true
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sack is a SACK for octets that took delay in queues.
func sack(now time.Duration, octets int, delay time.Duration, marked bool) mrc.SACK {
	return mrc.SACK{Now: now, Newly: octets, InFlight: 100_000, RTT: reference.RTT + delay,
		RTTValid: true, Marked: marked}
}

func TestDefaultConfig(t *testing.T) {
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	c := DefaultConfig(reference)
	near("MaxCwnd", float64(c.MaxCwnd), 225_000)
	near("TargetDelay", c.TargetDelay.Seconds(), 9e-6)
	near("Alpha", c.Alpha, 4*4096*0.75/9e-6)
	near("Fi", c.Fi, 20480)
	near("Eta", c.Eta, 614.4)
	near("FiScale", c.FiScale, 0.25)
	near("FastDelay", c.FastDelay.Seconds(), 1e-6)
	near("QAThreshold", c.QAThreshold.Seconds(), 36e-6)
	near("AdjustPeriod", c.AdjustPeriod.Seconds(), 12e-6)
	near("AdjustBytes", float64(c.AdjustBytes), 32768)

	// Without trimming the target is a round trip; b is 1.
	n := reference
	n.Trimming = false
	c = DefaultConfig(n)
	near("TargetDelay without trimming", c.TargetDelay.Seconds(), 12e-6)
	near("Alpha without trimming", c.Alpha, 4*4096/12e-6)

	// A slow link: 100 Mb/s, 4 ms. a = 50,000/150,000, b = 3 ms/12 us; what is compared with a
	// delay grows with the round trip.
	c = DefaultConfig(Network{Rate: 100e6, RTT: 4 * time.Millisecond, MTU: 4096, Trimming: true})
	near("MaxCwnd of the slow link", float64(c.MaxCwnd), 75_000)
	near("Fi of the slow link", c.Fi, 20480.0/3)
	near("alpha T of the slow link", c.Alpha*c.TargetDelay.Seconds(), 4*4096*250/3.0)
	near("FastDelay of the slow link", c.FastDelay.Seconds(), 333.333e-6)
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

func TestConfigRefuses(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"MTU":          func(c *Config) { c.MTU = 100 },
		"BaseRTT":      func(c *Config) { c.BaseRTT = 0 },
		"MinCwnd":      func(c *Config) { c.MinCwnd = 0 },
		"MaxCwnd":      func(c *Config) { c.MaxCwnd = c.MinCwnd - 1 },
		"MaxCwnd high": func(c *Config) { c.MaxCwnd = math.MaxInt32 },
		"TargetDelay":  func(c *Config) { c.TargetDelay = -1 },
		"TargetWindow": func(c *Config) { c.TargetWindow = -1 },
		"Alpha":        func(c *Config) { c.Alpha = math.NaN() },
		"Fi":           func(c *Config) { c.Fi = math.Inf(1) },
		"Eta":          func(c *Config) { c.Eta = -1 },
		"FiScale":      func(c *Config) { c.FiScale = -0.1 },
		"FastDelay":    func(c *Config) { c.FastDelay = -1 },
		"Gamma":        func(c *Config) { c.Gamma = 1.1 },
		"MaxMDJump":    func(c *Config) { c.MaxMDJump = 2 },
		"DelayWeight":  func(c *Config) { c.DelayWeight = 1.5 },
		"DelayRelief":  func(c *Config) { c.DelayRelief = -1 },
		"NACKDelay":    func(c *Config) { c.NACKDelay = time.Hour },
		"AdjustBytes":  func(c *Config) { c.AdjustBytes = -1 },
		"AdjustPeriod": func(c *Config) { c.AdjustPeriod = 0 },
		"QAGate":       func(c *Config) { c.QAGate = 32 },
		"QAThreshold":  func(c *Config) { c.QAThreshold = 0 },
	} {
		cfg := DefaultConfig(reference)
		change(&cfg)
		if err := cfg.Validate(); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
		c := newQPCC(t, nil)
		before := *c
		if err := c.SetConfig(cfg); err == nil || *c != before {
			t.Errorf("%s: SetConfig: %v, and it changed", name, err)
		}
	}
}

// TestWindowAdjustment is table 8-1: for each row, what a round trip of such SACKs does to the
// window.
func TestWindowAdjustment(t *testing.T) {
	const window = 100_000
	for _, row := range []struct {
		name   string
		marked bool
		delay  time.Duration
		want   int // octets the window changes by
	}{
		// alpha (T - delay) octets a window: 4 x 4096 x 0.75 x (9 - 3)/9, and eta.
		{"not set, below the target", false, 3 * us, 8192 + 614},
		// 5 x 4096 octets a window, and eta.
		{"not set, at the target", false, 9 * us, 20480 + 614},
		// The average is at 20 us: 1 - 0.8 x 11/20 of the window, then eta.
		{"set, above the target", true, 20 * us, -44_000 + 614},
		{"set, below the target", true, 3 * us, 614},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newQPCC(t, func(c *Config) { c.AdjustBytes = window })
			c.cwnd = window
			c.avg = float64(row.delay)
			c.lastAdjust = 0
			for i := range 10 {
				c.OnSACK(sack(time.Duration(i+1)*us, window/10, row.delay, row.marked))
			}
			if got := c.Window(); row.want > 0 && !row.marked && got != window {
				t.Fatalf("the window changed by %d before a window was acknowledged", got-window)
			}
			c.OnSACK(sack(13*us, 0, row.delay, row.marked))
			if got := c.Window() - window; got < row.want-2 || got > row.want+2 {
				t.Errorf("the window changed by %d octets, want %d", got, row.want)
			}
		})
	}
}

// TestMarkedSampleBelowTarget: a marked sample whose delay is below the target changes nothing,
// also while the average is above the target ("this packet experienced no congestion", table 8-1,
// last row).
func TestMarkedSampleBelowTarget(t *testing.T) {
	for _, delay := range []time.Duration{0, us, 9*us - 1} {
		c := newQPCC(t, nil)
		c.cwnd, c.avg, c.cfg.Eta, c.lastAdjust = 100_000, float64(90*us), 0, 0
		for i := range 40 {
			now := time.Duration(i+1) * 20 * us // a base round trip and more since any cut
			c.OnSACK(sack(now, 4096, delay, true))
			if c.avg <= float64(9*us) {
				t.Fatalf("the average has fallen to %v: the test tests nothing", c.AverageDelay())
			}
		}
		if c.Window() != 100_000 || c.Stats().Cuts != 0 {
			t.Errorf("delay %v: window %d, %d cuts; want 100,000 and none", delay, c.Window(),
				c.Stats().Cuts)
		}
	}
	c := newQPCC(t, nil)
	c.cwnd, c.avg, c.cfg.Eta = 100_000, float64(90*us), 0
	if c.OnSACK(sack(20*us, 4096, 9*us, true)); c.Stats().Cuts != 1 {
		t.Error("no cut at the target, where table 8-1 has a multiplicative decrease")
	}
}

func TestFastIncrease(t *testing.T) {
	c := newQPCC(t, func(c *Config) { c.AdjustBytes = maxWindow })
	c.cwnd = 40_000
	c.lastAdjust = 0
	// It begins once more than a window was acknowledged without delay; before it the increase is
	// proportional.
	for range 10 {
		c.OnSACK(sack(us, 4096, 0, false))
	}
	before := c.Window()
	if c.stats.FastIncreases != 1 {
		t.Fatalf("%d fast increases after a window and a little, want 1", c.stats.FastIncreases)
	}
	c.OnSACK(sack(us, 4096, 0, false))
	if got := c.Window() - before; got != 1024 {
		t.Errorf("a fast increase of %d for 4096 octets, want a quarter", got)
	}
	// One slower sample ends it, and the count begins anew.
	c.OnSACK(sack(us, 4096, us, false))
	c.OnSACK(sack(us, 4096, 0, false))
	if c.stats.FastIncreases != 2 {
		t.Error("fast increase went on after a delay")
	}
}

func TestMultiplicativeDecrease(t *testing.T) {
	c := newQPCC(t, nil)
	c.cwnd, c.avg, c.lastAdjust = 100_000, float64(90*us), 20*us
	c.OnSACK(sack(20*us, 0, 90*us, true))
	if c.Window() != 50_000 {
		t.Fatalf("window %d, want half: no cut is deeper", c.Window())
	}
	c.OnSACK(sack(32*us, 0, 90*us, true))
	if c.Window() != 50_000 {
		t.Error("a second cut within a base round trip")
	}
	c.OnSACK(sack(32*us+1, 0, 90*us, true))
	if c.Window() >= 50_000 {
		t.Error("no second cut after a base round trip")
	}
	// A high sample alone is no reason while the average is low.
	c.cwnd, c.avg = 100_000, 0
	c.OnSACK(sack(100*us, 0, 90*us, true))
	if c.Window() < 100_000 {
		t.Error("cut for a single sample")
	}
}

// TestFloorIsOnePacket: a window cut to its floor stays there, although a period has passed: a
// queue pair may send while cwnd > inflight, so with any more it would have two packets in flight.
// Above the floor the increase of a period comes with the cut.
func TestFloorIsOnePacket(t *testing.T) {
	c := newQPCC(t, nil)
	late := func(window int) int {
		c.cwnd, c.avg, c.lastCut, c.lastAdjust = int64(window), float64(90*us), never, never
		c.OnSACK(sack(100*us, c.cfg.MTU, 90*us, true))
		return c.Window()
	}
	if got := late(c.cfg.MTU); got != c.cfg.MinCwnd {
		t.Errorf("window %d, want %d", got, c.cfg.MinCwnd)
	}
	if got, want := late(20*c.cfg.MTU), 10*c.cfg.MTU+int(c.cfg.Eta); got != want {
		t.Errorf("window %d, want half and %d more: %d", got, int(c.cfg.Eta), want)
	}
}

func TestAverageDelay(t *testing.T) {
	c := newQPCC(t, nil)
	c.OnSACK(sack(us, 0, 8*us, false))
	if got, want := c.AverageDelay(), 100*time.Nanosecond; got != want {
		t.Errorf("average %v, want 0.0125 of 8 us, %v", got, want)
	}
	// Above the target and unmarked: counts as a quarter of the base round trip, 3 us.
	c.avg = 0
	c.OnSACK(sack(us, 0, 80*us, false))
	if got, want := c.avg, 0.0125*3000; got != want {
		t.Errorf("average %v ns, want %v", got, want)
	}
	c.avg = 0
	c.OnSACK(sack(us, 0, 80*us, true))
	if got, want := c.avg, 0.0125*80000; got != want {
		t.Errorf("average %v ns of a marked sample, want %v", got, want)
	}
	// Without a valid sample the average stands for it, and stays.
	before := c.avg
	a := sack(us, 0, 500*us, true)
	a.RTTValid = false
	c.OnSACK(a)
	if c.avg != before {
		t.Error("an invalid sample was averaged in")
	}
	// A NACK counts as one network round trip.
	c.avg = 0
	c.OnNACK(mrc.NACK{Now: us, Size: 4096})
	if got, want := c.avg, 0.0125*12000; got != want {
		t.Errorf("average %v ns after a NACK, want %v", got, want)
	}
}

func TestBaseRTT(t *testing.T) {
	c := newQPCC(t, nil)
	if c.Window() != 225_000 || c.MaxWindow() != 225_000 {
		t.Fatalf("begins with %v, want 1.5 bandwidth-delay products", c)
	}
	c.OnSACK(mrc.SACK{Now: us, RTT: 8 * us, RTTValid: true})
	if c.BaseRTT() != 8*us || c.MaxWindow() != 150_000 || c.Window() != 150_000 {
		t.Errorf("after a round trip of 8 us: %v, want a greatest window of 150,000", c)
	}
	c.OnSACK(mrc.SACK{Now: us, RTT: 4 * us, RTTValid: true, Probe: true})
	if c.BaseRTT() != 8*us {
		t.Error("a probe, shorter than data, lowered the base round trip")
	}
	c.OnNACK(mrc.NACK{Now: us, Size: 4096, RTT: 6 * us, RTTValid: true})
	if c.BaseRTT() != 6*us {
		t.Error("a NACK did not lower the base round trip")
	}
}

func TestQuickAdapt(t *testing.T) {
	enable := func(c *Config) { c.DisableQA = false }
	period := 12*us + 9*us
	t.Run("sets the window to what was achieved", func(t *testing.T) {
		c := newQPCC(t, enable)
		c.OnNewData(0, 1<<20)
		c.OnSend(mrc.Sent{InFlight: 225_000})
		c.OnSACK(sack(10*us, 20_000, 5*us, false))
		c.OnNACK(mrc.NACK{Now: 11 * us, Size: 4096, InFlight: 196_000})
		if c.Window() < 200_000 {
			t.Fatalf("adapted within the period: %v", c)
		}
		c.OnNACK(mrc.NACK{Now: period + 1, Size: 4096, InFlight: 190_000})
		if c.Window() != 20_000 || c.stats.QuickAdapts != 1 {
			t.Fatalf("%v after the period, want the 20,000 octets achieved", c)
		}
		// Packets that were in flight then say nothing new: neither NACKs nor marked SACKs move the
		// window.
		c.OnNACK(mrc.NACK{Now: period + 2, Size: 4096, InFlight: 186_000})
		c.OnSACK(sack(period+3, 4096, 50*us, true))
		if c.Window() != 20_000 {
			t.Errorf("%v, want no change while what was in flight is reported", c)
		}
		// An unmarked SACK does.
		c.OnSACK(sack(period+4, 40_000, 3*us, false))
		if c.Window() <= 20_000 {
			t.Errorf("%v, want growth", c)
		}
		// Once as much was reported, NACKs count again.
		c.OnSACK(sack(period+5, 150_000, 3*us, false))
		before := c.Window()
		c.OnNACK(mrc.NACK{Now: period + 6, Size: 4096, InFlight: 10_000})
		if c.Window() != before-4096 {
			t.Errorf("window changed by %d for a NACK of 4096", c.Window()-before)
		}
	})
	t.Run("each time it ignores what is in flight then", func(t *testing.T) {
		c := newQPCC(t, enable)
		c.OnNewData(0, 1<<20)
		c.OnSACK(sack(10*us, 20_000, 5*us, false))
		c.OnNACK(mrc.NACK{Now: period + 1, Size: 4096, InFlight: 100_000})
		c.OnSACK(sack(period+2, 150_000, 3*us, false)) // all of it, and more
		c.OnSACK(sack(2*period+2, 4096, 3*us, false))
		c.OnSACK(sack(2*period+3, 20_000, 3*us, false)) // what the last period achieves
		c.OnNACK(mrc.NACK{Now: 3*period + 3, Size: 4096, InFlight: 50_000})
		before := c.Window()
		c.OnNACK(mrc.NACK{Now: 3*period + 4, Size: 4096, InFlight: 46_000})
		if c.stats.QuickAdapts != 2 || c.Window() != before {
			t.Errorf("%d adaptations, and the window moved by %d for what was in flight at the second",
				c.stats.QuickAdapts, c.Window()-before)
		}
	})
	t.Run("one NACK sets the window once", func(t *testing.T) {
		c := newQPCC(t, enable)
		c.OnNewData(0, 1<<20)
		c.OnSACK(sack(10*us, 20_000, 5*us, false))
		c.OnNACK(mrc.NACK{Now: period + 1, Size: 4096})
		c.OnSACK(sack(period+2, 8192, 5*us, false))
		c.OnSACK(sack(2*period+2, 8192, 5*us, false))
		if c.stats.QuickAdapts != 1 {
			t.Errorf("%d adaptations, the last in a period without a NACK, loss or delay",
				c.stats.QuickAdapts)
		}
	})
	t.Run("not when enough was achieved", func(t *testing.T) {
		c := newQPCC(t, enable)
		c.OnNewData(0, 1<<20)
		c.OnSACK(sack(10*us, 225_000/8, 5*us, false))
		c.OnNACK(mrc.NACK{Now: period + 1, Size: 4096})
		if c.stats.QuickAdapts != 0 || c.Window() != 225_000-4096 {
			t.Errorf("%v, want only the NACK's cut", c)
		}
	})
	t.Run("delay above the threshold", func(t *testing.T) {
		c := newQPCC(t, enable)
		c.OnNewData(0, 1<<20)
		c.OnSACK(sack(10*us, 8192, 36*us, false))
		c.OnSACK(sack(period+1, 8192, 36*us, true))
		if c.stats.QuickAdapts != 0 {
			t.Fatal("adapted at the threshold")
		}
		c.OnSACK(sack(2*period+2, 8192, 36*us+1, true))
		if c.stats.QuickAdapts != 1 || c.Window() != 8192 {
			t.Errorf("%v, want 8192", c)
		}
	})
	t.Run("floor", func(t *testing.T) {
		c := newQPCC(t, enable)
		c.OnNewData(0, 1<<20)
		c.OnNACK(mrc.NACK{Now: period + 1, Size: 4096})
		if c.Window() != 4096 {
			t.Errorf("%v, want one MTU", c)
		}
	})
	t.Run("a pause is no congestion", func(t *testing.T) {
		c := newQPCC(t, enable)
		c.OnNewData(0, 4096)
		c.OnSend(mrc.Sent{InFlight: 4096})
		c.OnSACK(mrc.SACK{Now: 12 * us, Newly: 4096, RTT: 12 * us, RTTValid: true})
		c.OnNewData(time.Second, 1<<20)
		c.OnSend(mrc.Sent{InFlight: 100_000})
		c.OnNACK(mrc.NACK{Now: time.Second + 5*us, Size: 4096, InFlight: 96_000})
		if c.stats.QuickAdapts != 0 {
			t.Errorf("%v: adapted to what was achieved before the pause", c)
		}
	})
	t.Run("disabled", func(t *testing.T) {
		c := newQPCC(t, nil)
		c.OnNewData(0, 1<<20)
		c.OnNACK(mrc.NACK{Now: time.Millisecond, Size: 4096})
		if c.Window() != 225_000-4096 {
			t.Errorf("%v", c)
		}
	})
}

// TestEvents is table 8-2: what each event does to the window.
func TestEvents(t *testing.T) {
	c := newQPCC(t, nil)
	c.cwnd = 100_000
	step := func(name string, want int, f func()) {
		t.Helper()
		f()
		if c.Window() != want {
			t.Errorf("after %s the window is %d, want %d", name, c.Window(), want)
		}
	}
	step("OnNewData", 100_000, func() { c.OnNewData(0, 50_000) })
	step("OnSend", 100_000, func() { c.OnSend(mrc.Sent{Size: 4096, InFlight: 4096}) })
	step("OnNACK", 100_000-4096, func() {
		c.OnNACK(mrc.NACK{Now: us, Size: 4096, Reason: packet.NACKTrimmed})
	})
	step("OnNACK of a packet acknowledged before", 100_000-4096, func() {
		c.OnNACK(mrc.NACK{Now: us})
	})
	step("OnLoss that SACKs tell of", 100_000-4096, func() { c.OnLoss(mrc.Loss{Now: us, Size: 4096}) })
	step("OnLoss by a timer", 100_000-8192, func() {
		c.OnLoss(mrc.Loss{Now: us, Size: 4096, Timeout: true})
	})
	step("timeouts down to the floor", 4096, func() {
		for range 40 {
			c.OnLoss(mrc.Loss{Now: us, Size: 4096, Timeout: true})
		}
	})
	step("OnSACK", 4096+1024, func() {
		c.lastAdjust = us
		c.OnSACK(sack(us, 4096, 0, false)) // fills the count of fast increase
		c.OnSACK(sack(us, 4096, 0, false))
	})
	if s := c.Stats(); s.NACKs != 2 || s.Losses != 1 || s.Timeouts != 41 || s.SACKs != 2 {
		t.Errorf("counted %+v", s)
	}
}

// TestPenalty is §7.5.1: 0 has no effect, 64 halves the window in a round trip, 127 makes it one
// packet.
func TestPenalty(t *testing.T) {
	// roundTrip acknowledges a window's worth of octets, the penalty in each SACK, which would let
	// the window grow as much as it can.
	roundTrip := func(c *QPCC, penalty uint8, restore bool) {
		left := c.Window()
		for left > 0 {
			n := min(left, 4096)
			left -= n
			a := sack(us, n, 0, false)
			a.Penalty, a.RestoreCwnd = penalty, restore
			c.OnSACK(a)
		}
	}
	start := func(t *testing.T, change func(*Config)) *QPCC {
		c := newQPCC(t, change)
		c.lastAdjust, c.cfg.Eta = us, 0
		return c
	}
	for _, tt := range []struct {
		penalty  uint8
		min, max int
	}{{0, 225_000, 225_000}, {64, 110_000, 122_000}, {127, 4096, 4096}, {200, 4096, 4096}} {
		c := start(t, nil)
		roundTrip(c, tt.penalty, false)
		want := c.Stats().SACKs
		if tt.penalty == 0 {
			want = 0
		}
		if n := c.Stats().Penalties; n != want {
			t.Errorf("%d SACKs with penalty %d, want %d", n, tt.penalty, want)
		}
		if w := c.Window(); w < tt.min || w > tt.max {
			t.Errorf("penalty %d: window %d of 225,000 after a round trip, want %d to %d", tt.penalty, w,
				tt.min, tt.max)
		}
	}
	t.Run("restored", func(t *testing.T) {
		c := start(t, nil)
		roundTrip(c, 100, true)
		roundTrip(c, 100, true)
		c.OnSACK(sack(us, 0, 0, false))
		if c.Window() > 100_000 {
			t.Error("a SACK with nothing new ended the penalty")
		}
		roundTrip(c, 0, false)
		if c.Window() != 225_000 {
			t.Errorf("window %d, want the one before the penalty", c.Window())
		}
	})
	t.Run("not restored", func(t *testing.T) {
		c := start(t, nil)
		roundTrip(c, 100, true)
		roundTrip(c, 100, false)
		low := c.Window()
		roundTrip(c, 0, true)
		if c.Window() > 2*low {
			t.Errorf("window %d after %d: the last SACK with a penalty asked for no restoration", c.Window(),
				low)
		}
	})
	// 127 slows "down to a window of one packet per RTT", and keeps it there: no increase gets
	// through, of whatever rule.
	t.Run("127 stops all growth", func(t *testing.T) {
		c := newQPCC(t, nil) // Eta is not 0
		for i := range 200 {
			now := time.Duration(i+1) * reference.RTT * 2 // AdjustPeriod has passed each time
			octets := 4096
			if i >= 100 {
				octets = 256 // less than Eta: what the penalty takes does not make up for it
			}
			a := sack(now, octets, []time.Duration{0, 3 * us, 9 * us, 50 * us}[i%4], false)
			a.Penalty = 127
			c.OnSACK(a)
			if i >= 60 && c.Window() != 4096 {
				t.Fatalf("window %d after %d round trips with penalty 127, want one packet of 4096", c.Window(),
					i+1)
			}
		}
		c.OnSACK(sack(time.Second, 4096, 0, false))
		if c.Window() <= 4096 {
			t.Errorf("window %d without a penalty, want growth", c.Window())
		}
	})
	t.Run("disabled", func(t *testing.T) {
		c := start(t, func(c *Config) { c.IgnorePenalty = true })
		roundTrip(c, 127, true)
		if c.Window() != 225_000 || c.Stats().Penalties != 0 {
			t.Errorf("window %d, want no effect", c.Window())
		}
	})
}

func TestFlowControl(t *testing.T) {
	f := FlowControl{Enabled: true, Low: 1000, High: 3000, Restore: true}
	for _, tt := range []struct {
		backlog int
		want    uint8
	}{{-1, 0}, {0, 0}, {1000, 0}, {1001, 1}, {2000, 64}, {2999, 126}, {3000, 127}, {1 << 40, 127}} {
		if got := f.Penalty(tt.backlog); got != tt.want {
			t.Errorf("penalty %d for a backlog of %d, want %d", got, tt.backlog, tt.want)
		}
	}
	var last uint8
	for b := 0; b < 4000; b++ {
		p := f.Penalty(b)
		if p < last || p > packet.MaxRcvCwndPenalty {
			t.Fatalf("penalty %d for a backlog of %d, after %d", p, b, last)
		}
		last = p
	}
	f.Enabled = false
	if p := f.Penalty(1 << 40); p != 0 {
		t.Errorf("penalty %d with flow control disabled", p)
	}
	if err := f.Validate(); err != nil {
		t.Error(err)
	}
	for _, bad := range []FlowControl{{Enabled: true, Low: -1, High: 10},
		{Enabled: true, Low: 10, High: 10}} {
		if err := bad.Validate(); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestBounds: whatever happens, the window stays between its floor and its greatest value, and
// numbers stay numbers.
func TestBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		cfg := DefaultConfig(Network{Rate: 1e6 << rng.IntN(20), RTT: us << rng.IntN(14),
			MTU: 256 << rng.IntN(5), Trimming: rng.IntN(2) == 0})
		cfg.DisableQA = rng.IntN(4) == 0
		if cfg.MaxCwnd > maxWindow {
			continue
		}
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var now time.Duration
		for range 500 {
			now += time.Duration(rng.Int64N(int64(cfg.BaseRTT)))
			size, inflight := rng.IntN(1<<uint(rng.IntN(24))), rng.IntN(1<<24)-1<<10
			rtt := time.Duration(rng.Int64N(int64(cfg.BaseRTT)*10)) - cfg.BaseRTT/2
			valid, marked := rng.IntN(4) > 0, rng.IntN(3) == 0
			switch rng.IntN(8) {
			case 0:
				c.OnNewData(now, size)
			case 1:
				c.OnSend(mrc.Sent{Now: now, Size: size, InFlight: inflight})
			case 2:
				c.OnNACK(mrc.NACK{Now: now, Size: size, InFlight: inflight, RTT: rtt, RTTValid: valid})
			case 3:
				c.OnLoss(mrc.Loss{Now: now, Size: size, InFlight: inflight, Timeout: marked})
			default:
				c.OnSACK(mrc.SACK{Now: now, Newly: size, InFlight: inflight, RTT: rtt, RTTValid: valid,
					Marked:  marked,
					Penalty: uint8(rng.IntN(256)), RestoreCwnd: valid, Probe: rng.IntN(9) == 0})
			}
			if c.Window() < cfg.MinCwnd || c.Window() > c.MaxWindow() || c.MaxWindow() > cfg.MaxCwnd ||
				c.BaseRTT() <= 0 || math.IsNaN(c.avg) || math.IsInf(c.avg, 0) {
				t.Fatalf("%v, average %v", c, c.avg)
			}
		}
	}
}

func TestAllocatesNothing(t *testing.T) {
	c := newQPCC(t, func(c *Config) { c.DisableQA = false })
	var now time.Duration
	if n := testing.AllocsPerRun(1000, func() {
		now += us
		c.OnNewData(now, 4096)
		c.OnSend(mrc.Sent{Now: now, Size: 4096, InFlight: 4096})
		c.OnSACK(sack(now, 4096, 3*us, false))
		c.OnNACK(mrc.NACK{Now: now, Size: 4096})
		c.OnLoss(mrc.Loss{Now: now, Size: 4096, Timeout: true})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestPenaltyEnds: a window that is greater than the one before the penalty stays, and a smaller
// one comes back (section 7.5.1).
func TestPenaltyEnds(t *testing.T) {
	for window, want := range map[int64]int{99_999: 100_000, 100_000: 100_000, 100_001: 100_001} {
		c := newQPCC(t, nil)
		c.lastAdjust, c.cfg.Eta = us, 0
		c.cwnd, c.penalty = window, penaltyPeriod{on: true, saved: 100_000, restore: true}
		c.OnSACK(sack(us, 256, 9*us, false)) // at the target: no rule moves the window
		if c.Window() != want {
			t.Errorf("window %d becomes %d, want %d", window, c.Window(), want)
		}
		if c.penalty.on {
			t.Error("the penalty goes on")
		}
	}
}

// TestQuickAdaptPeriod: a period is a base round trip and the target delay, from when the one
// before ended.
func TestQuickAdaptPeriod(t *testing.T) {
	const period = 12*us + 9*us
	start := func() *QPCC {
		c := newQPCC(t, func(c *Config) { c.DisableQA = false })
		c.OnNewData(0, 1<<20)
		c.OnSACK(sack(us, 8192, 5*us, false))
		return c
	}
	for after, want := range map[time.Duration]uint64{period - 1: 0, period: 0, period + 1: 1} {
		c := start()
		c.OnNACK(mrc.NACK{Now: after, Size: 4096})
		if got := uint64(c.stats.QuickAdapts); got != want {
			t.Errorf("%v after the start: %d adaptations, want %d", after, got, want)
		}
	}
	c := start()
	c.OnNACK(mrc.NACK{Now: period + 1, Size: 4096})
	c.OnNACK(mrc.NACK{Now: 2*period + 1, Size: 4096})
	if c.stats.QuickAdapts != 1 {
		t.Error("adapted twice within a period")
	}
	c.OnNACK(mrc.NACK{Now: 2*period + 2, Size: 4096})
	if c.stats.QuickAdapts != 2 {
		t.Error("not adapted after the second period")
	}
}

// TestFastIncreaseAfterMark: a marked packet above the target ends the count toward a fast
// increase, also where the window is not cut (rule 4).
func TestFastIncreaseAfterMark(t *testing.T) {
	c := newQPCC(t, func(c *Config) { c.AdjustBytes = maxWindow })
	c.cwnd, c.lastCut, c.avg = 40_000, us, 0
	for range 9 { // 36,864 octets: one more packet, and the fast increase begins
		c.OnSACK(sack(us, 4096, 0, false))
	}
	c.OnSACK(sack(us, 0, 10*us, true))
	if c.stats.Cuts != 0 || c.stats.FastIncreases != 0 {
		t.Fatalf("%d cuts, %d fast increases", c.stats.Cuts, c.stats.FastIncreases)
	}
	for range 9 {
		c.OnSACK(sack(us, 4096, 0, false))
	}
	if c.stats.FastIncreases != 0 {
		t.Error("what was acknowledged before the mark counts")
	}
	for range 2 { // 45,056 octets: more than the window, which has grown a little
		c.OnSACK(sack(us, 4096, 0, false))
	}
	if c.stats.FastIncreases != 1 {
		t.Errorf("%d fast increases after a window without a mark, want 1: %v", c.stats.FastIncreases, c)
	}
}
