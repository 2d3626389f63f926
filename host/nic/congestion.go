package nic

import (
	"errors"
	"fmt"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nscc"
)

// congestion returns the NSCC parameters from the CC profile with a name, or the NIC's own
// parameters without such a profile.
func (n *NIC) congestion(s *hostapi.State, name string, mtu int) (nscc.Config, error) {
	network := n.cfg.Network
	network.MTU = mtu
	own := nscc.DefaultConfig(network)
	if cc := s.CCProfile(name); cc != nil {
		return own.WithProfile(cc.NSCC)
	}
	return own, own.Validate()
}

// Timers that have to do with round trips.
const (
	// of base round trips that a Local ACK Timeout has at least: SACKs and probes find losses long
	// before
	ackRoundTrips = 100
	// number of round trips, at the target queue delay, after which a probe asks for arrivals
	probeRoundTrips = 4
	leastAckTimeout = 10 // 1.05 ms, the transport's default
	ackTimeoutUnit  = 1024 * time.Nanosecond
	mostAckTimeout  = 24
)

// timers are AckTimeout and ProbeTimeout of a queue pair (mrc.QPConfig).
func timers(c nscc.Config) (ack uint8, probe time.Duration) {
	ack = leastAckTimeout
	for ack < mostAckTimeout && ackRoundTrips*c.BaseRTT > ackTimeoutUnit<<ack {
		ack++
	}
	return ack, min(probeRoundTrips*(c.BaseRTT+c.TargetDelay), ackTimeoutUnit<<ack/4)
}

// setContext gives a flow a congestion context: the context of another flow to the peer if flows
// share contexts, else a new context.
func (n *NIC) setContext(f *flow, params nscc.Config) (err error) {
	if n.cfg.ShareCongestion {
		for _, o := range n.flows {
			if o.peer == f.peer && o.mtu == f.mtu && o.choice == f.choice && o.context != nil {
				f.window, f.context = o.window, o.context
				return nil
			}
		}
	}
	if f.window, err = nscc.New(params); err != nil {
		return err
	}
	f.context = mrc.NewContext(f.window)
	return nil
}

// setCongestion has a flow follow the parameters.
func (f *flow) setCongestion(c nscc.Config) {
	if f.window != nil && f.window.Config() != c {
		_ = f.window.SetConfig(c) // it is valid
	}
	if f.timed {
		ack, probe := timers(c)
		_ = f.qp.SetTimers(ack, probe) // likewise
	}
}

// SetAckTimeout gives a queue pair the Local ACK Timeout 1.024 us x 2^ackTimeout (1 to 24) in place
// of one that follows its round trip, and asks what has arrived after a quarter of it at most.
// Errors: verbs.ErrNotFound, verbs.ErrConfig.
func (n *NIC) SetAckTimeout(qpn uint32, ackTimeout uint8) error {
	qp, err := n.QP(qpn)
	if err != nil {
		return err
	}
	probe := min(qp.Config().ProbeTimeout, ackTimeoutUnit<<ackTimeout/4)
	if err := qp.SetTimers(ackTimeout, probe); err != nil {
		return err
	}
	for _, f := range n.flows {
		if f.qpn == qpn {
			f.timed = false
		}
	}
	return nil
}

// fieldNames maps the fields of nscc.Config to their names in host.proto.
var fieldNames = map[string]string{
	"MinCwnd": "min_cwnd", "MaxCwnd": "max_cwnd", "AdjustBytes": "adjust_bytes_threshold",
	"QAGate": "qa_gate", "BaseRTT": "base_rtt_ns",
	"TargetDelay": "target_delay_ns", "FastDelay": "fast_delay_ns", "NACKDelay": "nack_delay_ns",
	"AdjustPeriod": "adjust_period_threshold_ns",
	"QAThreshold":  "qa_threshold_ns", "Alpha": "alpha", "Fi": "fi", "Eta": "eta",
	"FiScale": "fi_scale", "Gamma": "gamma", "MaxMDJump": "max_md_jump",
	"DelayWeight": "delay_weight", "DelayRelief": "delay_relief",
}

// checkCC reports what of a CC profile queue pairs cannot use.
func (n *NIC) checkCC(c *hostapi.CCProfile) error {
	_, err := nscc.DefaultConfig(n.cfg.Network).WithProfile(c.NSCC)
	if err == nil {
		return nil
	}
	field := fmt.Sprintf("set_cc_profiles[%s].nscc", c.Name)
	if e := (*nscc.FieldError)(nil); errors.As(err, &e) {
		return refusal(hostapi.CodeUnsupported, field+"."+fieldNames[e.Field], "%v, want %s", e.Value,
			e.Want)
	}
	return refusal(hostapi.CodeUnsupported, field, "%v", err)
}

// checkMTU is a PMTU; whether parameters can be used has nothing to do with which.
const checkMTU = 4096
