package reconcile

import (
	"maps"
	"slices"

	"github.com/weft-sdn/weft/southbound/entry"
)

// Removal is what has left switches for an owner.
type Removal struct {
	Owner Owner
	// Object names whose it was; empty for an owner that is not guarded.
	Object   string
	Switches []string
	Entities int
}

// removal is a Removal that may grow.
type removal struct {
	owner    Owner
	object   string
	switches map[string]bool
	entities int
}

// noteRemoval counts an entity that a switch has deleted.
func (r *Reconciler) noteRemoval(sw string, o Owner) {
	object := ""
	if c := r.ledger.claims[o]; c != nil {
		object = c.object
	}
	i := slices.IndexFunc(r.removed, func(x *removal) bool { return x.owner == o && x.object == object })
	if i < 0 {
		r.removed = append(r.removed, &removal{owner: o, object: object, switches: make(map[string]bool)})
		i = len(r.removed) - 1
	}
	r.removed[i].switches[sw] = true
	r.removed[i].entities++
}

// TakeRemovals returns what has left switches since the last call, for owners that have nothing
// left to delete and are complete.
func (r *Reconciler) TakeRemovals(complete func(Owner) bool) (out []Removal) {
	r.removed = slices.DeleteFunc(r.removed, func(x *removal) bool {
		if r.deletes(x.owner) || !complete(x.owner) {
			return false
		}
		out = append(out, Removal{x.owner, x.object, slices.Sorted(maps.Keys(x.switches)), x.entities})
		return true
	})
	return out
}

// deletes reports whether a connected switch is still to delete something of an owner, apart from
// what it refuses.
func (r *Reconciler) deletes(o Owner) bool {
	for _, d := range r.devices {
		if u := d.units[o]; u != nil && d.connected && slices.ContainsFunc(u.pending, func(p pending) bool { return p.Type == entry.Delete && d.failed[p.key] == nil }) {
			return true
		}
	}
	return false
}
