package api

import (
	"github.com/weft-sdn/weft/topology"
	"time"
)

// Suspect is a link, in one direction, that loses packets.
type Suspect struct {
	Links      []topology.LinkID  `json:"links" doc:"One direction of a link; several where the evidence fits each of them."`
	From       topology.NodeID    `json:"from,omitempty" doc:"Where the one link starts; absent when that is a host."`
	FromName   string             `json:"fromName,omitempty"`
	To         topology.NodeID    `json:"to,omitempty" doc:"Where the one link ends; absent when that is a host."`
	ToName     string             `json:"toName,omitempty"`
	Node       topology.NodeID    `json:"node,omitempty" doc:"The switch, where all links of it lose packets."`
	NodeName   string             `json:"nodeName,omitempty"`
	Host       string             `json:"host,omitempty" doc:"The host, of the link between a host and its leaf; absent while it is not known which host of the leaf."`
	HostPort   uint8              `json:"hostPort,omitempty" doc:"Port of the host, of such a link."`
	Kind       string             `json:"kind,omitempty" enum:"blackHole,grey" doc:"What probes of hosts to themselves show: it forwards nothing, with its ports up, or loses a part. Absent of other evidence."`
	By         string             `json:"by,omitempty" enum:"selfProbes" doc:"The evidence: probes of hosts to themselves, which cross a link both ways, so that links has both directions until probes of single directions tell. Absent: packets, probes and counters of any kind."`
	Direction  string             `json:"direction,omitempty" enum:"one,both" doc:"Of a link that probes of hosts to themselves accuse: whether it loses packets from 'from' to 'to' alone, or both ways. Absent: not known yet."`
	Confidence float64            `json:"confidence" doc:"Probability, from 0 to 1, that this link alone loses the packets."`
	Loss       float64            `json:"loss" doc:"Share of packets, from 0 to 1, lost here beyond the losses elsewhere."`
	Evidence   SuspectEvidence    `json:"evidence"`
	Directions []SuspectDirection `json:"directions,omitempty" doc:"What the direction rests on: probes that crossed one direction of the link alone, and returned by other links."`
	Since      time.Time          `json:"since" doc:"When it was first named."`
	Denied     bool               `json:"denied" doc:"EVs over it are denied."`
	Why        string             `json:"why,omitempty" doc:"Why they are not."`
}

// SuspectEvidence counts the packets that speak against a link.
type SuspectEvidence struct {
	Sent  uint64 `json:"sent" doc:"Packets across it that say so."`
	Lost  uint64 `json:"lost" doc:"Of those, lost ones."`
	Paths int    `json:"paths" doc:"Paths that they took."`
}

// SuspectDirection counts probes over one direction of a link.
type SuspectDirection struct {
	From topology.NodeID `json:"from"`
	To   topology.NodeID `json:"to"`
	Sent uint64          `json:"sent"`
	Lost uint64          `json:"lost"`
}
