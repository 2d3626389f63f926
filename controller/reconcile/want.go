package reconcile

import "github.com/weft-sdn/weft/southbound/entry"

// Want sets the entities that switches should hold. All methods ignore unknown switches.
type Want struct{ r *reconciler }

// Set sets what an owner wants of a switch. shape may be nil.
func (w Want) Set(sw string, o Owner, entities []entry.Entity, shape Shape) {
	if d := w.r.devices[sw]; d != nil {
		d.want(o, entities, shape)
		w.r.dirty[sw] = true
		w.r.fresh[d.unit(o)] = true
	}
}

// Recheck recomputes the difference of an owner. It reports false when the
// owner has nothing to do with the switch.
func (w Want) Recheck(sw string, o Owner) bool {
	d := w.r.devices[sw]
	if d == nil || d.units[o] == nil {
		return false
	}
	d.touch(o)
	w.r.dirty[sw] = true
	w.r.fresh[d.unit(o)] = true
	return true
}

// Thaw recomputes the differences of owners that were frozen on a switch.
func (w Want) Thaw(sw string) {
	d := w.r.devices[sw]
	if d == nil {
		return
	}
	for o, u := range d.units {
		if u.frozen {
			d.dirty[o], w.r.dirty[sw] = true, true
		}
	}
}

// Release gives the matching orphans of an owner on a switch to the owner, for object. The
// reconciler then removes the entities unless the owner wants them. Release returns the number of
// orphans.
func (w Want) Release(
	sw string, o Owner, object string, match func(entry.Entity) bool,
) (n int) {
	l := &w.r.ledger
	for k, e := range l.orphans[sw][o].all() {
		if match(e) {
			l.drop(sw, k)
			n++
		}
	}
	if n > 0 {
		l.claim(sw, o, object)
		w.Recheck(sw, o)
	}
	return n
}

// Send queues a packet for a switch. It reports false when the switch is not
// connected, and drops the packet then.
func (w Want) Send(sw string, p entry.PacketOut) bool {
	d := w.r.devices[sw]
	if d == nil || !d.connected {
		return false
	}
	d.out = append(d.out, p)
	return true
}
