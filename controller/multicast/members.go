package multicast

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/multicast/member"
	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/packet/cm"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Renewed implements member.Groups.
func (f *Feature) Renewed() []uint16 {
	out := slices.Sorted(maps.Keys(f.renewed))
	clear(f.renewed)
	return out
}

// Group implements member.Groups.
func (f *Feature) Group(index uint16) (member.Group, bool) {
	g := f.byIndex[index]
	if g == nil {
		return member.Group{}, false
	}
	m := member.Group{Name: g.name, Index: index, Token: g.token, Hosts: &g.Hosts,
		Evicted: g.evicted, Tree: grown{f, g}}
	if g.item != nil {
		m.Spec, m.Version = &g.item.Spec, g.item.Version
	}
	return m, true
}

// HostOf implements member.Groups.
func (f *Feature) HostOf(group string, a netip.Addr) string {
	name, ok := f.env.Net.HostName(a)
	if !ok || f.MayUse != nil && !f.MayUse(group, name) {
		return ""
	}
	return name
}

// grown is the tree of a group. It implements member.Tree.
type grown struct {
	f *Feature
	g *group
}

// Changed implements member.Tree.
func (t grown) Changed(moved bool) {
	if moved {
		t.f.place(t.g, false)
	}
	t.f.status.add(t.g.index)
	t.f.takePairs(t.g)
	t.f.save(t.g)
}

// Now implements member.Tree.
func (t grown) Now() (latest, installed *tree.Placement, settled bool) {
	settled = t.g.phase == steady && t.g.target != nil
	if settled {
		offline, unfinished := t.f.obstacles(t.g)
		settled = len(offline) == 0 && !unfinished
	}
	return t.g.latest(), t.g.installed, settled
}

// MTU implements member.Tree.
func (t grown) MTU() cm.MTU { return t.f.groupMTU(t.g, t.g.latest()) }

// Admit implements member.Tree.
func (t grown) Admit(c *rdmacm.Conn) (a member.Admission) {
	a.Host = t.f.HostOf(t.g.name, c.Peer)
	a.Taken = slices.ContainsFunc(t.f.pairs[api.QueuePair{Address: c.Peer, QPN: c.PeerQPN}],
		func(o *group) bool { return o != t.g })
	if c.Active {
		return a
	}
	spec := &t.g.item.Spec
	spec, without := t.g.FillWith(spec, t.g.evicted, c.Peer, member.RoleOf(spec, c) == api.RoleSource)
	p, err := tree.Place(t.f.env.Net, tree.Request{Name: t.g.name, Group: t.g.index, Spec: spec,
		Without: without, Previous: t.g.latest(), Epoch: 1})
	if err != nil { // no tree reaches all of them
		p = t.g.latest()
	}
	a.MTU = t.f.groupMTU(t.g, p)
	return a
}

// Where implements member.Tree.
func (t grown) Where(with func(psn, msn uint32, idle bool)) { t.f.where(t.g, with) }

// StartOver implements member.Tree.
func (t grown) StartOver() { t.g.Reached, t.g.installed = member.Place{}, nil }

// anyAddress returns the prefix of all hosts in the family of an address.
func anyAddress(of netip.Addr) netip.Prefix {
	if of.Is4() {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
}

// from are the addresses that may connect to a group with spec.connect.
func (g *group) from() (out []netip.Prefix) {
	spec := &g.item.Spec
	one := func(a netip.Addr) { out = append(out, netip.PrefixFrom(a, a.BitLen())) }
	if spec.Connect.Source == api.SourceAny {
		return []netip.Prefix{anyAddress(spec.ProxyAddress)}
	}
	one(spec.Source.Address)
	for i := range spec.Receivers {
		one(spec.Receivers[i].Address)
	}
	return append(out, spec.Connect.Receivers...)
}

// connectEntities returns the entities that a switch needs to let hosts connect.
func (f *Feature) connectEntities(g *group, sw string) (out []entry.Entity) {
	if g.item == nil || g.item.Spec.Connect == nil {
		return nil
	}
	for _, p := range g.from() {
		if slices.ContainsFunc(f.env.Net.HostsAt(sw),
			func(a plan.Attachment) bool { return p.Contains(a.Host.Address) }) {
			out = append(out, tree.Connect(g.index, g.item.Spec.ProxyAddress, p))
		}
	}
	return out
}

// connectSwitches returns the switches with connectEntities, one entry for each host that may
// connect.
func (f *Feature) connectSwitches(g *group) (out []string) {
	if g.item == nil || g.item.Spec.Connect == nil {
		return nil
	}
	from := g.from()
	for i := range f.inv().Hosts {
		h := f.env.Net.Host(f.inv().Hosts[i].Address)
		if h != nil && h.At != nil && h.At.RunsP4() && slices.ContainsFunc(from,
			func(p netip.Prefix) bool { return p.Contains(h.Address) }) {
			out = append(out, h.Switch)
		}
	}
	return out
}

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
