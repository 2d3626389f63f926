package api

import (
	"github.com/weft-sdn/weft/topology"
	"net/netip"
	"time"
)

// BGPPeer is a BGP-LS speaker that feeds the topology, together with its session.
type BGPPeer struct {
	Name      string             `json:"name" doc:"Its configured address, and the port unless the peer connects to the controller."`
	Address   netip.Addr         `json:"address"`
	Port      uint16             `json:"port,omitempty" doc:"Where it listens; absent when it connects to the controller."`
	ASN       uint32             `json:"asn" doc:"Its autonomous system."`
	State     topology.PeerState `json:"state" enum:"connecting,opening,established"`
	Since     time.Time          `json:"since,omitzero" doc:"When the last session began or ended; absent before the first."`
	LastError string             `json:"lastError,omitempty" doc:"Why there is no session: a NOTIFICATION by code and subcode, an error of the connection."`
	Synced    bool               `json:"synced" doc:"The peer has sent End-of-RIB in this session."`
	Sessions  uint64             `json:"sessions" doc:"Sessions established since the controller started."`
	Updates   uint64             `json:"updates" doc:"UPDATE messages received in all sessions."`
	NLRIs     topology.PeerNLRIs `json:"nlris" doc:"NLRIs of the peer that are in the topology."`
	Unplaced  int                `json:"unplacedSids,omitempty" doc:"SIDs of the peer whose nodes nobody describes, as where a SID names another routing instance than the node: they are in no topology."`
	Kept      *topology.PeerKept `json:"kept,omitempty" doc:"What the topology has of the peer though the peer no longer says it, nor does any other."`
	Refused   uint64             `json:"refused,omitempty" doc:"NLRIs of nodes that the peer may not describe."`

	MalformedNLRIs      uint64              `json:"malformedNlris,omitempty" doc:"NLRIs of the peer that were malformed and left out (RFC 9552, section 8.2.2)."`
	DiscardedAttributes uint64              `json:"discardedAttributes,omitempty" doc:"BGP-LS attributes of the peer that were malformed; their NLRIs count as without one."`
	LastFault           *topology.PeerFault `json:"lastFault,omitempty" doc:"The last of these."`

	Notifications []topology.PeerNotification `json:"notifications,omitempty" doc:"NOTIFICATION messages that ended sessions (RFC 4271, section 4.5)."`
}
