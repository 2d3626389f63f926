package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// Latencies of a virtual controller's dealings with the network. Each is drawn anew, uniformly
// from half to the whole of its value.
type Latencies struct {
	Write    time.Duration // a batch of updates, there and back
	PacketIn time.Duration // and packet-out, one way
	Connect  time.Duration // from a switch's start to its read-back
	Detect   time.Duration // from a change of the network to the topology that shows it
}

// DefaultLatencies are the latencies of a busy fabric with a controller near by.
func DefaultLatencies() Latencies {
	return Latencies{
		Write: 2 * time.Millisecond, PacketIn: 500 * time.Microsecond,
		Connect: 20 * time.Millisecond, Detect: 10 * time.Millisecond,
	}
}

// Control runs the controller's core in a world's time, against the switches of the world: what
// package controller's runner does with goroutines, sockets and BGP, without them. The core, the
// entries, the P4Runtime requests and the switches are the real ones.
type Control struct {
	World     *World
	Latencies Latencies
	// Log, if not nil, gets what the controller does.
	Log func(format string, args ...any)
	// Events, if not nil, gets every event that a client of the API would get.
	Events func(api.Event)
	// Wire makes the controller learn the network from encoded BGP-LS, and not from the decoded
	// objects.
	Wire bool
	// MRC, if not nil, is how the controller runs the fabric of the hosts of MRC: in the place of
	// the network's own settings.
	MRC *inventory.MRC
	// Configure, if not nil, changes the inventory derived from the network into the configuration
	// that a controller starts with.
	Configure func(*inventory.Inventory)
	Beside
	// Paths is the running controller's part that has to do with MRC; nil without.
	Paths *PathControl

	store    store.Store
	core     *controller.Core
	pipeline *southbound.Pipeline
	sources
	// life counts the controllers so far: the next controller ignores pending work of its predecessor.
	life     int
	up       bool
	sessions map[string]*session
	held     map[string]hostapi.Version // what hosts hold, from whatever controller
	ticking  time.Duration              // when the next Tick is due, or noTick
	answers  map[uint64]any
	err      error
}

// Beside is what the controller deals with beside P4Runtime, topology and hosts.
type Beside struct {
	// GNMI has switches report their ports to the controller, and take settings of ports.
	GNMI bool
	// Post, if not nil, takes a message of a notification for its receiver. The error says why the
	// receiver has not accepted the message.
	Post func(controller.Post) error
}

// sources are what the topology is learned from.
type sources struct {
	learned *topology.Builder
	// described are the networks of clients, and merged is the version of the last topology with them.
	described []topology.Source
	merged    uint64
}

// A session is the controller's relation to one switch.
type session struct {
	node   *SwitchNode
	client *southbound.Client
	// number counts connections: what belongs to an older one is late.
	number int
	up     bool
}

const noTick = time.Duration(math.MaxInt64)

// epoch is what the wall clock reports when a world begins.
var epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Wall returns the wall-clock time of every controller at a time of the world.
func (c *Control) Wall(at time.Duration) time.Time { return epoch.Add(at) }

// fabricPipeline is the fabric's program as all controllers of this process install it.
var fabricPipeline = sync.OnceValues(func() (*southbound.Pipeline, error) {
	return southbound.NewPipeline(p4.P4Info(), p4.JSON())
})

// NewControl returns a controller that does not run; Start starts it. Its store lives as long as
// the Control.
func NewControl(w *World, l Latencies) (*Control, error) {
	pipeline, err := fabricPipeline()
	if err != nil {
		return nil, err
	}
	c := &Control{
		World: w, Latencies: l, store: store.NewMemory(), pipeline: pipeline,
		sources:  sources{learned: topology.NewBuilder()},
		sessions: map[string]*session{}, held: map[string]hostapi.Version{},
		answers: map[uint64]any{},
	}
	for _, s := range w.Network.Switches {
		node := w.switches[s.Name]
		c.sessions[s.Name] = &session{node: node}
		node.Notify = func(_ time.Duration, m *p4v1.StreamMessageResponse) { c.told(s.Name, m) }
	}
	return c, nil
}

// Core is the running controller's core; nil while there is none.
func (c *Control) Core() *controller.Core { return c.core }

// Err is the first thing that went wrong in the controller itself.
func (c *Control) Err() error { return c.err }

func (c *Control) fail(err error) {
	if err != nil && c.err == nil {
		c.err = err
	}
}

func (c *Control) logf(format string, args ...any) {
	if c.Log != nil {
		c.Log(format, args...)
	}
}

// after is World.After for this controller only: not when it has been stopped meanwhile.
func (c *Control) after(d time.Duration, f func()) {
	life := c.life
	if d > 0 {
		d = d/2 + time.Duration(c.World.rng.Int64N(int64(d/2)+1))
	}
	c.World.After(d, func() {
		if c.up && c.life == life {
			f()
		}
	})
}

// Start starts a controller with what its predecessor stored.
func (c *Control) Start() error {
	records, _, err := c.store.List(context.Background(), "")
	if err != nil {
		return err
	}
	inv := c.World.Network.Inventory(nil)
	if c.MRC != nil {
		inv.MRC = *c.MRC
	}
	if c.Configure != nil {
		c.Configure(&inv)
	}
	core, err := controller.NewCore(controller.Config{Inventory: inv, Start: epoch}, records)
	if err != nil {
		return err
	}
	c.core, c.up, c.ticking, c.described = core, true, noTick, nil
	c.life++
	if inv.MRC.On() {
		if err := c.startPaths(&inv, records); err != nil {
			return err
		}
	}
	c.tick()
	c.NetworkChanged()
	for _, s := range c.World.Network.Switches {
		c.connect(s.Name)
	}
	return nil
}

// Stop stops the controller at once. Switches and hosts carry out what the controller had sent.
func (c *Control) Stop() {
	c.up, c.core, c.Paths = false, nil, nil
	for _, s := range c.sessions {
		s.up = false
		s.number++
	}
}

// LoseStore makes the next controller start with nothing.
func (c *Control) LoseStore() { c.store = store.NewMemory() }

// NetworkChanged makes the controller learn the present network.
func (c *Control) NetworkChanged() {
	c.after(c.Latencies.Detect, func() {
		c.core.Tick(c.World.now)
		learned := c.learn()
		c.core.SetTopology(learned)
		c.work()
		if c.Paths != nil {
			c.Paths.setTopology(learned)
		}
		for _, s := range c.World.Network.Switches {
			c.reportPorts(s.Name)
		}
	})
}

func (c *Control) learn() *topology.Snapshot {
	s := c.hear()
	if c.merged == 0 && len(c.described) == 0 {
		return s
	}
	s = topology.Merge(c.merged, append([]topology.Source{{Name: topology.SourceBGPLS, Snapshot: s}},
		c.described...)...)
	c.merged = s.Version
	return s
}

// hear returns what BGP-LS has.
func (c *Control) hear() *topology.Snapshot {
	if !c.Wire {
		return c.World.Learned(c.learned)
	}
	s, err := c.World.Heard()
	if err != nil {
		c.fail(err)
		return topology.Empty()
	}
	return s
}

// SwitchChanged ends or opens the session of a switch that went off or came back.
func (c *Control) SwitchChanged(name string) {
	s := c.sessions[name]
	s.number++
	if s.up {
		s.up = false
		c.after(c.Latencies.Detect, func() {
			c.core.Tick(c.World.now)
			c.core.SwitchDisconnected(name, errors.New("stream closed"))
			c.work()
		})
	}
	if !s.node.Down() {
		c.after(c.Latencies.Detect, func() { c.connect(name) })
	}
}

// connect installs the pipeline where it is not, and reads the switch.
func (c *Control) connect(name string) {
	s := c.sessions[name]
	s.number++
	number := s.number
	c.after(c.Latencies.Connect, func() {
		if s.number != number || s.node.Down() {
			return
		}
		device := s.node.Device()
		s.client = &southbound.Client{
			Transport: southbound.Direct{Device: device, Now: func() time.Duration { return c.World.now }},
			DeviceID:  device.ID(), Pipeline: c.pipeline,
		}
		if device.Switch().Program() == nil {
			if err := s.client.Install(context.Background()); err != nil {
				c.fail(fmt.Errorf("switch %s: %w", name, err))
				return
			}
		}
		contents, err := s.client.ReadAll(context.Background())
		if err != nil {
			c.fail(fmt.Errorf("switch %s: %w", name, err))
			return
		}
		s.up = true
		c.core.Tick(c.World.now)
		c.logf("%v %s connected with %d entities", c.World.now, name, len(contents.Entities))
		c.core.SwitchConnected(name, contents)
		c.work()
		c.reportPorts(name)
	})
}

// tick passes the time to the core, and schedules the next tick that the core asks for.
func (c *Control) tick() {
	c.core.Tick(c.World.now)
	c.work()
}

// Change applies a client's change to the core, and carries out its tasks.
func (c *Control) Change(f func(core *controller.Core) error) error {
	if !c.up {
		return errors.New("lab: the controller is not running")
	}
	c.core.Tick(c.World.now)
	err := f(c.core)
	c.work()
	return err
}

// GroupState asks the switches of a group for its state, and lets time pass until they have
// answered.
func (c *Control) GroupState(name string) (api.GroupState, error) {
	var id uint64
	if err := c.Change(func(core *controller.Core) (err error) {
		id, err = core.QueryState(name)
		return err
	}); err != nil {
		return api.GroupState{}, err
	}
	var state any
	if !c.World.Run(c.World.now+time.Minute, func() (answered bool) {
		state, answered = c.Answer(id)
		return answered
	}) {
		return api.GroupState{}, fmt.Errorf("lab: no answer about the state of group %q", name)
	}
	return state.(api.GroupState), nil
}

// Answer returns the answer of the core to a question, once.
func (c *Control) Answer(id uint64) (answer any, ok bool) {
	answer, ok = c.answers[id]
	delete(c.answers, id)
	return answer, ok
}

// work does what the core wants done.
func (c *Control) work() {
	for {
		r := c.core.Ready(0)
		if r.Empty() {
			break
		}
		if err := c.store.Apply(context.Background(), r.Saves); err != nil {
			c.fail(err)
		}
		for _, a := range r.Answers {
			c.answers[a.ID] = a.Value
		}
		for _, e := range r.Events {
			c.logf("%v event %v", c.World.now, e)
			if c.Events != nil {
				c.Events(e)
			}
		}
		for _, w := range r.Tasks {
			c.carryOut(w)
		}
		for _, t := range r.PortTasks {
			c.after(c.Latencies.Write, func() { c.setPort(t) })
		}
		for _, p := range r.Posts {
			c.after(c.Latencies.PacketIn, func() { c.post(p) })
		}
		if r.Networks != nil {
			c.described = r.Networks
			c.NetworkChanged()
		}
		for _, w := range r.Work {
			then := w()
			c.after(c.Latencies.PacketIn, func() {
				c.core.Tick(c.World.now)
				c.core.Worked(then)
				c.work()
			})
		}
		if r.Wants != nil && c.Paths != nil {
			c.Paths.do(func() error {
				c.Paths.desk.SetWants(r.Wants)
				return nil
			})
		}
	}
	next, ok := c.core.Next()
	if !ok {
		return
	}
	at := max(next, c.World.now)
	if c.ticking <= at {
		return
	}
	c.ticking = at
	life := c.life
	c.World.At(at, func() {
		if c.up && c.life == life && c.ticking == at {
			c.ticking = noTick
			c.tick()
		}
	})
}

// carryOut does a work batch by batch.
func (c *Control) carryOut(w reconcile.Task) {
	s := c.sessions[w.Switch]
	number := s.number
	result := reconcile.Result{Switch: w.Switch, ID: w.ID}
	first := 0 // index of the batch's first update
	var batch func(i int)
	batch = func(i int) {
		if s.number != number {
			return // the core hears of the lost connection
		}
		switch {
		case i < len(w.Batches):
			refused, err := c.write(s, w.Batches[i], first)
			first += len(w.Batches[i])
			result.Refused = append(result.Refused, refused...)
			if result.Err = err; err == nil {
				c.after(c.Latencies.Write, func() { batch(i + 1) })
				return
			}
		case w.Read:
			result.Contents, result.Err = s.client.ReadAll(context.Background())
		}
		for _, p := range w.Packets {
			c.fail(s.client.PacketOut(context.Background(), p))
		}
		s.node.Wake()
		if w.ID != 0 {
			c.core.Tick(c.World.now)
			c.core.Done(result)
			c.work()
		}
	}
	latency := c.Latencies.Write
	if len(w.Batches) == 0 && !w.Read {
		latency = c.Latencies.PacketIn
	}
	c.logf("%v %s: %d updates, %d packets", c.World.now, w.Switch, w.Updates(), len(w.Packets))
	c.after(latency, func() { batch(0) })
}

func (c *Control) write(s *session, updates []entry.Update, first int) ([]entry.Refusal, error) {
	refused, err := s.client.Write(context.Background(), updates)
	s.node.Wake()
	for i := range refused {
		refused[i].Update += first
	}
	return refused, err
}

// told handles a stream message of a switch.
func (c *Control) told(name string, m *p4v1.StreamMessageResponse) {
	if !c.up || !c.sessions[name].up {
		return
	}
	schema := c.pipeline.Schema()
	if d := m.GetDigest(); d != nil {
		named, err := schema.DecodeDigest(d)
		c.fail(err)
		c.after(c.Latencies.PacketIn, func() {
			c.core.Tick(c.World.now)
			c.core.Digest(name, named)
			c.work()
		})
		return
	}
	if p := m.GetPacket(); p != nil {
		c.after(c.Latencies.PacketIn, func() {
			c.core.Tick(c.World.now)
			c.core.PacketIn(name, schema.DecodePacketIn(p))
			c.work()
		})
	}
}

// Programmed reports whether every switch has its entries and, with MRC, EVs have their meaning.
func (c *Control) Programmed() bool {
	for _, s := range c.core.Switches() {
		if !s.Synced {
			return false
		}
	}
	return c.Paths == nil || c.Paths.core.Assignment() != nil
}

// Instructed reports whether there are MRC hosts, and all have applied their newest states.
func (c *Control) Instructed() bool {
	all := c.Paths.core.Hosts()
	for _, h := range all {
		if h.Set == 0 || h.Applied < h.Set {
			return false
		}
	}
	return len(all) > 0
}
