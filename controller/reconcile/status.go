package reconcile

import (
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/southbound/entry"
)

// Status is the known state of a switch.
type Status struct {
	// Connected is set when the switch has been read back and takes writes; Since is
	// when that changed last, and Reason why it is not connected.
	Connected bool
	Since     time.Duration
	Reason    string
	// Known is set when the switch has been read back at least once.
	Known bool
	// Blocked is set when its contents are unknown until it has been read back.
	Blocked bool
	// Entities is the number of entities it holds, Pending the number of updates that
	// are still to be made.
	Entities, Pending int
}

// Status returns the known state of a switch; ok is false for an unknown one.
func (r *Reconciler) Status(sw string) (s Status, ok bool) {
	d := r.devices[sw]
	if d == nil {
		return Status{}, false
	}
	return Status{
		Connected: d.connected, Since: d.since, Reason: d.reason, Known: d.known, Blocked: d.blocked,
		Entities: len(d.have), Pending: d.pendingCount(),
	}, true
}

// Connected reports whether a switch is known and connected.
func (r *Reconciler) Connected(sw string) bool {
	d := r.devices[sw]
	return d != nil && d.connected
}

// Reading reports whether a Task that reads a switch is under way.
func (r *Reconciler) Reading(sw string) bool {
	d := r.devices[sw]
	return d != nil && d.busy != nil && d.busy.Read
}

// Exists reports whether there is such a switch.
func (r *Reconciler) Exists(sw string) bool { return r.devices[sw] != nil }

// Known reports whether all switches have been read back at least once.
func (r *Reconciler) Known() bool {
	for _, d := range r.devices {
		if !d.known {
			return false
		}
	}
	return true
}

// Clean reports whether nothing is left to do for an owner on a connected switch.
func (r *Reconciler) Clean(sw string, o Owner) bool {
	d := r.devices[sw]
	return d == nil || d.clean(o)
}

// Lacks reports whether a switch is still to get something that an owner wants,
// apart from what it refused.
func (r *Reconciler) Lacks(sw string, o Owner) bool {
	d := r.devices[sw]
	return d != nil && d.lacks(o)
}

// Computed reports whether the difference of an owner is up to date on a switch.
func (r *Reconciler) Computed(sw string, o Owner) bool {
	d := r.devices[sw]
	return d == nil || !d.dirty[o]
}

// Serves reports whether an owner wants something of a switch, or has something
// there.
func (r *Reconciler) Serves(sw string, o Owner) bool {
	d := r.devices[sw]
	return d != nil && d.units[o] != nil
}

// Owners returns the owners that want something of a switch, or have something
// there, in order.
func (r *Reconciler) Owners(sw string) []Owner {
	if d := r.devices[sw]; d != nil {
		return slices.Sorted(maps.Keys(d.units))
	}
	return nil
}

// Failures returns the updates of an owner that a switch refused and that are tried
// again, at most n, in order, each with the name of the switch.
func (r *Reconciler) Failures(sw string, o Owner, n int) []string {
	var out []string
	r.failures(sw, func(f *failure) bool {
		if f.update.owner == o {
			out = append(out, sw+": "+f.String())
		}
		return len(out) < n
	})
	return out
}

// AllFailures is Failures for all owners, without the name of the switch.
func (r *Reconciler) AllFailures(sw string, n int) []string {
	var out []string
	r.failures(sw, func(f *failure) bool {
		out = append(out, f.String())
		return len(out) < n
	})
	return out
}

func (r *Reconciler) failures(sw string, each func(*failure) bool) {
	d := r.devices[sw]
	if d == nil {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(d.failed)) {
		if !each(d.failed[k]) {
			return
		}
	}
}

// Entity returns the entity with a key that a switch holds.
func (r *Reconciler) Entity(sw string, k entry.Key) (e entry.Entity, ok bool) {
	if d := r.devices[sw]; d != nil {
		e, ok = d.have[k]
	}
	return e, ok
}

// Held returns the entities that a switch is known to hold, ordered by key.
func (r *Reconciler) Held(sw string) []entry.Entity {
	d := r.devices[sw]
	if d == nil {
		return nil
	}
	return sorted(d.have)
}

// Wanted returns the entities that a switch should hold, ordered by key.
func (r *Reconciler) Wanted(sw string) []entry.Entity {
	d := r.devices[sw]
	if d == nil {
		return nil
	}
	return sorted(d.wants())
}

func sorted(entities map[entry.Key]entry.Entity) []entry.Entity {
	out := make([]entry.Entity, 0, len(entities))
	for _, k := range slices.Sorted(maps.Keys(entities)) {
		out = append(out, entities[k])
	}
	return out
}
