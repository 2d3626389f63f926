package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/service/cluster"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/entry"
)

var (
	errNotPrimary = errors.New("not primary")
	errNoSession  = errors.New("the owner has no session")
)

// device is a switch with its election; the owners' generations serve as election ids.
type device struct {
	w    *bed
	name string
	// remembers the highest id, as the P4Runtime specification has it. BMv2 does not: the highest
	// connected id is primary, and time passes between a look at the id and a write.
	remembers bool

	mu         sync.Mutex
	random     *rand.Rand
	highest    uint32
	streams    map[*session]bool
	generation uint32 // of the owner of the last write
	term       int64  // of the decider of the last write
	writes     int
}

// session is a device owner's session with the device.
type session struct {
	c          *replica
	d          *device
	generation uint32
	tenure     *cluster.Tenure
	gate       *southbound.Gate
	held       func(bool) // says whether the installation holds the device
}

func (s *session) connect() {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.d.streams[s] = true
	s.d.highest = max(s.d.highest, s.generation)
}

func (s *session) disconnect() {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	delete(s.d.streams, s)
}

// primary reports whether the session may write. d.mu is held.
func (s *session) primary() bool {
	highest := uint32(0)
	for o := range s.d.streams {
		highest = max(highest, o.generation)
	}
	if s.d.remembers {
		highest = max(highest, s.d.highest)
	}
	return s.d.streams[s] && s.generation == highest
}

// hold begins a session.
func (c *replica) hold(_ context.Context, sw string, o cluster.Owner, t *cluster.Tenure,
	held func(bool)) (func(), error) {
	d := c.w.device(sw)
	s := &session{c: c, d: d, generation: o.Generation, tenure: t,
		gate: southbound.NewGate(uint64(o.Term)), held: held}
	s.connect()
	c.w.mu.Lock()
	c.sessions[sw] = s
	c.w.mu.Unlock()
	return func() {
		c.pause()
		c.w.mu.Lock()
		delete(c.sessions, sw)
		c.w.mu.Unlock()
		s.gate.Shut()
		s.disconnect()
	}, nil
}

// write writes in the name of a term. The request is on its way for a while, whether or not its
// sender still waits: a context that ends takes nothing back.
func (s *session) write(ctx context.Context, term int64) error {
	leave, err := s.gate.Enter(ctx, uint64(term), 0)
	if err != nil {
		return err
	}
	defer leave()
	s.c.pause()
	_, cancel, err := s.tenure.Bound(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	d := s.d
	d.mu.Lock()
	through, gap := time.Duration(d.random.Int64N(int64(ttl/8))),
		time.Duration(d.random.Int64N(int64(20*time.Millisecond)))
	d.mu.Unlock()
	time.Sleep(through)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !s.primary() {
		return errNotPrimary
	}
	if !d.remembers {
		d.mu.Unlock()
		time.Sleep(gap)
		d.mu.Lock()
	}
	if s.generation < d.generation {
		d.w.t.Errorf("%s (remembers: %v) takes a write of the owner of generation %d after one of "+
			"generation %d", d.name, d.remembers, s.generation, d.generation)
	}
	if term < d.term {
		d.w.t.Errorf("%s (remembers: %v) takes a write of term %d after one of term %d", d.name,
			d.remembers, term, d.term)
	}
	d.generation, d.term = max(d.generation, s.generation), max(d.term, term)
	d.writes++
	return nil
}

func (w *bed) device(name string) *device {
	for _, d := range w.devices {
		if d.name == name {
			return d
		}
	}
	w.t.Errorf("there is no switch %s", name)
	return nil
}

// seam is a decider's way to a device, through its owner.
type seam struct {
	controller.Switch // only Write is used
	c                 *replica
	d                 *device
	term              int64
	last              *session // that was written to
}

// Open implements [controller.Southbound].
func (s *seam) Open(context.Context, inventory.Switch,
	func(controller.SwitchEvent)) (controller.Switch, error) {
	return s, nil
}

// Write implements [controller.Switch].
func (s *seam) Write(ctx context.Context, _ []entry.Update) ([]entry.Refusal, error) {
	if s.last = s.c.owner(s.d.name); s.last == nil {
		return nil, errNoSession
	}
	return nil, s.last.write(ctx, s.term)
}

// program writes to a device while a controller decides. The owner's session is lost now and then.
func (c *replica) program(ctx context.Context, d *device, m *cluster.Mandate) error {
	through := &seam{c: c, d: d, term: m.Term}
	sw, err := cluster.Fence(through, m.Tenure).Open(ctx, inventory.Switch{}, nil)
	if err != nil {
		return err
	}
	for n := 0; ctx.Err() == nil; n++ {
		time.Sleep(25 * time.Millisecond)
		c.pause() // it does not see then that ctx has ended
		_, err := sw.Write(ctx, nil)
		if err != nil && ctx.Err() == nil && !isOver(err) && !slices.ContainsFunc(
			[]error{errNotPrimary, errNoSession, cluster.ErrMandate}, func(e error) bool {
				return errors.Is(err, e)
			}) {
			return fmt.Errorf("a write: %w", err)
		}
		if n%4 == 3 && through.last != nil {
			d.lose(through.last)
		}
	}
	return nil
}

// owner returns a device's session with its owner, where a controller knows and reaches the owner;
// nil: it does not.
func (c *replica) owner(sw string) *session {
	v, _ := c.node.View()
	o, ok := v.Owners[sw]
	if !ok {
		return nil
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	for _, other := range c.w.controllers {
		if other.name == o.Name {
			if c.w.cuts[[2]string{c.name, o.Name}] != nil {
				return nil
			}
			return other.sessions[sw]
		}
	}
	return nil
}

// lose interrupts a session for a while.
func (d *device) lose(s *session) {
	d.mu.Lock()
	there := d.streams[s]
	gap := time.Duration(d.random.Int64N(int64(time.Second)))
	d.mu.Unlock()
	if !there {
		return
	}
	s.disconnect()
	time.Sleep(gap)
	s.c.w.mu.Lock()
	current := s.c.sessions[d.name] == s
	s.c.w.mu.Unlock()
	if current {
		s.connect()
	}
}
