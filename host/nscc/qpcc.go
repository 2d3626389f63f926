package nscc

import (
	"fmt"
	"math"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
)

// QPCC is the congestion control of a queue pair's requester (OCP MRC 1.0, §8.3): its window.
type QPCC struct {
	cfg Config

	cwnd     int64 // octets, MinCwnd to maxCwnd
	maxCwnd  int64
	inflight int64 // octets, when the queue pair last said so

	base   time.Duration // least round trip seen
	target time.Duration // T with this window
	avg    float64       // average delay, ns

	adapt    quickAdapt
	fast     fastIncrease
	inc      float64 // octets x octets: increases not yet applied
	received int64   // octets acknowledged since they were last applied

	lastSent, lastAdjust, lastCut time.Duration

	penalty penaltyPeriod
	stats   Stats
}

var _ mrc.Congestion = (*QPCC)(nil)

// Stats counts what moved the window.
type Stats struct {
	SACKs, NACKs, Losses, Timeouts uint64
	QuickAdapts                    uint64 // times rule 1 set the window
	FairIncreases                  uint64 // SACKs that took rule 2
	ProportionalIncreases          uint64 // SACKs that took rule 3, and how many of them fast
	FastIncreases                  uint64
	Cuts                           uint64 // times rule 4 cut the window
	Penalties                      uint64 // SACKs with a penalty that counted
}

// never is a time before all other times, without overflow in differences.
const never = time.Duration(-1 << 62)

// New makes the congestion control of a queue pair that has sent nothing. The error wraps
// ErrConfig.
func New(cfg Config) (*QPCC, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &QPCC{cfg: cfg, base: cfg.BaseRTT, lastSent: never, lastAdjust: never, lastCut: never}
	c.limit()
	c.cwnd = c.maxCwnd
	return c, nil
}

// SetConfig changes the parameters of a running queue pair. The queue pair keeps its learned state,
// except the base RTT if cfg has a new base RTT. After an error, which wraps ErrConfig, nothing
// changes.
func (c *QPCC) SetConfig(cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	if cfg.BaseRTT != c.cfg.BaseRTT {
		c.base = cfg.BaseRTT
	}
	c.cfg = cfg
	c.limit()
	return nil
}

// Config returns the parameters.
func (c *QPCC) Config() Config { return c.cfg }

// Window is the congestion window in octets.
func (c *QPCC) Window() int { return int(c.cwnd) }

// NextSend returns the earliest time for the next packet with a window of at most one packet:
// packets leave base RTT x MTU / cwnd apart (pacing as in Swift: G. Kumar et al., SIGCOMM 2020).
func (c *QPCC) NextSend() time.Duration {
	if !c.paced() {
		return 0
	}
	return c.lastSent + time.Duration(float64(c.base)/c.part())
}

// paced reports whether the window is such that what the network carries is a packet in a round
// trip at most.
func (c *QPCC) paced() bool {
	return c.cwnd <= int64(c.cfg.MTU) && c.cfg.MinCwnd < c.cfg.MTU
}

// part is the window as a part of a packet.
func (c *QPCC) part() float64 { return float64(c.cwnd) / float64(c.cfg.MTU) }

// MaxWindow is the greatest window in octets, for the least round trip seen so far.
func (c *QPCC) MaxWindow() int { return int(c.maxCwnd) }

// BaseRTT is the least round trip seen, or the configured one.
func (c *QPCC) BaseRTT() time.Duration { return c.base }

// AverageDelay is the average delay of queues.
func (c *QPCC) AverageDelay() time.Duration { return time.Duration(c.avg) }

// Stats counts the causes that have moved the window.
func (c *QPCC) Stats() Stats { return c.stats }

// String is the window for people to read.
func (c *QPCC) String() string {
	return fmt.Sprintf("cwnd %d of %d, base RTT %v, delay %v", c.cwnd, c.maxCwnd, c.base,
		c.AverageDelay().Round(time.Nanosecond))
}

// TargetDelay returns the target queue delay of the queue pair.
func (c *QPCC) TargetDelay() time.Duration { return c.target }

// limit has the greatest window follow the least round trip.
func (c *QPCC) limit() {
	c.maxCwnd = max(int64(float64(c.cfg.MaxCwnd)*c.length()), int64(c.cfg.MinCwnd))
	c.clamp()
	c.aim()
}

// length returns the least round trip divided by the configured round trip.
func (c *QPCC) length() float64 { return float64(c.base) / float64(c.cfg.BaseRTT) }

// aim has the target delay follow the window. The same rate has the same target over short and long
// paths.
func (c *QPCC) aim() {
	c.target = c.cfg.TargetDelay
	if c.cfg.TargetWindow > 0 {
		scale := math.Sqrt(float64(c.cfg.TargetWindow) * c.length() / float64(c.cwnd))
		scale = min(mostTarget, scale)
		if c.paced() {
			scale *= math.Pow(c.part(), pacedTarget)
		}
		c.target = max(1, time.Duration(scale*float64(c.target)))
	}
}

func (c *QPCC) clamp() {
	c.cwnd = min(max(c.cwnd, int64(c.cfg.MinCwnd)), c.maxCwnd)
}
