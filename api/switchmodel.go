package api

import "net/netip"

// SwitchModel defines the function of a switch, independent of the switch's system: forwarding, and
// treatment of traffic classes. SwitchModel names no table of any system.
type SwitchModel struct {
	Name     string         `json:"name" doc:"Name of the switch in the inventory."`
	Node     string         `json:"node,omitempty" doc:"Node of the switch in the topology."`
	Mode     string         `json:"mode,omitempty" doc:"How packets of MRC hosts say their path; absent without an MRC fabric."`
	Tier     int            `json:"tier" doc:"Tier of the switch in the MRC fabric: 0 for a T0; -1 when it is in none."`
	Plane    int            `json:"plane,omitempty" doc:"Plane of the MRC fabric; absent for a switch in none or in several."`
	MAC      string         `json:"mac,omitempty" doc:"Ethernet address of all ports."`
	Loopback netip.Addr     `json:"loopback,omitzero" doc:"The address that stands for the switch."`
	Locator  *ModelLocator  `json:"locator,omitempty" doc:"Locator of the node's uSIDs; absent without SRv6."`
	SIDs     []ModelSID     `json:"sids,omitempty" doc:"Its local SIDs, by prefix."`
	Routes   []ModelRoute   `json:"routes,omitempty" doc:"Its routes, by prefix. In the SRv6 modes of an MRC fabric these are the uNs of its neighbors and its own hosts: what EVs take a packet by."`
	Ports    []ModelPort    `json:"ports,omitempty" doc:"The ports that have a part in the network, by number."`
	Classes  []ModelClass   `json:"classes,omitempty" doc:"The classes of traffic, by DSCP; absent without an MRC fabric."`
	Queues   []ModelQueue   `json:"queues,omitempty" doc:"The queues of each port."`
	Trimming *ModelTrimming `json:"trimming,omitempty" doc:"What becomes of packets that find their queue full; absent when they are dropped."`
	Hash     []string       `json:"hash,omitempty" doc:"Fields of a packet by which the switch must choose among equal next hops."`
	Extras   []ModelExtra   `json:"extras,omitempty" doc:"What the switch does beside, which only the P4 program can."`
}

// ModelLocator is the locator of a switch.
type ModelLocator struct {
	Prefix    netip.Prefix `json:"prefix" doc:"Block and node."`
	BlockBits int          `json:"blockBits" doc:"Length of the block, which all switches share."`
	NodeBits  int          `json:"nodeBits" doc:"Length of the number of the switch behind the block."`
}

// Behaviors of local SIDs (RFC 8986 and RFC 9800).
const (
	BehaviorUN   = "uN"
	BehaviorUA   = "uA"
	BehaviorUDT6 = "uDT6"
)

// ModelSID is a local SID of a switch.
type ModelSID struct {
	Prefix   netip.Prefix `json:"prefix" doc:"What the destination address of a packet must match."`
	Behavior string       `json:"behavior" enum:"uN,uA,uDT6" doc:"uN: shift, and route. uA: shift, and send over a link. uDT6: end the tunnel, and route what was inside."`
	Hop      *ModelHop    `json:"hop,omitempty" doc:"The link of a uA."`
}

// ModelHop is a way out of a switch.
type ModelHop struct {
	Port    uint32     `json:"port" format:"uint32" doc:"P4Runtime port."`
	Address netip.Addr `json:"address,omitzero" doc:"Address of the neighbor at the other end of the link: as advertised, else the link-local address that its Ethernet address makes. Absent where the destination itself is on the link."`
	Weight  int        `json:"weight" doc:"Share of the packets, among the weights of a route."`
}

// ModelRoute is a route of a switch.
type ModelRoute struct {
	Prefix netip.Prefix `json:"prefix"`
	Hops   []ModelHop   `json:"hops" doc:"By port."`
}

// Neighbors of a port.
const (
	FacesFabric = "fabric"
	FacesHost   = "host"
)

// ModelPort is a port of a switch.
type ModelPort struct {
	Port      uint32       `json:"port" format:"uint32" doc:"P4Runtime port."`
	Faces     string       `json:"faces" enum:"fabric,host" doc:"Whether other switches or hosts are behind the port."`
	Peers     []string     `json:"peers,omitempty" doc:"Names of the switches or hosts behind the port."`
	Addresses []netip.Addr `json:"addresses,omitempty" doc:"Addresses of the interface, where they are advertised; else it has its link-local address."`
	Settings  PortSpec     `json:"settings" doc:"What clients want of the port; a field that is absent is left as it is."`
}

// ModelClass is the class of the packets of a DSCP.
type ModelClass struct {
	DSCP     uint8  `json:"dscp" doc:"Of the outermost header."`
	Name     string `json:"name" doc:"Name of the class in OCP MRC 1.0, section 7.5.3."`
	Queue    uint8  `json:"queue" doc:"Priority queue, 0 the lowest."`
	Trimming bool   `json:"trimming,omitempty" doc:"Packets that find the queue full are trimmed instead of dropped."`
}

// ModelQueue is a queue that every port has.
type ModelQueue struct {
	Queue   uint8     `json:"queue" doc:"Priority queue, 0 the lowest."`
	Packets uint32    `json:"packets" format:"uint32" doc:"Packets that may wait."`
	Octets  uint64    `json:"octets" doc:"The same in octets, with packets of the largest size."`
	ECN     *ModelECN `json:"ecn,omitempty" doc:"When waiting packets get congestion marks; absent: never."`
}

// ModelECN are the thresholds of congestion marks: none below Min, all from Max on, and between
// with a probability that grows linearly.
type ModelECN struct {
	MinPackets uint32 `json:"minPackets" format:"uint32"`
	MaxPackets uint32 `json:"maxPackets" format:"uint32"`
	MinOctets  uint64 `json:"minOctets" doc:"The same in octets, with packets of the largest size."`
	MaxOctets  uint64 `json:"maxOctets" doc:"The same in octets, with packets of the largest size."`
}

// ModelTrimming describes trimmed packets.
type ModelTrimming struct {
	Octets      uint16 `json:"octets" doc:"What is left, from the Ethernet header on."`
	DSCP        uint8  `json:"dscp" doc:"DSCP of what is trimmed at a port to the fabric."`
	DSCPLastHop uint8  `json:"dscpLastHop" doc:"DSCP of what is trimmed at a port to a host."`
	Queue       uint8  `json:"queue" doc:"Priority queue of what is left."`
	SetLength   bool   `json:"setLength,omitempty" doc:"IPv6 headers have the length that is left."`
}

// ModelExtra is something that only the P4 program does.
type ModelExtra struct {
	Feature string `json:"feature" enum:"multicast,pfc" doc:"multicast: reliable multicast. pfc: PFC over SRv6."`
	Object  string `json:"object" doc:"Whose it is."`
}

// Features that a ModelExtra may be of.
const (
	ExtraMulticast = "multicast"
	ExtraPFC       = "pfc"
)
