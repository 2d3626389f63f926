package api

import (
	"net/netip"
	"time"
)

// MulticastGroupStatus is what the controller reports about a group.
type MulticastGroupStatus struct {
	Conditions Conditions `json:"conditions,omitempty" doc:"Accepted, Programmed and Degraded."`
	// ObservedVersion is the version of the spec that the conditions are about.
	ObservedVersion uint64 `json:"observedVersion" doc:"Version of the spec that the conditions are about."`
	// Index is the number of the group on every switch of its tree.
	Index uint16 `json:"index" doc:"Number of the group on every switch of its tree."`
	// Epoch is the epoch of the tree, or the next epoch while the tree moves; never 0.
	Epoch uint32     `json:"epoch,omitempty" format:"uint32" doc:"Epoch that the tree is moving to, or has."`
	Tree  *GroupTree `json:"tree,omitempty"`
	// Receivers are in the order of the spec.
	Receivers []ReceiverStatus `json:"receivers,omitempty" doc:"In the order of the spec."`
	Limits    GroupLimits      `json:"limits" doc:"Limits; the controller refuses a group beyond these."`
	// Connections are the connections of spec.connect.
	Connections []GroupConnection `json:"connections,omitempty" doc:"Of spec.connect: the applications that are connected, or about to be."`
	// StalledReceivers hold the group up.
	StalledReceivers []StalledReceiver `json:"stalledReceivers,omitempty" doc:"Receivers that hold the group up."`
	// EvictedReceivers are in the spec and no longer in the tree.
	EvictedReceivers []netip.Addr `json:"evictedReceivers,omitempty" doc:"In the spec and no longer in the tree."`
}

// ReceiverStatus reports how far a receiver is. The source sends no PSN at or
// after a joining receiver's StartPSN before it is Programmed.
type ReceiverStatus struct {
	Address    netip.Addr `json:"address"`
	Switch     string     `json:"switch,omitempty" doc:"The edge it is attached to."`
	Branch     uint8      `json:"branch" doc:"Its branch there."`
	Programmed bool       `json:"programmed" doc:"Everything it needs is in the switches: it gets all that is sent from now on."`
}

// StalledReceiver is a receiver that others wait for.
type StalledReceiver struct {
	Address netip.Addr `json:"address"`
	Switch  string     `json:"switch"`
	Branch  uint8      `json:"branch"`
	// AckPSN is the last one it acknowledged; invalid before it reported.
	AckPSN uint32    `json:"ackPsn" doc:"The last PSN it acknowledged."`
	Valid  bool      `json:"valid" doc:"It has acknowledged anything at all."`
	Since  time.Time `json:"since"`
}

// GroupTree is the tree of a group, as planned.
type GroupTree struct {
	Root string `json:"root" doc:"The switch next to the source."`
	// SID is what the tree starts with; in in-band mode the source host puts it
	// into Segment List[1].
	SID   netip.Addr `json:"sid" format:"ipv6" doc:"What the tree starts with. In in-band mode the source puts it into Segment List[1]."`
	Cost  uint64     `json:"cost"`
	Nodes []TreeNode `json:"nodes" doc:"Parents before children."`
}

// TreeNode is a switch of a tree; parents come before children.
type TreeNode struct {
	Switch   string     `json:"switch"`
	Address  netip.Addr `json:"address" format:"ipv6" doc:"The node's loopback; the Edge Node Address of End.MT TLVs."`
	SID      netip.Addr `json:"sid" format:"ipv6"`
	Behavior string     `json:"behavior" doc:"End.Replicate or End.MT."` // "End.Replicate" or "End.MT"
	// BehaviorCode is the SRv6 endpoint behavior: 75 (RFC 9524), or the codepoint
	// that End.MT is configured to have.
	BehaviorCode uint16       `json:"behaviorCode" doc:"SRv6 endpoint behavior: 75, or the codepoint that End.MT is configured to have."`
	Parent       string       `json:"parent,omitempty" doc:"Empty at the root."`
	Upstream     uint32       `json:"upstreamPort" doc:"Port toward the parent, or the source."`
	Branches     []TreeBranch `json:"branches"`
	// TunnelledTo is the parent's SID when the parent is not adjacent.
	TunnelledTo netip.Addr `json:"tunnelledTo,omitzero" doc:"The parent's SID when the parent is not adjacent."`
}

// TreeBranch is a child or a receiver of a node.
type TreeBranch struct {
	Index    uint8      `json:"index"`
	Child    string     `json:"child,omitempty" doc:"The child node, when the branch is one."`
	Receiver netip.Addr `json:"receiver,omitzero" doc:"The receiver, when the branch is one."`
	QPN      uint32     `json:"qpn,omitempty" doc:"The receiver's queue pair."`
	Port     uint32     `json:"port"`
}

// Conditions are the conditions of a resource, each type once.
type Conditions []Condition

// Condition is one aspect of a resource's state.
type Condition struct {
	Type           ConditionType `json:"type" enum:"Accepted,Programmed,Degraded,OrphansKept,InventoryDiffers,Miscabled,Unsupported,Undescribed,Contested,Unbalanced,Ready"`
	Status         bool          `json:"status"`
	Reason         string        `json:"reason" doc:"One word, stable."`
	Message        string        `json:"message,omitempty" doc:"The same for people."`
	LastTransition time.Time     `json:"lastTransition,omitzero" doc:"When status changed last, where that is known."`
}

// ConditionType names an aspect.
type ConditionType string

// The aspects.
const (
	// Accepted: the spec can be planned on the present network.
	Accepted ConditionType = "Accepted"
	// Programmed: every switch of the tree has all it needs.
	Programmed ConditionType = "Programmed"
	// Degraded: something the group needs is missing or stalls.
	Degraded ConditionType = "Degraded"
	// OrphansKept: the switch holds entries that no resource explains, and keeps them.
	OrphansKept ConditionType = "OrphansKept"
	// InventoryDiffers: the switch reports other ports, addresses or rates than the configuration or
	// BGP-LS.
	InventoryDiffers ConditionType = "InventoryDiffers"
	// Miscabled: LLDP contradicts what the topology or the configuration says of cables of the switch.
	Miscabled ConditionType = "Miscabled"
	// Unsupported: the system or the hardware of the switch cannot do something that it should, or
	// does something else.
	Unsupported ConditionType = "Unsupported"
	// Undescribed: the known topology lacks a part of the switch.
	Undescribed ConditionType = "Undescribed"
	// Contested: another installation programs the switch.
	Contested ConditionType = "Contested"
	// Unbalanced: a leaf uses one link into a plane much more than the other links.
	Unbalanced ConditionType = "Unbalanced"
	// Ready: everything that the job depends on is known to be as it should.
	Ready ConditionType = "Ready"
)

// Reasons of conditions.
const (
	ReasonPlanned      = "Planned"       // Accepted: a tree was found
	ReasonUnreachable  = "Unreachable"   // not Accepted, Degraded: no path to a receiver
	ReasonLimit        = "LimitExceeded" // not Accepted: a limit of a node or edge
	ReasonNotPlannable = "NotPlannable"  // not Accepted: the network lacks what a tree needs
	ReasonInstalled    = "Installed"     // Programmed
	ReasonInstalling   = "Installing"    // not Programmed: writes are under way
	ReasonRemoving     = "Removing"      // not Programmed: the group is being deleted
	ReasonDisconnected = "Disconnected"  // Degraded: a switch of the tree is not connected
	ReasonDeviceError  = "DeviceError"   // Degraded: a switch refused an entry or a setting
	// not Programmed, Degraded: the switch reports no such port
	ReasonNoSuchPort = "NoSuchPort"
	ReasonDrifted    = "Drifted" // Degraded: the switch has changed a setting by itself
	// Unsupported: no release supports the feature, the running release lacks it, or the hardware
	// handles it incorrectly
	ReasonSystemCannot  = "SystemCannot"
	ReasonTopologyLacks = "TopologyLacks" // Undescribed: locator, SIDs or ports of links
	// Contested: a client of another installation is primary
	ReasonOtherInstallation = "OtherInstallation"
	ReasonUneven            = "Uneven" // Unbalanced: it does
	ReasonEven              = "Even"   // Unbalanced is false
	// Unbalanced is false: there is too little traffic to judge by
	ReasonIdle         = "Idle"
	ReasonCablesDiffer = "CablesDiffer" // Miscabled: LLDP frames arrive elsewhere, or nowhere
	// InventoryDiffers: the switch has other ports or addresses
	ReasonPortsDiffer      = "PortsDiffer"
	ReasonReceiverStalled  = "ReceiverStalled"  // Degraded: a receiver does not answer
	ReasonReceiversEvicted = "ReceiversEvicted" // Degraded: receivers were taken out
	// Degraded: another group has one of its queue pairs too
	ReasonQueuePairShared = "QueuePairShared"
	// Degraded: a tenant has the port of its source or of a receiver
	ReasonPortTaken = "PortTaken"
	// ReasonNotConnected: receivers of spec.connect have not connected.
	ReasonNotConnected = "NotConnected"
	ReasonUnexplained  = "Unexplained" // OrphansKept
	ReasonHealthy      = "Healthy"     // not Degraded
	ReasonGo           = "Go"          // Ready
	ReasonBlocked      = "Blocked"     // not Ready: its readiness has what is in the way
	ReasonUnjudged     = "Unjudged"    // not Ready: nobody has looked yet
	// ReasonJobsConcerned: Degraded, jobs lose something by a maintenance.
	ReasonJobsConcerned = "JobsConcerned"
	ReasonEnded         = "Ended"    // not Ready: the job has ended
	ReasonNoSecret      = "NoSecret" // Degraded: a notification is not signed
	ReasonFailing       = "Failing"  // Degraded: the receiver of a notification does not take it
	// ReasonPreempted: Ready or not, a lease of a higher priority has taken links from a lease.
	ReasonPreempted = "Preempted"
	// of a [Taken] that shows in no condition of its resource
	ReasonTaken = "Taken"
)

// Find returns the condition of a type, or nil.
func (s Conditions) Find(t ConditionType) *Condition {
	for i := range s {
		if s[i].Type == t {
			return &s[i]
		}
	}
	return nil
}

// Is reports whether the condition of a type is true.
func (s Conditions) Is(t ConditionType) bool {
	c := s.Find(t)
	return c != nil && c.Status
}

// Set sets a condition and reports whether it changed in anything; the time of
// transition moves only with Status.
func (s *Conditions) Set(t ConditionType, status bool, reason, message string, now time.Time) bool {
	c := s.Find(t)
	if c == nil {
		*s = append(*s, Condition{Type: t, Status: status, Reason: reason, Message: message,
			LastTransition: now})
		return true
	}
	if c.Status == status && c.Reason == reason && c.Message == message {
		return false
	}
	if c.Status != status {
		c.LastTransition = now
	}
	c.Status, c.Reason, c.Message = status, reason, message
	return true
}

// Condition returns the condition of a type, or nil.
func (s *MulticastGroupStatus) Condition(t ConditionType) *Condition { return s.Conditions.Find(t) }

// Is reports whether the condition of a type is true.
func (s *MulticastGroupStatus) Is(t ConditionType) bool { return s.Conditions.Is(t) }

// Set is [Conditions.Set].
func (s *MulticastGroupStatus) Set(
	t ConditionType, status bool, reason, message string, now time.Time,
) bool {
	return s.Conditions.Set(t, status, reason, message, now)
}
