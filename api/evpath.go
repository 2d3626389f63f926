package api

import (
	"github.com/weft-sdn/weft/topology"
	"net/netip"
)

// EVPath is the way of an EV.
type EVPath struct {
	Profile     string            `json:"profile"`
	EV          string            `json:"ev" doc:"Value in hexadecimal and port."`
	State       string            `json:"state" enum:"GOOD,ASSUMED_BAD,DENIED"`
	Mode        string            `json:"mode" doc:"How packets say their path: stev, usid-f3216, usid-f1616, usid-srh or usid-structured."`
	Port        uint8             `json:"port" doc:"Port of the host that it leaves by."`
	Plane       int               `json:"plane,omitempty" doc:"Plane of its links; absent when it crosses none."`
	Packet      EVPacket          `json:"packet" doc:"Header fields of packets with the EV."`
	Source      topology.NodeID   `json:"source" doc:"The first leaf."`
	Destination topology.NodeID   `json:"destination" doc:"The last leaf."`
	Nodes       []string          `json:"nodes,omitempty" doc:"The switches in order, by name; absent where a switch chooses by a hash."`
	Hops        []EVHop           `json:"hops" doc:"In order; none from a leaf to itself."`
	LostLinks   []topology.LinkID `json:"lostLinks,omitempty" doc:"Links of the path that must not be crossed: why the EV is denied."`
}

// EVPacket is what packets of an EV carry.
type EVPacket struct {
	SourcePort  *uint16    `json:"sourcePort,omitempty" doc:"UDP source port of a structured EV."`
	FlowLabel   *uint32    `json:"flowLabel,omitempty" doc:"Low 16 bits of the IPv6 flow label of a structured EV."`
	Destination netip.Addr `json:"destination,omitzero" doc:"The uSID container in the outer destination address."`
	Segment     netip.Addr `json:"segment,omitzero" doc:"The uSID container in the SRH, where there is one."`
	LastUSID    string     `json:"lastUsid,omitempty" doc:"The last uSID, for the last leaf."`
}

// EVHop is one hop of an EV's path.
type EVHop struct {
	By    string   `json:"by" enum:"field,uN,uA,route" doc:"What the switch goes by: field (of a structured EV), uN, uA, or route (to the destination address)."`
	Value uint32   `json:"value" format:"uint32" doc:"Value of the field, or the uSID; 0 with a route."`
	Links []EVLink `json:"links" doc:"The link taken; several where the EV leaves the choice to the hash of a switch."`
}

// EVLink is a link that an EV may take.
type EVLink struct {
	ID       topology.LinkID `json:"id"`
	From     topology.NodeID `json:"from"`
	FromName string          `json:"fromName,omitempty"`
	FromPort uint32          `json:"fromPort,omitempty" doc:"Port that the packet leaves by."`
	To       topology.NodeID `json:"to"`
	ToName   string          `json:"toName,omitempty"`
	ToPort   uint32          `json:"toPort,omitempty" doc:"Port that the packet comes in by."`
	// Addresses of the interfaces, where they are advertised.
	FromAddresses []netip.Addr `json:"fromAddresses,omitempty" doc:"Addresses of the interface it leaves by, where they are advertised."`
	ToAddresses   []netip.Addr `json:"toAddresses,omitempty" doc:"Addresses of the interface it comes in by, where they are advertised."`
	Plane         int          `json:"plane,omitempty"`
}
