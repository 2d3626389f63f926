package controller

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/controller/pfc"
	"github.com/weft-sdn/weft/controller/store"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Ready is what a [Core] wants done. Whoever takes it does all of it.
type Ready struct {
	// Saves are to be kept before anything else is done.
	Saves []store.Op
	// Works are ordered by switch; each switch has at most one under way.
	Works []Work
	// States answer QueryState.
	States []StateReport
	// Events are for watching clients.
	Events []Event
}

// Empty reports whether there is nothing to do.
func (r *Ready) Empty() bool {
	return len(r.Saves) == 0 && len(r.Works) == 0 && len(r.States) == 0 && len(r.Events) == 0
}

// Work is something to do with one switch. Its outcome goes to Core.Done, unless
// the switch disconnects before; a Work that has only Packets has none.
type Work struct {
	Switch string
	// ID is unique; the outcome quotes it. 0 when no outcome is wanted.
	ID uint64
	// Batches are carried out one after the other; within one, order does not
	// matter. A refused update holds up no other.
	Batches [][]entry.Update
	// Read asks for everything the switch holds, instead of Batches.
	Read bool
	// Packets are handed to the switch after the updates.
	Packets []entry.PacketOut
}

// Updates returns the number of updates in all batches.
func (w *Work) Updates() (n int) {
	for _, b := range w.Batches {
		n += len(b)
	}
	return n
}

// Result is the outcome of a [Work].
type Result struct {
	Switch string
	ID     uint64
	// Refused are the updates that did not take effect, in any order.
	Refused []entry.Refusal
	// Contents answer Read.
	Contents entry.Contents
	// Err says that nobody knows which updates took effect, or that the read
	// failed; the switch is then read again.
	Err error
}

// Event says that something changed.
type Event struct {
	// Seq grows by one with each event of a core.
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Type EventType `json:"type"`
	// Object is the name of the group, switch or BGP-LS peer, empty for the topology.
	Object  string `json:"object,omitempty"`
	Message string `json:"message,omitempty"`
	// Group is the group after the change, nil when it is gone.
	Group *intent.MulticastGroup `json:"group,omitempty"`
}

// EventType says what changed.
type EventType string

// The events.
const (
	GroupChanged       EventType = "group.changed" // spec or status
	GroupDeleted       EventType = "group.deleted"
	SwitchChanged      EventType = "switch.changed" // connected, disconnected, errors
	TopologyChanged    EventType = "topology.changed"
	BGPPeerChanged     EventType = "bgp-peer.changed" // session established, lost, refused
	ReceiverEvicted    EventType = "receiver.evicted"
	ReceiverStallEnded EventType = "receiver.recovered"
	ReceiverStalled    EventType = "receiver.stalled"
	SRv6PolicyChanged  EventType = "srv6-policy.changed"
	SRv6PolicyDeleted  EventType = "srv6-policy.deleted"
	TenantChanged      EventType = "tenant.changed"
	TenantDeleted      EventType = "tenant.deleted"
	PFCPolicyChanged   EventType = "pfc-policy.changed"
	PFCPolicyDeleted   EventType = "pfc-policy.deleted"
)

// EventTypes returns the types of all events of a core.
func EventTypes() []EventType {
	out := []EventType{
		GroupChanged, GroupDeleted, SwitchChanged, TopologyChanged, BGPPeerChanged, ReceiverEvicted, ReceiverStallEnded, ReceiverStalled,
		SRv6PolicyChanged, SRv6PolicyDeleted, TenantChanged, TenantDeleted, PFCPolicyChanged, PFCPolicyDeleted,
	}
	for _, t := range pfc.EventTypes() {
		out = append(out, EventType(t))
	}
	return out
}

func (e Event) String() string {
	return fmt.Sprintf("%d %s %s %s", e.Seq, e.Type, e.Object, e.Message)
}

// SwitchStatus is what the controller knows about a switch.
type SwitchStatus struct {
	Name     string `json:"name"`
	Node     string `json:"node,omitempty"` // id in the topology, empty when it is not there
	Address  string `json:"address,omitempty"`
	DeviceID uint64 `json:"deviceId,omitempty"`
	Managed  bool   `json:"managed"`
	// Connected: read back, and being kept up.
	Connected bool      `json:"connected"`
	Since     time.Time `json:"since,omitzero"`
	// Reason says why it is not connected.
	Reason string `json:"reason,omitempty"`
	// Entries it has; Pending are the updates that are still to be made.
	Entries int `json:"entries"`
	Pending int `json:"pending"`
	// Synced: connected, its routes are known, and nothing is pending.
	Synced bool `json:"synced"`
	// Errors are refused updates that are tried again, at most ten.
	Errors []string `json:"errors,omitempty"`
	// Ports are those that the switch tells of; nil: it was not heard yet.
	Ports *SwitchPorts `json:"ports,omitempty"`
}

// StateReport is the state of a group in its switches, in the order of the tree.
type StateReport struct {
	ID    uint64      `json:"-"`
	Group string      `json:"group"`
	Epoch uint32      `json:"epoch"`
	Nodes []NodeState `json:"nodes"`
	// Complete is false when some switch did not answer in time.
	Complete bool `json:"complete"`
}

// NodeState is the state of a group in one switch.
type NodeState struct {
	Switch string `json:"switch"`
	// Answered is false when nothing is known of the node.
	Answered bool `json:"answered"`
	// LastPSN: everything before it was acknowledged upstream; -1 is unknown.
	LastPSN  int64         `json:"lastPsn"`
	CNPTotal uint32        `json:"cnpTotal"`
	Branches []BranchState `json:"branches"`
}

// BranchState is the state of one branch. PSNs are -1 when unknown.
type BranchState struct {
	Index    uint8      `json:"index"`
	Child    string     `json:"child,omitempty"`
	Receiver netip.Addr `json:"receiver,omitzero"`
	Answered bool       `json:"answered"`
	Valid    bool       `json:"valid"`
	AckPSN   int64      `json:"ackPsn"`
	EPSN     int64      `json:"ePsn"`
	// NAKPending: the branch waits for EPSN; RNR with its timer code, when it
	// was not ready.
	NAKPending bool   `json:"nakPending"`
	RNRTimer   *uint8 `json:"rnrTimer,omitempty"`
	MSN        uint32 `json:"msn"`
	CNPCount   uint32 `json:"cnpCount"`
	Epoch      uint32 `json:"epoch"`
}
