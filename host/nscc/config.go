package nscc

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrConfig: a field of a configuration has an invalid value.
var ErrConfig = errors.New("invalid NSCC configuration")

// Config holds the parameters of a queue pair's congestion control; DefaultConfig makes one for a
// network. Names follow the NSCC configuration of the public controller API (mrc_ctl.h), which
// lacks those said to be ours. "Rule" is a rule of docs/mrc-hosts.md, "Congestion
// control".
type Config struct {
	MTU int // octets in a full packet, 256 to 65,536: the MSS of the defaults. Ours

	// round trip of an idle network with one full packet, until a lesser sample is seen
	BaseRTT time.Duration
	// octets; window to start with and greatest one, at BaseRTT: it shrinks with the least round trip.
	// Default 1.5 bandwidth-delay products
	MaxCwnd int
	// octets; least window. Below MTU packets are paced (QPCC.NextSend). Default one MTU, a 32nd of it
	// in a crowded network. Ours
	MinCwnd int

	// T: target queue delay with a window of TargetWindow. Default 0.75 BaseRTT with trimming (see
	// Network.Queue), BaseRTT without
	TargetDelay time.Duration
	// octets; the window that T is for, at BaseRTT: it shrinks with the least round trip. The target
	// is in proportion to the square root of this over the window, mostTarget x T at most, so that a
	// queue pair with less of what its path could carry accepts more delay; a window below MTU has a
	// target greater than that by the fourth root of MTU over the window. 0: T with every window.
	// Default 0, a quarter of a bandwidth-delay product in a crowded network. Ours, after the
	// flow-based scaling of Swift (G. Kumar et al., SIGCOMM 2020)
	TargetWindow int

	// octets/s; proportional increase (rule 3): alpha x (T - delay) octets a window. Default 4 MTU a b
	// / T. Ours
	Alpha   float64
	Fi      float64 // octets a window; fair increase (rule 2). Default 5 MTU a
	Eta     float64 // octets; added once every AdjustPeriod (rule 6). Default 0.15 MTU a
	FiScale float64 // share of the octets acknowledged; fast increase (rule 3). Default 0.25 a

	// a delay below this is none: fast increase (rule 3). Default BaseRTT/12: 1 us in the reference
	// network. Ours
	FastDelay time.Duration

	Gamma float64 // 0 to 1; multiplicative decrease (rule 4). Default 0.8
	// 0 to 1; a decrease leaves at least this share of the window (rule 4). Default 0.5
	MaxMDJump float64

	DelayWeight float64 // 0 to 1; weight of a sample in the average delay. Default 0.0125. Ours
	// share of the base RTT that an unmarked sample above T counts for in the average. Default 0.25.
	// Ours
	DelayRelief float64
	NACKDelay   time.Duration // delay that a NACK counts for in the average. Default BaseRTT. Ours

	// octets; increases are applied when more than this were acknowledged (rule 6). Default 8 MTU
	AdjustBytes  int
	AdjustPeriod time.Duration // or when more than this has passed. Default BaseRTT

	DisableQA bool // no quick adapt (rule 1)
	// quick adapt asks that less than MaxCwnd / 2^QAGate was achieved, at most 31. Default 3
	QAGate      uint8
	QAThreshold time.Duration // and a delay above this, or a loss. Default 4 T

	// no responder flow control on this queue pair: its penalties change nothing (§7.5.1). Ours
	IgnorePenalty bool
}

// Network has the properties of the network from which the defaults follow.
type Network struct {
	Rate uint64 // bits per second that one host can send, over all its ports
	// of a full packet and its SACK between the farthest hosts, all queues empty
	RTT      time.Duration
	MTU      int  // octets in a full packet
	Trimming bool // switches trim what they cannot queue
	// what queues hold until packets are trimmed, in bandwidth-delay products of their links; 0: one.
	// With trimming T is 0.75 of that, a round trip at most
	Queue float64
	// many queue pairs share each link, so that the part that each has of a bandwidth-delay product is
	// a few packets: b is 1 at most, as the window would grow by many times itself in a round trip of
	// milliseconds, and the target delay follows the window
	Crowded bool
}

const (
	crowdedWindow = 1. / 4  // TargetWindow in a crowded network, in bandwidth-delay products
	mostTarget    = 1.5     // what small windows make of T at most
	crowdedFloor  = 1. / 32 // MinCwnd in a crowded network, in packets
	pacedTarget   = -1. / 4 // exponent of what a window below a packet makes of that, of its part
)

// The network the constants of NSCC were chosen for: 100 Gb/s and 12 us.
const (
	referenceRTT = 12 * time.Microsecond
	referenceBDP = 150_000 // octets
)

// BDP is the bandwidth-delay product in octets.
func (n Network) BDP() float64 { return float64(n.Rate) / 8 * n.RTT.Seconds() }

// DefaultConfig scales the constants of NSCC to a network: a is its bandwidth-delay product over
// that of the reference network (100 Gb/s x 12 us), b the target delay over the reference round
// trip.
func DefaultConfig(n Network) Config {
	mtu := float64(n.MTU)
	target := n.RTT
	if n.Trimming {
		queue := n.Queue
		if queue == 0 {
			queue = 1
		}
		target = time.Duration(min(1, 0.75*queue) * float64(n.RTT))
	}
	a := n.BDP() / referenceBDP
	b, window, least := target.Seconds()/referenceRTT.Seconds(), 0, n.MTU
	if n.Crowded {
		b, window = min(1, b), int(crowdedWindow*n.BDP())
		least = int(crowdedFloor * mtu)
	}
	return Config{
		MTU:          n.MTU,
		BaseRTT:      n.RTT,
		MaxCwnd:      max(int(1.5*n.BDP()), n.MTU),
		MinCwnd:      least,
		TargetDelay:  target,
		TargetWindow: window,
		Alpha:        4 * mtu * a * b / target.Seconds(),
		Fi:           5 * mtu * a,
		Eta:          0.15 * mtu * a,
		FiScale:      0.25 * a,
		FastDelay:    n.RTT / 12,
		Gamma:        0.8,
		MaxMDJump:    0.5,
		DelayWeight:  0.0125,
		DelayRelief:  0.25,
		NACKDelay:    n.RTT,
		AdjustBytes:  8 * n.MTU,
		AdjustPeriod: n.RTT,
		QAGate:       3,
		QAThreshold:  4 * target,
	}
}

// maxWindow keeps octets in flight within their 32 bits (table 8-3).
const maxWindow = math.MaxInt32 / 2

// A FieldError names an invalid field of a Config. A FieldError wraps ErrConfig.
type FieldError struct {
	Field string // of Config
	Value any
	Want  string
}

// Error is field, value and what would be right.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s %v: want %s: %v", e.Field, e.Value, e.Want, ErrConfig)
}

// Unwrap is ErrConfig.
func (e *FieldError) Unwrap() error { return ErrConfig }

// Validate reports which field cannot be used; the error is a *FieldError.
func (c Config) Validate() error {
	bad := func(field string, value any, want string) error {
		return &FieldError{Field: field, Value: value, Want: want}
	}
	if c.MTU < 256 || c.MTU > 65536 {
		return bad("MTU", c.MTU, "256 to 65536 octets")
	}
	if c.MinCwnd < 1 || c.MinCwnd > maxWindow {
		return bad("MinCwnd", c.MinCwnd, fmt.Sprintf("1 to %d octets", maxWindow))
	}
	if c.MaxCwnd < c.MinCwnd || c.MaxCwnd > maxWindow {
		return bad("MaxCwnd", c.MaxCwnd, fmt.Sprintf("MinCwnd (%d) to %d octets", c.MinCwnd, maxWindow))
	}
	if c.TargetWindow < 0 || c.TargetWindow > maxWindow {
		return bad("TargetWindow", c.TargetWindow, fmt.Sprintf("0 to %d octets", maxWindow))
	}
	if c.AdjustBytes < 0 || c.AdjustBytes > maxWindow {
		return bad("AdjustBytes", c.AdjustBytes, fmt.Sprintf("0 to %d octets", maxWindow))
	}
	if c.QAGate > 31 {
		return bad("QAGate", c.QAGate, "0 to 31")
	}
	for _, f := range []struct {
		name string
		v    time.Duration
		min  time.Duration
	}{
		{"BaseRTT", c.BaseRTT, 1}, {"TargetDelay", c.TargetDelay, 1}, {"FastDelay", c.FastDelay, 0},
		{"NACKDelay", c.NACKDelay, 0}, {"AdjustPeriod", c.AdjustPeriod, 1}, {"QAThreshold", c.QAThreshold,
			1},
	} {
		if f.v < f.min || f.v > time.Minute {
			return bad(f.name, f.v, fmt.Sprintf("%v to a minute", f.min))
		}
	}
	for _, f := range []struct {
		name string
		v    float64
		max  float64
	}{
		{"Alpha", c.Alpha, 1e15}, {"Fi", c.Fi, 1e9}, {"Eta", c.Eta, 1e9}, {"FiScale", c.FiScale, 1e6},
		{"Gamma", c.Gamma, 1}, {"MaxMDJump", c.MaxMDJump, 1}, {"DelayWeight", c.DelayWeight, 1},
		{"DelayRelief", c.DelayRelief, 1e3},
	} {
		if !(f.v >= 0 && f.v <= f.max) {
			return bad(f.name, f.v, fmt.Sprintf("0 to %g", f.max))
		}
	}
	return nil
}
