package reconcile

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/southbound/entry"
)

// device is one switch: what it holds, what it should hold, and the task under way.
type device struct {
	name      string
	connected bool
	since     time.Duration
	reason    string // why it is not connected

	have   map[entry.Key]entry.Entity // what the switch holds
	unsure map[entry.Key]bool         // keys of have whose content may differ
	owner  map[entry.Key]Owner        // of what it holds
	units  map[Owner]*unit
	dirty  map[Owner]bool // units whose pending updates must be computed anew
	kept   map[Owner]bool // units whose last difference left out removals because of Config.Keeps

	failed map[entry.Key]*failure
	busy   *Task
	sent   []pending // the updates of busy, in order
	read   bool      // read it back with the next task
	// blocked: its contents are unknown, so nothing is written before a read.
	blocked bool
	audits  int // counts connections and reads, to end audits set before them
	out     []entry.PacketOut
}

// unit is what one owner has to do with a switch.
type unit struct {
	want    map[entry.Key]entry.Entity
	order   []entry.Key // of want
	shape   Shape       // nil: none
	owned   map[entry.Key]bool
	pending []pending
	hold    uint64 // what the store must have before it is written; see Events.Tasks
	frozen  bool   // the last difference left out removals because of Config.Frozen
}

type pending struct {
	entry.Update
	key   entry.Key
	owner Owner
	rank  int
}

func newDevice(name string) *device {
	return &device{
		name: name, reason: "not connected yet",
		have: make(map[entry.Key]entry.Entity), unsure: make(map[entry.Key]bool),
		owner: make(map[entry.Key]Owner),
		units: make(map[Owner]*unit), dirty: make(map[Owner]bool), kept: make(map[Owner]bool),
		failed: make(map[entry.Key]*failure),
	}
}

func (d *device) unit(o Owner) *unit {
	u := d.units[o]
	if u == nil {
		u = &unit{owned: make(map[entry.Key]bool)}
		d.units[o] = u
	}
	return u
}

// want sets what an owner wants.
func (d *device) want(o Owner, entities []entry.Entity, shape Shape) {
	u := d.unit(o)
	for k := range u.want {
		d.touchOwner(k, o)
	}
	u.want = make(map[entry.Key]entry.Entity, len(entities))
	u.order = make([]entry.Key, 0, len(entities))
	u.shape = shape
	for _, e := range entities {
		k := e.Key()
		if _, twice := u.want[k]; !twice {
			u.order = append(u.order, k)
		}
		u.want[k] = e
		d.touchOwner(k, o)
	}
	d.touch(o)
}

// touchOwner has the difference of an entity's owner computed anew when another one begins or ends
// to want the entity: a read back gave it to its owner by its content.
func (d *device) touchOwner(k entry.Key, wants Owner) {
	if holder, ok := d.owner[k]; ok && holder != wants {
		d.dirty[holder] = true
	}
}

// touch marks the difference of an owner for a new computation. touch also marks owners with kept
// entities, because their entities may have been kept for the sake of this owner.
func (d *device) touch(o Owner) {
	d.dirty[o] = true
	for other := range d.kept {
		d.dirty[other] = true
	}
}

// hold records that the switch holds an entity.
func (d *device) hold(k entry.Key, o Owner, e entry.Entity) {
	if old, ok := d.owner[k]; ok && old != o {
		delete(d.unit(old).owned, k)
	}
	d.have[k], d.owner[k] = e, o
	d.unit(o).owned[k] = true
	delete(d.unsure, k)
}

// drop records that the switch does not hold an entity.
func (d *device) drop(k entry.Key) {
	if o, ok := d.owner[k]; ok {
		delete(d.unit(o).owned, k)
	}
	delete(d.have, k)
	delete(d.owner, k)
	delete(d.unsure, k)
}

// connect takes over what was read back.
func (d *device) connect(
	contents entry.Contents, ownerOf func(entry.Entity) Owner, now time.Duration,
) {
	d.connected, d.since, d.reason = true, now, ""
	d.forget()
	for _, e := range contents.Entities {
		d.hold(e.Key(), ownerOf(e), e)
	}
	for o := range d.units {
		d.dirty[o] = true
	}
}

// disconnect takes that the switch cannot be reached. It is said again with each attempt that
// fails: the switch is gone since the first one.
func (d *device) disconnect(reason string, now time.Duration) {
	if d.connected {
		d.since = now
	}
	d.connected, d.reason = false, reason
	d.audits++
	d.forget()
	d.out = nil
}

// forget drops all that was known of the switch's contents.
func (d *device) forget() {
	clear(d.have)
	clear(d.owner)
	clear(d.unsure)
	clear(d.failed)
	d.busy, d.sent, d.read, d.blocked = nil, nil, false, false
	for o, u := range d.units {
		clear(u.owned)
		u.pending = nil
		if len(u.want) == 0 {
			delete(d.units, o)
		}
	}
}

// wanted reports whether any owner wants an entity with a key.
func (d *device) wanted(k entry.Key) bool {
	for _, u := range d.units {
		if _, ok := u.want[k]; ok {
			return true
		}
	}
	return false
}

// clean reports whether a unit has nothing left to do on a connected switch.
func (d *device) clean(o Owner) bool {
	u := d.units[o]
	return u == nil || len(u.pending) == 0 && !d.dirty[o]
}

// lacks reports whether a unit still wants something of a connected switch,
// apart from what the switch refused.
func (d *device) lacks(o Owner) bool {
	u := d.units[o]
	return u != nil && (d.dirty[o] ||
		slices.ContainsFunc(u.pending,
			func(p pending) bool { return p.Type != entry.Delete && d.failed[p.key] == nil }))
}

// pendingCount returns the number of updates still to be made.
func (d *device) pendingCount() (n int) {
	for _, u := range d.units {
		n += len(u.pending)
	}
	return n
}

// wants returns all that owners want, by key.
func (d *device) wants() map[entry.Key]entry.Entity {
	all := make(map[entry.Key]entry.Entity)
	for _, u := range d.units {
		maps.Copy(all, u.want)
	}
	return all
}

// failures returns the updates that the switch refused and that are tried again, in order.
func (d *device) failures() iter.Seq[*failure] {
	return func(yield func(*failure) bool) {
		for _, k := range slices.Sorted(maps.Keys(d.failed)) {
			if !yield(d.failed[k]) {
				return
			}
		}
	}
}
