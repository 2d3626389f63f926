package hostapi

import (
	"net/netip"
	"time"
)

// API is the protocol version of this package.
const API = 1

// Up is a message from a host: *Hello, *Applied, *Refused, *EVEvents, *EVCounts, *ProbeResult,
// *PortStatus, *QueuePairs, *SelfProbeCounts or *PortErrors.
type Up interface{ up() }

// Down is a message from a controller: *Welcome, *Update, *Probe or *SelfProbes.
type Down interface{ down() }

func (*Hello) up()           {}
func (*Applied) up()         {}
func (*Refused) up()         {}
func (*EVEvents) up()        {}
func (*EVCounts) up()        {}
func (*ProbeResult) up()     {}
func (*PortStatus) up()      {}
func (*QueuePairs) up()      {}
func (*SelfProbeCounts) up() {}
func (*PortErrors) up()      {}
func (*Welcome) down()       {}
func (*Update) down()        {}
func (*Probe) down()         {}
func (*SelfProbes) down()    {}

// Hello is the first message of a host.
type Hello struct {
	API          uint32
	Name         string
	Software     string
	Instance     uint64 // of the agent's start; not 0
	Capabilities Capabilities
	Version      Version // that the host holds; zero when it holds none
}

// Applied reports that the host holds a version.
type Applied struct{ Version Version }

// Refused reports that the host did not apply a version and holds what it held before.
type Refused struct {
	Version Version
	Code    Code
	Field   string
	Reason  string
}

// Error is the refusal as an error, a *FieldError.
func (r *Refused) Error() *FieldError {
	return &FieldError{Code: r.Code, Field: r.Field, Reason: r.Reason}
}

// EVEvents lists state changes of EVs, in order, after Dropped lost events.
type EVEvents struct {
	Events  []EVEvent
	Dropped uint64
}

// EVEvent is an EV that became EVAssumedBad, or EVGood again.
type EVEvent struct {
	Profile string
	EV      EV
	State   EVState
}

// EVCounts is counters of EVs.
type EVCounts struct{ Counts []EVCount }

// EVCount is packets that an EV carried and packets found lost, since the host's instance started
// or the EV came into the profile.
type EVCount struct {
	Profile    string
	EV         EV
	Sent, Lost uint64
}

// ProbeResult is the answer to a Probe. RTTs count answered probes only.
type ProbeResult struct {
	ID                      uint32
	Sent, Received          int
	RTTMin, RTTMean, RTTMax time.Duration
	ServiceTimeAdjusted     bool // the responder's service time is taken off
	Port                    uint8
	Err                     string // why the probe was not made
}

// PortStatus lists the host's own ports with a link, without disabled ports.
type PortStatus struct{ Up PortMask }

// Welcome is the first message of a controller.
type Welcome struct {
	Software       string
	MaxEvents      int // in one EVEvents
	MaxCounts      int // in one EVCounts
	MaxGroups      int // in one QueuePairs; 0: none are sent
	MaxPortErrors  int // in one PortErrors; 0: none are sent
	MaxMessageRate int // messages a second that are read
	CountsInterval time.Duration
}

// Update makes Version of Base; a zero Base is the empty state, and the update a snapshot.
type Update struct {
	Version, Base Version
	Delta         Delta
}

// Probe asks for EV probes.
type Probe struct {
	ID                  uint32
	Source, Destination netip.Addr // the zero Source is the host's choice
	Format              Format
	EV                  EV
	DSCP                uint8
	Count               int           // 1 to MaxProbes
	Interval            time.Duration // between probes
	Timeout             time.Duration // of each; at most 10 s
}

// MaxProbeTime bounds interval and timeout of a probe.
const MaxProbeTime = 10 * time.Second

// Validate names the first wrong field; the error is a *FieldError.
func (p *Probe) Validate() error {
	if err := p.validate(); err != nil {
		return err
	}
	return nil
}

func (p *Probe) validate() *FieldError {
	if err := p.Format.validate(); err != nil {
		return err.within("format")
	}
	if err := checkEV(p.EV, p.Format.Bits()); err != nil {
		return err.within("ev")
	}
	switch {
	case p.Source != (netip.Addr{}) && !isAddress(p.Source):
		return invalid("source", "%v, want an IPv6 or IPv4 address or none", p.Source)
	case !isAddress(p.Destination):
		return invalid("destination", "%v, want an IPv6 or IPv4 address", p.Destination)
	case p.DSCP > 63:
		return invalid("dscp", "%d, want 0 to 63", p.DSCP)
	case p.Count < 1 || p.Count > MaxProbes:
		return invalid("count", "%d, want 1 to %d", p.Count, MaxProbes)
	case p.Interval < 0 || p.Interval > MaxProbeTime:
		return invalid("interval_ns", "%v, want 0 to %v", p.Interval, MaxProbeTime)
	case p.Timeout <= 0 || p.Timeout > MaxProbeTime:
		return invalid("timeout_ns", "%v, want above 0 and at most %v", p.Timeout, MaxProbeTime)
	}
	return nil
}
