package controller

import (
	"net/netip"
	"slices"

	"github.com/gaissmai/bart"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

// A route of a switch may stand for several destinations, and a longer one beside
// it for others. A change must not lead a destination anywhere but where it went
// before or goes afterwards, at no moment. So
//
//   - routes are inserted and modified from long to short: none takes over
//     destinations that still miss their own, and
//   - routes are removed from short to long when all others are in place: behind
//     the one that goes, a destination finds the one that stays.
//
// Until it is removed, a route that is no longer wanted leads where the wanted one
// behind it does: it may be long until it can be removed.
//
// While the topology may lack what is there (device.settling), nothing may happen
// to destinations that are not in it. Then every destination wants a route of its
// own, where it does not go the right way already, and none for others is touched.

// routePrefix returns the prefix of a unicast route; ok is false for any other
// entity, and for routes of tenants.
func routePrefix(e entry.Entity) (p netip.Prefix, ok bool) {
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

// routeRank orders routes by length, the longest first.
func routeRank(e entry.Entity) int {
	p, ok := routePrefix(e)
	if !ok {
		return rankWays
	}
	return rankWays + p.Addr().BitLen() - p.Bits()
}

// routeShape is the say that routes have in the difference. partial says that they are routes to
// single destinations, and that there may be more.
type routeShape struct{ partial bool }

// Unneeded returns those of the wanted routes that the switch lacks to which a shorter route
// leads as it should.
func (s routeShape) Unneeded(have, want map[entry.Key]entry.Entity, order []entry.Key) map[entry.Key]bool {
	if !s.partial {
		return nil
	}
	type missing struct {
		prefix netip.Prefix
		key    entry.Key
	}
	table := new(bart.Table[entry.Entity])
	var lacks []missing
	for k, e := range have {
		p, ok := routePrefix(e)
		if !ok {
			continue
		}
		if wanted, ok := want[k]; ok {
			e = wanted
		}
		table.Insert(p, e)
	}
	for _, k := range order {
		if _, held := have[k]; held {
			continue
		}
		if p, ok := routePrefix(want[k]); ok {
			lacks = append(lacks, missing{p, k})
		}
	}
	slices.SortStableFunc(lacks, func(a, b missing) int { return a.prefix.Bits() - b.prefix.Bits() })
	led := make(map[entry.Key]bool)
	for _, m := range lacks {
		if e, ok := table.LookupPrefix(m.prefix); ok && entry.SameContent(e, want[m.key]) {
			led[m.key] = true
		} else {
			table.Insert(m.prefix, want[m.key])
		}
	}
	return led
}

// Instead returns the wanted route that the packets of an unwanted one take when it is gone, with
// the key of the unwanted one.
func (s routeShape) Instead(want map[entry.Key]entry.Entity) func(entry.Entity) (entry.Entity, bool) {
	wanted := new(bart.Table[entry.Table])
	for _, e := range want {
		if p, ok := routePrefix(e); ok {
			wanted.Insert(p, e.(entry.Table))
		}
	}
	return func(unwanted entry.Entity) (entry.Entity, bool) {
		p, ok := routePrefix(unwanted)
		if !ok {
			return nil, false
		}
		e, ok := wanted.LookupPrefix(p)
		e.Match = unwanted.(entry.Table).Match
		return e, ok
	}
}
