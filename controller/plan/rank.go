package plan

import (
	"net/netip"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

// everywhere is the prefix of all addresses.
var everywhere = netip.PrefixFrom(netip.IPv6Unspecified(), 0)

// Rank returns the rank of an entity: a switch must get entities of lower rank before entities of
// higher rank. The rank follows from the references of the P4 program (see [p4.Rank]); long routes
// come before short routes.
func Rank(e entry.Entity) int {
	switch e := e.(type) {
	case entry.Clone:
		return p4.Rank(p4.CloneSessions)
	case entry.Member:
		return p4.Rank(e.Profile)
	case entry.Group:
		return p4.Rank(p4.GroupsOf(e.Profile))
	case entry.Multicast:
		return p4.Rank(p4.MulticastGroups)
	case entry.Table:
		if e.Name == p4.TableIpv6Route {
			return p4.Rank(e.Name) + routeRank(e)
		}
		return p4.Rank(e.Name)
	}
	return 0
}

// routeRank orders routes by length, the longest first.
func routeRank(e entry.Entity) int {
	p, ok := RoutePrefix(e)
	if !ok {
		return 0
	}
	return p.Addr().BitLen() - p.Bits()
}

// RoutePrefix returns the prefix of a unicast route; ok is false for any other
// entity, and for routes of tenants.
func RoutePrefix(e entry.Entity) (p netip.Prefix, ok bool) {
	t, isTable := e.(entry.Table)
	if !isTable || t.Name != p4.TableIpv6Route {
		return netip.Prefix{}, false
	}
	if vrf, _ := t.Field("vrf"); vrf.Value != entry.Uint(0) {
		return netip.Prefix{}, false
	}
	m, ok := t.Field("dst_addr")
	if !ok {
		return everywhere, true
	}
	a, ok := m.Value.Addr6()
	return netip.PrefixFrom(a, m.Bits), ok
}
