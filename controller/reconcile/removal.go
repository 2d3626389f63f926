package reconcile

import (
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
func (r *reconciler) noteRemoval(sw string, o Owner) {
	object := ""
	if c := r.ledger.claims[o]; c != nil {
		object = c.object
	}
	i := slices.IndexFunc(r.removed,
		func(x *removal) bool { return x.owner == o && x.object == object })
	if i < 0 {
		r.removed = append(r.removed, &removal{owner: o, object: object, switches: make(map[string]bool)})
		i = len(r.removed) - 1
	}
	r.removed[i].switches[sw] = true
	r.removed[i].entities++
}

// deletes reports whether a connected switch is still to delete something of an owner, apart from
// what it refuses.
func (r *reconciler) deletes(o Owner) bool {
	for _, d := range r.devices {
		if u := d.units[o]; u != nil && d.connected && slices.ContainsFunc(u.pending,
			func(p pending) bool { return p.Type == entry.Delete && d.failed[p.key] == nil }) {
			return true
		}
	}
	return false
}
