package mrc

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/host/internal/ibta"
	"github.com/weft-sdn/weft/host/verbs"
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
	Addr     netip.Addr // IPv6 or IPv4, unicast; the one address that all ports share
	Ports    []Port     // ports are numbered from 1: port n is Ports[n-1]; 1 to packet.MaxPort of them
	PKey     uint16     // partition key; default 0xFFFF, the default partition
	HopLimit uint8      // of every packet sent; default 64

	// ControlPKey replaces the partition key in SACKs, NACKs and reliability probes: a provisioned
	// value that announces a reliability header (OCP MRC 1.0, table 7-11). Both ends must use the same
	// value; default 0xFFFF. The host refuses control packets with another value.
	ControlPKey uint16

	// how far sending may fall behind the line rate and still catch up in a burst; default 0, for
	// exact virtual time
	PacingSlack time.Duration

	// Burst is how many data packets a queue pair sends by a path before it takes the next, and at
	// most in its turn; 0 and 1: each packet has a path of its own.
	Burst int

	// Wire holds the settings that both ends must share: UDP port (default 4791) and DSCP classes.
	Wire packet.MRCSettings

	// EndpointServiceTime: the host subtracts its service time from the timestamp in answers to
	// endpoint requests, or reports the service time (table 7-23). Default true.
	EndpointServiceTime bool
	// EndpointTimeout bounds the wait for the answer to an endpoint request; default 100 ms.
	EndpointTimeout time.Duration

	// EndpointPath, if not nil, chooses the path of the answer to an endpoint request, by one of the
	// ports. back is the port and the entropy value of the request; without EndpointPath, answers go
	// by back. If ok is false, the host drops and counts the answer.
	EndpointPath func(now time.Duration, peer netip.Addr, back Path, ports packet.PortMask) (p Path,
		ok bool)
	// PeerPortsChanged, if not nil, runs when a peer reports its ports that are up. PeerPortsChanged
	// must not call the host, except PeerPorts.
	PeerPortsChanged func(peer netip.Addr)

	// Output sends a frame by a port. The frame is valid only during the call. Required.
	Output func(now time.Duration, port int, frame []byte)
}

// DefaultConfig returns a configuration that lacks only Addr, Ports and Output.
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
	case !ibta.UnicastIP(c.Addr):
		return bad("Addr", c.Addr, "a unicast address of IPv6 or IPv4")
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
	// further retries, each after twice the time, 0..25; 25 (default) is infinite
	ExponentialRetries uint8

	// ProbeTimeout: if packets wait for acknowledgement and the queue pair neither sends nor receives
	// for this time, a reliability probe asks for arrivals. The queue pair then retransmits missing
	// packets sent at least this time before the probe. If all packets arrived but their transport ACK
	// did not, the queue pair asks for the ACK after this time. 0 means never; default a quarter of
	// the Local ACK Timeout.
	ProbeTimeout time.Duration

	// Domain is the protection domain of the queue pair: its peer writes only to regions of the same
	// (verbs.Foreign). Default 0: to all.
	Domain uint32
	// Notify, if not nil, runs when Poll has a new completion, or when the queue pair moves to the
	// error state. Notify must not call the queue pair.
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

	// DSCP replaces the data classes of Wire in packets of the requester: a data class of its own,
	// which switches do not trim (OCP MRC 1.0, §7.5.5.1). Wire.DSCP.NoTrim: as without Trimmable.
	// Wire.DSCP.Trimmable or TrimmableRetx, 0 (default), and a codepoint that Wire gives another
	// meaning later: the classes of Wire.
	DSCP uint8

	SACKThreshold int // sack_gen_threshold: a SACK is sent after more octets than that; default 16384
	MinAckPacket  int // MIN_ACK_PACKET_SIZE: the least a packet counts for, in octets; default 1024

	// TimestampUnit is the resolution of the timestamps in requests: packet.TimestampUnit (default),
	// or a unit chosen by the requester; then the responder only reflects timestamps (tsr). A round
	// trip may exceed the 16 bits of a timestamp, because the requester also remembers approximate
	// send times. 0: requests carry no timestamps, and the requester uses only remembered times, which
	// are useless for packets sent more than twice.
	TimestampUnit time.Duration

	// of the requester; queue pairs with the same Context share the window. Required.
	Congestion Congestion
	Sprayer    Sprayer // of all packets sent. Required.

	// Penalty, if not nil, returns rcv_cwnd_pen (0 to packet.MaxRcvCwndPenalty) and restore_cwnd for
	// every SACK; nil turns responder flow control off.
	Penalty func(now time.Duration) (penalty uint8, restore bool)
	// MPRUnset, if not nil, runs for every SACK without max_psn_range although both ends support
	// dynamic MPR: the configuration of the peer may differ (OCP MRC 1.0, §7.5.4). MPRUnset must not
	// call the queue pair.
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
	case !ibta.UnicastIP(c.RemoteAddr):
		return bad("RemoteAddr", c.RemoteAddr, "a unicast address of IPv6 or IPv4")
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
	case c.DSCP > packet.MaxDSCP:
		return bad("DSCP", c.DSCP, "0..63")
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

// dynamicMPR reports whether both ends support a dynamic MPR.
func (c *QPConfig) dynamicMPR() bool { return c.Local.DynamicMPR && c.Remote.DynamicMPR }

// ackTimeout returns the Local ACK Timeout before retry n, from 1 (OCP MRC 1.0, table 7-1). A
// packet sent for the first time waits for the timeout of retry 1.
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

// retriesLeft reports whether the queue pair may retransmit a packet after this number of retries.
func (c *QPConfig) retriesLeft(retries int) bool {
	return c.ExponentialRetries == InfiniteRetries || retries < int(c.LinearRetries)+
		int(c.ExponentialRetries)
}

func validQPN(qpn uint32) bool { return ibta.ValidQPN(qpn) && qpn != packet.EndpointQPN }
