package underlay

import (
	"net/netip"
	"slices"

	"github.com/gaissmai/bart"

	"github.com/weft-sdn/weft/controller/plan"
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
// While the topology may lack what is there (Feature.Settling), nothing may happen
// to destinations that are not in it. Then every destination wants a route of its
// own, where it does not go the right way already, and none for others is touched.

// routeShape is the reconcile.Shape of routes. partial is set when they are routes to
// single destinations, and there may be more.
type routeShape struct{ partial bool }

// Unneeded implements reconcile.Shape: a shorter route leads to the destinations as the
// wanted one would.
func (s routeShape) Unneeded(
	have, want map[entry.Key]entry.Entity, order []entry.Key,
) map[entry.Key]bool {
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
		p, ok := plan.RoutePrefix(e)
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
		if p, ok := plan.RoutePrefix(want[k]); ok {
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

// Instead implements reconcile.Shape: it returns the wanted route that the packets of an
// unwanted one take when that is gone, with the key of the unwanted one.
func (s routeShape) Instead(
	want map[entry.Key]entry.Entity,
) func(entry.Entity) (entry.Entity, bool) {
	wanted := new(bart.Table[entry.Table])
	for _, e := range want {
		if p, ok := plan.RoutePrefix(e); ok {
			wanted.Insert(p, e.(entry.Table))
		}
	}
	return func(unwanted entry.Entity) (entry.Entity, bool) {
		p, ok := plan.RoutePrefix(unwanted)
		if !ok {
			return nil, false
		}
		e, ok := wanted.LookupPrefix(p)
		e.Match = unwanted.(entry.Table).Match
		return e, ok
	}
}
