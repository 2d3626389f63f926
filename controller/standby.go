package controller

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// Standby keeps a core ready for a controller that does not run yet. The core continues from the
// records of a store, with the topology planned. The core makes no visible decisions: it stores its
// records only when a controller runs the core.
type Standby struct {
	o StandbyOptions

	mu   sync.Mutex
	core *standbyCore // nil: there is none yet
}

// StandbyOptions are what a Standby is made with.
type StandbyOptions struct {
	Inventory inventory.Inventory
	// Store has the records, Topology what they are planned on.
	Store    store.Store
	Topology *topology.Publisher
	// Ignore reports records that are none of a core's.
	Ignore func(key string) bool
	Log    *slog.Logger
}

// standbyCore is a core with the records that made it.
type standbyCore struct {
	*Core
	start     time.Time
	revisions map[string]int64 // of the records, by key
	topo      *topology.Snapshot
}

// renewPauses is the ratio of the pause before a core is made anew to the time that making the core
// took, so that constantly changing records cost only a part of a processor.
const renewPauses = 10

// NewStandby returns a Standby without a core. Run makes one.
func NewStandby(o StandbyOptions) *Standby { return &Standby{o: o} }

// Run keeps the core ready until ctx ends.
func (s *Standby) Run(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		err := s.renew(ctx)
		pause := max(time.Second, renewPauses*time.Since(began))
		if err == nil {
			err = s.follow(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.o.Log.Debug("keeping a core ready", "reason", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// renew makes the core anew.
func (s *Standby) renew(ctx context.Context) error {
	records, err := s.records(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	core, err := NewCore(Config{Inventory: s.o.Inventory, Start: start}, records)
	if err != nil {
		return err
	}
	c := &standbyCore{Core: core, start: start, revisions: revisions(records)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.core = c
	return nil
}

func (s *Standby) records(ctx context.Context) ([]store.Record, error) {
	records, _, err := s.o.Store.List(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStore, err)
	}
	mine := records[:0]
	for _, r := range records {
		if !s.o.Ignore(r.Key) {
			mine = append(mine, r)
		}
	}
	return mine, nil
}

func revisions(records []store.Record) map[string]int64 {
	out := make(map[string]int64, len(records))
	for _, r := range records {
		out[r.Key] = r.Revision
	}
	return out
}

// follow keeps the core up to date with the topology and the time, until the records change.
func (s *Standby) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, now, err := s.o.Store.List(ctx, "standby/") // there are none: for the revision
	if err != nil {
		return err
	}
	events, err := s.o.Store.Watch(ctx, "", now)
	if err != nil {
		return err
	}
	if changed, err := s.changed(ctx); err != nil || changed {
		return err
	}
	wake := time.NewTimer(0)
	defer wake.Stop()
	for {
		snapshot, changed := s.o.Topology.Current()
		next, ok := s.tick(snapshot)
		if !ok {
			return nil
		}
		wake.Reset(next)
		select {
		case e, ok := <-events:
			if !ok || !s.o.Ignore(e.Record.Key) {
				return nil
			}
		case <-changed:
		case <-wake.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// changed reports whether records have changed since the core was made.
func (s *Standby) changed(ctx context.Context) (bool, error) {
	records, err := s.records(ctx)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.core == nil || !maps.Equal(s.core.revisions, revisions(records)), nil
}

// tick gives the core the topology and the time, and returns the pause before the next time. ok is
// false when there is no core.
func (s *Standby) tick(snapshot *topology.Snapshot) (next time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.core
	if c == nil {
		return 0, false
	}
	c.Tick(time.Since(c.start))
	if c.topo != snapshot {
		c.topo = snapshot
		c.SetTopology(snapshot)
	}
	c.env.Take() // nobody sees its events
	next = time.Minute
	if at, ok := c.Next(); ok {
		next = max(0, at-time.Since(c.start))
	}
	return next, true
}

// take returns the core if the core was made from these records, and forgets the core.
func (s *Standby) take(records []store.Record) *standbyCore {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.core
	s.core = nil
	if c == nil {
		return nil
	}
	now := make(map[string]int64, len(records))
	for _, r := range records {
		if !s.o.Ignore(r.Key) {
			now[r.Key] = r.Revision
		}
	}
	if !maps.Equal(now, c.revisions) {
		return nil
	}
	return c
}

// Ready reports whether there is a core.
func (s *Standby) Ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.core != nil
}
