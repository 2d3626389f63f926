package rdmacm

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/packet/cm"
)

// State is the state of a connection.
type State uint8

// The states, with those of IBTA in brackets.
const (
	// Asked: a REQ has come, and the owner has not answered it (REQ received).
	Asked State = iota + 1
	// Replied: a REP was sent (REP sent).
	Replied
	// Asking: a REQ was sent (REQ sent).
	Asking
	// Answered: a REP has come, and the owner has not confirmed it (REP received).
	Answered
	// Established: RTU was sent, or has come.
	Established
	// Leaving: a DREQ was sent (DREQ sent).
	Leaving
	// TimeWait: it is over; late packets of its queue pairs may still come.
	TimeWait
)

var stateNames = [...]string{"", "asked", "replied", "asking", "answered", "established", "leaving",
	"time wait"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// Conn is one end's view of a connection.
type Conn struct {
	LocalID  uint32     `json:"localId"`
	RemoteID uint32     `json:"remoteId,omitempty"` // 0: not known
	Peer     netip.Addr `json:"peer"`
	State    State      `json:"state"`
	// Active: this end sent the REQ.
	Active bool   `json:"active,omitempty"`
	Port   uint16 `json:"port"` // of the service
	// TID is the TID of the REQ.
	TID      uint64 `json:"tid"`
	LocalQPN uint32 `json:"localQpn,omitempty"`

	// The peer's data about its queue pair: PeerPSN is the first PSN that it expects.
	PeerGUID uint64 `json:"peerGuid,omitempty"`
	PeerQPN  uint32 `json:"peerQpn,omitempty"`
	PeerPSN  uint32 `json:"peerPsn,omitempty"`
	MTU      cm.MTU `json:"mtu,omitempty"`
	// Private is the peer's data for the application, from REQ or REP, without zeros at its end.
	Private []byte `json:"private,omitempty"`
	// Sent is the MAD to repeat, or the answer to a repetition, without trailing zeros.
	Sent []byte `json:"sent,omitempty"`

	attempts int           // how often Sent was sent
	due      time.Duration // when it is sent again, or the state ends; 0: never
}

// over reports whether the connection carries data no more.
func (c *Conn) over() bool { return c.State == Leaving || c.State == TimeWait }

// trim returns data without the zeros at its end.
func trim(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return append([]byte(nil), b...)
}

// sent returns the MAD that the connection keeps.
func (c *Conn) sent() (cm.MAD, bool) {
	if len(c.Sent) == 0 {
		return cm.MAD{}, false
	}
	var b [cm.MADLen]byte
	copy(b[:], c.Sent)
	m, _, err := cm.ParseMAD(b[:])
	return m, err == nil
}

// Kind is what happened to a connection.
type Kind uint8

// The kinds of events.
const (
	// Requested: a REQ has come: Accept, Wait or Reject.
	Requested Kind = iota + 1
	// Responded: a REP has come: Confirm or Reject.
	Responded
	// Up: an RTU has come.
	Up
	// Down: the connection is over, by either end's DREQ or since it is stale.
	Down
	// Refused: the peer sent REJ, or this end refused an answer as stale: Reason.
	Refused
	// Failed: the peer did not answer.
	Failed
)

var kindNames = [...]string{"", "requested", "responded", "up", "down", "refused", "failed"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Event reports an event of a connection; Conn is a copy of the connection after the event.
type Event struct {
	Kind   Kind
	Conn   Conn
	Reason cm.Reason // of Refused
}

// Packet is a message to a peer.
type Packet struct {
	To  netip.Addr
	MAD cm.MAD
}
