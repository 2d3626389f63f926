package plan

import (
	"net/netip"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Ranks order the updates of a switch: first what others refer to, last what
// leads packets somewhere, long routes before short ones.
const (
	rankMembers = iota
	rankGroups
	rankTables
	rankCopies
	rankWays
)

// Rank returns the rank of an entity: those of a lower rank must be in a switch
// before those of a higher one.
func Rank(e entry.Entity) int {
	switch e := e.(type) {
	case entry.Clone, entry.Member:
		return rankMembers
	case entry.Group:
		return rankGroups
	case entry.Multicast:
		return rankCopies
	case entry.Table:
		switch e.Name {
		case p4.TableIpv6Route:
			return rankWays + routeRank(e)
		case p4.TableLocalSid, p4.TableMtSource, p4.TableSrv6Policy, p4.TablePfcQueue:
			return rankWays
		}
	}
	return rankTables
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
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0), true
	}
	a, ok := m.Value.Addr6()
	return netip.PrefixFrom(a, m.Bits), ok
}
