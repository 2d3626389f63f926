package lab

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weft-sdn/weft/internal/heap"
	"github.com/weft-sdn/weft/topology/static"
)

// A World runs a network: a queue of events in order of time. It is single-threaded: a single
// goroutine calls all methods of the World and of its hosts and switches (in real time: through
// Do).
type World struct {
	Network Network

	described *static.Topology // the network, as its switches advertise it

	now     time.Duration
	carrier bool          // Options.Carrier
	slipped time.Duration // by which now is behind the real clock; 0 in virtual time
	events  []event       // a heap
	count   uint64        // events so far: orders those of one time
	rng     *rand.Rand
	taps    []Tap
	free    [][]byte // frame buffers

	flows    uint32 // of all meshes so far
	wires    []*Wire
	switches map[string]*SwitchNode
	hosts    map[string]*HostNode
	mrc      map[string]*MRCNode
}

// A node is something at the end of wires.
type node interface {
	receive(now time.Duration, port uint32, frame []byte)
	advance(now time.Duration) (next time.Duration, pending bool)
	alarm() *alarm
}

// An alarm is the next time a node wants to be advanced.
type alarm struct {
	at  time.Duration
	set bool
}

// An event is a frame that arrives, a node to advance, or a function to call.
type event struct {
	at    time.Duration
	order uint64
	wire  *Wire // frame arrives
	frame []byte
	cut   uint64
	node  node // advance
	call  func()
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.order < o.order }

// Slipped is the time by which a world in real time has fallen behind the real clock: the machine
// was too slow, or had something else to do. In virtual time it is 0.
func (w *World) Slipped() time.Duration { return w.slipped }

// Now is the time since the world began.
func (w *World) Now() time.Duration { return w.now }

// Rand is the world's source of randomness; all faults draw from it.
func (w *World) Rand() *rand.Rand { return w.rng }

// AddTap lets a tap see all frames from now on.
func (w *World) AddTap(t Tap) { w.taps = append(w.taps, t) }

// RemoveTap ends that.
func (w *World) RemoveTap(t Tap) {
	w.taps = slices.DeleteFunc(slices.Clone(w.taps), func(o Tap) bool { return o == t })
}

// At calls f when the time has come; a time that is over is now.
func (w *World) At(at time.Duration, f func()) {
	w.schedule(event{at: max(at, w.now), call: f})
}

// After calls f after d.
func (w *World) After(d time.Duration, f func()) { w.At(w.now+d, f) }

func (w *World) schedule(e event) {
	w.count++
	e.order = w.count
	heap.Push(&w.events, e, (*event).before)
}

// Run processes events until done says so or the virtual time limit is reached, and reports
// whether done did. A nil done never says so.
func (w *World) Run(limit time.Duration, done func() bool) bool {
	for {
		if done != nil && done() {
			return true
		}
		if len(w.events) == 0 || w.events[0].at > limit {
			w.now = max(w.now, limit)
			return false
		}
		w.step()
	}
}

func (w *World) step() {
	e := heap.Pop(&w.events, (*event).before)
	w.now = max(w.now, e.at)
	switch {
	case e.wire != nil:
		e.wire.arrive(w.now, e.frame, e.cut)
		w.free = append(w.free, e.frame)
	case e.node != nil:
		a := e.node.alarm()
		if a.set && a.at == e.at {
			a.set = false
			w.wake(e.node)
		}
	default:
		e.call()
	}
}

// wake advances a node, and schedules the next advance that the node asks for. Callers wake a node
// after every action on it.
func (w *World) wake(n node) {
	next, pending := n.advance(w.now)
	a := n.alarm()
	if !pending {
		a.set = false
		return
	}
	next = max(next, w.now)
	if a.set && a.at == next {
		return
	}
	a.at, a.set = next, true
	w.schedule(event{at: next, node: n})
}

// copyFrame copies a frame into a buffer of the world's own.
func (w *World) copyFrame(frame []byte) []byte {
	var b []byte
	if last := len(w.free) - 1; last >= 0 {
		b, w.free = w.free[last], w.free[:last]
	}
	return append(b[:0], frame...)
}

// Host returns the RoCEv2 host of a name.
func (w *World) Host(name string) (*HostNode, error) {
	if h, ok := w.hosts[name]; ok {
		return h, nil
	}
	return nil, fmt.Errorf("host %q: %w", name, ErrUnknown)
}

// MRCHost returns the MRC host of a name.
func (w *World) MRCHost(name string) (*MRCNode, error) {
	if h, ok := w.mrc[name]; ok {
		return h, nil
	}
	return nil, fmt.Errorf("MRC host %q: %w", name, ErrUnknown)
}

// Switch returns the switch of a name.
func (w *World) Switch(name string) (*SwitchNode, error) {
	if s, ok := w.switches[name]; ok {
		return s, nil
	}
	return nil, fmt.Errorf("switch %q: %w", name, ErrUnknown)
}

// Wires returns all wires, two a link, in the order of the network's links.
func (w *World) Wires() []*Wire { return w.wires }

// Wire returns the direction from a to b of the first link between them.
func (w *World) Wire(a, b string) (*Wire, error) {
	for _, x := range w.wires {
		if x.From == a && x.To == b {
			return x, nil
		}
	}
	return nil, fmt.Errorf("link %s-%s: %w", a, b, ErrUnknown)
}
