package reconcile

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/internal/timers"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Owner is who wants an entity. The number means nothing to this package, apart
// from the order in which owners are served.
type Owner int

// Config gives a Reconciler the properties of entities and of their owners. All
// functions must be set.
type Config struct {
	// Owner returns the owner of an entity that was read back from a switch.
	Owner func(entry.Entity) Owner
	// Rank orders insertions and modifications: those of a lower rank are complete
	// before those of a higher one. Deletions go the other way round.
	Rank func(entry.Entity) int
	// Frozen reports whether nothing of an owner's is removed from a switch for now.
	// Thaw must be called when that ends.
	Frozen func(sw string, o Owner) bool
	// Keeps reports whether an entity that no one wants stays for now. It is asked
	// again when what any owner wants of the switch has changed.
	Keeps func(sw string, o Owner, e entry.Entity) bool
	// Guarded reports whether what a switch holds for an owner, and nobody is known to have
	// wanted there, is an orphan that stays. Of other owners it is removed.
	Guarded func(o Owner) bool
	// Object names whose entities those of a guarded owner are: "group g".
	Object func(o Owner) string
	// Wall returns the wall-clock time.
	Wall func() time.Time
	// Writing is called with each entity whose update a Task is about to carry out.
	Writing func(sw string, o Owner, e entry.Entity)
}

// Intervals are the pauses of a Reconciler.
type Intervals struct {
	// Audit is how often a switch is read back; 0 is never.
	Audit time.Duration
	// RetryMin and RetryMax bound the pause before a refused update is tried again,
	// which doubles with every refusal.
	RetryMin, RetryMax time.Duration
}

// Reconciler makes a set of switches hold what owners want of them. Its methods
// must not be called concurrently.
type Reconciler struct {
	cfg       Config
	intervals Intervals
	now       time.Duration
	timers    timers.Timers
	devices   map[string]*device
	dirty     map[string]bool // devices with dirty units
	tasks     uint64          // ids given so far
	ledger    ledger

	// fresh are the units that were touched since the last Hold, and kept is what the store has;
	// see Hold.
	fresh map[*unit]bool
	kept  uint64

	removed []*removal
}

// New returns a Reconciler without switches.
func New(cfg Config) *Reconciler {
	return &Reconciler{cfg: cfg, devices: make(map[string]*device), dirty: make(map[string]bool), ledger: newLedger(), fresh: make(map[*unit]bool)}
}

// SetIntervals replaces the pauses. Those that have begun end as before.
func (r *Reconciler) SetIntervals(i Intervals) { r.intervals = i }

// SetSwitches replaces the set of switches. New ones are not connected; what was
// known of those that are left out is forgotten.
func (r *Reconciler) SetSwitches(names map[string]bool) {
	for name := range names {
		if r.devices[name] == nil {
			r.devices[name] = newDevice(name)
		}
	}
	for name := range r.devices {
		if !names[name] {
			delete(r.devices, name)
			delete(r.dirty, name)
		}
	}
}

// Switches returns the names of all switches, in order.
func (r *Reconciler) Switches() []string { return slices.Sorted(maps.Keys(r.devices)) }

// Tick sets the time and does what is due.
func (r *Reconciler) Tick(now time.Duration) {
	r.now = now
	r.timers.Run(now)
}

// Next returns the time at which Tick should be called at the latest.
func (r *Reconciler) Next() (at time.Duration, ok bool) { return r.timers.Next() }

// Connect reports that a switch takes writes, and what it holds. It reports false for
// an unknown switch.
func (r *Reconciler) Connect(name string, contents entry.Contents) bool {
	d := r.devices[name]
	if d == nil {
		return false
	}
	r.readBack(d, contents, r.now)
	return true
}

func (r *Reconciler) readBack(d *device, contents entry.Contents, since time.Duration) {
	d.connect(contents, r.cfg.Owner, since)
	r.findOrphans(d)
	r.dirty[d.name] = true
	d.audits++
	audit := d.audits
	if r.intervals.Audit == 0 {
		return
	}
	r.timers.Set(r.now+r.intervals.Audit, func() {
		if d.connected && d.audits == audit {
			d.read = true
		}
	})
}

// Disconnect reports that a switch cannot be reached, and why. It reports whether
// that is news.
func (r *Reconciler) Disconnect(name, reason string) bool {
	d := r.devices[name]
	if d == nil {
		return false
	}
	changed := d.connected || d.reason != reason
	d.disconnect(reason, r.now)
	return changed
}

// Done takes the outcome of a Task. It reports false for an outcome that is not
// awaited any more, and has no effect then.
func (r *Reconciler) Done(result Result) bool {
	d := r.devices[result.Switch]
	if d == nil || d.busy == nil || d.busy.ID != result.ID {
		return false
	}
	switch {
	case result.Err != nil:
		d.busy, d.sent = nil, nil
		r.timers.Set(r.now+r.intervals.RetryMin, func() {
			if d.connected && d.busy == nil {
				d.read = true
			}
		})
		d.read, d.blocked = false, true
	case d.busy.Read:
		r.readBack(d, result.Contents, d.since)
	default:
		for _, o := range d.apply(result.Refused, r.now, r.intervals) {
			r.noteRemoval(d.name, o)
		}
		r.dirty[result.Switch] = true
		if len(result.Refused) > 0 {
			r.retryLater(d)
		}
	}
	return true
}

// retryLater has Tick called when refused updates may be tried again.
func (r *Reconciler) retryLater(d *device) {
	for _, k := range slices.Sorted(maps.Keys(d.failed)) {
		if f := d.failed[k]; f.until > r.now {
			r.timers.Set(f.until, func() {})
		}
	}
}

// Want sets what an owner wants of a switch; an unknown switch is ignored. shape
// may be nil.
func (r *Reconciler) Want(sw string, o Owner, entities []entry.Entity, shape Shape) {
	if d := r.devices[sw]; d != nil {
		d.want(o, entities, shape)
		r.dirty[sw] = true
		r.fresh[d.unit(o)] = true
	}
}

// Recheck recomputes the difference of an owner. It reports false when the
// owner has nothing to do with the switch.
func (r *Reconciler) Recheck(sw string, o Owner) bool {
	d := r.devices[sw]
	if d == nil || d.units[o] == nil {
		return false
	}
	d.touch(o)
	r.dirty[sw] = true
	r.fresh[d.unit(o)] = true
	return true
}

// Hold has nothing written of what guarded owners want since the last call, until Kept is called
// with n: the decisions behind it are being kept in the store. 0 holds nothing.
func (r *Reconciler) Hold(n uint64) {
	for u := range r.fresh {
		u.hold = max(u.hold, n)
	}
	clear(r.fresh)
}

// Kept reports that the store has everything up to n.
func (r *Reconciler) Kept(n uint64) { r.kept = n }

// Thaw recomputes the differences of owners that were frozen on a switch.
func (r *Reconciler) Thaw(sw string) {
	d := r.devices[sw]
	if d == nil {
		return
	}
	for o, u := range d.units {
		if u.frozen {
			d.dirty[o], r.dirty[sw] = true, true
		}
	}
}

// Dirty reports whether Diff has something to do.
func (r *Reconciler) Dirty() bool { return len(r.dirty) > 0 }

// Diff computes all differences that may have changed, and calls changed for each.
func (r *Reconciler) Diff(changed func(sw string, o Owner)) {
	for _, name := range slices.Sorted(maps.Keys(r.dirty)) {
		delete(r.dirty, name)
		d := r.devices[name]
		for _, o := range slices.Sorted(maps.Keys(d.dirty)) {
			r.diff(d, o)
			changed(name, o)
		}
	}
}

// Send queues a packet for a switch. It reports false when the switch is not
// connected, and drops the packet then.
func (r *Reconciler) Send(sw string, p entry.PacketOut) bool {
	d := r.devices[sw]
	if d == nil || !d.connected {
		return false
	}
	d.out = append(d.out, p)
	return true
}

// Tasks returns the tasks that are due, ordered by switch. Each switch has at most
// one task with an id under way.
func (r *Reconciler) Tasks() []Task {
	var out []Task
	for _, name := range r.Switches() {
		if t, ok := r.task(r.devices[name]); ok {
			out = append(out, t)
		}
	}
	return out
}

func (r *Reconciler) task(d *device) (Task, bool) {
	if !d.connected {
		return Task{}, false
	}
	t := Task{Switch: d.name, Packets: d.out}
	d.out = nil
	if d.busy == nil {
		switch {
		case d.read:
			d.read, t.Read = false, true
		case !d.blocked:
			d.sent = d.next(r.now, r.held)
			t.Batches = batches(d.sent)
		}
	}
	if !t.Read && len(t.Batches) == 0 {
		return t, len(t.Packets) > 0
	}
	r.tasks++
	t.ID = r.tasks
	d.busy = &t
	for _, p := range d.sent {
		r.cfg.Writing(d.name, p.owner, p.Entity)
	}
	return t, true
}

// held reports whether a unit waits for the store.
func (r *Reconciler) held(o Owner, u *unit) bool { return u.hold > r.kept && r.cfg.Guarded(o) }

// Difference returns the updates that lead from one content of a switch to
// another, in the order in which they could be made.
func (r *Reconciler) Difference(before, after []entry.Entity) []entry.Update {
	return r.cfg.Difference(before, after)
}

// Owned returns the entities that a switch holds for an owner, unordered.
func (r *Reconciler) Owned(sw string, o Owner) iter.Seq[entry.Entity] {
	return func(yield func(entry.Entity) bool) {
		d := r.devices[sw]
		if d == nil || d.units[o] == nil {
			return
		}
		for k := range d.units[o].owned {
			if !yield(d.have[k]) {
				return
			}
		}
	}
}

// Leads reports whether an entity that another owner wants of a switch matches, or
// one that it holds for a frozen owner.
func (r *Reconciler) Leads(sw string, o Owner, match func(entry.Entity) bool) bool {
	d := r.devices[sw]
	for other, u := range d.units {
		if other == o {
			continue
		}
		for _, e := range u.want {
			if match(e) {
				return true
			}
		}
		if !r.cfg.Frozen(sw, other) {
			continue
		}
		for k := range u.owned {
			if match(d.have[k]) {
				return true
			}
		}
	}
	return false
}
