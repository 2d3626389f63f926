package bgpls

import (
	"math"
	"net/netip"
	"slices"
	"strconv"

	"github.com/weft-sdn/weft/internal/printable"
	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

const (
	// metricOfLastResort is a link's whose attribute was discarded: usable
	// when there is no other.
	metricOfLastResort = 1<<24 - 1
	// metricUnsaid is a link's that has an attribute without a metric.
	metricUnsaid = 10

	// N-flag: RFC 7794 section 2.1 and RFC 9513 section 6.1; of OSPFv2 RFC 7684 section 2.1.
	prefixFlagNode   = 0x20
	prefixFlagNodeV2 = 0x40
)

// A part holds the contribution from one NLRI, with the attribute, to an object. The attribute is
// nil when the NLRI came without one or it was discarded.
type part struct {
	nlri       *wire.NLRI
	attributes *wire.Attributes
}

var noAttributes wire.Attributes

func (p part) attr() *wire.Attributes {
	if p.attributes == nil {
		return &noAttributes
	}
	return p.attributes
}

// makeNode joins the parts of a node: node NLRIs from one or several protocols, prefix NLRIs
// (locators among them), and SRv6 SID NLRIs. The first part that says a thing counts. ok is false
// when there is no node NLRI.
func makeNode(id topology.NodeID, parts []part) (n topology.Node, ok bool) {
	n.ID = id
	for _, p := range parts {
		a := p.attr()
		switch p.nlri.Type {
		case wire.NLRINode:
			if !ok {
				n.ASN, n.Protocol, n.Pseudonode = p.nlri.Local.ASN, p.nlri.Protocol.String(),
					isPseudonode(&p.nlri.Local)
				ok = true
			}
			addNodeAttributes(&n, &a.Node)
		case wire.NLRIPrefix6:
			if l := a.Prefix.Locator; l != nil {
				locator := topology.Locator{Prefix: p.nlri.Prefix.Prefix, Algorithm: l.Algorithm,
					Flags: l.Flags, Metric: l.Metric}
				if !slices.ContainsFunc(n.Locators, func(o topology.Locator) bool {
					return o.Prefix == locator.Prefix && o.Algorithm == locator.Algorithm
				}) {
					n.Locators = append(n.Locators, locator)
				}
			}
		case wire.NLRISRv6SID:
			sid := makeSID(p.nlri.SID, a)
			if !slices.ContainsFunc(n.SIDs, func(o topology.SID) bool {
				return o.Address == sid.Address && o.Behavior == sid.Behavior && o.Algorithm == sid.Algorithm
			}) {
				n.SIDs = append(n.SIDs, sid)
			}
		}
	}
	own := nodePrefixes(parts)
	n.Loopback = chosen(n.Loopback, own[wire.NLRIPrefix6], parts)
	n.RouterID4 = chosen(n.RouterID4, own[wire.NLRIPrefix4], parts)
	return n, ok
}

func addNodeAttributes(n *topology.Node, a *wire.NodeAttributes) {
	n.Overload = n.Overload || a.Flags&wire.NodeFlagOverload != 0
	if n.Name == "" {
		n.Name = printable.Text(a.Name) // RFC 9552 section 5.3.1.3 wants ASCII; peers send what they like
	}
	if !n.Loopback.IsValid() {
		n.Loopback = a.RouterID6
	}
	if !n.RouterID4.IsValid() {
		n.RouterID4 = a.RouterID4
	}
	if n.SRv6 == nil && a.SRv6.Present {
		n.SRv6 = &topology.SRv6Capabilities{OAM: a.SRv6.Flags&wire.SRv6FlagOAM != 0}
	}
	if n.Algorithms == nil {
		for _, algorithm := range a.Algorithms {
			n.Algorithms = append(n.Algorithms, int(algorithm))
		}
	}
	if n.MSDs == nil {
		for _, m := range a.MSDs {
			n.MSDs = append(n.MSDs, topology.MSD(m))
		}
	}
}

// nodePrefixes returns the host addresses that prefixes of the node name as the node's own,
// ascending.
func nodePrefixes(parts []part) map[wire.NLRIType][]netip.Addr {
	own := make(map[wire.NLRIType][]netip.Addr)
	for _, p := range parts {
		flag := byte(prefixFlagNode)
		if p.nlri.Protocol == wire.ProtocolOSPFv2 {
			flag = prefixFlagNodeV2
		}
		flags := p.attr().Prefix.AttributeFlags
		if a := p.nlri.Prefix.Prefix; a.IsSingleIP() && len(flags) > 0 && flags[0]&flag != 0 {
			own[p.nlri.Type] = append(own[p.nlri.Type], a.Addr())
		}
	}
	for _, all := range own {
		slices.SortFunc(all, netip.Addr.Compare)
	}
	return own
}

// chosen returns the address that represents a node, from the first router-id and the node's own
// addresses. A router may list all its addresses as router-ids: among several, an own address
// counts. Without a router-id, an own IPv6 address counts.
func chosen(first netip.Addr, own []netip.Addr, parts []part) netip.Addr {
	if len(own) == 0 || slices.Contains(own, first) {
		return first
	}
	if !first.IsValid() && own[0].Is6() {
		return own[0]
	}
	for _, a := range own {
		for _, p := range parts {
			n := &p.attr().Node
			if p.nlri.Type == wire.NLRINode &&
				(a == n.RouterID4 || a == n.RouterID6 || slices.Contains(n.RouterIDs, a)) {
				return a
			}
		}
	}
	return first
}

func makeSID(address netip.Addr, a *wire.Attributes) topology.SID {
	sid := topology.SID{Address: address, Structure: structure(a.SID.Structure)}
	if b := a.SID.Behavior; b != nil {
		sid.Behavior, sid.Flags, sid.Algorithm = topology.Behavior(b.Behavior), b.Flags, b.Algorithm
	}
	return sid
}

func structure(s *wire.SIDStructure) topology.SIDStructure {
	if s == nil {
		return topology.SIDStructure{}
	}
	return topology.SIDStructure{LocatorBlock: s.Block, LocatorNode: s.Node, Function: s.Function,
		Argument: s.Argument}
}

// peerNode reports whether a link stands for a BGP session (PeerNode, RFC 9086 section 5.1),
// peering whether a link stands for a session or for a cable below a session (PeerAdj, section
// 5.2).
func peerNode(n *wire.NLRI) bool { return peering(n) && !n.Link.IDs.Present }

func peering(n *wire.NLRI) bool {
	return n.Type == wire.NLRILink && n.Protocol == wire.ProtocolBGP
}

// namedLink returns the link that an NLRI names, without attributes.
func namedLink(n *wire.NLRI) topology.Link {
	l := topology.Link{
		Local: nodeID(n.Identifier, &n.Local), Remote: nodeID(n.Identifier, &n.Remote),
		LocalID: n.Link.IDs.Local, RemoteID: n.Link.IDs.Remote,
	}
	for _, a := range [...]netip.Addr{n.Link.InterfaceIPv4, n.Link.InterfaceIPv6} {
		if a.IsValid() {
			l.LocalAddresses = append(l.LocalAddresses, a)
		}
	}
	for _, a := range [...]netip.Addr{n.Link.NeighborIPv4, n.Link.NeighborIPv6} {
		if a.IsValid() {
			l.RemoteAddresses = append(l.RemoteAddresses, a)
		}
	}
	l.ID = topology.NewLinkID(&l)
	return l
}

// makeLink makes a link of the best of its parts. There are several when a link
// is in several topologies or levels; that of IPv6 counts.
func makeLink(parts []part) topology.Link {
	best := bestTopology(parts)
	l := namedLink(best.nlri)
	a := &best.attr().Link
	if !best.nlri.Link.IDs.Present {
		l.LocalID, l.RemoteID = a.IDs.Local, a.IDs.Remote
	}
	switch {
	case best.attributes == nil:
		l.IGPMetric = metricOfLastResort
	case a.IGPMetric != nil:
		l.IGPMetric = *a.IGPMetric
	case a.TEMetric != nil:
		l.IGPMetric = *a.TEMetric
	default:
		l.IGPMetric = metricUnsaid
	}
	if a.TEMetric != nil {
		l.TEMetric = *a.TEMetric
	}
	if a.AdminGroup != nil {
		l.AdminGroup = *a.AdminGroup
	}
	if a.MaxBandwidth != nil {
		l.MaxBandwidth = bitsPerSecond(*a.MaxBandwidth)
	}
	if d := a.Delay; d != nil {
		l.Delay = topology.Delay{Known: true, Average: d.Microseconds, Min: d.Microseconds,
			Max: d.Microseconds, Anomalous: d.Anomalous}
	}
	if d := a.MinMaxDelay; d != nil {
		l.Delay.Known, l.Delay.Min, l.Delay.Max = true, d.Min, d.Max
		l.Delay.Anomalous = l.Delay.Anomalous || d.Anomalous
	}
	for _, x := range a.EndX {
		e := topology.EndX{
			SID: topology.SID{Address: x.SID, Behavior: topology.Behavior(x.Behavior), Flags: x.Flags,
				Algorithm: x.Algorithm,
				Structure: structure(x.Structure)},
			Weight: x.Weight,
		}
		if x.Neighbor != "" {
			e.Neighbor = routerIDText(x.Neighbor)
		}
		l.EndX = append(l.EndX, e)
	}
	return l
}

// bitsPerSecond converts octets per second. Of all numbers that single precision
// cannot tell apart it takes the roundest: 100 Gb/s stays 100 Gb/s.
func bitsPerSecond(octets float32) uint64 {
	f, err := strconv.ParseFloat(strconv.FormatFloat(float64(octets), 'g', -1, 32), 64)
	if err != nil || !(f > 0) || f >= math.MaxUint64/8 {
		return 0
	}
	return uint64(f * 8)
}

// makePrefix makes a prefix of the best of its parts.
func makePrefix(key topology.PrefixKey, parts []part) topology.Prefix {
	best := bestTopology(parts)
	p := topology.Prefix{PrefixKey: key, Flags: best.attr().Prefix.IGPFlags}
	if m := best.attr().Prefix.Metric; m != nil {
		p.Metric = *m
	}
	return p
}

// bestTopology prefers the topology of IPv6 (IS-IS MT-ID 2, RFC 5120), then
// the default one, then any.
func bestTopology(parts []part) part {
	rank := func(m wire.MultiTopology) int {
		switch m.ID {
		case 2:
			return 0
		case 0:
			return 1
		}
		return 2
	}
	best := parts[0]
	for _, p := range parts[1:] {
		if rank(p.nlri.Topology) < rank(best.nlri.Topology) {
			best = p
		}
	}
	return best
}
