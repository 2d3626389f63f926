package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/access/audit"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/ledger"
	"github.com/weft-sdn/weft/controller/notification"
	"github.com/weft-sdn/weft/internal/webhook"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// Options are what a Controller runs with.
type Options struct {
	Inventory inventory.Inventory
	// Store keeps the records; what it holds is taken over.
	Store store.Store
	// Standby, when not nil, has a core that the controller takes if the records have not changed
	// since the core was made.
	Standby *Standby
	// Southbound reaches the switches.
	Southbound Southbound
	// Multipath, when not nil, runs the MRC fabric.
	Multipath Multipath
	// Log, when not nil, takes a line for each record of the audit log.
	Log *slog.Logger
	// Networks, when not nil, takes the topology sources from clients, after each change that is
	// stored. Networks must not wait for anything.
	Networks func([]topology.Source)
	// Discovered, when not nil, takes what LLDP knows of the topology, whenever that changes. It must
	// not wait for anything.
	Discovered func([]topology.Source)
	// Webhooks posts the messages of notifications; nil: to the network.
	Webhooks *webhook.Sender
	// Events, when not nil, gets every event, in order and one at a time, after the change is stored.
	// Events must not wait for anything, nor call the controller.
	Events func(api.Event)
	// Current, when not nil, returns why the controller may no longer decide. The controller calls
	// Current before each answer.
	Current func() error
}

// Multipath runs an MRC fabric, whose views go to [Controller.SetFabric].
type Multipath interface {
	// SetPorts takes the port reports of a switch after each change; ctx ends when the controller
	// gives up the switch.
	SetPorts(ctx context.Context, sw string, p PortStates)
	// SetWants takes what jobs and maintenances want of the fabric, and never waits.
	SetWants(w *fabricview.Wants)
}

// Controller runs a [Core]: one goroutine owns it, and three per switch carry out
// what it wants: its writes, its packet-outs and the settings of its ports. The methods may be
// called from any goroutine while Run runs, and wait for it before.
type Controller struct {
	opts   Options
	ledger *ledger.Ledger

	// For the goroutine of the core alone.
	core   *Core
	opened *inventory.Inventory // whose switches have connections

	topo atomic.Pointer[topology.Snapshot]
	inv  atomic.Pointer[inventory.Inventory]
	// fabric is the newest view of the MRC fabric; nil: none so far.
	fabric atomic.Pointer[fabricview.View]
	// members are the projects as they are kept.
	members atomic.Pointer[access.Projects]

	// mu guards the fields below it.
	mu          sync.Mutex
	connections map[string]*connection
	// arrivals are switches that came up and were read, and that the core does not know yet.
	arrivals []arrival
	asked    map[uint64]chan<- any // by the id of the question

	trial chan struct{} // has room for one trial at a time
	// simulating has room for one simulation at a time.
	simulating chan struct{}
	// send posts a message of a notification, and waits for nothing. For the goroutine of Run.
	send func(notification.Post)
	// depend holds the dependencies of jobs.
	depend dependence
}

// NewController returns a controller on the records of its store.
func NewController(ctx context.Context, o Options) (*Controller, error) {
	records, _, err := o.Store.List(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStore, err)
	}
	start := time.Now()
	var core *Core
	if ready := o.Standby.take(records); ready != nil {
		core, start = ready.Core, ready.start
	} else if core, err = NewCore(Config{Inventory: o.Inventory, Start: start}, records); err != nil {
		return nil, err
	}
	audited, err := audit.NewRecorder(ctx, o.Store, audit.ChainCore, o.Log)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStore, err)
	}
	c := &Controller{
		opts: o, core: core,
		connections: make(map[string]*connection), asked: make(map[uint64]chan<- any),
		trial: make(chan struct{}, 1), simulating: make(chan struct{}, 1),
		depend: dependence{one: make(chan struct{}, 1)},
	}
	if c.opts.Webhooks == nil {
		c.opts.Webhooks = webhook.NewSender(core.Inventory().API.LoopbackWebhooks, nil)
	}
	c.ledger = ledger.New(ledger.Options{
		Store: o.Store, Start: start, Versions: core.env.Versions, Audit: audited, Current: o.Current,
		Events: o.Events,
		Failed: api.EventStoreFailed,
	})
	c.inv.Store(core.Inventory())
	c.topo.Store(core.Topology())
	c.members.Store(core.projects.Members())
	for _, note := range core.projects.Notes() {
		if o.Log != nil {
			o.Log.Info(note)
		}
	}
	return c, nil
}

// Run runs the controller until ctx ends, which is no error, or the store is another controller's
// by now. A write that fails otherwise does not end it: what is in force goes on, without changes
// and without answers that rest on what the store may not have, until another controller goes on
// from the records. It must be called once.
func (c *Controller) Run(ctx context.Context) error {
	posting, end := context.WithCancel(ctx)
	var posts sync.WaitGroup
	c.send = func(p notification.Post) { posts.Go(func() { c.postOne(posting, p) }) }
	err := c.ledger.Run(ctx, c.core, c.step)
	end()
	posts.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.connections {
		err = errors.Join(err, l.close())
	}
	return err
}

// Failed is closed when a write to the store has failed.
func (c *Controller) Failed() <-chan struct{} { return c.ledger.Failed() }

// step takes what the core wants done, whose saves are kept under n.
func (c *Controller) step(n uint64) ledger.Step {
	c.takeFabric()
	r := c.core.Ready(n)
	return ledger.Step{
		Saves: r.Saves, Events: r.Events, More: !r.Empty(),
		Now:  func(ctx context.Context, g *errgroup.Group) error { return c.carryOut(ctx, g, &r) },
		Then: func() { c.hand(&r) },
	}
}

// carryOut does what waits for nothing.
func (c *Controller) carryOut(ctx context.Context, g *errgroup.Group, r *Ready) error {
	if err := c.sessions(ctx, g); err != nil {
		return err
	}
	for _, t := range r.Tasks {
		if l := c.connection(t.Switch); l != nil {
			l.give(t)
		}
	}
	for _, t := range r.PortTasks {
		if l := c.connection(t.Switch); l != nil {
			l.setPort(t)
		}
	}
	for _, w := range r.Work {
		g.Go(func() error {
			then := w()
			c.post(ctx, func(core *Core) { core.Worked(then) })
			return nil
		})
	}
	if r.Discovered != nil && c.opts.Discovered != nil {
		c.opts.Discovered(r.Discovered)
	}
	return nil
}

// hand hands out what waits until the Saves are kept.
func (c *Controller) hand(r *Ready) {
	for _, a := range r.Answers {
		c.mu.Lock()
		waiting := c.asked[a.ID]
		delete(c.asked, a.ID)
		c.mu.Unlock()
		if waiting != nil {
			waiting <- a.Value
		}
	}
	if r.Networks != nil && c.opts.Networks != nil {
		c.opts.Networks(r.Networks)
	}
	for _, p := range r.Posts {
		c.send(p)
	}
	if r.Projects != nil {
		c.members.Store(r.Projects)
	}
	if r.Wants != nil && c.opts.Multipath != nil {
		c.opts.Multipath.SetWants(r.Wants)
	}
}

// read has the core answer a client, and returns when the answer may be given.
func (c *Controller) read(ctx context.Context, f func(*Core)) error {
	return c.ledger.Read(ctx, func() { f(c.core) })
}

// sessions opens a connection to each switch of the inventory, and closes the others.
func (c *Controller) sessions(ctx context.Context, g *errgroup.Group) error {
	inv := c.core.Inventory()
	if c.opened == inv {
		return nil
	}
	c.opened = inv
	c.inv.Store(inv)
	known := make(map[string]bool)
	for _, sw := range inv.Switches {
		if !sw.Managed() {
			continue
		}
		known[sw.Name] = true
		if c.connection(sw.Name) != nil {
			continue
		}
		l, err := c.open(ctx, g, sw)
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.connections[sw.Name] = l
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, l := range c.connections {
		if !known[name] {
			delete(c.connections, name)
			_ = l.close() // no one needs it any more
		}
	}
	return nil
}

func (c *Controller) connection(sw string) *connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.connections[sw]
}

// post has something done with the core, and does not wait for it.
func (c *Controller) post(ctx context.Context, do func(*Core)) {
	c.ledger.Post(ctx.Done(), func() { do(c.core) })
}

// Do has something done with the core, and returns when what follows from it has been handed out.
// f must not keep the core, nor make changes for clients, nor answer them.
func (c *Controller) Do(ctx context.Context, f func(*Core)) error {
	return c.ledger.Do(ctx, func() { f(c.core) })
}

// SetTopology replaces the topology.
func (c *Controller) SetTopology(ctx context.Context, s *topology.Snapshot) error {
	return c.Do(ctx, func(core *Core) {
		core.SetTopology(s)
		c.topo.Store(s)
	})
}

// SetFabric takes a view of the MRC fabric, and never waits. Every change that a client asks for
// later rests on v, or on a newer view.
func (c *Controller) SetFabric(v *fabricview.View) {
	for {
		had := c.fabric.Load()
		if had != nil && had.Revision >= v.Revision {
			return
		}
		if c.fabric.CompareAndSwap(had, v) {
			c.ledger.Wake()
			return
		}
	}
}

// takeFabric has the core take the newest view of the fabric. The goroutine of the core calls it.
func (c *Controller) takeFabric() {
	if v := c.fabric.Load(); v != nil {
		c.core.SetFabric(v)
	}
}

// SetInventory replaces the inventory.
func (c *Controller) SetInventory(ctx context.Context, inv inventory.Inventory) error {
	var err error
	return errors.Join(c.Do(ctx, func(core *Core) { err = core.SetInventory(inv) }), err)
}

// Topology returns the topology that is planned on.
func (c *Controller) Topology() *topology.Snapshot { return c.topo.Load() }

// Inventory returns the present inventory, which must not be changed.
func (c *Controller) Inventory() *inventory.Inventory { return c.inv.Load() }

// Switches returns what is known about every switch of the inventory.
func (c *Controller) Switches(ctx context.Context) (out []api.SwitchStatus, err error) {
	err = c.read(ctx, func(core *Core) { out = core.Switches() })
	return out, err
}

// Switch returns what is known about a switch of the inventory; false: there is none of that name.
func (c *Controller) Switch(ctx context.Context, name string) (s api.SwitchStatus, ok bool,
	err error) {
	err = c.read(ctx, func(core *Core) { s, ok = core.Switch(name) })
	return s, ok, err
}

// reach asks a switch that runs a P4 program. Errors are *api.Error with CodeNotFound or
// CodeUnavailable.
func reach[T any](c *Controller, sw string, question func(P4Switch) (T, error)) (out T, err error) {
	l := c.connection(sw)
	if l == nil {
		return out, noSwitch(sw)
	}
	s, ok := l.sw.(P4Switch)
	if !ok {
		return out, &api.Error{Code: api.CodeNotFound,
			Message: fmt.Sprintf("switch %s runs no P4 program: its configuration is at "+
				"/v1/switches/%s/model", sw, sw)}
	}
	out, err = question(s)
	var known *api.Error
	if err != nil && !errors.As(err, &known) {
		err = unavailable(sw, err)
	}
	return out, err
}

// PortCounts reads how many packets the ports of a switch have sent or received. Errors are the
// errors of reach.
func (c *Controller) PortCounts(
	ctx context.Context, sw string, d Direction,
) (map[uint32]uint64, error) {
	return reach(c, sw, func(s P4Switch) (map[uint32]uint64, error) { return s.PortCounts(ctx, d) })
}
