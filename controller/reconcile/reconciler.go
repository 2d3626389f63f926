package reconcile

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/internal/timers"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store"
)

// Owner is who wants an entity. The number means nothing to this package, apart
// from the order in which owners are served.
type Owner int

// Config has the properties of entities and of their owners. All functions must be set.
type Config struct {
	// Owner returns the owner of an entity that was read back from a switch.
	Owner func(entry.Entity) Owner
	// Rank orders insertions and modifications: updates of a lower rank are complete before updates of
	// a higher rank start. Deletions go in the opposite order.
	Rank func(entry.Entity) int
	// Frozen reports whether the entities of an owner must stay on a switch for now. The caller must
	// call Want.Thaw when the freeze ends.
	Frozen func(sw string, o Owner) bool
	// Keeps reports whether an unwanted entity stays for now. The reconciler calls Keeps again when
	// the wants of any owner on the switch have changed.
	Keeps func(sw string, o Owner, e entry.Entity) bool
	// Intended reports whether an entity of an owner stays on a switch as an orphan if no controller
	// is known to have wanted the entity there. For other owners, the reconciler removes the entity.
	Intended func(o Owner) bool
	// Object names the object behind the entities of an owner of Intended: "group g".
	Object func(o Owner) string
	// Start is the wall-clock time at which the time given to Tick is 0.
	Start time.Time
}

// Intervals are the pauses between attempts.
type Intervals struct {
	// Audit is how often a switch is read back; 0 is never.
	Audit time.Duration
	// RetryMin and RetryMax bound the pause before a refused update is tried again,
	// which doubles with every refusal.
	RetryMin, RetryMax time.Duration
}

// reconciler is the state behind Want, State and Events.
type reconciler struct {
	cfg       Config
	intervals Intervals
	now       time.Duration
	timers    timers.Timers
	devices   map[string]*device
	dirty     map[string]bool // devices with dirty units
	tasks     uint64          // ids given so far
	ledger    ledger

	// fresh holds the units touched since the last Tasks. kept is the number up to which the store has
	// all writes.
	fresh map[*unit]bool
	kept  uint64

	removed []*removal
}

// New returns the three faces of a reconciler without switches that goes on where the records of an
// earlier one end; records of others are ignored. The error names the record that cannot be read.
func New(cfg Config, records []store.Record) (Want, State, Events, error) {
	r := &reconciler{
		cfg: cfg, devices: make(map[string]*device), dirty: make(map[string]bool), ledger: newLedger(),
		fresh: make(map[*unit]bool),
	}
	for _, rec := range records {
		if err := r.load(rec); err != nil {
			return Want{}, State{}, Events{}, fmt.Errorf("record %s: %w", rec.Key, err)
		}
	}
	return Want{r}, State{r}, Events{r}, nil
}

// wall returns the wall-clock time.
func (r *reconciler) wall() time.Time { return r.cfg.Start.Add(r.now).UTC() }

func (r *reconciler) readBack(d *device, contents entry.Contents, since time.Duration) {
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

// retryLater has Tick called when refused updates may be tried again.
func (r *reconciler) retryLater(d *device) {
	for _, k := range slices.Sorted(maps.Keys(d.failed)) {
		if f := d.failed[k]; f.until > r.now {
			r.timers.Set(f.until, func() {})
		}
	}
}

func (r *reconciler) task(d *device) (Task, bool) {
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
			t.Batches, t.sent = batches(d.sent), d.sent
		}
	}
	if !t.Read && len(t.Batches) == 0 {
		return t, len(t.Packets) > 0
	}
	r.tasks++
	t.ID = r.tasks
	d.busy = &t
	return t, true
}

// held reports whether a unit waits for the store.
func (r *reconciler) held(o Owner, u *unit) bool { return u.hold > r.kept && r.cfg.Intended(o) }
