package causes

import (
	"cmp"
	"slices"

	"github.com/weft-sdn/weft/api"
)

// Steady returns causes as they were before: one that lasts keeps its place and the time when it
// began, though its state has a later one. A fault comes before what is none, and silent ones come
// last.
func Steady(before, now []api.Cause) []api.Cause {
	places := make(map[string]int, len(before))
	for i := range before {
		places[before[i].ID] = i
	}
	place := func(c *api.Cause) int {
		if at, ok := places[c.ID]; ok {
			return at
		}
		return len(before)
	}
	out := slices.Clone(now)
	for i := range out {
		c := &out[i]
		if at, ok := places[c.ID]; ok {
			if was := before[at].Since; !was.IsZero() && (c.Since.IsZero() || was.Before(c.Since)) {
				c.Since = was
			}
		}
	}
	slices.SortStableFunc(out, func(a, b api.Cause) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(place(&a), place(&b)))
	})
	return out
}
