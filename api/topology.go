package api

import (
	"github.com/weft-sdn/weft/topology"
	"net/netip"
)

// Topology is the network according to BGP-LS, plus the hosts of the inventory.
type Topology struct {
	Version  uint64              `json:"version" doc:"Grows with every change."`
	Stale    *topology.Staleness `json:"stale,omitempty" doc:"Why this may no longer be true; absent while it is what the network last said."`
	Nodes    []TopologyNode      `json:"nodes" doc:"Ordered by id."`
	Links    []TopologyLink      `json:"links" doc:"One direction each; ordered by their ends."`
	Prefixes []TopologyPrefix    `json:"prefixes" doc:"Ordered by node."`
	Hosts    []TopologyHost      `json:"hosts" doc:"Of the inventory, in its order."`
}

// TopologyNode is a node of the topology.
type TopologyNode struct {
	ID         topology.NodeID    `json:"id" doc:"AS:router-id."`
	Name       string             `json:"name,omitempty"`
	Loopback   netip.Addr         `json:"loopback,omitzero" doc:"The IPv6 address that stands for the node."`
	ASN        uint32             `json:"asn,omitempty"`
	Protocol   string             `json:"protocol,omitempty" doc:"Where the node was learned: isis-l2, direct, …"`
	Pseudonode bool               `json:"pseudonode,omitempty" doc:"A LAN that the IGP models as a node."`
	Overload   bool               `json:"overload,omitempty" doc:"The node asked not to be crossed."`
	SRv6       bool               `json:"srv6" doc:"The node advertises SRv6 capabilities."`
	Locators   []topology.Locator `json:"locators,omitempty"`
	SIDs       []TopologySID      `json:"sids,omitempty" doc:"SIDs of the node; those of adjacencies are with the links."`
}

// TopologySID is an SRv6 SID of a node or an adjacency.
type TopologySID struct {
	Address   netip.Addr            `json:"address"`
	Behavior  string                `json:"behavior" doc:"End, End.X, End.DT6, End.X.PFC, …, with flavors; 0x…. for codepoints without a name."`
	Codepoint uint16                `json:"codepoint" doc:"SRv6 endpoint behavior (IANA)."`
	Structure topology.SIDStructure `json:"structure,omitzero" doc:"Widths in bits of the parts of the SID."`
	Neighbor  string                `json:"neighbor,omitempty" doc:"Router-id of the neighbour on a LAN."`
}

// TopologyLink is one direction of a link of the topology.
type TopologyLink struct {
	ID           topology.LinkID `json:"id"`
	Local        topology.NodeID `json:"local"`
	Remote       topology.NodeID `json:"remote"`
	LocalPort    uint32          `json:"localPort,omitempty" doc:"Port of the local end: the link identifier, or what the inventory has in its place."`
	RemotePort   uint32          `json:"remotePort,omitempty" doc:"Port of the remote end."`
	IGPMetric    uint32          `json:"igpMetric"`
	TEMetric     uint32          `json:"teMetric,omitempty"`
	Delay        topology.Delay  `json:"delay,omitzero" doc:"Unidirectional, in microseconds."`
	MaxBandwidth uint64          `json:"maxBandwidth,omitempty" doc:"Bits per second."`
	Sources      []string        `json:"sources,omitempty" doc:"What it is known from, the one that counts first: bgp-ls, network and a name, file, or lldp."`
	EndX         []TopologySID   `json:"endX,omitempty" doc:"SIDs that send a packet over this link."`
}

// TopologyPrefix is a prefix that a node advertises.
type TopologyPrefix struct {
	Node   topology.NodeID `json:"node"`
	Prefix netip.Prefix    `json:"prefix"`
	Metric uint32          `json:"metric,omitempty"`
}

// TopologyHost is a host of the inventory.
type TopologyHost struct {
	Name    string     `json:"name"`
	Address netip.Addr `json:"address" doc:"IPv6 address the host is reached by."`
	Switch  string     `json:"switch" doc:"The switch it is attached to."`
	Ports   []uint32   `json:"ports" doc:"Ports of that switch; packets to the host leave by the first."`
}
