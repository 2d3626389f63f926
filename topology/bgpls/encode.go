package bgpls

import (
	"fmt"
	"net/netip"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// Objects are the objects that one node advertises.
type Objects struct {
	// Node's id says the AS number and the router-id, its Protocol where the
	// information comes from ("direct" when empty). Its locators and SIDs are
	// advertised too.
	Node topology.Node
	// Links have Node as their local node.
	Links []topology.Link
	// Prefixes are the prefixes of Node.
	Prefixes []topology.Prefix
}

// An advertisement is an NLRI and its attribute, as octets.
type advertisement struct {
	nlri, attribute []byte
}

// advertisements returns what to say of objects, node first, by the octets of
// the NLRI.
func (o *Objects) advertisements() ([]advertisement, error) {
	instance, local, err := parseNodeID(o.Node.ID)
	if err != nil {
		return nil, err
	}
	protocol := wire.ProtocolDirect
	if o.Node.Protocol != "" {
		var ok bool
		if protocol, ok = wire.ParseProtocol(o.Node.Protocol); !ok {
			return nil, fmt.Errorf("%w: node %s has protocol %q", ErrObject, o.Node.ID, o.Node.Protocol)
		}
	}
	base := wire.NLRI{Protocol: protocol, Identifier: instance, Local: local}
	say := func(n wire.NLRI, a wire.Attributes) advertisement {
		return advertisement{n.Append(nil), a.Append(nil)}
	}

	node := base
	node.Type = wire.NLRINode
	all := []advertisement{say(node, wire.Attributes{Node: nodeAttributes(&o.Node)})}

	prefixes, err := o.prefixAttributes()
	if err != nil {
		return nil, err
	}
	for _, p := range prefixes {
		n := base
		n.Type = wire.NLRIPrefix4
		if p.prefix.Addr().Is6() {
			n.Type = wire.NLRIPrefix6
		}
		n.Prefix.Prefix = p.prefix
		all = append(all, say(n, wire.Attributes{Prefix: p.attributes}))
	}
	for _, sid := range o.Node.SIDs {
		if !sid.Address.Is6() {
			return nil, fmt.Errorf("%w: SID %s of node %s", ErrObject, sid.Address, o.Node.ID)
		}
		n := base
		n.Type, n.SID = wire.NLRISRv6SID, sid.Address
		all = append(all, say(n, wire.Attributes{SID: wire.SIDAttributes{
			Behavior: &wire.EndpointBehavior{Behavior: uint16(sid.Behavior), Flags: sid.Flags,
				Algorithm: sid.Algorithm},
			Structure: sidStructure(sid.Structure),
		}}))
	}
	for i := range o.Links {
		l := &o.Links[i]
		if l.Local != o.Node.ID {
			return nil, fmt.Errorf("%w: link %s is not node %s's", ErrObject, topology.NewLinkID(l),
				o.Node.ID)
		}
		n := base
		n.Type = wire.NLRILink
		if _, n.Remote, err = parseNodeID(l.Remote); err != nil {
			return nil, err
		}
		n.Link = linkDescriptor(l)
		attributes, err := linkAttributes(l)
		if err != nil {
			return nil, err
		}
		all = append(all, say(n, wire.Attributes{Link: attributes}))
	}
	return all, nil
}

func nodeAttributes(n *topology.Node) wire.NodeAttributes {
	a := wire.NodeAttributes{Name: n.Name, RouterID4: n.RouterID4, RouterID6: n.Loopback}
	if n.Overload {
		a.Flags |= wire.NodeFlagOverload
	}
	for _, algorithm := range n.Algorithms {
		a.Algorithms = append(a.Algorithms, uint8(algorithm))
	}
	for _, m := range n.MSDs {
		a.MSDs = append(a.MSDs, wire.MSD(m))
	}
	if n.SRv6 != nil {
		a.SRv6.Present = true
		if n.SRv6.OAM {
			a.SRv6.Flags |= wire.SRv6FlagOAM
		}
	}
	return a
}

type prefixAttribute struct {
	prefix     netip.Prefix
	attributes wire.PrefixAttributes
}

// prefixAttributes joins prefixes and locators: a prefix that is both is one NLRI.
func (o *Objects) prefixAttributes() ([]prefixAttribute, error) {
	var all []prefixAttribute
	place := make(map[netip.Prefix]int)
	of := func(p netip.Prefix) (*wire.PrefixAttributes, error) {
		if !p.IsValid() || p.Addr().Is4In6() {
			return nil, fmt.Errorf("%w: prefix %s of node %s", ErrObject, p, o.Node.ID)
		}
		p = p.Masked()
		i, ok := place[p]
		if !ok {
			i = len(all)
			place[p] = i
			all = append(all, prefixAttribute{prefix: p})
		}
		return &all[i].attributes, nil
	}
	for _, p := range o.Prefixes {
		if p.Node != o.Node.ID {
			return nil, fmt.Errorf("%w: prefix %s is not node %s's", ErrObject, p.Prefix, o.Node.ID)
		}
		a, err := of(p.Prefix)
		if err != nil {
			return nil, err
		}
		a.Metric, a.IGPFlags = &p.Metric, p.Flags
	}
	for _, l := range o.Node.Locators {
		a, err := of(l.Prefix)
		if err != nil {
			return nil, err
		}
		a.Locator = &wire.Locator{Flags: l.Flags, Algorithm: l.Algorithm, Metric: l.Metric}
	}
	return all, nil
}

func sidStructure(s topology.SIDStructure) *wire.SIDStructure {
	if s == (topology.SIDStructure{}) {
		return nil
	}
	return &wire.SIDStructure{Block: s.LocatorBlock, Node: s.LocatorNode, Function: s.Function,
		Argument: s.Argument}
}

func linkDescriptor(l *topology.Link) wire.LinkDescriptor {
	d := wire.LinkDescriptor{IDs: wire.LinkIDs{Present: l.LocalID != 0 || l.RemoteID != 0,
		Local: l.LocalID, Remote: l.RemoteID}}
	pick := func(addresses []netip.Addr, four, six *netip.Addr) {
		for _, a := range addresses {
			switch {
			case a.Is4() && !four.IsValid():
				*four = a
			case a.Is6() && !six.IsValid():
				*six = a.WithZone("")
			}
		}
	}
	pick(l.LocalAddresses, &d.InterfaceIPv4, &d.InterfaceIPv6)
	pick(l.RemoteAddresses, &d.NeighborIPv4, &d.NeighborIPv6)
	return d
}

func linkAttributes(l *topology.Link) (wire.LinkAttributes, error) {
	a := wire.LinkAttributes{IGPMetric: &l.IGPMetric}
	if l.AdminGroup != 0 {
		a.AdminGroup = &l.AdminGroup
	}
	if l.TEMetric != 0 {
		a.TEMetric = &l.TEMetric
	}
	if l.MaxBandwidth != 0 {
		octets := float32(l.MaxBandwidth) / 8
		a.MaxBandwidth = &octets
	}
	if d := l.Delay; d.Known {
		a.MinMaxDelay = &wire.MinMaxDelay{Anomalous: d.Anomalous, Min: d.Min, Max: d.Max}
		if d.Average != 0 {
			a.Delay = &wire.Delay{Anomalous: d.Anomalous, Microseconds: d.Average}
		}
	}
	for _, x := range l.EndX {
		if !x.Address.Is6() {
			return a, fmt.Errorf("%w: SID %s of link %s", ErrObject, x.Address, topology.NewLinkID(l))
		}
		e := wire.EndX{Behavior: uint16(x.Behavior), Flags: x.Flags, Algorithm: x.Algorithm,
			Weight: x.Weight,
			SID:    x.Address, Structure: sidStructure(x.Structure)}
		if x.Neighbor != "" {
			octets, err := parseRouterID(x.Neighbor)
			if err != nil {
				return a, err
			}
			e.Neighbor = octets
		}
		a.EndX = append(a.EndX, e)
	}
	return a, nil
}
