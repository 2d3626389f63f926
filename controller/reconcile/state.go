package reconcile

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/southbound/entry"
)

// State reports the entities that switches hold, the orphans among these entities, and the progress
// of each switch. The methods change nothing.
type State struct{ r *reconciler }

// Switches returns the names of all switches, in order.
func (s State) Switches() []string { return slices.Sorted(maps.Keys(s.r.devices)) }

// Exists reports whether there is such a switch.
func (s State) Exists(sw string) bool { return s.r.devices[sw] != nil }

// Connected reports whether a switch is known and connected.
func (s State) Connected(sw string) bool {
	d := s.r.devices[sw]
	return d != nil && d.connected
}

// Status is the known state of a switch.
type Status struct {
	// Connected is set when the controller has read the switch back and the switch takes writes. Since
	// is the time of the last change of Connected, and Reason says why the switch is not connected.
	Connected bool
	Since     time.Duration
	Reason    string
	// Blocked is set while the contents of the switch are unknown, until the controller has read the
	// switch back.
	Blocked bool
	// Entities is the number of entities on the switch, Pending the number of updates still to write.
	Entities, Pending int
	// Failures lists at most 10 updates that the switch refused and that the controller tries again,
	// in order.
	Failures []string
}

// mostFailures bounds Status.Failures.
const mostFailures = 10

// Status returns the known state of a switch; ok is false for an unknown one.
func (s State) Status(sw string) (st Status, ok bool) {
	d := s.r.devices[sw]
	if d == nil {
		return Status{}, false
	}
	st = Status{
		Connected: d.connected, Since: d.since, Reason: d.reason, Blocked: d.blocked,
		Entities: len(d.have), Pending: d.pendingCount(),
	}
	for f := range d.failures() {
		if len(st.Failures) == mostFailures {
			break
		}
		st.Failures = append(st.Failures, f.String())
	}
	return st, true
}

// Entity returns the entity with a key that a switch holds.
func (s State) Entity(sw string, k entry.Key) (e entry.Entity, ok bool) {
	if d := s.r.devices[sw]; d != nil {
		e, ok = d.have[k]
	}
	return e, ok
}

// Held returns the entities that a switch is known to hold, ordered by key.
func (s State) Held(sw string) []entry.Entity {
	if d := s.r.devices[sw]; d != nil {
		return sorted(d.have)
	}
	return nil
}

// Wanted returns the entities that a switch should hold, ordered by key.
func (s State) Wanted(sw string) []entry.Entity {
	if d := s.r.devices[sw]; d != nil {
		return sorted(d.wants())
	}
	return nil
}

func sorted(entities map[entry.Key]entry.Entity) []entry.Entity {
	out := make([]entry.Entity, 0, len(entities))
	for _, k := range slices.Sorted(maps.Keys(entities)) {
		out = append(out, entities[k])
	}
	return out
}

// EverRead reports whether this controller, or an earlier controller on the same store, has read
// every switch.
func (s State) EverRead() bool {
	for name := range s.r.devices {
		if s.r.ledger.orphans[name] == nil {
			return false
		}
	}
	return true
}

// Orphaned reports whether some switch holds orphans of an owner.
func (s State) Orphaned(o Owner) bool { return s.r.ledger.count[o] > 0 }

// OrphanOwners returns the owners of orphans on any switch, in order.
func (s State) OrphanOwners() []Owner { return slices.Sorted(maps.Keys(s.r.ledger.count)) }

// Orphan is an entity that nothing explains.
type Orphan struct {
	Owner  Owner
	Entity entry.Entity
	// Since is when the first of the owner's was found on the switch.
	Since time.Time
}

// Orphans returns the orphans on a switch, as it was read last, in no order.
func (s State) Orphans(sw string) iter.Seq[Orphan] {
	return func(yield func(Orphan) bool) {
		for o, of := range s.r.ledger.orphans[sw] {
			for _, e := range of.entities {
				if !yield(Orphan{o, e, of.since}) {
					return
				}
			}
		}
	}
}

// Of returns the state of an owner at a switch.
func (s State) Of(sw string, o Owner) Unit { return Unit{s.r, s.r.devices[sw], sw, o} }

// Unit is the work of one owner at one switch. It is for use at once: it has not seen a change of
// the set of switches.
type Unit struct {
	r     *reconciler
	d     *device // nil: there is no such switch
	sw    string
	owner Owner
}

// Serves reports whether the owner wants something of the switch, or has something there.
func (u Unit) Serves() bool { return u.d != nil && u.d.units[u.owner] != nil }

// Clean reports whether nothing is left to do for the owner on a connected switch.
func (u Unit) Clean() bool { return u.d == nil || u.d.clean(u.owner) }

// Lacks reports whether the switch is still to get something that the owner wants,
// apart from what it refused.
func (u Unit) Lacks() bool { return u.d != nil && u.d.lacks(u.owner) }

// Computed reports whether the difference of the owner is up to date.
func (u Unit) Computed() bool { return u.d == nil || !u.d.dirty[u.owner] }

// Failures returns the updates that the switch refused and that are tried again, at most n, in
// order, each with the name of the switch.
func (u Unit) Failures(n int) (out []string) {
	if u.d == nil {
		return nil
	}
	for f := range u.d.failures() {
		if len(out) == n {
			break
		}
		if f.update.owner == u.owner {
			out = append(out, u.sw+": "+f.String())
		}
	}
	return out
}

// Owned returns the entities that the switch holds for the owner, unordered.
func (u Unit) Owned() iter.Seq[entry.Entity] {
	return func(yield func(entry.Entity) bool) {
		if !u.Serves() {
			return
		}
		for k := range u.d.units[u.owner].owned {
			if !yield(u.d.have[k]) {
				return
			}
		}
	}
}

// Orphans returns the owner's orphans on the switch, as it was read last, unordered.
func (u Unit) Orphans() iter.Seq[entry.Entity] {
	of := u.r.ledger.orphans[u.sw][u.owner]
	if of == nil {
		return func(func(entry.Entity) bool) {}
	}
	return maps.Values(of.entities)
}

// Led reports whether match accepts an entity that another owner wants on the switch, or an entity
// that the switch holds for another, frozen owner.
func (u Unit) Led(match func(entry.Entity) bool) bool {
	if u.d == nil {
		return false
	}
	for other, x := range u.d.units {
		if other == u.owner {
			continue
		}
		for _, e := range x.want {
			if match(e) {
				return true
			}
		}
		if !u.r.cfg.Frozen(u.sw, other) {
			continue
		}
		for k := range x.owned {
			if match(u.d.have[k]) {
				return true
			}
		}
	}
	return false
}
