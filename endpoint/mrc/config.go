package mrc

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/endpoint/internal/ibta"
	"github.com/weft-sdn/weft/endpoint/verbs"
	"github.com/weft-sdn/weft/packet"
)

// Port is a port of a host: a plane of the fabric (OCP MRC 1.0, §11.5).
type Port struct {
	// source of frames sent by the port; frames it receives for other addresses are refused
	MAC      packet.MAC
	Gateway  packet.MAC // where every frame is sent: the switch
	LineRate uint64     // bits per second; 0 means 100 Gb/s
}

// Config describes a host. Start from DefaultConfig.
type Config struct {
	Name     string     // for error messages
	Addr     netip.Addr // IPv6, unicast; the one address that all ports share
	Ports    []Port     // ports are numbered from 1: port n is Ports[n-1]; 1 to packet.MaxPort of them
	PKey     uint16     // partition key; default 0xFFFF, the default partition
	HopLimit uint8      // of every packet sent; default 64

	// ControlPKey stands in SACKs, NACKs and reliability probes for the partition: a value that is
	// provisioned to say that a reliability header is there (OCP MRC 1.0, table 7-11). Both ends must
	// agree on it; default 0xFFFF. One that arrives with another is refused.
	ControlPKey uint16

	// how far sending may fall behind the line rate and still catch up in a burst; default 0, for
	// exact virtual time
	PacingSlack time.Duration

	// Wire is what both ends must agree on: UDP port (default 4791) and DSCP classes.
	Wire packet.MRCSettings

	// EndpointServiceTime: answers to endpoint requests have the host's service time taken off
	// their timestamp, or report it (table 7-23). Default true.
	EndpointServiceTime bool
	// EndpointTimeout is how long an endpoint request waits for its answer; default 100 ms.
	EndpointTimeout time.Duration

	// EndpointPath, if not nil, chooses the path of the answer to an endpoint request, by one of
	// the ports; back is the port and the entropy value of the request, which answers take without
	// this. When ok is false the answer is dropped and counted.
	EndpointPath func(now time.Duration, peer netip.Addr, back Path, ports packet.PortMask) (p Path,
		ok bool)
	// PeerPortsChanged, if not nil, is told that a peer has said which of its ports are up. It must
	// not call back, but for PeerPorts.
	PeerPortsChanged func(peer netip.Addr)

	// Output takes a frame to send by a port, which is valid during the call only. Required.
	Output func(now time.Duration, port int, frame []byte)
}

// DefaultConfig is a configuration that lacks only Addr, Ports and Output.
func DefaultConfig() Config {
	return Config{
		PKey: packet.DefaultPKey, ControlPKey: packet.DefaultPKey, HopLimit: 64,
		Wire: packet.DefaultMRCSettings(), EndpointServiceTime: true,
		EndpointTimeout: 100 * time.Millisecond,
	}
}

const defaultLineRate = 100e9

// Validate reports which field cannot be used; the error wraps verbs.ErrConfig.
func (c Config) Validate() error {
	bad := func(field string, value any, want string) error {
		return fmt.Errorf("host %s: %s %v: want %s: %w", c.Name, field, value, want, verbs.ErrConfig)
	}
	switch {
	case !ibta.Unicast(c.Addr):
		return bad("Addr", c.Addr, "an IPv6 unicast address")
	case len(c.Ports) < 1 || len(c.Ports) > packet.MaxPort:
		return bad("Ports", len(c.Ports), fmt.Sprintf("1..%d of them", packet.MaxPort))
	case !ibta.ValidPKey(c.PKey):
		return bad("PKey", fmt.Sprintf("%#04x", c.PKey), "one whose low 15 bits are not 0")
	case !ibta.ValidPKey(c.ControlPKey):
		return bad("ControlPKey", fmt.Sprintf("%#04x", c.ControlPKey), "one whose low 15 bits are not 0")
	case c.HopLimit == 0:
		return bad("HopLimit", c.HopLimit, "1..255")
	case c.PacingSlack < 0:
		return bad("PacingSlack", c.PacingSlack, "0 or more")
	case c.EndpointTimeout <= 0:
		return bad("EndpointTimeout", c.EndpointTimeout, "more than 0")
	case c.Output == nil:
		return bad("Output", "nil", "a function")
	}
	for i, p := range c.Ports {
		if (p.MAC == packet.MAC{}) || p.MAC[0]&1 != 0 {
			return bad(fmt.Sprintf("Ports[%d].MAC", i), p.MAC, "a unicast address")
		}
	}
	if err := c.Wire.Validate(); err != nil {
		return fmt.Errorf("host %s: Wire: %w: %w", c.Name, verbs.ErrConfig, err)
	}
	return nil
}

const (
	// InfiniteRetries is the ExponentialRetries that never run out (OCP MRC 1.0, table 7-1).
	InfiniteRetries = 25
	// ackTimeoutUnit x 2^n is a Local ACK Timeout, with n at most maxAckTimeout.
	ackTimeoutUnit = 1024 * time.Nanosecond
	maxAckTimeout  = 24
)

// QPConfig describes a queue pair, both its requester and its responder. Start from
// DefaultQPConfig.
type QPConfig struct {
	QPN        uint32     // 24 bits, not 0, 1, 2 (endpoint operations) or 0xFFFFFF
	RemoteAddr netip.Addr // of the peer
	RemoteQPN  uint32

	SQPSN uint32 // sq_psn: PSN of the first packet sent, 24 bits
	RQPSN uint32 // rq_psn: PSN of the first packet received, 24 bits
	PMTU  int    // octets of payload in a full packet: 256, 512, 1024, 2048 or 4096 (default)

	// of this end and of the peer, exchanged out of band; default DefaultAttributes
	Local, Remote Attributes

	// Local ACK Timeout is 1.024 us x 2^AckTimeout, 1..24; default 10 (1.05 ms)
	AckTimeout    uint8
	LinearRetries uint8 // retries after that timeout, 0..7; default 7
	// further ones, each after twice the time, 0..25; 25 (default) is infinite
	ExponentialRetries uint8

	// ProbeTimeout: when packets wait to be acknowledged and nothing is sent or heard for so long,
	// a reliability probe asks what has arrived, and what was sent at least so long before that and
	// has not arrived is sent again. When all has arrived and its transport ACK has not, that is
	// asked for after so long. 0 is never; default a quarter of the Local ACK Timeout.
	ProbeTimeout time.Duration

	// Domain is the protection domain of the queue pair: its peer writes only to regions of the same
	// (verbs.Foreign). Default 0: to all.
	Domain uint32
	// Notify, if not nil, is told that Poll has another completion, or that the queue pair has moved
	// to the error state. It must not call back.
	Notify func()
	// Starved, if not nil, is called when a WRITE with Immediate finds no receive request; it may call
	// PostRecv. Without a request after that the queue pair fails.
	Starved func()

	SendDepth int // work requests posted and not completed at most; default 1024
	RecvDepth int // receive requests posted and not used at most; default 1024

	// Trimmable: data leaves with the DSCP that switches may trim. Default true; it takes effect
	// when the peer has TrimNACK.
	Trimmable bool
	NotECT    bool // data leaves without ECN capability; default false: ECT(0)

	SACKThreshold int // sack_gen_threshold: a SACK is sent after more octets than that; default 16384
	MinAckPacket  int // MIN_ACK_PACKET_SIZE: the least a packet counts for, in octets; default 1024

	// TimestampUnit is the resolution of the timestamps in requests: packet.TimestampUnit
	// (default), or a unit of the requester's own, whose timestamps the responder only reflects
	// (tsr). A round trip may be longer than 16 bits of it hold: the requester remembers about when
	// it sent what. 0: requests carry none, and the requester's memory is all there is, which is no
	// use for what was sent more than twice.
	TimestampUnit time.Duration

	// of the requester; a Context that other queue pairs have too is shared with them. Required.
	Congestion Congestion
	Sprayer    Sprayer // of all packets sent. Required.

	// Penalty, if not nil, is asked for rcv_cwnd_pen (0 to packet.MaxRcvCwndPenalty) and
	// restore_cwnd of every SACK; nil turns responder flow control off.
	Penalty func(now time.Duration) (penalty uint8, restore bool)
	// MPRUnset, if not nil, is told of every SACK without max_psn_range though both ends support
	// dynamic MPR: the peer may be configured otherwise (OCP MRC 1.0, §7.5.4). It must not call back.
	MPRUnset func(now time.Duration)
	// Admit, if not nil, decides whether a new packet with so many octets of payload is taken. A
	// reason with ok false means that a resource is missing, and the packet is refused with a NACK:
	// packet.NACKNoBitmap, NACKNoPacketBuffer or NACKNoResource for now, NACKUnexpectedEvent for
	// good.
	Admit func(now time.Duration, psn uint32, octets int) (reason packet.NACKReason, ok bool)
}

// DefaultQPConfig is a configuration that lacks only queue pair numbers, initial PSNs, RemoteAddr,
// Congestion and Sprayer.
func DefaultQPConfig() QPConfig {
	const ackTimeout = 10
	return QPConfig{
		PMTU: 4096, Local: DefaultAttributes(), Remote: DefaultAttributes(),
		AckTimeout: ackTimeout, LinearRetries: 7, ExponentialRetries: InfiniteRetries,
		ProbeTimeout: ackTimeoutUnit << ackTimeout / 4,
		SendDepth:    1024, RecvDepth: 1024, Trimmable: true, SACKThreshold: 16384, MinAckPacket: 1024,
		TimestampUnit: packet.TimestampUnit,
	}
}

// Validate reports which field cannot be used; the error wraps verbs.ErrConfig.
func (c QPConfig) Validate() error {
	bad := func(field string, value any, want string) error {
		return fmt.Errorf("QP %#x: %s %v: want %s: %w", c.QPN, field, value, want, verbs.ErrConfig)
	}
	switch {
	case !validQPN(c.QPN):
		return bad("QPN", c.QPN, "3..0xFFFFFE")
	case !validQPN(c.RemoteQPN):
		return bad("RemoteQPN", c.RemoteQPN, "3..0xFFFFFE")
	case !ibta.Unicast(c.RemoteAddr):
		return bad("RemoteAddr", c.RemoteAddr, "an IPv6 unicast address")
	case c.SQPSN > packet.PSNMask:
		return bad("SQPSN", c.SQPSN, "24 bits")
	case c.RQPSN > packet.PSNMask:
		return bad("RQPSN", c.RQPSN, "24 bits")
	case !ibta.ValidPMTU(c.PMTU):
		return bad("PMTU", c.PMTU, "256, 512, 1024, 2048 or 4096")
	case c.AckTimeout < 1 || c.AckTimeout > maxAckTimeout:
		return bad("AckTimeout", c.AckTimeout, "1..24")
	case c.LinearRetries > 7:
		return bad("LinearRetries", c.LinearRetries, "0..7")
	case c.ExponentialRetries > InfiniteRetries:
		return bad("ExponentialRetries", c.ExponentialRetries, "0..25")
	case c.ProbeTimeout < 0:
		return bad("ProbeTimeout", c.ProbeTimeout, "0 or more")
	case c.SendDepth < 1:
		return bad("SendDepth", c.SendDepth, "1 or more")
	case c.RecvDepth < 0:
		return bad("RecvDepth", c.RecvDepth, "0 or more")
	case c.SACKThreshold < 0:
		return bad("SACKThreshold", c.SACKThreshold, "0 or more")
	case c.MinAckPacket < 0:
		return bad("MinAckPacket", c.MinAckPacket, "0 or more")
	case c.TimestampUnit < 0:
		return bad("TimestampUnit", c.TimestampUnit, "0 or more")
	case c.Remote.ServiceTime && c.TimestampUnit != 0 && c.TimestampUnit != packet.TimestampUnit:
		return bad("TimestampUnit", c.TimestampUnit,
			fmt.Sprintf("%v or 0 with a peer that supports service time", packet.TimestampUnit))
	case c.Congestion == nil:
		return bad("Congestion", "nil", "a congestion controller")
	case c.Sprayer == nil:
		return bad("Sprayer", "nil", "a sprayer")
	}
	if err := c.Local.Validate(); err != nil {
		return fmt.Errorf("QP %#x: Local: %w", c.QPN, err)
	}
	if err := c.Remote.Validate(); err != nil {
		return fmt.Errorf("QP %#x: Remote: %w", c.QPN, err)
	}
	return nil
}

// dynamicMPR is on when both ends support it.
func (c *QPConfig) dynamicMPR() bool { return c.Local.DynamicMPR && c.Remote.DynamicMPR }

// ackTimeout is the Local ACK Timeout after which retry number n (from 1) is sent (OCP MRC 1.0,
// table 7-1); the one of a packet that is sent for the first time is that of retry 1.
func (c *QPConfig) ackTimeout(n int) time.Duration {
	const longest = ackTimeoutUnit << maxAckTimeout
	linear := ackTimeoutUnit << c.AckTimeout
	i := n - 1 - int(c.LinearRetries) // of the exponential mode, from 0
	if i < 0 {
		return linear
	}
	if i+1 > maxAckTimeout {
		return longest
	}
	return min(linear<<(i+1), longest)
}

// retriesLeft reports whether a packet may be sent again after so many retries.
func (c *QPConfig) retriesLeft(retries int) bool {
	return c.ExponentialRetries == InfiniteRetries || retries < int(c.LinearRetries)+
		int(c.ExponentialRetries)
}

func validQPN(qpn uint32) bool { return ibta.ValidQPN(qpn) && qpn != packet.EndpointQPN }
