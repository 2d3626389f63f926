package multicast

import (
	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/packet/cm"
)

// Octets of an IPv6 packet of a group around the payload, with the IPv6 header that the tree adds.
const groupHeaders = packet.IPv6Len + packet.IPv6Len + packet.UDPLen + packet.BTHLen +
	packet.RETHLen + packet.ImmDtLen + packet.ICRCLen

// groupMTU returns the code of the largest path MTU of a group: the MTU of the spec, or the MTU of
// the tree's ports if known and smaller. 0: the ports do not even carry 256 octets.
func (f *Feature) groupMTU(g *group, t *tree.Placement) cm.MTU {
	most := int(g.item.Spec.Connect.MTU)
	if p := f.pathMTU(t); p != 0 {
		most = min(most, int(p)-groupHeaders)
	}
	m := cm.MTU(0)
	for m < cm.MTU4096 && (m+1).Octets() <= most {
		m++
	}
	return m
}

// pathMTU returns the largest IPv6 packet that the links of a tree carry, 0: unknown.
func (f *Feature) pathMTU(p *tree.Placement) (least uint32) {
	if least = f.inv().Neighbors.MTU; p == nil || f.PortMTU == nil {
		return least
	}
	take := func(sw string, port uint32) {
		if m := f.PortMTU(sw, port); m != 0 && (least == 0 || m < least) {
			least = m
		}
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if n.Parent >= 0 {
			take(n.Switch, n.UpstreamPort)
		}
		for _, b := range n.Branches {
			if b.Receiver == nil {
				take(n.Switch, b.Port)
			}
		}
	}
	return least
}
