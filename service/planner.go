package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/runner"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/northbound/causes"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/telemetry"
	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls"
)

// eventRing is how many events a client may have missed and still get.
const eventRing = 4096

// planner is the part of a controller that decides: a planner continues from the records in the
// store, and only those records must outlive the planner.
type planner struct {
	controller *controller.Controller
	multipath  *runner.Runner    // nil: there is no MRC fabric
	planes     *telemetry.Planes // of multipath
	streams    *hosts.Server     // to its hosts
	causes     *causes.Watcher
	server     *northbound.Server
	telemetry  *telemetry.Store
	counts     time.Duration // between the counts that a host reports; 0: none does
	store      store.Store
	keep       audit.Keep // of the audit log
	notary     *audit.Notary
	log        *slog.Logger
	network    *network
	events     *journal
	// called before EVs are decided for another topology; nil: nothing is
	before func(context.Context)
}

// journal takes the events of a planner.
type journal struct {
	ring    *northbound.Events
	publish func(api.Event)
	changed chan struct{} // gets one after events that may begin or end a cause
}

func (o *Options) newJournal() *journal {
	j := &journal{ring: northbound.NewEvents(eventRing, time.Now()), changed: make(chan struct{}, 1)}
	j.publish = numbered(func(e api.Event) {
		o.Log.Info(e.Message, "event", e.Type, "object", e.Object)
		j.ring.Publish(e)
		if strings.HasPrefix(string(e.Type), "cause.") {
			return
		}
		select {
		case j.changed <- struct{}{}:
		default:
		}
	})
	return j
}

// newPlanner makes a planner on the records of a store. current, when not nil, returns why this
// controller may not decide any more: it is asked before each answer to a client, and before each
// message to a host. switches are fenced already.
func newPlanner(ctx context.Context, o *Options, s store.Store, current func() error,
	switches controller.Southbound, speaker *bgpls.Speaker, events *journal,
	standby *controller.Standby) (*planner, error) {
	bounds := &o.Inventory.API.Access.Audit
	p := &planner{store: s, keep: audit.Keep{Octets: bounds.Octets, Age: bounds.Age.D()}, log: o.Log,
		network: newNetwork(speaker.Topology(), o.described), events: events}
	multipath := newMultipath(&o.Inventory)
	var err error
	if p.notary, err = audit.NewNotary(s, bounds.Noted); err != nil {
		return nil, err
	}
	p.controller, err = controller.NewController(ctx, controller.Options{
		Inventory: o.Inventory, Store: s, Standby: standby, Southbound: switches, Events: events.publish,
		Current: current, Log: o.Log,
		Networks: p.network.describe, Discovered: p.network.discover, Multipath: multipath,
	})
	if err != nil {
		return nil, err
	}
	o.turns.Follow(p.controller)
	served := o.API
	served.Current = current
	p.telemetry, p.counts = o.API.Telemetry, o.Inventory.MRC.Counts.D()
	if m, ok := multipath.(*lateMultipath); ok {
		if err := p.startMultipath(ctx, o, s, current, events.publish); err != nil {
			return nil, err
		}
		m.Store(p.multipath)
		served.Multipath, served.Planes = p.multipath, p.judgePlanes(&served, o.Log)
	}
	served.BGP = speaker
	if served.Access, err = o.API.Access.Kept(ctx, s, o.Log); err != nil {
		return nil, err
	}
	facts := served
	p.causes = causes.NewWatcher(func(ctx context.Context) (*causes.Known, error) {
		return northbound.Known(ctx, &facts, p.controller)
	}, time.Now)
	served.Causes = p.causes
	p.server, err = northbound.New(served, p.controller, events.ring)
	return p, err
}

// newMultipath returns what runs the MRC fabric; nil: there is none.
func newMultipath(inv *inventory.Inventory) controller.Multipath {
	if !inv.MRC.On() {
		return nil
	}
	return &lateMultipath{}
}

// lateMultipath implements [controller.Multipath] by a runner that is made after the controller,
// and is there before the controller runs.
type lateMultipath struct{ atomic.Pointer[runner.Runner] }

// SetPorts implements [controller.Multipath].
func (m *lateMultipath) SetPorts(ctx context.Context, sw string, p controller.PortStates) {
	m.Load().SetPorts(ctx, sw, p)
}

// SetWants implements [controller.Multipath].
func (m *lateMultipath) SetWants(w *fabricview.Wants) { m.Load().SetWants(w) }

// startMultipath makes the controller of the MRC fabric and the server of the
// streams to its hosts.
func (p *planner) startMultipath(ctx context.Context, o *Options, s store.Store,
	current func() error, publish func(api.Event)) error {
	epoch := uint64(time.Now().UnixNano())
	var err error
	p.multipath, err = runner.NewRunner(ctx, runner.Options{
		Inventory: &o.Inventory, Epoch: epoch, Store: s, Switches: p.controller, Events: publish,
		Current: current, Log: o.Log,
	})
	if err != nil {
		return err
	}
	cfg := HostsConfig(&o.Inventory.MRC)
	cfg.Epoch, cfg.Fence = epoch, current
	if p.streams, err = hosts.New(cfg, p.multipath); err != nil {
		return fmt.Errorf("mrc: %w", err)
	}
	return nil
}

// errWrite ends a planner with a decision that the store may lack.
var errWrite = errors.New("a write to the store failed, and what was decided may not be kept")

// failed waits until a write of the planner fails, and returns false when ctx ends before.
func (p *planner) failed(ctx context.Context) bool {
	var multipath <-chan struct{}
	if p.multipath != nil {
		multipath = p.multipath.Failed()
	}
	select {
	case <-p.controller.Failed():
	case <-multipath:
	case <-ctx.Done():
		return false
	}
	return true
}

// run runs the planner until ctx ends, which is no error. Hosts come by l; nil: their controllers
// come for them.
func (p *planner) run(ctx context.Context, l net.Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.controller.Run(ctx) })
	group.Go(func() error { p.keepAudit(ctx); return nil })
	group.Go(func() error { p.measure(ctx, p.telemetry); return nil })
	group.Go(func() error { p.readGroups(ctx, p.telemetry); return nil })
	group.Go(func() error { p.readTunnels(ctx, p.telemetry); return nil })
	group.Go(func() error { p.readFabric(ctx, p.telemetry); return nil })
	group.Go(func() error {
		p.causes.Run(ctx, p.events.changed, p.events.publish, p.controller.SetCauses)
		return nil
	})
	group.Go(func() error { return p.network.run(ctx) })
	group.Go(func() error { return follow(ctx, &p.network.merged, p.controller.SetTopology) })
	if p.multipath != nil {
		group.Go(func() error { return p.multipath.Run(ctx, p.streams) })
		group.Go(func() error { p.planes.Watch(ctx, p.events.publish); return nil })
		group.Go(func() error { p.readProfiles(ctx, p.telemetry, p.counts); return nil })
		group.Go(func() error {
			return follow(ctx, &p.network.merged, func(ctx context.Context, s *topology.Snapshot) error {
				if p.before != nil {
					p.before(ctx)
				}
				return p.multipath.SetTopology(ctx, s)
			})
		})
		group.Go(func() error {
			if l != nil {
				return p.streams.Serve(ctx, l)
			}
			p.streams.Run(ctx)
			return nil
		})
	}
	return group.Wait()
}

// follow hands on every snapshot.
func follow(ctx context.Context, from *topology.Publisher,
	to func(context.Context, *topology.Snapshot) error) error {
	for {
		snapshot, changed := from.Current()
		if err := to(ctx, snapshot); err != nil {
			if ctx.Err() != nil || errors.Is(err, controller.ErrStopped) {
				return nil
			}
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// HostsConfig reports how the streams to hosts are served, without an epoch.
func HostsConfig(m *inventory.MRC) hosts.Config {
	cfg := hosts.DefaultConfig()
	cfg.CountsInterval = m.Counts.D()
	cfg.TLS = hosts.TLSConfig(m.TLS.Server(certs.KindHost))
	return cfg
}

// noteEvery is how often the newest records of the audit log are noted: whoever cuts a chain short
// sooner after a record than that is not missed by the notary.
const noteEvery = 10 * time.Second

// Times of the removal of old audit records: the chains are looked at every pruneLook, and their
// records when there are pruneRecords more or pruneEvery has passed.
const (
	pruneLook    = time.Minute
	pruneEvery   = 15 * time.Minute
	pruneRecords = 1000
)

// keepAudit notes how far the audit log is, and keeps it within its bounds, until ctx ends.
func (p *planner) keepAudit(ctx context.Context) {
	tick := time.NewTicker(noteEvery)
	defer tick.Stop()
	var had []string
	prune := p.pruning()
	for n := 0; ; n++ {
		faults, err := p.notary.Note(ctx, time.Now())
		if err != nil && ctx.Err() == nil {
			p.log.Warn("the audit log is not noted", "reason", err)
		}
		for _, f := range faults {
			if !slices.Contains(had, f) {
				p.log.Error("the audit log is not as it was", "fault", f)
			}
		}
		had = faults
		if n%int(pruneLook/noteEvery) == 0 {
			prune(ctx)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// pruning returns a function that removes old records of the audit log when due.
func (p *planner) pruning() func(ctx context.Context) {
	var last time.Time
	var had uint64
	return func(ctx context.Context) {
		chains, err := audit.Chains(ctx, p.store)
		var has uint64
		for _, c := range chains {
			has += c.NewestSeq
		}
		if now := time.Now(); err == nil && (has-had >= pruneRecords || now.Sub(last) >= pruneEvery) {
			removed, err := audit.Prune(ctx, p.store, p.keep, now)
			switch {
			case err != nil:
				p.log.Warn("old records of the audit log stay", "reason", err)
			case removed > 0:
				p.log.Info("old records of the audit log were removed", "records", removed)
			}
			last, had = now, has
		}
	}
}
