package controller

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/pfc"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/store"
)

// Ready is what a [Core] wants done. Whoever takes it does all of it.
type Ready struct {
	// Saves are to be kept before anything else is done.
	Saves []store.Op
	// Tasks are ordered by switch; each switch has at most one with an id under way.
	Tasks []reconcile.Task
	// States answer QueryState.
	States []StateReport
	// Events are for watching clients.
	Events []Event
}

// Empty reports whether there is nothing to do.
func (r *Ready) Empty() bool {
	return len(r.Saves) == 0 && len(r.Tasks) == 0 && len(r.States) == 0 && len(r.Events) == 0
}

// Event says that something changed.
type Event struct {
	// Seq grows by one with each event of a core.
	Seq  uint64    `json:"seq" doc:"Grows by one with each event of a controller; 0 in a gap."`
	Time time.Time `json:"time"`
	Type EventType `json:"type" doc:"group.changed, group.deleted, receiver.stalled, receiver.recovered, receiver.evicted, switch.changed, topology.changed, bgp-peer.changed, srv6-policy.changed, srv6-policy.deleted, tenant.changed, tenant.deleted, pfc-policy.changed, pfc-policy.deleted, srv6-policy.path-changed, srv6-policy.path-failed, pfc.tunnel-lost, pfc.tunnel-recovered, pfc.tunnel-learned, pfc.deadlock-risk, pfc.watermarks-changed, pfc.storm, pfc.storm-ended, pfc.overflow, fabric.changed, link.changed, drain.changed, ev-profile.changed, suspect.changed, host.changed, gap."`
	// Object is the name of the group, switch or BGP-LS peer, empty for the topology.
	Object  string `json:"object,omitempty" doc:"Name of the group, switch, policy, tenant, EV profile or host, the ends of a tunnel, a queue as switch/port/priority, id of the link, or what is drained."`
	Message string `json:"message,omitempty"`
	// Group is the group after the change, nil when it is gone.
	Group *api.MulticastGroup `json:"group,omitempty" doc:"The group after the change; absent when it is gone."`
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
	Name     string `json:"name" doc:"Name in the inventory."`
	Node     string `json:"node,omitempty" doc:"Node of the topology that the switch is; absent until it is seen there."` // id in the topology, empty when it is not there
	Address  string `json:"address,omitempty" doc:"host:port of the P4Runtime server."`
	DeviceID uint64 `json:"deviceId,omitempty" doc:"P4Runtime device id."`
	Managed  bool   `json:"managed" doc:"The controller programs the switch."`
	// Connected: read back, and being kept up.
	Connected bool      `json:"connected" doc:"Read back, and being kept up."`
	Since     time.Time `json:"since,omitzero" doc:"When connected changed last."`
	// Reason says why it is not connected.
	Reason string `json:"reason,omitempty" doc:"Why it is not connected."`
	// Entries it has; Pending are the updates that are still to be made.
	Entries int `json:"entries" doc:"Entities on the switch."`
	Pending int `json:"pending" doc:"Updates that are still to be made."`
	// Synced: connected, its routes are known, and nothing is pending.
	Synced bool `json:"synced" doc:"Connected, and nothing is pending."`
	// Settling: the topology may lack something yet (inventory.Intervals.Settle). The switch keeps
	// routes, neighbors and SIDs that the present topology does not need, and routes are not aggregated.
	Settling bool `json:"settling,omitempty" doc:"The topology may still be incomplete: the controller removes no routes, neighbors and SIDs yet, and does not aggregate routes."`
	// Errors are refused updates that are tried again, at most ten.
	Errors []string `json:"errors,omitempty" doc:"Refused updates that are tried again, at most ten."`
	// Ports are those that the switch tells of; nil: it was not heard yet.
	Ports *SwitchPorts `json:"ports,omitempty" doc:"What the switch says of its ports by gNMI; absent until it was asked."`
}

// StateReport is the state of a group in its switches, in the order of the tree.
type StateReport struct {
	ID    uint64      `json:"-"`
	Group string      `json:"group"`
	Epoch uint32      `json:"epoch" doc:"Epoch of the tree; a branch of another epoch is not valid."`
	Nodes []NodeState `json:"nodes" doc:"In the order of the tree."`
	// Complete is false when some switch did not answer in time.
	Complete bool `json:"complete" doc:"Every switch answered in time."`
}

// NodeState is the state of a group in one switch.
type NodeState struct {
	Switch string `json:"switch"`
	// Answered is false when nothing is known of the node.
	Answered bool `json:"answered" doc:"False when nothing is known of the node."`
	// LastPSN: everything before it was acknowledged upstream; -1 is unknown.
	LastPSN  int64         `json:"lastPsn" doc:"Everything before it was acknowledged upstream; -1 when unknown."`
	CNPTotal uint32        `json:"cnpTotal" doc:"CNPs sent upstream."`
	Branches []BranchState `json:"branches"`
}

// BranchState is the state of one branch. PSNs are -1 when unknown.
type BranchState struct {
	Index    uint8      `json:"index"`
	Child    string     `json:"child,omitempty" doc:"The child node, when the branch is one."`
	Receiver netip.Addr `json:"receiver,omitzero" doc:"The receiver, when the branch is one."`
	Answered bool       `json:"answered"`
	Valid    bool       `json:"valid" doc:"The branch has reported in this epoch."`
	AckPSN   int64      `json:"ackPsn" doc:"The branch has everything up to here; -1 when unknown."`
	EPSN     int64      `json:"ePsn" doc:"The PSN the branch expects next: ackPsn + 1 modulo 2^24; -1 when unknown."`
	// NAKPending: the branch waits for EPSN; RNR with its timer code, when it
	// was not ready.
	NAKPending bool   `json:"nakPending" doc:"The branch asked for ePsn again and has not acknowledged it."`
	RNRTimer   *uint8 `json:"rnrTimer,omitempty" doc:"Timer code, when it was not ready."`
	MSN        uint32 `json:"msn"`
	CNPCount   uint32 `json:"cnpCount" doc:"CNPs of the branch in the window that is open, or was last."`
	Epoch      uint32 `json:"epoch" doc:"Epoch of the branch's registers."`
}
