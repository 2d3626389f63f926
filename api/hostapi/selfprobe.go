package hostapi

import (
	"time"

	pb "github.com/weft-sdn/weft/api/hostapi/hostpb"
)

// Limits of a plan of self-probes.
const (
	// MaxSelfTargets is the targets of one host.
	MaxSelfTargets = 4096
	// MinSelfInterval is the shortest pause between two probes of a host, MinSelfReport that between
	// two reports, and MaxSelfTimeout the longest time that a probe may take.
	MinSelfInterval = 10 * time.Microsecond
	MinSelfReport   = time.Millisecond
	MaxSelfTimeout  = time.Second
)

// SelfProbes is the plan of the probes that a host sends to itself: in place of the plan before.
// The host sends to the targets in turn, one probe an Interval.
type SelfProbes struct {
	Version   Version
	Interval  time.Duration // between two probes of the host
	Timeout   time.Duration // after which a probe is missed
	DeadAfter int           // missed probes in a row that make a target dead
	Report    time.Duration // between reports of counters
	DSCP      uint8
	// Targets are outer destinations in EVs of FormatSRv6: the last uSID leads back to the port that
	// the probe left by. None: the host stops.
	Targets []EV
}

// Validate names the first wrong field; the error is a *FieldError.
func (p *SelfProbes) Validate() error {
	if err := p.validate(); err != nil {
		return err
	}
	return nil
}

func (p *SelfProbes) validate() *FieldError {
	switch {
	case p.Version.Epoch == 0 || p.Version.Number == 0:
		return invalid("version", "%v, want epoch and number above 0", p.Version)
	case len(p.Targets) > MaxSelfTargets:
		return invalid("targets", "%d, want at most %d", len(p.Targets), MaxSelfTargets)
	case len(p.Targets) == 0:
		return nil
	case p.Interval < MinSelfInterval:
		return invalid("interval_ns", "%v, want at least %v", p.Interval, MinSelfInterval)
	case p.Timeout <= 0 || p.Timeout > MaxSelfTimeout:
		return invalid("timeout_ns", "%v, want above 0 and at most %v", p.Timeout, MaxSelfTimeout)
	case p.DeadAfter < 1:
		return invalid("dead_after", "%d, want at least 1", p.DeadAfter)
	case p.Report < MinSelfReport:
		return invalid("report_interval_ns", "%v, want at least %v", p.Report, MinSelfReport)
	case p.DSCP > 63:
		return invalid("dscp", "%d, want 0 to 63", p.DSCP)
	}
	for i, t := range p.Targets {
		if t.Port == 0 || t.Port > MaxPort {
			return invalid("port", "%d, want 1 to %d", t.Port, MaxPort).within("targets[%d]", i)
		}
	}
	return nil
}

// SelfProbeCounts has the results of self-probes for targets with news.
type SelfProbeCounts struct {
	Version Version // of the plan
	Counts  []SelfProbeCount
}

// SelfProbeCount counts the probes to one target since the host took the plan.
type SelfProbeCount struct {
	Target           int // place in SelfProbes.Targets
	Passed, Lost     uint64
	SetAside, Marked uint64
	// Misses is the probes in a row that did not come back within the timeout, Missing the time since
	// the host sent the first of them.
	Misses  uint32
	Missing time.Duration
}

func encodeSelfProbes(p *SelfProbes) *pb.SelfProbes {
	return &pb.SelfProbes{
		Version: encodeVersion(p.Version), IntervalNs: uint64(p.Interval),
		TimeoutNs: uint64(p.Timeout), DeadAfter: uint32(p.DeadAfter),
		ReportIntervalNs: uint64(p.Report), Dscp: uint32(p.DSCP), Targets: encodeEVs(p.Targets),
	}
}

// DecodeSelfProbes reads a plan of self-probes. The error is a *FieldError.
func DecodeSelfProbes(m *pb.SelfProbes) (*SelfProbes, error) {
	p, err := decodeSelfProbes(m)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func decodeSelfProbes(m *pb.SelfProbes) (*SelfProbes, *FieldError) {
	v, err := decodeVersion("version", m.GetVersion(), true)
	if err != nil {
		return nil, err
	}
	for _, d := range []struct {
		field string
		ns    uint64
	}{{"interval_ns", m.GetIntervalNs()}, {"timeout_ns", m.GetTimeoutNs()},
		{"report_interval_ns", m.GetReportIntervalNs()}} {
		if d.ns > uint64(time.Hour) {
			return nil, invalid(d.field, "%d, want at most an hour", d.ns)
		}
	}
	targets, err := decodeEVs("targets", m.GetTargets())
	if err != nil {
		return nil, err
	}
	p := &SelfProbes{
		Version: v, Interval: time.Duration(m.GetIntervalNs()), Timeout: time.Duration(m.GetTimeoutNs()),
		DeadAfter: int(m.GetDeadAfter()), Report: time.Duration(m.GetReportIntervalNs()),
		DSCP: uint8(min(m.GetDscp(), 255)), Targets: targets,
	}
	return p, p.validate()
}

func encodeSelfProbeCounts(c *SelfProbeCounts) *pb.SelfProbeCounts {
	out := &pb.SelfProbeCounts{Version: encodeVersion(c.Version)}
	for _, n := range c.Counts {
		out.Counts = append(out.Counts, &pb.SelfProbeCount{
			Target: uint32(n.Target), Passed: n.Passed, Lost: n.Lost, SetAside: n.SetAside,
			Marked: n.Marked, Misses: n.Misses, MissingNs: uint64(n.Missing),
		})
	}
	return out
}

func decodeSelfProbeCounts(m *pb.SelfProbeCounts) (*SelfProbeCounts, *FieldError) {
	v, err := decodeVersion("version", m.GetVersion(), true)
	if err != nil {
		return nil, err
	}
	out := &SelfProbeCounts{Version: v, Counts: make([]SelfProbeCount, 0, len(m.GetCounts()))}
	for i, n := range m.GetCounts() {
		c := SelfProbeCount{
			Target: int(n.GetTarget()), Passed: n.GetPassed(), Lost: n.GetLost(),
			SetAside: n.GetSetAside(), Marked: n.GetMarked(), Misses: n.GetMisses(),
			Missing: time.Duration(min(n.GetMissingNs(), uint64(time.Hour))),
		}
		switch {
		case n.GetTarget() >= MaxSelfTargets:
			err = invalid("target", "%d, want less than %d", n.GetTarget(), MaxSelfTargets)
		case c.Marked > c.Passed:
			err = invalid("marked", "%d, want at most passed, %d", c.Marked, c.Passed)
		}
		if err != nil {
			return nil, err.within("counts[%d]", i)
		}
		out.Counts = append(out.Counts, c)
	}
	return out, nil
}
