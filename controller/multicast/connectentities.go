package multicast

import (
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/southbound/entry"
)

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
