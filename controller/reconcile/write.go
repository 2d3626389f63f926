package reconcile

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/internal/plain"
	"github.com/weft-sdn/weft/southbound/entry"
)

// maxUpdates bounds the updates of one Task.
const maxUpdates = 4000

// failure is an update that the switch refused.
type failure struct {
	update   pending
	reason   entry.RefusalReason
	message  string
	attempts int
	until    time.Duration // when it may be tried again
}

// refused returns the failure that keeps an update from being tried now.
func (d *device) refused(p *pending, now time.Duration) *failure {
	f := d.failed[p.key]
	if f == nil || f.until <= now {
		return nil
	}
	if f.update.Type != p.Type || !entry.SameContent(f.update.Entity, p.Entity) {
		return nil
	}
	return f
}

// next chooses what to write now, in order. Removals of a unit wait for everything
// else it wants, unless the switch has no room for that. Removals of all units wait
// while one waits for the store: what it has may lead to what they had.
func (d *device) next(now time.Duration, waits func(Owner, *unit) bool) []pending {
	var add, remove []pending
	waiting := false
	var owners []Owner
	for o, u := range d.units {
		if len(u.pending) > 0 {
			owners = append(owners, o)
		}
	}
	slices.Sort(owners)
	for _, o := range owners {
		u := d.units[o]
		if waits(o, u) {
			waiting = true
			continue
		}
		held := false // something this unit wants is missing
		from := len(remove)
		for k := range u.pending {
			p := &u.pending[k]
			f := d.refused(p, now)
			switch {
			case p.Type == entry.Delete && f == nil:
				remove = append(remove, *p)
			case p.Type == entry.Delete:
			case f == nil:
				add = append(add, *p)
				held = true
			default:
				held = held || f.reason != entry.RefusedCapacity
			}
		}
		if held {
			remove = remove[:from]
		}
	}
	chosen := add
	if len(chosen) == 0 && !waiting {
		chosen = remove
	}
	slices.SortStableFunc(chosen, func(a, b pending) int { return cmp.Compare(a.rank, b.rank) })
	return chosen[:min(len(chosen), maxUpdates)]
}

// batches splits updates where the rank changes.
func batches(ps []pending) [][]entry.Update {
	var out [][]entry.Update
	for i, p := range ps {
		if i == 0 || p.rank != ps[i-1].rank {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], p.Update)
	}
	return out
}

// apply records the outcome of the updates under way. It returns the owner of each entry that was
// deleted.
func (d *device) apply(refusals []entry.Refusal, now time.Duration, i Intervals) (deleted []Owner) {
	refused := make(map[int]entry.Refusal, len(refusals))
	for _, r := range refusals {
		refused[r.Update] = r
	}
	for i := range d.sent {
		d.dirty[d.sent[i].owner] = true
	}
	for at, p := range d.sent {
		r, bad := refused[at]
		switch {
		case !bad && p.Type == entry.Delete:
			d.drop(p.key)
			delete(d.failed, p.key)
			if p.Entity.Kind() != entry.KindDefault { // which is no entry
				deleted = append(deleted, p.owner)
			}
		case !bad:
			d.hold(p.key, p.owner, p.Entity)
			delete(d.failed, p.key)
		case r.Reason == entry.RefusedExists && p.Type == entry.Insert:
			d.hold(p.key, p.owner, p.Entity)
			d.unsure[p.key] = true
		case r.Reason == entry.RefusedMissing && p.Type != entry.Insert:
			d.drop(p.key)
		default:
			d.fail(p, r, now, i)
		}
	}
	d.busy, d.sent = nil, nil
	return deleted
}

func (d *device) fail(p pending, r entry.Refusal, now time.Duration, i Intervals) {
	f := d.failed[p.key]
	if f == nil {
		f = &failure{}
		d.failed[p.key] = f
	}
	f.update, f.reason, f.message = p, r.Reason, plain.Text(r.Message)
	pause := i.RetryMin
	for range min(f.attempts, 32) {
		pause = min(2*pause, i.RetryMax)
	}
	f.attempts++
	f.until = now + pause
}

func (f *failure) String() string {
	return fmt.Sprintf("%s %s: %s", f.update.Type, f.update.key, f.message)
}
