package topology

import (
	"net/netip"
	"time"
)

// A PeerState reports how far the session with a BGP-LS peer is.
type PeerState string

const (
	// PeerConnecting is without a connection.
	PeerConnecting PeerState = "connecting"
	// PeerOpening is with a connection on which the session is negotiated.
	PeerOpening PeerState = "opening"
	// PeerEstablished is with a session.
	PeerEstablished PeerState = "established"
)

// PeerStates are all states.
var PeerStates = []PeerState{PeerConnecting, PeerOpening, PeerEstablished}

// bgpPort is where a BGP speaker listens (RFC 4271, section 3).
const bgpPort = 179

// PeerEndpoint returns what tells a BGP-LS peer from others: its address, and the port that the
// controller connects to, 179 for port 0, and 0 for a passive peer, which connects to the
// controller.
func PeerEndpoint(address netip.Addr, port uint16, passive bool) netip.AddrPort {
	switch {
	case passive:
		port = 0
	case port == 0:
		port = bgpPort
	}
	return netip.AddrPortFrom(address.Unmap(), port)
}

// A Peer is a BGP-LS speaker from which the controller learns the topology, by configured address,
// with the session.
type Peer struct {
	Address netip.Addr
	Port    uint16 // 0 of a peer that connects to us
	ASN     uint32
	State   PeerState
	// Since is when the last session began or ended; zero before the first.
	Since time.Time
	// LastError is why there is no session, or why the last one ended.
	LastError string
	// Synced reports that the peer has said everything in this session. It stays
	// false for a speaker that does not collect.
	Synced bool
	// Heard reports that it has said everything in some session.
	Heard bool
	// Sessions counts those that were established.
	Sessions uint64
	// Updates counts the UPDATE messages of all sessions; NLRIs counts the peer's NLRIs in the
	// topology.
	Updates uint64
	NLRIs   PeerNLRIs
	// UnplacedSIDs counts SIDs of nodes that no peer describes, of NLRIs.
	UnplacedSIDs int
	// Kept describes objects that the topology keeps although the peer no longer advertises them; nil:
	// nothing.
	Kept *PeerKept
	// Refused counts NLRIs of nodes that the peer may not describe.
	Refused uint64
	// MalformedNLRIs and DiscardedAttributes count what the peer sent malformed and was left out
	// (RFC 9552 section 8.2.2); the NLRIs of a discarded attribute count as without one.
	MalformedNLRIs, DiscardedAttributes uint64
	LastFault                           *PeerFault // of these
	// Notifications count what ended sessions.
	Notifications []PeerNotification
}

// A FaultObject names the malformed part of an UPDATE message.
type FaultObject string

const (
	// FaultNLRI is a link-state NLRI.
	FaultNLRI FaultObject = "nlri"
	// FaultAttribute is a BGP-LS attribute (type 29).
	FaultAttribute FaultObject = "attribute"
)

// PeerFault is something malformed that a peer sent.
type PeerFault struct {
	Time   time.Time   `json:"time"`
	Object FaultObject `json:"object" enum:"nlri,attribute"`
	Octets string      `json:"octets" doc:"Its first octets in hexadecimal, 64 octets at most."`
	Length int         `json:"length" doc:"Of all of it, in octets."`
	Reason string      `json:"reason" doc:"What is wrong with it."`
}

// PeerNotification counts NOTIFICATION messages (RFC 4271 section 4.5).
type PeerNotification struct {
	Code    uint8  `json:"code"`
	Subcode uint8  `json:"subcode"`
	Sent    bool   `json:"sent" doc:"By this controller; otherwise by the peer."`
	Count   uint64 `json:"count"`
}

// PeerKept describes the objects that the topology keeps although neither the peer nor another peer
// advertises them any longer.
type PeerKept struct {
	NLRIs PeerNLRIs `json:"nlris"`
	Since time.Time `json:"since" doc:"When the peer left out the first of them."`
	Until time.Time `json:"until" doc:"When they are removed, unless the peer says them again."`
	// Implausible reports that the peer lost too many objects at once for the loss to be believed.
	Implausible bool `json:"implausible" doc:"They are too many to be believed of one peer."`
}

// PeerNLRIs count the NLRIs of a peer by their types (RFC 9552 section 5.2, RFC
// 9514 section 6).
type PeerNLRIs struct {
	Nodes    int `json:"nodes"`
	Links    int `json:"links"`
	Prefixes int `json:"prefixes" doc:"IPv4 and IPv6."`
	SIDs     int `json:"sids" doc:"SRv6 SIDs."`
}

// Name returns the address, with the port where there is one.
func (p *Peer) Name() string { return PeerName(netip.AddrPortFrom(p.Address, p.Port)) }

// PeerName names a peer by its address, and by its port unless the port is 0.
func PeerName(p netip.AddrPort) string {
	if p.Port() == 0 {
		return p.Addr().String()
	}
	return p.String()
}
