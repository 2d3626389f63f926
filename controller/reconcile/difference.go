package reconcile

import (
	"cmp"
	"slices"

	"github.com/weft-sdn/weft/southbound/entry"
)

// A Shape has a say in the difference between what an owner wants of a switch and
// what the switch holds.
type Shape interface {
	// Unneeded returns the wanted entities that the switch does not need for now,
	// beside those it holds: they are not inserted. order has the keys of want.
	Unneeded(have, want map[entry.Key]entry.Entity, order []entry.Key) map[entry.Key]bool
	// Instead returns a function that gives the replacement for an unwanted entity of the owner before
	// the deletion; false means no replacement.
	Instead(want map[entry.Key]entry.Entity) func(entry.Entity) (entry.Entity, bool)
}

// diff computes the pending updates of a unit.
func (r *reconciler) diff(d *device, o Owner) {
	delete(d.dirty, o)
	u := d.unit(o)
	u.pending = u.pending[:0]
	if !d.connected {
		return
	}
	r.settleClaim(d, o, u)
	var unneeded map[entry.Key]bool
	if u.shape != nil {
		unneeded = u.shape.Unneeded(d.have, u.want, u.order)
	}
	for _, k := range u.order {
		e := u.want[k]
		held, ok := d.have[k]
		switch {
		case unneeded[k]:
		case !ok:
			r.plan(u, o, entry.Insert, k, e)
		case d.unsure[k] || !entry.SameContent(held, e):
			r.plan(u, o, entry.Modify, k, e)
		}
	}
	r.removals(d, o, u)
	for k, f := range d.failed {
		if f.update.owner == o && !slices.ContainsFunc(u.pending,
			func(p pending) bool { return p.key == k }) {
			delete(d.failed, k) // no longer wanted, or there by now
		}
	}
	if len(u.want) == 0 && len(u.owned) == 0 {
		delete(d.units, o)
	}
}

func (r *reconciler) plan(u *unit, o Owner, t entry.UpdateType, k entry.Key, e entry.Entity) {
	u.pending = append(u.pending, pending{entry.Update{Type: t, Entity: e}, k, o,
		updateRank(r.cfg.Rank, t, e)})
}

// removals adds the deletion of what the switch holds for an owner and no owner
// wants.
func (r *reconciler) removals(d *device, o Owner, u *unit) {
	delete(d.kept, o)
	u.frozen = r.cfg.Frozen(d.name, o)
	if u.frozen {
		return
	}
	var extra []entry.Key
	orphans := r.ledger.orphans[d.name][o]
	for k := range u.owned {
		if orphans.has(k) || r.keepsDefault(d, d.have[k]) {
			continue
		}
		if _, wanted := u.want[k]; !wanted && !d.wanted(k) {
			extra = append(extra, k)
		}
	}
	slices.Sort(extra)
	instead := func(entry.Entity) (entry.Entity, bool) { return nil, false }
	if u.shape != nil && len(extra) > 0 {
		instead = u.shape.Instead(u.want)
	}
	for _, k := range extra {
		e := d.have[k]
		to, ok := instead(e)
		switch {
		case ok && (d.unsure[k] || !entry.SameContent(e, to)):
			r.plan(u, o, entry.Modify, k, to)
		case r.cfg.Keeps(d.name, o, e):
			d.kept[o] = true
		default:
			r.plan(u, o, entry.Delete, k, e)
		}
	}
}

// keepsDefault reports whether an unwanted entity is a default action that stays: the action does
// nothing, or orphans on the switch may need the action. The deletion of another default action
// resets the table to the default action of the P4 program.
func (r *reconciler) keepsDefault(d *device, e entry.Entity) bool {
	t, ok := e.(entry.Table)
	return ok && t.Default && (t.Action.Name == entry.NoAction || len(r.ledger.orphans[d.name]) > 0)
}

// removalRank minus the rank of an entity is the rank of the deletion.
const removalRank = 1000

// updateRank orders updates: insertions and modifications by rank, then deletions
// in the opposite order.
func updateRank(rank func(entry.Entity) int, t entry.UpdateType, e entry.Entity) int {
	if t == entry.Delete {
		return removalRank - rank(e)
	}
	return rank(e)
}

// Difference returns the updates from one content of a switch to the next content, in a valid order
// for the writes: the order of Config.Rank.
func Difference(rank func(entry.Entity) int, before, after []entry.Entity) []entry.Update {
	was, is := byKey(before), byKey(after)
	var all []pending
	add := func(t entry.UpdateType, k entry.Key, e entry.Entity) {
		all = append(all, pending{Update: entry.Update{Type: t, Entity: e}, key: k,
			rank: updateRank(rank, t, e)})
	}
	for k, e := range is {
		switch old, ok := was[k]; {
		case !ok:
			add(entry.Insert, k, e)
		case !entry.SameContent(old, e):
			add(entry.Modify, k, e)
		}
	}
	for k, e := range was {
		if _, ok := is[k]; !ok {
			add(entry.Delete, k, e)
		}
	}
	slices.SortFunc(all,
		func(a, b pending) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.key, b.key)) })
	out := make([]entry.Update, len(all))
	for i, p := range all {
		out[i] = p.Update
	}
	return out
}

func byKey(entities []entry.Entity) map[entry.Key]entry.Entity {
	out := make(map[entry.Key]entry.Entity, len(entities))
	for _, e := range entities {
		out[e.Key()] = e
	}
	return out
}
