package service

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/internal/retry"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/store"
)

// alone is the only controller of a store. The controller decides for as long as it runs, in terms
// like the decider of a cluster: a failed write to the store ends the term, because the controller
// may then have decided more than the store keeps.
type alone struct {
	s        *Service
	o        *Options
	switches controller.Southbound
	self     api.Controller
	planner  atomic.Pointer[planner] // nil while it starts
}

// termKey is the key of the record written at the start of a term. Late writes of the previous term
// find the record changed.
const termKey = "term"

var _ = store.Form[string](termKey)

// termPauses are those between attempts to begin a term.
var termPauses = retry.Backoff{Initial: 100 * time.Millisecond, Max: 2 * time.Second, Multiplier: 2}

// term begins a term, and returns the store for it. From then on older releases refuse the store.
func (a *alone) term(ctx context.Context) (store.Store, error) {
	s := a.o.Store
	if _, err := store.RaiseSchema(ctx, s, a.o.API.Version); err != nil {
		return nil, err
	}
	revision, err := s.Put(ctx, termKey, []byte(time.Now().UTC().Format(time.RFC3339Nano)), store.Any)
	if err != nil {
		return nil, err
	}
	if shared, ok := s.(store.Shared); ok {
		s = shared.Guarded(termKey, revision)
	}
	return s, nil
}

// begin begins a term with a planner on what the store has, whose API is in force from now on.
func (a *alone) begin(ctx context.Context) (*planner, error) {
	s, err := a.term(ctx)
	if err != nil {
		return nil, err
	}
	events := a.s.journal.Load() // of the first term, with what happened before it
	if a.planner.Load() != nil {
		events = a.o.newJournal()
	}
	p, err := newPlanner(ctx, a.o, s, nil, a.switches, a.s.speaker, events, nil)
	if err != nil {
		return nil, err
	}
	a.s.journal.Store(events)
	a.planner.Store(p)
	a.s.front.Set(p.server)
	return p, nil
}

// run runs planners until ctx ends. After a failed write, the planner keeps the plans in force and
// denies the lost paths to hosts until the store accepts a write. Then a new planner continues from
// the store's records.
func (a *alone) run(ctx context.Context, p *planner, l net.Listener) error {
	for {
		running, end := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() {
			defer end()
			done <- p.run(running, l)
		}()
		if !p.failed(running) {
			return <-done
		}
		next := a.again(running)
		end()
		err := <-done
		switch {
		case ctx.Err() != nil || next == nil:
			return err
		case err != nil: // a part of it wrote, and found that the term is over
			a.o.Log.Debug("the last term", "reason", err)
		}
		if p = next; l != nil { // the last planner has closed it
			if l, err = net.Listen("tcp", l.Addr().String()); err != nil {
				return fmt.Errorf("mrc.listen: %w", err)
			}
		}
	}
}

// again begins a term as soon as the store takes a write; nil: ctx has ended before.
func (a *alone) again(ctx context.Context) (p *planner) {
	ctx, begun := context.WithCancel(ctx)
	defer begun()
	termPauses.Keep(ctx, func(ctx context.Context) (time.Duration, error) {
		next, err := a.begin(ctx)
		if err == nil {
			p = next
			p.events.publish(api.Event{Time: time.Now().UTC(), Type: api.EventStoreRecovered,
				Message: "changes are taken again, from what the store has"})
			begun()
		}
		return 0, err
	}, func(err error, pause time.Duration) {
		a.o.Log.Warn("the store takes no writes", "reason", err, "retry", pause)
	})
	return p
}

// name returns the controller's name among others.
func (o *Options) name() string {
	if n := o.Inventory.Cluster.Name; n != "" {
		return n
	}
	if n, err := os.Hostname(); err == nil {
		return n
	}
	return "weft"
}

// Controllers implements [northbound.Cluster].
func (a *alone) Controllers(ctx context.Context) []api.Controller {
	c := a.self
	c.Disk, c.Alarm = a.o.controllerDisk(), a.o.wrong()
	a.planner.Load().count(ctx, &c)
	return []api.Controller{c}
}

// count fills in what a planner has to do with.
func (p *planner) count(ctx context.Context, c *api.Controller) {
	if p == nil {
		return
	}
	switches, err := p.controller.Switches(ctx)
	if err != nil {
		return // it ends
	}
	for i := range switches {
		if switches[i].Connected {
			c.Switches++
		}
	}
	if p.streams != nil {
		for _, h := range p.streams.List() {
			if h.Connected {
				c.Streams++
			}
		}
	}
}

// Readiness implements [northbound.Cluster].
func (a *alone) Readiness() []api.ReadinessCheck { return a.o.checks() }

// Decider implements [northbound.Cluster]: a controller alone asks nobody.
func (*alone) Decider() (*url.URL, error) { return nil, northbound.ErrNoDecider }

// State implements [northbound.Cluster].
func (*alone) State() (northbound.ClusterState, bool) { return northbound.ClusterState{}, false }
