package reconcile

import (
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store"
)

// Events takes the events of switches, and returns the work to do. Only the composition of features
// uses Events: features use [Want] and [State].
type Events struct{ r *reconciler }

// SetSwitches replaces the set of switches and the pauses. New switches start disconnected. The
// reconciler forgets the state of removed switches. Running pauses keep their end.
func (e Events) SetSwitches(names map[string]bool, i Intervals) {
	r := e.r
	r.intervals = i
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

// Tick sets the time and does what is due.
func (e Events) Tick(now time.Duration) {
	e.r.now = now
	e.r.timers.Run(now)
}

// Next returns the time at which Tick should be called at the latest.
func (e Events) Next() (at time.Duration, ok bool) { return e.r.timers.Next() }

// Connect records that a switch takes writes, and its contents. It reports false for an unknown
// switch.
func (e Events) Connect(name string, contents entry.Contents) bool {
	d := e.r.devices[name]
	if d == nil {
		return false
	}
	e.r.readBack(d, contents, e.r.now)
	return true
}

// Disconnect records that a switch cannot be reached, and why. It reports whether that is news.
func (e Events) Disconnect(name, reason string) bool {
	d := e.r.devices[name]
	if d == nil {
		return false
	}
	changed := d.connected || d.reason != reason
	d.disconnect(reason, e.r.now)
	return changed
}

// Outcome classifies the result of a Task.
type Outcome uint8

const (
	// Unawaited: nobody waits for the result any more; it has no effect.
	Unawaited Outcome = iota
	// Unknown: nobody knows which updates took effect, or the read failed.
	Unknown
	// Read: the switch was read back.
	Read
	// Wrote: all updates but the refused ones took effect.
	Wrote
)

// Done takes the result of a Task.
func (e Events) Done(result Result) Outcome {
	r := e.r
	d := r.devices[result.Switch]
	if d == nil || d.busy == nil || d.busy.ID != result.ID {
		return Unawaited
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
		return Unknown
	case d.busy.Read:
		r.readBack(d, result.Contents, d.since)
		return Read
	}
	for _, o := range d.apply(result.Refused, r.now, r.intervals) {
		r.noteRemoval(d.name, o)
	}
	r.dirty[result.Switch] = true
	if len(result.Refused) > 0 {
		r.retryLater(d)
	}
	return Wrote
}

// Diff computes all differences that may have changed, and calls changed for each. It reports
// whether there were any.
func (e Events) Diff(changed func(sw string, o Owner)) (any bool) {
	r := e.r
	for _, name := range slices.Sorted(maps.Keys(r.dirty)) {
		any = true
		delete(r.dirty, name)
		d := r.devices[name]
		for _, o := range slices.Sorted(maps.Keys(d.dirty)) {
			r.diff(d, o)
			changed(name, o)
		}
	}
	return any
}

// Changes returns the writes that keep what has changed since the last call.
func (e Events) Changes() (out []store.Op) {
	l := &e.r.ledger
	for _, o := range slices.Sorted(maps.Keys(l.records.claims)) {
		op := store.Op{Key: claimKey(o)}
		if c := l.claims[o]; c != nil {
			op.Value = c.encode()
		}
		out = append(out, op)
	}
	clear(l.records.claims)
	for _, sw := range slices.Sorted(maps.Keys(l.records.switches)) {
		if value := l.encode(sw); l.records.saved[sw] != string(value) {
			l.records.saved[sw] = string(value)
			out = append(out, store.Op{Key: orphanPrefix + sw, Value: value})
		}
	}
	clear(l.records.switches)
	return out
}

// Records returns the records of everything.
func (e Events) Records() (out []store.Record) {
	l := &e.r.ledger
	for o, c := range l.claims {
		out = append(out, store.Record{Key: claimKey(o), Value: c.encode()})
	}
	for sw := range l.orphans {
		out = append(out, store.Record{Key: orphanPrefix + sw, Value: l.encode(sw)})
	}
	return out
}

// Tasks returns the tasks that are due, ordered by switch. Each switch has at most one task with an
// id under way. The store has all writes up to the number kept. New wants of guarded owners since
// the last call stay out of the tasks until kept is n, because the store is saving the decisions
// behind the wants under the number n. With n 0 no new want waits.
func (e Events) Tasks(n, kept uint64) (out []Task) {
	r := e.r
	for u := range r.fresh {
		u.hold = max(u.hold, n)
	}
	clear(r.fresh)
	r.kept = kept
	for _, name := range slices.Sorted(maps.Keys(r.devices)) {
		if t, ok := r.task(r.devices[name]); ok {
			out = append(out, t)
		}
	}
	return out
}

// Removals returns the entries that have left switches since the last call, of complete owners that
// have nothing left to delete.
func (e Events) Removals(complete func(Owner) bool) (out []Removal) {
	r := e.r
	r.removed = slices.DeleteFunc(r.removed, func(x *removal) bool {
		if r.deletes(x.owner) || !complete(x.owner) {
			return false
		}
		out = append(out, Removal{x.owner, x.object, slices.Sorted(maps.Keys(x.switches)), x.entities})
		return true
	})
	return out
}

// OrphansChanged returns the switches whose orphans have changed since the last call, in order.
func (e Events) OrphansChanged() []string {
	changed := e.r.ledger.changed
	if len(changed) == 0 {
		return nil
	}
	out := slices.Sorted(maps.Keys(changed))
	clear(changed)
	return out
}
