package bgpls

import (
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/topology"
)

// A Config reports how a speaker works.
type Config struct {
	// ASN is the speaker's own autonomous system.
	ASN uint32
	// RouterID is its BGP identifier, an IPv4 address.
	RouterID netip.Addr
	// Listen is where connections are accepted: an invalid address is nowhere,
	// port 0 any free port, which [Speaker.ListenAddr] tells.
	Listen netip.AddrPort
	// Collect makes the speaker publish what its peers report.
	Collect bool
	// Ports maps link ends to device ports in the snapshots.
	Ports topology.PortMap
	// HoldTime is after how long of silence a session is lost; 90 s when 0, in
	// whole seconds and at least 3.
	HoldTime time.Duration
	// StartupGrace is how long snapshots are stale because a peer has never
	// said everything; 30 s when 0.
	StartupGrace time.Duration
	// SyncTimeout is the time after which a session without End-of-RIB counts as synchronized; 60 s
	// when 0.
	SyncTimeout time.Duration
	// StalePathTime bounds how long routes from a peer's earlier session count after the End-of-RIB of
	// a session without them (RFC 4724, section 4.2); 60 s when 0.
	StalePathTime time.Duration
	// LossTime is how long the collector does not believe a single peer's loss of half of the nodes,
	// if no single node explains the loss; 1 hour when 0.
	LossTime time.Duration
	// Dead, when not nil, returns the nodes that are known to be gone from other sources than peers:
	// the collector believes their loss. One goroutine calls Dead once a second while such a loss
	// exists.
	Dead func() map[topology.NodeID]bool
	// CutPause is how long a peer that exceeded a limit has no session; 1 minute when 0.
	CutPause time.Duration
	// Changed takes the state of a peer whenever a session was established or ended,
	// or could not be established for another reason than before. It is called from
	// the goroutine of the session.
	Changed func(topology.Peer)
	// retryMax is the longest pause before a connection is tried again; 5 s when 0.
	retryMax time.Duration
	// Logger gets what GoBGP logs, and what peers send malformed; nil is nothing.
	Logger *slog.Logger
}

// A Peer is whom a speaker has a session with.
type Peer struct {
	Address netip.Addr
	ASN     uint32
	// Port is where the peer listens; 179 when 0. It has no meaning for a
	// passive peer.
	Port uint16
	// LocalAddress is the local address for outgoing and accepted connections; invalid means any
	// address.
	LocalAddress netip.Addr
	// Passive waits for the peer to connect. Peers that are not passive are
	// connected to, and may connect too.
	Passive bool
	// Password is of TCP MD5 (RFC 2385), none when empty. Linux only.
	Password string
	// Scope defines the nodes that the peer may describe; the collector ignores and counts objects of
	// other nodes.
	Scope topology.Scope
	// Limits bounds the objects that the topology holds from the peer; a limit of 0 means the default.
	Limits Limits
}

// maxPassword is the length of the longest password of TCP MD5 that Linux takes, in octets.
const maxPassword = 80

// DefaultHoldTime is after how long of silence a session is lost where nothing else is configured
// (RFC 4271, section 10).
const DefaultHoldTime = 90 * time.Second

// Defaults of [Config.StalePathTime] and [Config.LossTime].
const (
	DefaultStalePathTime = 60 * time.Second
	DefaultLossTime      = time.Hour
)

const (
	minHoldTime         = 3 * time.Second
	defaultStartupGrace = 30 * time.Second
	defaultSyncTimeout  = 60 * time.Second
	defaultCutPause     = time.Minute
	defaultRetryMax     = 5 * time.Second
)

func (c *Config) setDefaults() {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&c.HoldTime, DefaultHoldTime)
	set(&c.StartupGrace, defaultStartupGrace)
	set(&c.SyncTimeout, defaultSyncTimeout)
	set(&c.CutPause, defaultCutPause)
	set(&c.StalePathTime, DefaultStalePathTime)
	set(&c.LossTime, DefaultLossTime)
	set(&c.retryMax, defaultRetryMax)
}

// Validate reports what cannot be used, as [ErrConfig].
func (c *Config) Validate() error {
	switch {
	case c.ASN == 0:
		return fmt.Errorf("%w: AS number 0", ErrConfig)
	case !c.RouterID.Is4() || c.RouterID.IsUnspecified():
		return fmt.Errorf("%w: router-id %s is not an IPv4 address", ErrConfig, c.RouterID)
	case c.HoldTime != 0 && c.HoldTime < minHoldTime:
		return fmt.Errorf("%w: hold time %v is below %v", ErrConfig, c.HoldTime, minHoldTime)
	case c.StartupGrace < 0 || c.SyncTimeout < 0 || c.CutPause < 0 ||
		c.StalePathTime < 0 || c.LossTime < 0:
		return fmt.Errorf("%w: negative time", ErrConfig)
	}
	return nil
}

// Validate reports what cannot be used, as [ErrConfig].
func (p *Peer) Validate() error {
	switch {
	case !p.Address.IsValid() || p.Address.IsUnspecified():
		return fmt.Errorf("%w: peer without address", ErrConfig)
	case p.ASN == 0:
		return fmt.Errorf("%w: peer %s has AS number 0", ErrConfig, p.Address)
	case p.LocalAddress.IsValid() && p.LocalAddress.Unmap().Is4() != p.Address.Unmap().Is4():
		return fmt.Errorf("%w: peer %s has local address %s", ErrConfig, p.Address, p.LocalAddress)
	case len(p.Password) > maxPassword:
		return fmt.Errorf("%w: peer %s has a password of %d octets: want at most %d", ErrConfig,
			p.Address, len(p.Password), maxPassword)
	}
	return p.Limits.validate()
}

func (p *Peer) setDefaults() {
	at := topology.PeerEndpoint(p.Address, p.Port, p.Passive)
	p.Address, p.Port, p.LocalAddress = at.Addr(), at.Port(), p.LocalAddress.Unmap()
	p.Limits.setDefaults()
}

// key names a peer that has its defaults. Two active peers may share an
// address, with different ports.
func (p *Peer) key() peerKey { return netip.AddrPortFrom(p.Address, p.Port) }

// Stats count what was received.
type Stats struct {
	Updates uint64 `json:"updates"`
	// MalformedUpdates could not be divided into NLRIs; each ended its session.
	MalformedUpdates uint64 `json:"malformedUpdates"`
	// MalformedNLRIs and DiscardedAttributes were left out (RFC 9552 section
	// 8.2.2); the NLRIs of a discarded attribute count as without one.
	MalformedNLRIs      uint64 `json:"malformedNlris"`
	DiscardedAttributes uint64 `json:"discardedAttributes"`
	UnknownNLRIs        uint64 `json:"unknownNlris"`
	UnknownTLVs         uint64 `json:"unknownTlvs"`
}
