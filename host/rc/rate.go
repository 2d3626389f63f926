package rc

import (
	"fmt"
	"math"
	"time"

	"github.com/weft-sdn/weft/host/internal/ibta"
	"github.com/weft-sdn/weft/host/verbs"
)

// RateConfig holds the parameters of DCQCN's reaction point (Zhu et al., "Congestion Control for
// Large-Scale RDMA Deployments", SIGCOMM 2015, §3.2 and §5; IBTA annex A17.9 leaves the reaction to
// a CNP open).
type RateConfig struct {
	Enabled bool   // react to CNPs; they are counted in any case. Default true
	MinRate uint64 // bits per second, never less; default 40 Mb/s
	// weight of a congestion mark in alpha, above 0 and below 1; default 1/256
	G                float64
	AlphaInterval    time.Duration // alpha decays once in this time without a CNP; default 55 us
	IncreaseInterval time.Duration // the rate is raised once in this time; default 55 us
	IncreaseOctets   uint64        // and once every so many octets sent; default 10 MB
	// raises half way back to the former rate, before the target itself is raised; default 5
	FastRecovery     int
	AdditiveIncrease uint64 // bits per second; default 40 Mb/s
	HyperIncrease    uint64 // bits per second; default 400 Mb/s
}

// DefaultRateConfig is the paper's choice of parameters.
func DefaultRateConfig() RateConfig {
	return RateConfig{
		Enabled: true, MinRate: 40e6, G: 1.0 / 256, AlphaInterval: 55 * time.Microsecond,
		IncreaseInterval: 55 * time.Microsecond,
		IncreaseOctets:   10e6, FastRecovery: 5, AdditiveIncrease: 40e6, HyperIncrease: 400e6,
	}
}

// Validate reports which field cannot be used; the error wraps ErrConfig. Nothing is asked of a
// disabled configuration.
func (c RateConfig) Validate() error {
	switch {
	case !c.Enabled:
	case c.MinRate == 0:
		return fmt.Errorf("rate control: MinRate is 0: %w", verbs.ErrConfig)
	case !(c.G > 0 && c.G < 1):
		return fmt.Errorf("rate control: G %v: want above 0 and below 1: %w", c.G, verbs.ErrConfig)
	case c.AlphaInterval <= 0 || c.IncreaseInterval <= 0:
		return fmt.Errorf("rate control: AlphaInterval %v, IncreaseInterval %v: want above 0: %w",
			c.AlphaInterval, c.IncreaseInterval, verbs.ErrConfig)
	case c.IncreaseOctets == 0:
		return fmt.Errorf("rate control: IncreaseOctets is 0: %w", verbs.ErrConfig)
	case c.FastRecovery < 1:
		return fmt.Errorf("rate control: FastRecovery %d: want 1 or more: %w", c.FastRecovery,
			verbs.ErrConfig)
	case c.AdditiveIncrease == 0:
		return fmt.Errorf("rate control: AdditiveIncrease is 0: %w", verbs.ErrConfig)
	}
	return nil
}

// rateControl is a reaction point. It needs no timer: elapsed intervals are made up for when it is
// asked.
type rateControl struct {
	cfg     RateConfig
	line    float64 // bits per second
	current float64
	target  float64
	alpha   float64
	limited bool // current is below line
	marked  bool // a CNP has come: before the first one alpha does not decay

	alphaAt    time.Duration // when the running alpha interval began
	increaseAt time.Duration // when the running increase interval began
	octets     uint64        // sent since the last increase by octets
	byTime     int           // increases by time since the last CNP
	byOctets   int           // increases by octets since the last CNP
}

func newRateControl(cfg RateConfig, line uint64) rateControl {
	l := float64(line)
	return rateControl{cfg: cfg, line: l, current: l, target: l, alpha: 1}
}

// bitsPerSecond is the rate at now.
func (r *rateControl) bitsPerSecond(now time.Duration) float64 {
	r.catchUp(now)
	return r.current
}

// gap returns the time that a frame of n octets occupies its share of the line.
func (r *rateControl) gap(now time.Duration, n int) time.Duration {
	return ibta.Serialization(n, r.bitsPerSecond(now))
}

// cnp is the rate decrease of equation 1 in §3.2 of the paper.
func (r *rateControl) cnp(now time.Duration) {
	if !r.cfg.Enabled {
		return
	}
	r.catchUp(now)
	r.decayAlpha(now)
	r.target = r.current
	r.current = max(r.current*(1-r.alpha/2), min(float64(r.cfg.MinRate), r.line))
	r.alpha = (1-r.cfg.G)*r.alpha + r.cfg.G
	r.limited, r.marked = r.current < r.line, true
	r.alphaAt, r.increaseAt = now, now
	r.octets, r.byTime, r.byOctets = 0, 0, 0
}

// sent counts octets toward the next increase.
func (r *rateControl) sent(n int) {
	if !r.limited {
		return
	}
	for r.octets += uint64(n); r.octets >= r.cfg.IncreaseOctets; r.octets -= r.cfg.IncreaseOctets {
		r.byOctets++
		r.increase()
	}
}

func (r *rateControl) catchUp(now time.Duration) {
	for r.limited && now-r.increaseAt >= r.cfg.IncreaseInterval {
		r.increaseAt += r.cfg.IncreaseInterval
		r.byTime++
		r.increase()
	}
}

func (r *rateControl) decayAlpha(now time.Duration) {
	if r.marked {
		r.alpha *= math.Pow(1-r.cfg.G, float64((now-r.alphaAt)/r.cfg.AlphaInterval))
	}
}

// increase is one step of fast recovery, additive or hyper increase (§5.1 of the paper).
func (r *rateControl) increase() {
	more, less := max(r.byTime, r.byOctets), min(r.byTime, r.byOctets)
	switch {
	case more < r.cfg.FastRecovery:
	case less > r.cfg.FastRecovery:
		r.target += float64(less-r.cfg.FastRecovery) * float64(r.cfg.HyperIncrease)
	default:
		r.target += float64(r.cfg.AdditiveIncrease)
	}
	r.target = min(r.target, r.line)
	r.current = (r.target + r.current) / 2
	if r.current >= r.line*(1-1e-6) {
		r.current, r.limited = r.line, false
	}
}
