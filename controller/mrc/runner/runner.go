package runner

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/ledger"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/internal/plain"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// Streams is the seam to the hosts: a server of package southbound/hosts, whose observer the Runner
// is.
type Streams interface {
	// Set sets what a host should hold; nil is nothing.
	Set(host string, s *hostapi.State) error
	// Probe asks a host for EV probes.
	Probe(host string, p *hostapi.Probe) error
	// SetSelfProbes sets the plan of probes that a host sends to itself.
	SetSelfProbes(host string, p *hostapi.SelfProbes) error
	// Status returns the stream of a host; false when the host is unknown.
	Status(host string) (mrc.Stream, bool)
	Counters() mrc.StreamCounts
}

// Switches is the seam to the controller of the switches.
type Switches interface {
	// SetAssignment sets what EVs mean; nil: there are none.
	SetAssignment(ctx context.Context, a *ev.Assignment) error
	// SetDrained sets the links that routes avoid where they can.
	SetDrained(ctx context.Context, links []topology.LinkID) error
	// SetFabric hands over what is known of the fabric, without waiting for anything.
	SetFabric(v *fabricview.View)
	// Unrouted returns the switches that are still to get their routes.
	Unrouted(ctx context.Context) ([]string, error)
	// PortCounts reads how many packets the ports of a switch have sent or received.
	PortCounts(ctx context.Context, sw string, d controller.Direction) (map[uint32]uint64, error)
}

// Options are what a Runner runs with.
type Options struct {
	// Inventory has the hosts and their attachments; its MRC is on.
	Inventory *inventory.Inventory
	// Epoch is the epoch of the state versions sent to hosts. It differs after every start.
	Epoch uint64
	// Store keeps the requests of clients; the Runner takes over the records already there.
	Store store.Store
	// Switches may be nil: then the runner does nothing to switches.
	Switches Switches
	// Log, when not nil, takes a line for each record of the audit log.
	Log *slog.Logger
	// Events, when not nil, gets every change, one at a time and in order, after the change is kept.
	// Events must not wait for anything, nor call the Runner.
	Events func(api.Event)
	// Current, when not nil, returns why the controller may not decide any more. It is asked before an
	// answer is given.
	Current func() error
}

// Runner runs a [mrc.Core]: one goroutine owns it. It is the observer of the streams
// to the hosts. Its methods may be called from any goroutine while Run runs, and
// wait for it before.
type Runner struct {
	opts Options
	// ledger keeps what clients want.
	ledger *ledger.Ledger

	// Only the goroutine of the core uses these fields, and the fields of the desk except its kinds.
	core *mrc.Core
	places
	desk    *mrc.Desk
	streams Streams
	waiting map[string]*waiting // hosts with a stream that the core does not know yet
	told    *told               // nil: nothing so far

	// wants are the newest; nil: none so far.
	wants  atomic.Pointer[fabricview.Wants]
	newest atomic.Pointer[topology.Snapshot]
	news   chan told // of capacity 1: the newest that the switches do not have

	// mu protects the fields below, and is held while a state is set, so that a host's report of an
	// applied state is not mistaken for a report about the state being set.
	mu   sync.Mutex
	seqs map[string]uint64 // of the last Set, by host

	known map[string]bool // hosts of the inventory; not changed any more
}

// waiting is a host that is not attached to anything known.
type waiting struct {
	hello  *hostapi.Hello
	up     *hostapi.PortMask
	errors *hostapi.PortErrors
}

// NewRunner returns a runner on the records of its store.
func NewRunner(ctx context.Context, o Options) (*Runner, error) {
	start := time.Now()
	r := &Runner{
		opts: o, news: make(chan told, 1), seqs: make(map[string]uint64),
		waiting: make(map[string]*waiting), known: make(map[string]bool),
	}
	core, err := mrc.New(mrc.Config{MRC: o.Inventory.MRC, Epoch: o.Epoch, Start: start,
		Switches: o.Switches != nil, Around: r})
	if err != nil {
		return nil, err
	}
	records, _, err := o.Store.List(ctx, mrc.RecordPrefix)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", controller.ErrStore, err)
	}
	audited, err := audit.NewRecorder(ctx, o.Store, audit.ChainMRC, o.Log)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", controller.ErrStore, err)
	}
	r.core, r.places = core, newPlaces(core, core.PutHost, o.Inventory)
	for i := range o.Inventory.Hosts {
		r.known[o.Inventory.Hosts[i].Name] = true
	}
	r.newest.Store(topology.Empty())
	if r.desk, err = mrc.NewDesk(core, core.Wall, records, r); err != nil {
		return nil, err
	}
	r.ledger = ledger.New(ledger.Options{
		Store: o.Store, Start: start, Versions: r.desk.Versions(), Audit: audited, Busy: r.desk.Busy,
		Current: o.Current, Events: o.Events,
	})
	return r, nil
}

// Run runs until ctx ends, which is no error, or until another controller has taken over the store.
// A write that fails for any other reason does not end Run. Hosts still learn of losses as before,
// but Run makes no changes, and gives no answers that may be ahead of the store, until another
// runner continues from the records. Run must be called once.
func (r *Runner) Run(ctx context.Context, s Streams) error {
	r.streams = s
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.ledger.Run(ctx, r.desk, r.step) })
	if r.opts.Switches != nil {
		g.Go(func() error { return r.tell(ctx) })
		if every := r.opts.Inventory.MRC.LinkCounts.D(); every > 0 {
			g.Go(func() error { return r.count(ctx, every) })
		}
	}
	return g.Wait()
}

// Failed is closed when a write to the store has failed.
func (r *Runner) Failed() <-chan struct{} { return r.ledger.Failed() }

// step takes the tasks of the core; the store keeps their saves under n. Hosts get their states at
// once, because states rest on stored records.
func (r *Runner) step(n uint64) ledger.Step {
	if w := r.wants.Load(); w != nil {
		r.desk.SetWants(w)
	}
	ready := r.desk.Ready(n)
	return ledger.Step{
		Saves: ready.Saves, Events: ready.Events, More: !ready.Empty(),
		Now: func(context.Context, *errgroup.Group) error {
			for _, s := range ready.Sets {
				r.set(s)
			}
			for _, p := range ready.Probes {
				r.probe(p)
			}
			for _, p := range ready.SelfProbes {
				_ = r.streams.SetSelfProbes(p.Host, p.Plan) // too many hosts: then it has no state either
			}
			r.tellNewest()
			return nil
		},
	}
}

// set sends a host what it should hold.
func (r *Runner) set(s mrc.Set) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seqs[s.Host] = s.Seq
	if err := r.streams.Set(s.Host, s.State); err != nil { // there are too many hosts
		_ = r.core.Refused(s.Host, plain.Error(err))
	}
}

// probe asks a host for probes. If the stream refuses the request, the error becomes the result.
func (r *Runner) probe(p mrc.Probe) {
	if err := r.streams.Probe(p.Host, p.Request); err != nil {
		_ = r.core.ProbeResult(p.Host, &hostapi.ProbeResult{ID: p.Request.ID, Err: plain.Error(err)})
	}
}

// post has something done with the core, and does not wait for it.
func (r *Runner) post(do func()) { r.ledger.Post(nil, do) }

// Do has something done with the core, and returns when what follows from it has been handed out.
// f must not keep the core, nor make changes for clients, nor answer them.
func (r *Runner) Do(ctx context.Context, f func(*mrc.Core)) error {
	return r.ledger.Do(ctx, func() { f(r.core) })
}

// SetTopology takes the advertised topology. The first complete snapshot with a node counts as the
// whole: from then on missing elements are down.
func (r *Runner) SetTopology(ctx context.Context, s *topology.Snapshot) error {
	r.newest.Store(s)
	return r.ledger.Do(ctx, func() {
		r.setTopology(s, func(host string, err error) {
			if err != nil {
				r.core.Event(api.EventHostChanged, host, plain.Error(err))
				return
			}
			r.welcome(host)
		})
	})
}

// SetWants takes what jobs and maintenances want of the fabric, and never waits. The caller hands
// over every Wants of a controller in order.
func (r *Runner) SetWants(w *fabricview.Wants) {
	r.wants.Store(w)
	r.ledger.Wake()
}

// SetPorts takes the port states that a switch of the inventory reports; see [mrc.Core.SetPorts].
// SetPorts does not wait for the consequences, and gives up when ctx ends.
func (r *Runner) SetPorts(ctx context.Context, sw string, p controller.PortStates) {
	r.ledger.Post(ctx.Done(), func() { r.setPorts(sw, p) })
}
