package static

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/topology"
)

// DefaultASN is the autonomous system of nodes without one: the first for private
// use (RFC 6996).
const DefaultASN = 64512

// DefaultMetric is the IGP metric of links without one.
const DefaultMetric = 10

// A Topology is nodes and the links between them.
type Topology struct {
	ASN   uint32 `json:"asn,omitempty" yaml:"asn,omitempty" doc:"Autonomous system of nodes without one. Default 64512."`
	Nodes []Node `json:"nodes" yaml:"nodes" doc:"Nodes, each of which has SRv6 SIDs below its locator: End 1, End.DT6 2, and End.X 256 plus the port of a link."`
	Links []Link `json:"links,omitempty" yaml:"links,omitempty" doc:"Links between these nodes. Each is there in both directions."`
}

// A Node is a switch or router.
type Node struct {
	Name     string         `json:"name" yaml:"name" doc:"Name that the node advertises; unique here."`
	ASN      uint32         `json:"asn,omitempty" yaml:"asn,omitempty" doc:"Its autonomous system, where it is another."`
	RouterID netip.Addr     `json:"routerId" yaml:"routerId" doc:"Its router-id, an IPv4 address." want:"an IPv4 address such as 10.0.0.1"`
	Loopback netip.Addr     `json:"loopback" yaml:"loopback" doc:"The IPv6 address that stands for the node."`
	Locator  netip.Prefix   `json:"locator" yaml:"locator" doc:"SRv6 locator, of at most 112 bits."`
	PFC      bool           `json:"pfc,omitempty" yaml:"pfc,omitempty" doc:"The node advertises End.PFC, and End.X.PFC for each of its links."`
	Prefixes []netip.Prefix `json:"prefixes,omitempty" yaml:"prefixes,omitempty" doc:"Further prefixes that it advertises, such as those of its hosts."`
}

// A Link joins two nodes.
type Link struct {
	A      string `json:"a" yaml:"a" doc:"Name of one end."`
	PortA  uint32 `json:"portA" yaml:"portA" doc:"Port of that end: the link identifier that it advertises."`
	B      string `json:"b" yaml:"b" doc:"Name of the other end."`
	PortB  uint32 `json:"portB" yaml:"portB" doc:"Port of the other end."`
	Delay  Delay  `json:"delay,omitempty" yaml:"delay,omitempty" doc:"One way; default 0."`
	Rate   uint64 `json:"rate,omitempty" yaml:"rate,omitempty" doc:"Bits per second; default unknown."`
	Metric uint32 `json:"metric,omitempty" yaml:"metric,omitempty" doc:"IGP metric, both ways; default 10."`
}

// A Delay is written as "10us". What is advertised are whole microseconds.
type Delay time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Delay) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Wanted reports what UnmarshalText takes.
func (*Delay) Wanted() string { return "a duration such as 50us or 1.5ms" }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Delay) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as \"50us\" or \"1.5ms\"", text)
	}
	*d = Delay(v)
	return nil
}

// node returns the node with a name; nil: no such node.
func (t *Topology) node(name string) *Node {
	if i := slices.IndexFunc(t.Nodes, func(n Node) bool { return n.Name == name }); i >= 0 {
		return &t.Nodes[i]
	}
	return nil
}

// asn returns the autonomous system of a node.
func (t *Topology) asn(n *Node) uint32 { return cmp.Or(n.ASN, t.ASN, DefaultASN) }

// id returns the id of a node in the topology.
func (t *Topology) id(n *Node) topology.NodeID {
	return topology.NodeID(fmt.Sprintf("%d:%v", t.asn(n), n.RouterID))
}

// Names returns the names of the nodes, in their order.
func (t *Topology) Names() []string {
	names := make([]string, len(t.Nodes))
	for i := range t.Nodes {
		names[i] = t.Nodes[i].Name
	}
	return names
}

// Equal compares two topologies.
func (t *Topology) Equal(o *Topology) bool {
	return t.ASN == o.ASN && slices.Equal(t.Links, o.Links) &&
		slices.EqualFunc(t.Nodes, o.Nodes, func(a, b Node) bool {
			return a.Name == b.Name && a.ASN == b.ASN && a.RouterID == b.RouterID &&
				a.Loopback == b.Loopback &&
				a.Locator == b.Locator && a.PFC == b.PFC && slices.Equal(a.Prefixes, b.Prefixes)
		})
}
