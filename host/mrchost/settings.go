package mrchost

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/host/hostrun"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/host/nscc"
)

// Wire holds the UDP port and DSCPs that distinguish packets (OCP MRC 1.0, table 7-7 and section
// 7.5.5.2). With a controller, a value here that differs from the controller's value is an error.
type Wire struct {
	UDPPort *uint16 `yaml:"udpPort" doc:"UDP destination port" default:"4791"`
	DSCP    DSCPs   `yaml:"dscp"`
}

// DSCPs are codepoints, 0 to 63. Defaults 3, 7, 11, 35, 39 and 43.
type DSCPs struct {
	NoTrim         *uint8 `yaml:"noTrim" doc:"codepoints. Omit them and the port with a controller, which sends them for the whole fabric. A value that differs from the controller's is an error that names both; nothing is sent" default:"3"`
	Trimmable      *uint8 `yaml:"trimmable" doc:"codepoints. Omit them and the port with a controller, which sends them for the whole fabric. A value that differs from the controller's is an error that names both; nothing is sent" default:"7"`
	TrimmableRetx  *uint8 `yaml:"trimmableRetx" doc:"codepoints. Omit them and the port with a controller, which sends them for the whole fabric. A value that differs from the controller's is an error that names both; nothing is sent" default:"11"`
	Trimmed        *uint8 `yaml:"trimmed" doc:"codepoints. Omit them and the port with a controller, which sends them for the whole fabric. A value that differs from the controller's is an error that names both; nothing is sent" default:"35"`
	TrimmedLastHop *uint8 `yaml:"trimmedLastHop" doc:"codepoints. Omit them and the port with a controller, which sends them for the whole fabric. A value that differs from the controller's is an error that names both; nothing is sent" default:"39"`
	Control        *uint8 `yaml:"control" doc:"codepoints. Omit them and the port with a controller, which sends them for the whole fabric. A value that differs from the controller's is an error that names both; nothing is sent" default:"43"`
}

func (w *Wire) nic() nic.Wire {
	d := &w.DSCP
	return nic.Wire{
		UDPPort: w.UDPPort, NoTrim: d.NoTrim, Trimmable: d.Trimmable, TrimmableRetx: d.TrimmableRetx,
		Trimmed: d.Trimmed, TrimmedLastHop: d.TrimmedLastHop, Control: d.Control,
	}
}

// Receive has the rate at which a host takes over received data, and its responders' reaction to
// waiting data (nic.Intake).
type Receive struct {
	Rate          uint64 `yaml:"rate" doc:"payload, in bits per second, that the host consumes, of all queue pairs together; 0: unlimited, and the rest of 'receive' does not apply" default:"0"`
	Bitmap        int    `yaml:"bitmap" doc:"packets that all queue pairs together may have received out of order; one more is refused by NACK NO_BITMAP, and the peer sends it again. 0: any number. It applies without 'receive.rate' too" default:"0"`
	Packets       int    `yaml:"packets" doc:"packets that may wait, whatever their size: a device has a descriptor for each; one more is refused by NACK NO_RESOURCE. 0: any number" default:"0"`
	Buffer        int    `yaml:"buffer" doc:"octets that may wait; a packet without room is refused by NACK NO_PKT_BUFFER, and the peer sends it again" default:"1048576"`
	FlowControl   *bool  `yaml:"flowControl" doc:"penalties (rcv_cwnd_pen) slow peers down: none up to 'receive.penaltyFrom' waiting octets, the largest from 'receive.penaltyTo' on, in proportion between" default:"true"`
	PenaltyFrom   *int   `yaml:"penaltyFrom" doc:"waiting octets up to which there is no penalty" default:"a quarter of 'buffer'"`
	PenaltyTo     *int   `yaml:"penaltyTo" doc:"waiting octets from which on the penalty is the largest" default:"three quarters of 'buffer'"`
	RestoreWindow bool   `yaml:"restoreWindow" doc:"peers restore their earlier window when nothing waits any more (restore_cwnd)" default:"false"`
	AdaptMPR      bool   `yaml:"adaptMpr" doc:"max_psn_range of the queue pairs follows the free share of 'buffer', at least 1. Packets in flight beyond it are refused by NACK PSN_OOR_WINDOW" default:"false"`
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

// Attributes are the attributes of table 10-1. Omitted fields have their defaults, but for Peer of
// a queue pair.
type Attributes struct {
	MaxWIMM     *int  `yaml:"maxWimm" doc:"WRITEs with Immediate in flight, 0 to 4096 (MRC_QP_MAX_WIMM_DEST)" default:"32"`
	MaxMPR      *int  `yaml:"maxMpr" doc:"packets in flight in units of 128, 1 to 255 (MRC_QP_MAX_MPR_DEST)" default:"8"`
	DynamicMPR  *bool `yaml:"dynamicMpr" doc:"max_psn_range may change while the connection runs (MRC_QP_DYNAMIC_MPR); off unless both ends have it" default:"true"`
	TrimNACK    *bool `yaml:"trimNack" doc:"trimmed packets are answered by NACKs (MRC_DEVICE_CAP_TRIM_NACK); data to a peer without it is sent as not trimmable" default:"true"`
	ServiceTime *bool `yaml:"serviceTime" doc:"service time is taken off timestamps, or reported (MRC_DEVICE_CAP_SVC_TIME)" default:"true"`
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
	MPR                int           `yaml:"mpr" doc:"initial max_psn_range of the host's responder, in units of 128 packets, as sent in SACKs" default:"maxMpr"`
	AckTimeout         uint8         `yaml:"ackTimeout" doc:"Local ACK Timeout is 1.024 us x 2^n, 1 to 24" default:"by the round trip"`
	ProbeTimeout       *api.Duration `yaml:"probeTimeout" doc:"silence after which a reliability probe is sent; 0: never. Only with 'ackTimeout'" default:"a quarter of ackTimeout"`
	LinearRetries      *uint8        `yaml:"linearRetries" doc:"retries after that timeout, 0 to 7, and after doubling timeouts, 0 to 25, where 25 is unlimited" default:"7"`
	ExponentialRetries *uint8        `yaml:"exponentialRetries" doc:"retries after that timeout, 0 to 7, and after doubling timeouts, 0 to 25, where 25 is unlimited" default:"25"`
	Trimmable          *bool         `yaml:"trimmable" doc:"switches may trim the data; requests carry timestamps" default:"true"`
	Timestamps         *bool         `yaml:"timestamps" doc:"switches may trim the data; requests carry timestamps" default:"true"`
	FlowControl        *bool         `yaml:"flowControl" doc:"penalties of 'receive' apply to this queue pair" default:"true"`
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

// ackTimeoutUnit is the unit of table 7-1.
const ackTimeoutUnit = 1024 * time.Nanosecond

// create makes the queue pair. If the peer's packets show a wrong configuration, create's log
// reports it once.
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
