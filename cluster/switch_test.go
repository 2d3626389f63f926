package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/weft-sdn/weft/cluster"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/southbound/entry"
)

var errNotPrimary = errors.New("not primary")

// device is a switch with its election. The election id of a controller is its term here.
type device struct {
	w *world
	// remembers the highest id, as the P4Runtime specification has it. BMv2 does not: the highest id
	// that is connected is primary, and between looking at that and writing time passes.
	remembers bool

	mu      sync.Mutex
	random  *rand.Rand
	highest int64
	streams map[*stream]bool
	written int64 // the term of the last write
	writes  int
}

// stream is one controller's session with a device.
type stream struct {
	controller.Switch // only Write is used
	d                 *device
	term              int64
}

// seam is a controller's way to a device in one term.
type seam struct {
	d    *device
	term int64
}

// Open implements [controller.Southbound].
func (s seam) Open(context.Context, inventory.Switch, func(controller.SwitchEvent)) (controller.Switch, error) {
	st := &stream{d: s.d, term: s.term}
	st.connect()
	return st, nil
}

func (s *stream) connect() {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.d.streams[s] = true
	s.d.highest = max(s.d.highest, s.term)
}

func (s *stream) disconnect() {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	delete(s.d.streams, s)
}

// Close implements [controller.Switch].
func (s *stream) Close() error {
	s.disconnect()
	return nil
}

// primary reports whether the stream may write. d.mu is held.
func (s *stream) primary() bool {
	highest := int64(0)
	for o := range s.d.streams {
		highest = max(highest, o.term)
	}
	if s.d.remembers {
		highest = max(highest, s.d.highest)
	}
	return s.d.streams[s] && s.term == highest
}

// Write implements [controller.Switch]. The request is on its way for a while, whether or not its
// sender still waits: a context that ends takes nothing back.
func (s *stream) Write(context.Context, []entry.Update) ([]entry.Refusal, error) {
	d := s.d
	d.mu.Lock()
	way, gap := time.Duration(d.random.Int64N(int64(ttl/8))), time.Duration(d.random.Int64N(int64(20*time.Millisecond)))
	d.mu.Unlock()
	time.Sleep(way)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !s.primary() {
		return nil, errNotPrimary
	}
	if !d.remembers {
		d.mu.Unlock()
		time.Sleep(gap)
		d.mu.Lock()
	}
	if s.term < d.written {
		d.w.t.Errorf("a switch (remembers: %v) takes a write of term %d after one of term %d", d.remembers, s.term, d.written)
	}
	d.written = max(d.written, s.term)
	d.writes++
	return nil, nil
}

// program writes to a device while a controller decides. Its session is lost now and then.
func (c *replica) program(ctx context.Context, d *device, m *cluster.Mandate) error {
	opened, err := cluster.Fence(seam{d, m.Term}, m.Tenure).Open(ctx, inventory.Switch{}, nil)
	if err != nil {
		return err
	}
	defer opened.Close()
	for n := 0; ctx.Err() == nil; n++ {
		time.Sleep(25 * time.Millisecond)
		c.pause() // it does not see then that ctx has ended
		_, err := opened.Write(ctx, nil)
		if err != nil && !errors.Is(err, errNotPrimary) && !errors.Is(err, cluster.ErrMandate) {
			return fmt.Errorf("a write: %w", err)
		}
		if n%4 == 3 {
			d.lose(m.Term)
		}
	}
	return nil
}

// lose interrupts the stream of a term for a while.
func (d *device) lose(term int64) {
	d.mu.Lock()
	var lost []*stream
	for s := range d.streams {
		if s.term == term {
			lost = append(lost, s)
		}
	}
	gap := time.Duration(d.random.Int64N(int64(time.Second)))
	d.mu.Unlock()
	for _, s := range lost {
		s.disconnect()
	}
	time.Sleep(gap)
	for _, s := range lost {
		s.connect()
	}
}
