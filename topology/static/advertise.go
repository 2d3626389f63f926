package static

import (
	"cmp"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/topology"
)

// Advertised has the objects that one node advertises.
type Advertised struct {
	Node     topology.Node
	Links    []topology.Link
	Prefixes []topology.Prefix
}

// Of returns the advertisement of a node: the node, its prefixes, and its links that up reports as
// up; with a nil up, all its links. ok is false if no node has the name. The topology must be
// valid.
func (t *Topology) Of(name string, up func(port uint32) bool) (a Advertised, ok bool) {
	n := t.node(name)
	if n == nil {
		return a, false
	}
	a.Node, a.Prefixes = t.self(n)
	for i := range t.Links {
		for _, d := range t.Links[i].directions() {
			if d.from == name && (up == nil || up(d.fromPort)) {
				a.Links = append(a.Links, t.link(&d, n, t.node(d.to)))
			}
		}
	}
	return a, true
}

// Snapshot returns the whole network that the topology describes, which must be valid.
func (t *Topology) Snapshot() *topology.Snapshot {
	b := topology.NewBuilder()
	nodes := make(map[string]*Node, len(t.Nodes))
	for i := range t.Nodes {
		n := &t.Nodes[i]
		nodes[n.Name] = n
		node, prefixes := t.self(n)
		b.SetNode(node)
		for _, p := range prefixes {
			b.SetPrefix(p)
		}
	}
	for i := range t.Links {
		for _, d := range t.Links[i].directions() {
			b.SetLink(t.link(&d, nodes[d.from], nodes[d.to]))
		}
	}
	return b.Build()
}

// self returns a node and its prefixes.
func (t *Topology) self(n *Node) (node topology.Node, prefixes []topology.Prefix) {
	id := t.id(n)
	for _, p := range append([]netip.Prefix{netip.PrefixFrom(n.Loopback, n.Loopback.BitLen()),
		n.Locator}, n.Prefixes...) {
		prefixes = append(prefixes, topology.Prefix{PrefixKey: topology.PrefixKey{Node: id, Prefix: p}})
	}
	return topology.Node{
		ID: id, Name: n.Name, Loopback: n.Loopback, RouterID4: n.RouterID, ASN: t.asn(n),
		Protocol: "direct",
		SRv6:     &topology.SRv6Capabilities{}, Locators: []topology.Locator{{Prefix: n.Locator}},
		SIDs: n.sids(),
	}, prefixes
}

// A direction is one direction of a link.
type direction struct {
	link             *Link
	from, to         string
	fromPort, toPort uint32
}

func (l *Link) directions() [2]direction {
	return [2]direction{{l, l.A, l.B, l.PortA, l.PortB}, {l, l.B, l.A, l.PortB, l.PortA}}
}

func (t *Topology) link(d *direction, from, to *Node) topology.Link {
	micros := uint32(time.Duration(d.link.Delay) / time.Microsecond)
	return topology.Link{
		Local: t.id(from), Remote: t.id(to), LocalID: d.fromPort, RemoteID: d.toPort,
		IGPMetric: cmp.Or(d.link.Metric, DefaultMetric), MaxBandwidth: d.link.Rate,
		Delay: topology.Delay{Known: true, Average: micros, Min: micros, Max: micros},
		EndX:  from.endX(d.fromPort),
	}
}
