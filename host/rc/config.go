package rc

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/host/internal/ibta"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// Config describes a host. Start from DefaultConfig.
type Config struct {
	Name       string     // for error messages
	MAC        packet.MAC // frames to other addresses are refused
	GatewayMAC packet.MAC // where every frame is sent: the first switch
	Addr       netip.Addr // unicast, IPv6 or IPv4: all packets are of its family
	PKey       uint16     // partition key; default 0xFFFF, the default partition
	HopLimit   uint8      // of every packet sent; default 64

	LineRate uint64 // bits per second the port sends at; default 100 Gb/s
	// how far sending may fall behind its rate and still catch up in a burst; default 0, for exact
	// virtual time
	PacingSlack time.Duration

	UDPChecksum bool // send a UDP checksum instead of zero; default false

	// Output takes a frame to send, which is valid during the call only. Required.
	Output func(now time.Duration, frame []byte)
}

// DefaultConfig is a configuration that lacks only addresses and Output.
func DefaultConfig() Config {
	return Config{PKey: packet.DefaultPKey, HopLimit: 64, LineRate: 100e9}
}

// Validate reports which field cannot be used; the error wraps ErrConfig.
func (c Config) Validate() error {
	switch {
	case !ibta.UnicastIP(c.Addr):
		return fmt.Errorf("host %s: Addr %v is not a unicast address of IPv6 or IPv4: %w", c.Name, c.Addr,
			verbs.ErrConfig)
	case c.MAC == packet.MAC{} || c.MAC[0]&1 != 0:
		return fmt.Errorf("host %s: MAC %v is not a unicast address: %w", c.Name, c.MAC, verbs.ErrConfig)
	case !ibta.ValidPKey(c.PKey):
		return fmt.Errorf("host %s: PKey %#04x is invalid: %w", c.Name, c.PKey, verbs.ErrConfig)
	case c.HopLimit == 0:
		return fmt.Errorf("host %s: HopLimit is 0: %w", c.Name, verbs.ErrConfig)
	case c.LineRate == 0:
		return fmt.Errorf("host %s: LineRate is 0: %w", c.Name, verbs.ErrConfig)
	case c.PacingSlack < 0:
		return fmt.Errorf("host %s: PacingSlack %v is negative: %w", c.Name, c.PacingSlack,
			verbs.ErrConfig)
	case c.Output == nil:
		return fmt.Errorf("host %s: no Output: %w", c.Name, verbs.ErrConfig)
	}
	return nil
}

// InfiniteRetries is the retry count that never runs out.
const InfiniteRetries = 7

// QPConfig describes a queue pair, both its requester and its responder. Start from
// DefaultQPConfig.
type QPConfig struct {
	QPN        uint32     // 24 bits, not 0, 1 or 0xFFFFFF
	RemoteAddr netip.Addr // where packets are sent
	RemoteQPN  uint32     // destination QPN of packets sent
	// Peer is the source address packets must have; the zero Addr, the default, means RemoteAddr.
	// It differs only for a stack that accepts a peer's packets under another address.
	Peer netip.Addr

	SQPSN uint32 // PSN of the first packet sent
	RQPSN uint32 // PSN expected first
	PMTU  int    // octets of payload in a full packet: 256, 512, 1024, 2048 or 4096 (default)

	// retries without progress before the queue pair fails, 0..7; 7 (default) is infinite
	RetryCnt uint8
	RNRRetry uint8 // the same for RNR NAKs; default 7
	// 4.096 us x 2^n without progress make a retry, 0..31; 0 is never, default 14 (67 ms)
	LocalAckTimeout uint8
	// code the responder puts into its RNR NAKs, 0..31 (packet.RNRTimer); default 12 (640 us)
	MinRNRTimer uint8

	// ask for an acknowledgement every so many packets of a message too; 0 (default) is at its end
	// only
	AckEvery int
	// packets in flight at most, 1..2^23-1; default 64. The packet that fills the window asks for an
	// acknowledgement.
	Window int

	SendDepth int // work requests posted and not completed at most; default 1024
	RecvDepth int // receive requests posted and not used at most; default 1024

	DSCP       uint8  // of requests and acknowledgements, 6 bits; default 26
	CNPDSCP    uint8  // of CNPs, 6 bits; default 48
	NotECT     bool   // requests leave without ECN capability; default false: ECT(0)
	FlowLabel  uint32 // 20 bits; default 0: from the queue pair numbers
	SourcePort uint16 // UDP; default 0: from the queue pair numbers, 0xC000..0xFFFF

	// the responder sends one CNP in this time at most; default 50 us; 0 is one for every marked
	// packet
	CNPInterval time.Duration
	Rate        RateConfig

	// Encapsulation, if not nil, is put around requests.
	Encapsulation *Encapsulation

	// Notify, if not nil, runs when Poll has a new completion. Notify must not call the queue pair.
	Notify func()
}

// DefaultQPConfig is a configuration that lacks only queue pair numbers, initial PSNs and
// RemoteAddr.
func DefaultQPConfig() QPConfig {
	return QPConfig{
		PMTU: 4096, RetryCnt: InfiniteRetries, RNRRetry: InfiniteRetries, LocalAckTimeout: 14,
		MinRNRTimer: 12,
		Window:      64, SendDepth: 1024, RecvDepth: 1024, DSCP: 26, CNPDSCP: 48,
		CNPInterval: 50 * time.Microsecond, Rate: DefaultRateConfig(),
	}
}

// Validate reports which field cannot be used; the error wraps ErrConfig.
func (c QPConfig) Validate() error {
	bad := func(field string, value any, want string) error {
		return fmt.Errorf("QP %#x: %s %v: want %s: %w", c.QPN, field, value, want, verbs.ErrConfig)
	}
	switch {
	case !ibta.ValidQPN(c.QPN):
		return bad("QPN", c.QPN, "2..0xFFFFFE")
	case !ibta.ValidQPN(c.RemoteQPN):
		return bad("RemoteQPN", c.RemoteQPN, "2..0xFFFFFE")
	case !ibta.UnicastIP(c.RemoteAddr):
		return bad("RemoteAddr", c.RemoteAddr, "a unicast address")
	case c.Peer.IsValid() && (!ibta.UnicastIP(c.Peer) || c.Peer.Is4() != c.RemoteAddr.Is4()):
		return bad("Peer", c.Peer, "a unicast address of the family of RemoteAddr, or none")
	case c.SQPSN > packet.PSNMask:
		return bad("SQPSN", c.SQPSN, "24 bits")
	case c.RQPSN > packet.PSNMask:
		return bad("RQPSN", c.RQPSN, "24 bits")
	case !ibta.ValidPMTU(c.PMTU):
		return bad("PMTU", c.PMTU, "256, 512, 1024, 2048 or 4096")
	case c.RetryCnt > InfiniteRetries:
		return bad("RetryCnt", c.RetryCnt, "0..7")
	case c.RNRRetry > InfiniteRetries:
		return bad("RNRRetry", c.RNRRetry, "0..7")
	case c.LocalAckTimeout > 31:
		return bad("LocalAckTimeout", c.LocalAckTimeout, "0..31")
	case c.MinRNRTimer > 31:
		return bad("MinRNRTimer", c.MinRNRTimer, "0..31")
	case c.AckEvery < 0:
		return bad("AckEvery", c.AckEvery, "0 or more")
	case c.Window < 1 || c.Window > ibta.MaxWindow:
		return bad("Window", c.Window, "1..2^23-1")
	case c.SendDepth < 1:
		return bad("SendDepth", c.SendDepth, "1 or more")
	case c.RecvDepth < 0:
		return bad("RecvDepth", c.RecvDepth, "0 or more")
	case c.DSCP > 63:
		return bad("DSCP", c.DSCP, "0..63")
	case c.CNPDSCP > 63:
		return bad("CNPDSCP", c.CNPDSCP, "0..63")
	case c.FlowLabel > packet.MaxFlowLabel:
		return bad("FlowLabel", c.FlowLabel, "20 bits")
	case c.CNPInterval < 0:
		return bad("CNPInterval", c.CNPInterval, "0 or more")
	}
	if err := c.Rate.Validate(); err != nil {
		return fmt.Errorf("QP %#x: %w", c.QPN, err)
	}
	if c.Encapsulation != nil {
		if err := c.Encapsulation.Validate(); err != nil {
			return fmt.Errorf("QP %#x: %w", c.QPN, err)
		}
	}
	return nil
}

// ackTimeout is the Local ACK Timeout (IBTA volume 1, §9.7.6.1.3); 0 is never.
func (c QPConfig) ackTimeout() time.Duration {
	if c.LocalAckTimeout == 0 {
		return 0
	}
	return 4096 * time.Nanosecond << c.LocalAckTimeout
}
