package flows

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/topology"
)

// A Network is a fabric with NICs. It does not change.
type Network struct {
	Fabric *fabric.Fabric
	Hosts  map[string]Host // by name
	// MRC has how many EVs hosts hold.
	MRC *inventory.MRC
	// Payload is the share of a link's bits that messages get, of 1; Frame is the octets of a full
	// packet on a link.
	Payload float64
	Frame   int
	// Parts bounds the kinds of messages times the ports on a NIC in a model.
	Parts int
}

// A Host is a NIC.
type Host struct {
	At ev.Attachment
	// Rate is the rate of each port in bits per second; 0: the rate of the fastest link of the leaf.
	Rate uint64
	// Delay is the one-way delay on a port's link, in seconds.
	Delay float64
}

// A State is what is lost or must not be used. The zero State is the whole fabric.
type State struct {
	topology.Losses
	// Ports are the ports of NICs, by name.
	Ports map[string]hostapi.PortMask
	// Slower adds to the delay on links in one direction, in seconds.
	Slower map[topology.LinkID]float64
}

// Defaults for a fabric without settings: the share of payload in full packets of 4,096 octets, and
// the octets of such a packet on a link.
const (
	usualFrame   = 4230
	usualPayload = 4096. / usualFrame
)

// Of returns a fabric with the NICs at some attachments, where every port has the rate of the
// leaf's fastest link. Its models take some seconds at most.
func Of(f *fabric.Fabric, at map[string]ev.Attachment, m *inventory.MRC) *Network {
	n := &Network{Fabric: f, Hosts: make(map[string]Host, len(at)), MRC: m, Payload: usualPayload,
		Frame: usualFrame, Parts: quickParts}
	for name, a := range at {
		n.Hosts[name] = Host{At: a}
	}
	return n
}

// Clone returns a copy that shares nothing.
func (s *State) Clone() *State {
	out := *s
	for _, ids := range []*[]topology.LinkID{&out.Links, &out.Directed} {
		*ids = slices.Clone(*ids)
	}
	out.Nodes, out.Planes = slices.Clone(s.Nodes), slices.Clone(s.Planes)
	out.Ports, out.Slower = maps.Clone(s.Ports), maps.Clone(s.Slower)
	return &out
}

// usualRate is the rate of links whose rate is not known, in bits per second.
const usualRate = 100_000_000_000

// rateOf returns the rate of a link of the fabric in bits per second.
func (n *Network) rateOf(place int32) float64 {
	return float64(cmp.Or(n.Fabric.Edge(place).MaxBandwidth, usualRate))
}

// fastest returns the rate of the fastest link from a leaf.
func (n *Network) fastest(leaf topology.NodeID) float64 {
	most := uint64(0)
	for _, l := range n.Fabric.Snapshot().LinksFrom(leaf) {
		most = max(most, l.MaxBandwidth)
	}
	return float64(cmp.Or(most, usualRate))
}

// nameOf names a link for people.
func (n *Network) nameOf(place int32) string {
	return n.Fabric.Snapshot().LinkName(n.Fabric.Edge(place).ID)
}

// mix returns a hash of two numbers.
func mix(a, b uint64) uint64 { return topology.Mix(a*0x9e3779b97f4a7c15 + b) }
