package mrchost

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/cmd/weft/hostrun"
	"github.com/weft-sdn/weft/endpoint/mrc"
	"github.com/weft-sdn/weft/endpoint/nic"
	"github.com/weft-sdn/weft/endpoint/nscc"
)

// Wire is what packets are told apart by (OCP MRC 1.0, table 7-7 and section 7.5.5.2). With a
// controller, a value that is set here and another one there is an error.
type Wire struct {
	UDPPort *uint16 `yaml:"udpPort"` // default 4791
	DSCP    DSCPs   `yaml:"dscp"`
}

// DSCPs are codepoints, 0 to 63. Defaults 3, 7, 11, 35, 39 and 43.
type DSCPs struct {
	NoTrim         *uint8 `yaml:"noTrim"`
	Trimmable      *uint8 `yaml:"trimmable"`
	TrimmableRetx  *uint8 `yaml:"trimmableRetx"`
	Trimmed        *uint8 `yaml:"trimmed"`
	TrimmedLastHop *uint8 `yaml:"trimmedLastHop"`
	Control        *uint8 `yaml:"control"`
}

func (w *Wire) nic() nic.Wire {
	d := &w.DSCP
	return nic.Wire{
		UDPPort: w.UDPPort, NoTrim: d.NoTrim, Trimmable: d.Trimmable, TrimmableRetx: d.TrimmableRetx,
		Trimmed: d.Trimmed, TrimmedLastHop: d.TrimmedLastHop, Control: d.Control,
	}
}

// Receive is how fast a host takes over what it receives, and what its responders do about what
// waits meanwhile (nic.Intake).
type Receive struct {
	// Rate is the bits of payload per second, of all queue pairs. Default 0: all at once, whatever the
	// other fields say.
	Rate uint64 `yaml:"rate"`
	// Bitmap is the packets that all queue pairs together may have received out of order; one more is
	// refused by NACK NO_BITMAP. Default 0: any number. It applies whatever the rate.
	Bitmap int `yaml:"bitmap"`
	// Packets is the packets that may wait, whatever their size; one more is refused by NACK
	// NO_RESOURCE. Default 0: any number.
	Packets int `yaml:"packets"`
	// Buffer is the octets that may wait; what finds no room is refused by NACK NO_PKT_BUFFER. Default
	// 1048576.
	Buffer int `yaml:"buffer"`
	// FlowControl makes penalties (rcv_cwnd_pen) of what waits: none up to PenaltyFrom octets, 127
	// from PenaltyTo on. Defaults true, a quarter of Buffer and three quarters.
	FlowControl *bool `yaml:"flowControl"`
	PenaltyFrom *int  `yaml:"penaltyFrom"`
	PenaltyTo   *int  `yaml:"penaltyTo"`
	// RestoreWindow asks peers to take up the window that they had before, when nothing waits any
	// more. Default false.
	RestoreWindow bool `yaml:"restoreWindow"`
	// AdaptMPR has the present max_psn_range of the queue pairs follow the share of Buffer that is
	// free. Default false.
	AdaptMPR bool `yaml:"adaptMpr"`
}

const defaultBuffer = 1 << 20

func (r *Receive) intake() nic.Intake {
	i := nic.Intake{Bitmap: r.Bitmap, Rate: r.Rate, Buffer: r.Buffer, Packets: r.Packets,
		AdaptMPR: r.AdaptMPR}
	if i.Buffer == 0 {
		i.Buffer = defaultBuffer
	}
	i.FlowControl = nscc.FlowControl{
		Enabled: r.FlowControl == nil || *r.FlowControl, Low: i.Buffer / 4, High: i.Buffer / 4 * 3,
		Restore: r.RestoreWindow,
	}
	set(&i.FlowControl.Low, r.PenaltyFrom)
	set(&i.FlowControl.High, r.PenaltyTo)
	return i
}

// Attributes are those of table 10-1. What is left out has the default, but for Peer of a queue
// pair.
type Attributes struct {
	MaxWIMM    *int  `yaml:"maxWimm"`    // WRITEs with Immediate in flight; default 32
	MaxMPR     *int  `yaml:"maxMpr"`     // packets in flight, in units of 128; default 8
	DynamicMPR *bool `yaml:"dynamicMpr"` // default true
	TrimNACK   *bool `yaml:"trimNack"`   // answers trimmed packets with NACKs; default true
	// takes its service time off timestamps, or reports it; default true
	ServiceTime *bool `yaml:"serviceTime"`
}

func (a *Attributes) over(to *mrc.Attributes) {
	set(&to.MaxWIMM, a.MaxWIMM)
	set(&to.MaxMPR, a.MaxMPR)
	set(&to.DynamicMPR, a.DynamicMPR)
	set(&to.TrimNACK, a.TrimNACK)
	set(&to.ServiceTime, a.ServiceTime)
}

// QPSettings are how a queue pair sends and answers.
type QPSettings struct {
	// MPR is the max_psn_range that the host's responder begins with, in units of 128 packets, at most
	// its maxMpr. Default that.
	MPR int `yaml:"mpr"`
	// AckTimeout n is a Local ACK Timeout of 1.024 us x 2^n, 1 to 24 (table 7-1), and ProbeTimeout the
	// pause after which a reliability probe asks what has arrived. Default: both follow the round
	// trip. With AckTimeout alone, ProbeTimeout is a quarter of it.
	AckTimeout   uint8         `yaml:"ackTimeout"`
	ProbeTimeout *api.Duration `yaml:"probeTimeout"`
	// LinearRetries after that timeout, 0 to 7, and ExponentialRetries after twice the time each, 0 to
	// 25, where 25 never runs out. Defaults 7 and 25.
	LinearRetries      *uint8 `yaml:"linearRetries"`
	ExponentialRetries *uint8 `yaml:"exponentialRetries"`
	// Trimmable: switches may trim the data, if the peer has trimNack. Timestamps: requests carry one.
	// Both default to true.
	Trimmable  *bool `yaml:"trimmable"`
	Timestamps *bool `yaml:"timestamps"`
	// FlowControl false keeps penalties out of what this queue pair answers. Default true.
	FlowControl *bool `yaml:"flowControl"`
}

func (s *QPSettings) over(c *mrc.QPConfig) {
	if c.AckTimeout = s.AckTimeout; s.AckTimeout != 0 {
		c.ProbeTimeout = ackTimeoutUnit << min(s.AckTimeout, 40) / 4
	}
	if s.ProbeTimeout != nil {
		c.ProbeTimeout = s.ProbeTimeout.D()
	}
	set(&c.LinearRetries, s.LinearRetries)
	set(&c.ExponentialRetries, s.ExponentialRetries)
	set(&c.Trimmable, s.Trimmable)
	if s.Timestamps != nil && !*s.Timestamps {
		c.TimestampUnit = 0
	}
	if s.FlowControl != nil && !*s.FlowControl {
		c.Penalty = func(time.Duration) (uint8, bool) { return 0, false }
	}
}

// ackTimeoutUnit is that of table 7-1.
const ackTimeoutUnit = 1024 * time.Nanosecond

// create makes the queue pair. What its peer's packets say of a wrong configuration is logged once.
func (q *QueuePair) create(n *nic.NIC, r *Receive, log *slog.Logger) (*mrc.QP, error) {
	switch {
	case q.ProbeTimeout != nil && q.AckTimeout == 0:
		return nil, fmt.Errorf("probeTimeout %v: want ackTimeout with it", q.ProbeTimeout.D())
	case q.MPR != 0 && r.Rate != 0 && r.AdaptMPR:
		return nil, fmt.Errorf("mpr %d: want it without receive.adaptMpr, which changes it", q.MPR)
	}
	cfg, told := q.config(), false
	cfg.MPRUnset = func(time.Duration) {
		if !told {
			told = true
			log.Warn("SACKs have no max_psn_range: is dynamicMpr off at the peer? It must be the same in "+
				"peer.dynamicMpr here", "queuePair", q.QPN, "peer", q.RemoteAddress)
		}
	}
	qp, err := n.CreateQP(cfg)
	if err == nil && q.MPR != 0 {
		err = qp.SetMPR(q.MPR)
	}
	return qp, err
}

// checkSettings names what of wire and receive cannot be used.
func (c *Config) checkSettings(n nic.Config) error {
	var faults []error
	if n.Wire != (nic.Wire{}) {
		settings := n.Wire.Over(n.Host.Wire)
		if err := settings.Validate(); err != nil {
			faults = append(faults, hostrun.Fault("wire", "%v", err))
		}
	}
	for _, f := range []struct {
		name  string
		value int
	}{{"bitmap", c.Receive.Bitmap}, {"packets", c.Receive.Packets}} {
		if f.value < 0 {
			faults = append(faults, hostrun.Fault("receive."+f.name,
				"is %d: want a number of packets, or 0 for any", f.value))
		}
	}
	if c.Receive.Buffer < 0 {
		faults = append(faults, hostrun.Fault("receive.buffer",
			"is %d: want a packet, 4096 octets, or more", c.Receive.Buffer))
	} else if err := n.Intake.Validate(); err != nil {
		faults = append(faults, hostrun.Fault("receive", "%v", err))
	}
	return errors.Join(faults...)
}

func set[T any](to, value *T) {
	if value != nil {
		*to = *value
	}
}
