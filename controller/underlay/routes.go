package underlay

import (
	"net/netip"
	"slices"

	"github.com/gaissmai/bart"

	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/southbound/entry"
)

// A route of a switch may cover several destinations, and a longer route may cover some
// destinations more exactly. At every moment of a change, each destination must use either the old
// or the new path. So
//
//   - the controller inserts and modifies routes from long to short prefixes, so a route never
//     takes over destinations whose own route is still missing, and
//   - the controller removes routes from short to long prefixes when all other routes are in place:
//     behind a removed route, a destination finds the remaining route.
//
// Until its removal, an unwanted route gets the next hop of the wanted route behind it, because the
// removal may take a long time.
//
// While the topology may be incomplete (Feature.Settling), routes to unknown destinations must not
// change. So every known destination without the right next hop gets a separate route, and the
// controller does not touch routes for unknown destinations.

// routeShape is the reconcile.Shape of routes. partial is set if each route leads to a single
// destination and more destinations may exist.
type routeShape struct{ partial bool }

// Unneeded implements reconcile.Shape: a wanted route is unneeded if a shorter route already gives
// the destinations the same next hop.
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

// Instead implements reconcile.Shape: it returns the wanted route that packets take after the
// removal of an unwanted route, with the key of the unwanted route.
func (s routeShape) Instead(
	want map[entry.Key]entry.Entity,
) func(entry.Entity) (entry.Entity, bool) {
	wanted := new(bart.Table[entry.Entity])
	for _, e := range want {
		if p, ok := plan.RoutePrefix(e); ok {
			wanted.Insert(p, e)
		}
	}
	return func(unwanted entry.Entity) (entry.Entity, bool) {
		p, ok := plan.RoutePrefix(unwanted)
		if !ok {
			return nil, false
		}
		e, ok := wanted.LookupPrefix(p)
		if !ok {
			return nil, false
		}
		route := e.(entry.Table)
		route.Match = unwanted.(entry.Table).Match
		return route, true
	}
}
