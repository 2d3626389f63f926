package hostapi

import (
	"math"
	"time"
)

// AlgorithmNSCC is the name of NSCC in Capabilities.CCAlgorithms.
const AlgorithmNSCC = "uet-1.0-nscc"

// A CCProfile is the parameters of a congestion control algorithm (mrc_ctl_cc_profile_attr).
type CCProfile struct {
	Name      string
	Algorithm string
	NSCC      NSCC // of AlgorithmNSCC
}

// NSCC is the parameters of NSCC (mrc_ctl_cc_nscc_cfg, and from Alpha on what that lacks). From
// Alpha on, and in AdjustPeriodThreshold, BaseRTT and QAThreshold, 0 is the device's own. Octets
// unless a type says otherwise; durations are whole nanoseconds of at most 32 bits.
type NSCC struct {
	DisableQA             bool
	AdjustBytesThreshold  uint32        // increases are applied when more than this were acknowledged
	AdjustPeriodThreshold time.Duration // or more than this has passed
	// round trip of an idle network with one full packet, until a lesser sample is seen
	BaseRTT time.Duration
	Eta     float32 // added once every AdjustPeriodThreshold
	FI      float32 // fair increase, a window
	FIScale float32 // fast increase: share of the octets acknowledged
	Gamma   float32 // multiplicative decrease, above 0 and at most 1
	// one decrease leaves at least this share of the window, above 0 and at most 1
	MaxMDJump float32
	MaxCwnd   uint32 // greatest window, and the one to start with
	// quick adapt asks that less than MaxCwnd / 2^QAGate was achieved, at most 31
	QAGate      uint8
	QAThreshold time.Duration // and a delay above this, or a loss
	TargetDelay time.Duration // of queues, that is aimed at

	// octets a second; proportional increase: Alpha x (TargetDelay - delay) octets a window
	Alpha       float32
	DelayWeight float32 // of a sample in the average delay, at most 1
	MinCwnd     uint32
	FastDelay   time.Duration // a delay below this is none: fast increase
	// share of the base round trip that an unmarked sample above the target counts for in the average,
	// at most 1
	DelayRelief float32
	NACKDelay   time.Duration // that a NACK counts for in the average
}

// Validate reports what is wrong with the profile for any host, naming the first wrong field. The
// error is a *FieldError.
func (c *CCProfile) Validate() error {
	if err := c.validate(); err != nil {
		return err
	}
	return nil
}

func (c *CCProfile) validate() *FieldError {
	if err := checkName("name", c.Name); err != nil {
		return err
	}
	if c.Algorithm != AlgorithmNSCC {
		return unsupported("algorithm", "%.64q, want %q", c.Algorithm, AlgorithmNSCC)
	}
	if err := c.NSCC.validate(); err != nil {
		return err.within("nscc")
	}
	return nil
}

func (n *NSCC) validate() *FieldError {
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"adjust_period_threshold_ns", n.AdjustPeriodThreshold}, {"base_rtt_ns", n.BaseRTT},
		{"qa_threshold_ns", n.QAThreshold},
		{"target_delay_ns", n.TargetDelay}, {"fast_delay_ns", n.FastDelay},
		{"nack_delay_ns", n.NACKDelay},
	} {
		if d.value < 0 || d.value > math.MaxUint32 {
			return invalid(d.field, "%v, want 0 to %v", d.value, time.Duration(math.MaxUint32))
		}
	}
	for _, f := range []struct {
		field string
		value float32
		above bool    // 0 is too little
		most  float32 // 0 is any
	}{
		{"eta", n.Eta, false, 0}, {"fi", n.FI, false, 0}, {"fi_scale", n.FIScale, false, 0},
		{"gamma", n.Gamma, true, 1},
		{"max_md_jump", n.MaxMDJump, true, 1}, {"alpha", n.Alpha, false, 0},
		{"delay_weight", n.DelayWeight, false, 1},
		{"delay_relief", n.DelayRelief, false, 1},
	} {
		switch v := float64(f.value); {
		case math.IsNaN(v) || math.IsInf(v, 0) || v < 0 || f.above && v == 0:
			return invalid(f.field, "%v, want a number above 0", f.value)
		case f.most != 0 && f.value > f.most:
			return invalid(f.field, "%v, want at most %v", f.value, f.most)
		}
	}
	switch {
	case n.MaxCwnd == 0:
		return invalid("max_cwnd", "0, want at least 1 octet")
	case n.MinCwnd > n.MaxCwnd:
		return invalid("min_cwnd", "%d, want at most max_cwnd, %d", n.MinCwnd, n.MaxCwnd)
	case n.QAGate > 31:
		return invalid("qa_gate", "%d, want at most 31", n.QAGate)
	case n.TargetDelay == 0:
		return invalid("target_delay_ns", "0, want at least 1 ns")
	}
	return nil
}
