package causes

import (
	"cmp"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
)

// Steady returns causes in their earlier order: a lasting cause keeps its place and its start time,
// even if its state has a later start time. Faults come before other causes, and silenced causes
// come last.
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

// attribute writes into causes the client that made them. A lasting cause keeps the first answer: a
// later write of the same resource did not make the cause.
func attribute(before, now []api.Cause, who func(object string) (string, time.Time)) {
	was := make(map[string]*api.CauseChange, len(before))
	for i := range before {
		was[before[i].ID] = before[i].Change
	}
	for i := range now {
		c := now[i].Change
		switch old := was[now[i].ID]; {
		case c == nil:
		case old != nil && old.Object == c.Object:
			now[i].Change = old
		case who != nil:
			c.By, c.At = who(c.Object)
		}
	}
}
