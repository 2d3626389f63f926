package controller

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// fork is a copy of all that a core decides by. It shares nothing with the core that
// changes, so that cores can be made of it in another goroutine.
type fork struct {
	inv      inventory.Inventory
	start    time.Time
	now      time.Duration
	records  []store.Record
	topology *topology.Snapshot
	restore  []func(feature.Feature)   // what features know beside their records
	held     map[string][]entry.Entity // by switch
}

// fork copies the core.
func (c *Core) fork() *fork {
	f := &fork{
		inv: *c.configured, start: c.env.Start, now: c.env.Now, records: c.records(),
		topology: c.advertised,
		held:     make(map[string][]entry.Entity),
	}
	// The outcome counts, not the way there, and no time passes for anything else.
	i := &f.inv.Intervals
	i.Settle, i.Audit, i.Stall, i.Drain = 0, 0, 0, 0
	for _, x := range c.features {
		f.restore = append(f.restore, x.Fork())
	}
	for _, name := range c.switches.Switches() {
		f.held[name] = c.Held(name) // empty for one that is away, which gets all that it should have
	}
	return f
}

// core returns a core in the state of the one that was copied, whose switches have done
// everything they should.
func (f *fork) core() (*Core, error) {
	c, err := newCore(Config{Inventory: f.inv, Start: f.start}, f.records, f.restore)
	if err != nil {
		return nil, err
	}
	c.Tick(f.now)
	c.SetTopology(f.topology)
	for _, name := range slices.Sorted(maps.Keys(f.held)) {
		c.SwitchConnected(name, entry.Contents{Entities: f.held[name]})
	}
	c.obey()
	return c, nil
}

// Bounds of a trial's virtual time and of its steps.
const (
	trialTime  = time.Second
	trialSteps = 10_000
)

// obey has every switch carry out its tasks, at once and without refusing anything, until
// nothing is left to do.
func (c *Core) obey() {
	end := c.env.Now + trialTime
	for range trialSteps {
		r := c.Ready(0)
		for _, w := range r.Tasks {
			if w.ID != 0 {
				c.Done(reconcile.Result{Switch: w.Switch, ID: w.ID,
					Contents: entry.Contents{Entities: c.Held(w.Switch)}})
			}
		}
		if len(r.Tasks) > 0 {
			continue
		}
		at, ok := c.Next()
		if !ok || at > end {
			return
		}
		c.Tick(at)
	}
}

// run carries out a change on a copy, and returns what it changes on switches once it is
// complete. The other copy shows what would happen without it.
func (f *fork) run(change func(*Core) error) ([]api.SwitchChange, error) {
	without, err := f.core()
	if err != nil {
		return nil, err
	}
	with, err := f.core()
	if err != nil {
		return nil, err
	}
	if err := change(with); err != nil {
		return nil, err
	}
	with.obey()
	var out []api.SwitchChange
	for _, name := range slices.Sorted(maps.Keys(f.held)) {
		if u := reconcile.Difference(plan.Rank, without.Held(name), with.Held(name)); len(u) > 0 {
			out = append(out, api.SwitchChange{Switch: name, Updates: describe(u)})
		}
	}
	return out, nil
}

// describe returns updates as clients see them.
func describe(updates []entry.Update) []api.EntityUpdate {
	out := make([]api.EntityUpdate, len(updates))
	for i, u := range updates {
		out[i] = api.EntityUpdate{Type: u.Type.String(), Entity: string(u.Entity.Key())}
		if s, ok := u.Entity.(interface{ String() string }); ok && u.Type != entry.Delete {
			out[i].Entity = s.String()
		}
	}
	return out
}

// write has a change made, or tried when the precondition has a trial. Trials are made one at
// a time, beside the core's goroutine.
func (c *Controller) write(
	ctx context.Context, pre resource.Precondition, change func(*Core) error,
) error {
	if pre.Trial == nil {
		return c.ledger.Change(ctx, func() error {
			return early(change(c.core), c.core.unsettled())
		})
	}
	var f *fork
	var why string
	if err := c.read(ctx, func(core *Core) { f, why = core.fork(), core.unsettled() }); err != nil {
		return err
	}
	select {
	case c.trial <- struct{}{}:
		defer func() { <-c.trial }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var err error
	pre.Trial.Changes, err = f.run(change)
	return early(err, why)
}
