package api

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Event is a change that clients may follow.
type Event struct {
	// Seq grows by one with each event of a controller.
	Seq  uint64    `json:"seq" doc:"Grows by one with each event of a controller; 0 in a gap."`
	Time time.Time `json:"time"`
	Type EventType `json:"type" doc:"group.changed, group.deleted, orphan.found, orphan.gone, orphan.removed, receiver.stalled, receiver.recovered, receiver.evicted, connection.up, connection.down, connection.refused, switch.changed, topology.changed, network.changed, bgp-peer.changed, certificate.expiring, certificate.expired, certificate.renewed, certificate.refused, controller.joined, controller.left, controller.lost, controller.alarm, controller.share, controller.decider-changed, controller.owns, port.changed, port.miscabled, port.cabled, srv6-policy.changed, srv6-policy.deleted, tenant.changed, tenant.deleted, pfc-policy.changed, pfc-policy.deleted, srv6-policy.path-changed, srv6-policy.path-failed, pfc.tunnel-lost, pfc.tunnel-recovered, pfc.tunnel-learned, pfc.deadlock-risk, pfc.watermarks-changed, pfc.storm, pfc.storm-ended, pfc.overflow, fabric.changed, link.changed, drain.changed, job.changed, job.deleted, job.ready, lease.broken, lease.changed, lease.deleted, maintenance.began, maintenance.changed, maintenance.deleted, maintenance.ended, job.blocked, project.changed, cause.began, cause.changed, cause.ended, silence.changed, notification.changed, notification.failing, notification.recovered, ev-profile.changed, suspect.changed, balance.changed, host.bound, host.changed, host.gone, host.moved, host.refused, store.failed, store.recovered, entries.removed, gap."`
	// Object is the name of what changed, empty for the topology.
	Object  string `json:"object,omitempty" doc:"Name of the group, project, job, orphan, what was removed, switch, policy, tenant, EV profile, host, controller or certificate, notification, the ends of a tunnel, a queue as switch/port/priority, id of the link, switch/port of a port, what is drained, or id of the cause."`
	Message string `json:"message,omitempty" doc:"The event, as a phrase without the object; of conditions, those of a status."`
	EventFields
	Severity EventSeverity `json:"severity" enum:"fault,warning,work,ok,quiet" doc:"work: what somebody wants, and is under way. ok: something is as it should be again. quiet: nothing follows from it."`
	Sentence string        `json:"sentence" doc:"The event as a sentence for people, made of the other fields."`
	// Group is the group after the change, nil when it is gone.
	Group *MulticastGroup `json:"group,omitempty" doc:"The group after the change; absent when it is gone."`
}

// EventFields are what an event says, for programs.
type EventFields struct {
	Objects []EventObject `json:"objects,omitempty" doc:"What it is about, the first thing first: that of a group also has a receiver or source, that of a host its address and ports."`
	State   EventState    `json:"state,omitempty" enum:"up,down,connected,draining,drained,used,denied,probed,degraded,whole,refused,drifted,installing,programmed,written,ended,deleted" doc:"What became of the first object. used: again. probed: before it is used. written: a client wrote it."`
	Reason  string        `json:"reason,omitempty" doc:"Why, in words."`
	Until   time.Time     `json:"until,omitzero" doc:"When it ends by itself."`
	Numbers *EventNumbers `json:"numbers,omitempty" doc:"The figures."`
}

// EventObject is a thing that an event is about.
type EventObject struct {
	Kind string `json:"kind" doc:"The kind of a resource, such as multicast-group, switch, port or link; or what is none: receiver, source, address, mac, cause, certificate, controller, queue, tunnel, entries."`
	ID   string `json:"id" doc:"What the API calls it."`
	Name string `json:"name,omitempty" doc:"What people call it; absent: its id."`
}

// Label returns what people call an object.
func (o *EventObject) Label() string { return cmp.Or(o.Name, o.ID) }

// EventNumbers are the figures of an event; nil: the event does not have it.
type EventNumbers struct {
	Nodes      *int     `json:"nodes,omitempty" doc:"Nodes of the topology."`
	Links      *int     `json:"links,omitempty" doc:"Links of the topology, by direction."`
	Prefixes   *int     `json:"prefixes,omitempty" doc:"Prefixes of the topology."`
	Entities   *int     `json:"entities,omitempty" doc:"Entries and other entities that a switch holds."`
	ASN        *uint32  `json:"asn,omitempty" doc:"Number of the autonomous system of a BGP-LS peer."`
	Loss       *float64 `json:"loss,omitempty" doc:"Share of packets that are lost, 0 to 1."`
	Confidence *float64 `json:"confidence,omitempty" doc:"Probability that the accused link is the one that loses them, 0 to 1."`
	ProbesSent *uint64  `json:"probesSent,omitempty" doc:"Probes that were sent."`
	ProbesLost *uint64  `json:"probesLost,omitempty" doc:"Probes of them that were lost."`
}

// EventState is the new state of the first object of an event.
type EventState string

// The states.
const (
	StateUp         EventState = "up"
	StateDown       EventState = "down"
	StateConnected  EventState = "connected"
	StateDraining   EventState = "draining"
	StateDrained    EventState = "drained"
	StateUsed       EventState = "used" // again
	StateDenied     EventState = "denied"
	StateProbed     EventState = "probed" // before it is used
	StateDegraded   EventState = "degraded"
	StateWhole      EventState = "whole" // no longer degraded
	StateRefused    EventState = "refused"
	StateDrifted    EventState = "drifted" // other settings than wanted
	StateInstalling EventState = "installing"
	StateProgrammed EventState = "programmed"
	StateWritten    EventState = "written" // by a client
	StateEnded      EventState = "ended"
	StateDeleted    EventState = "deleted"
)

// EventSeverity is how serious an event is: fault, warning, work, ok or quiet.
type EventSeverity string

func (e Event) String() string {
	return fmt.Sprintf("%d %s %s %s", e.Seq, e.Type, e.Object, e.Message)
}

// EventType is the kind of an event: a family, a dot, and what happened.
type EventType string

// The types of events.
const (
	// EventGap stands for events that were lost.
	EventGap EventType = "gap"

	EventSwitchChanged   EventType = "switch.changed"   // connected, disconnected, errors
	EventTopologyChanged EventType = "topology.changed" // nodes, links, prefixes or SIDs
	// out of use, used again, settings refused or drifted
	EventPortChanged    EventType = "port.changed"
	EventPortMiscabled  EventType = "port.miscabled"   // LLDP contradicts the known cable
	EventPortCabled     EventType = "port.cabled"      // and no longer
	EventHostBound      EventType = "host.bound"       // an address, to a port
	EventHostMoved      EventType = "host.moved"       // to another port, or another MAC
	EventHostGone       EventType = "host.gone"        // it does not answer, or may not be there
	EventHostRefused    EventType = "host.refused"     // claimed an address that it may not have
	EventNetworkChanged EventType = "network.changed"  // described, or deleted
	EventBGPPeerChanged EventType = "bgp-peer.changed" // session established, lost, refused

	EventCertificateExpiring EventType = "certificate.expiring" // a third of its time or 30 days left
	EventCertificateExpired  EventType = "certificate.expired"  // its time is over
	EventCertificateRenewed  EventType = "certificate.renewed"  // another one is in its place
	EventCertificateRefused  EventType = "certificate.refused"  // the former one is kept

	EventStoreFailed    EventType = "store.failed"    // changes are refused
	EventStoreRecovered EventType = "store.recovered" // changes are taken again

	EventEntriesRemoved EventType = "entries.removed" // from switches, with the reason

	EventOrphanFound   EventType = "orphan.found"   // and kept
	EventOrphanRemoved EventType = "orphan.removed" // by request or policy
	EventOrphanGone    EventType = "orphan.gone"    // removed by others, or explained by now

	EventControllerJoined EventType = "controller.joined" // it holds a lease
	EventControllerLeft   EventType = "controller.left"   // in order
	EventControllerLost   EventType = "controller.lost"   // its lease ended
	// its disk is full, fails or is slow, or no longer
	EventControllerAlarm EventType = "controller.alarm"
	// switches are shared out unevenly for a minute, or no longer
	EventShareUneven    EventType = "controller.share"
	EventDeciderChanged EventType = "controller.decider-changed" // another controller decides
	EventOwnerChanged   EventType = "controller.owns"            // other switches than before

	EventCauseBegan   EventType = "cause.began"   // something is wrong
	EventCauseChanged EventType = "cause.changed" // it has become worse or better
	EventCauseEnded   EventType = "cause.ended"   // it is over

	EventSilenceChanged EventType = "silence.changed" // made, changed, over or deleted

	EventNotificationChanged EventType = "notification.changed" // written, or deleted
	// its receiver takes no messages for five minutes, and takes them again
	EventNotificationFailing   EventType = "notification.failing"
	EventNotificationRecovered EventType = "notification.recovered"

	EventProjectChanged EventType = "project.changed" // assigned, or deleted

	EventJobChanged EventType = "job.changed" // spec, phase or lease
	EventJobDeleted EventType = "job.deleted" // its record is gone
	EventJobReady   EventType = "job.ready"   // GO
	EventJobBlocked EventType = "job.blocked" // NO-GO, or other blockers than before

	EventLeaseChanged EventType = "lease.changed" // granted, moved, has ended
	EventLeaseBroken  EventType = "lease.broken"  // it holds nothing any more
	EventLeaseDeleted EventType = "lease.deleted" // its record is gone

	EventMaintenanceChanged EventType = "maintenance.changed" // spec or phase
	EventMaintenanceBegan   EventType = "maintenance.began"   // its objects are drained
	EventMaintenanceEnded   EventType = "maintenance.ended"   // and used again
	EventMaintenanceDeleted EventType = "maintenance.deleted" // its record is gone

	EventGroupChanged      EventType = "group.changed"      // spec or status
	EventGroupDeleted      EventType = "group.deleted"      // its record is gone
	EventConnectionUp      EventType = "connection.up"      // RDMA CM: an application connected
	EventConnectionDown    EventType = "connection.down"    // it left
	EventConnectionRefused EventType = "connection.refused" // with the reason
	EventReceiverEvicted   EventType = "receiver.evicted"   // it stalled for evictAfter
	EventReceiverStalled   EventType = "receiver.stalled"   // it holds its group back
	EventReceiverRecovered EventType = "receiver.recovered" // it acknowledges again

	EventSRv6PolicyChanged EventType = "srv6-policy.changed"      // spec or status
	EventSRv6PolicyDeleted EventType = "srv6-policy.deleted"      // its record is gone
	EventPolicyPathChanged EventType = "srv6-policy.path-changed" // other segments
	EventPolicyPathFailed  EventType = "srv6-policy.path-failed"  // no path is left
	EventTenantChanged     EventType = "tenant.changed"           // spec or status
	EventTenantDeleted     EventType = "tenant.deleted"           // its record is gone
	EventPFCPolicyChanged  EventType = "pfc-policy.changed"       // spec or status
	EventPFCPolicyDeleted  EventType = "pfc-policy.deleted"       // its record is gone
	EventTunnelLost        EventType = "pfc.tunnel-lost"          // probes are lost
	EventTunnelRecovered   EventType = "pfc.tunnel-recovered"     // probes are answered
	EventTunnelLearned     EventType = "pfc.tunnel-learned"       // scenario 2
	EventDeadlockRisk      EventType = "pfc.deadlock-risk"        // a cycle: the policy is withdrawn
	EventWatermarksChanged EventType = "pfc.watermarks-changed"   // by a measured round trip
	EventStorm             EventType = "pfc.storm"                // a pause without a departure
	EventStormEnded        EventType = "pfc.storm-ended"          // packets leave again
	EventOverflow          EventType = "pfc.overflow"             // packets found a queue full

	EventFabricChanged    EventType = "fabric.changed"     // mode, planes or sync
	EventLinkChanged      EventType = "link.changed"       // denied, restored
	EventDrainChanged     EventType = "drain.changed"      // draining, drained, used again
	EventEVProfileChanged EventType = "ev-profile.changed" // degraded, and no longer
	// a leaf uses a plane unevenly, or no longer
	EventBalanceChanged EventType = "balance.changed"
	EventSuspectChanged EventType = "suspect.changed" // a link that loses packets
	EventHostChanged    EventType = "host.changed"    // stream, ports or refusals
)

// eventTypes are all types, sorted.
var eventTypes = []EventType{
	EventBalanceChanged, EventBGPPeerChanged, EventCauseBegan, EventCauseChanged, EventCauseEnded,
	EventCertificateExpired, EventCertificateExpiring,
	EventCertificateRefused, EventCertificateRenewed, EventConnectionDown, EventConnectionRefused,
	EventConnectionUp, EventControllerAlarm, EventDeciderChanged,
	EventControllerJoined, EventControllerLeft, EventControllerLost, EventOwnerChanged,
	EventShareUneven, EventDrainChanged, EventEntriesRemoved, EventEVProfileChanged,
	EventFabricChanged, EventGap, EventGroupChanged, EventGroupDeleted,
	EventHostBound, EventHostChanged, EventHostGone, EventHostMoved, EventHostRefused,
	EventJobBlocked, EventJobChanged, EventJobDeleted, EventJobReady, EventLeaseBroken,
	EventLeaseChanged, EventLeaseDeleted, EventLinkChanged, EventMaintenanceBegan,
	EventMaintenanceChanged, EventMaintenanceDeleted, EventMaintenanceEnded, EventNetworkChanged,
	EventNotificationChanged, EventNotificationFailing, EventNotificationRecovered,
	EventOrphanFound,
	EventOrphanGone, EventOrphanRemoved,
	EventPFCPolicyChanged, EventPFCPolicyDeleted, EventDeadlockRisk, EventOverflow, EventStorm,
	EventStormEnded, EventTunnelLearned, EventTunnelLost, EventTunnelRecovered,
	EventWatermarksChanged, EventPortCabled, EventPortChanged, EventPortMiscabled,
	EventProjectChanged, EventReceiverEvicted, EventReceiverRecovered, EventReceiverStalled,
	EventSilenceChanged, EventSRv6PolicyChanged, EventSRv6PolicyDeleted, EventPolicyPathChanged,
	EventPolicyPathFailed,
	EventStoreFailed, EventStoreRecovered, EventSuspectChanged, EventSwitchChanged,
	EventTenantChanged, EventTenantDeleted, EventTopologyChanged,
}

// EventTypes returns the types that events may have, sorted.
func EventTypes() []EventType { return slices.Clone(eventTypes) }

// OfIntent reports whether events of a type announce changes of client intent, in addition to
// results.
func (t EventType) OfIntent() bool {
	switch t {
	case EventSilenceChanged, EventNotificationChanged, EventGroupChanged, EventGroupDeleted,
		EventNetworkChanged, EventPortChanged,
		EventSRv6PolicyChanged, EventSRv6PolicyDeleted,
		EventTenantChanged, EventTenantDeleted, EventPFCPolicyChanged, EventPFCPolicyDeleted,
		EventDrainChanged, EventEVProfileChanged,
		EventJobChanged, EventJobDeleted, EventLeaseChanged, EventLeaseDeleted, EventMaintenanceChanged,
		EventMaintenanceDeleted:
		return true
	}
	return false
}
