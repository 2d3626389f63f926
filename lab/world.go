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
	// receive takes a frame that arrives. The buffer of the frame goes to the node, which returns
	// another buffer, or the same one.
	receive(now time.Duration, port uint32, frame []byte) (buffer []byte)
	advance(now time.Duration) (next time.Duration, pending bool)
	alarm() *alarm
}

// An alarm is the next time a node wants to be advanced.
type alarm struct {
	at   time.Duration
	set  bool
	node node
}

// happen advances the node, unless the node has asked for another time since.
func (a *alarm) happen(w *World, at time.Duration) {
	if a.set && a.at == at {
		a.set = false
		w.wake(a.node)
	}
}

// An event is something that happens at a time.
type event struct {
	at    time.Duration
	order uint64
	what  happening
}

// A happening is the next frame of a wire, a node to advance (an alarm), or a function to call.
type happening interface {
	happen(w *World, at time.Duration)
}

// A call is a function to call.
type call func()

func (c call) happen(*World, time.Duration) { c() }

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
	w.schedule(max(at, w.now), call(f))
}

// After calls f after d.
func (w *World) After(d time.Duration, f func()) { w.At(w.now+d, f) }

func (w *World) schedule(at time.Duration, what happening) {
	w.push(event{at, w.number(), what})
}

func (w *World) push(e event) { heap.Push(&w.events, e, (*event).before) }

// number numbers events, and the frames on wires.
func (w *World) number() uint64 {
	w.count++
	return w.count
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
	e.what.happen(w, e.at)
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
	*a = alarm{next, true, n}
	w.schedule(next, a)
}

// copyFrame copies a frame into a buffer of the world's own.
func (w *World) copyFrame(frame []byte) []byte { return append(w.buffer()[:0], frame...) }

// keep keeps a buffer for a later frame.
func (w *World) keep(b []byte) { w.free = append(w.free, b) }

// buffer returns a buffer of the world's own.
func (w *World) buffer() (b []byte) {
	if last := len(w.free) - 1; last >= 0 {
		b, w.free = w.free[last], w.free[:last]
	}
	return b
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
