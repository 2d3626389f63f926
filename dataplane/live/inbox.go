package live

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// inbox queues frames and control calls for the switch's goroutine. Frames have a bounded queue per
// port, so a flood on one port starves no other port.
type inbox struct {
	wake  chan struct{} // has a token while something may wait
	ports []*portQueue  // by number; not changed after newInbox
	// what the switch's goroutine waits in when it is not for wake alone; nil: there is none. Not
	// changed once ports deliver.
	poller *poller

	mu     sync.Mutex
	closed bool    // guarded by mu
	calls  []*call // guarded by mu
}

// portQueue holds the waiting frames of a port: the port fills one batch while the switch's
// goroutine works on the other batch. The two change places, so each frame is copied once and many
// frames are handed over at a time.
type portQueue struct {
	port    uint32
	limit   int          // frames
	waiting atomic.Int64 // frames

	mu      sync.Mutex
	filled  frames // guarded by mu
	dropped uint64 // guarded by mu
	closed  bool   // guarded by mu

	hand  frames // of the switch's goroutine, as is taken
	taken int    // of hand
}

// maxWaiting bounds the octets that a port fills in before the switch's
// goroutine takes them.
const maxWaiting = 4 << 20

// call is a control call: exactly one of run and refuse happens.
type call struct {
	f    func(now time.Duration)
	step func(now time.Duration) (done bool) // in place of f: called until it is done
	done chan struct{}                       // closed when f has run or never will
	ran  bool                                // valid after done

	begun bool // guarded by the inbox's mu; step has been called
}

// newInbox makes a queue of limit frames for each port; ports must be in order.
func newInbox(ports []uint32, limit int) *inbox {
	b := &inbox{wake: make(chan struct{}, 1)}
	for _, p := range ports {
		b.ports = append(b.ports, &portQueue{port: p, limit: limit})
	}
	return b
}

func (b *inbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
	if b.poller != nil {
		b.poller.wake()
	}
}

// put queues copies of frames of a port, and drops frames when there is no room.
func (b *inbox) put(q *portQueue, frames [][]byte) {
	if q.put(frames) {
		b.signal()
	}
}

// put reports whether it queued anything.
func (q *portQueue) put(frames [][]byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	room := q.limit - int(q.waiting.Load())
	n := 0
	for _, f := range frames {
		if n >= room || len(q.filled.octets) >= maxWaiting || q.closed {
			break
		}
		q.filled.append(f)
		n++
	}
	q.dropped += uint64(len(frames) - n)
	q.waiting.Add(int64(n))
	return n > 0
}

// next takes the frame that has waited longest. It is valid until the call after
// next, and belongs to the switch's goroutine.
func (q *portQueue) next() (frame []byte, ok bool) {
	if q.waiting.Load() == 0 {
		return nil, false
	}
	if q.taken == q.hand.len() {
		q.hand.clear()
		q.taken = 0
		q.mu.Lock()
		q.hand, q.filled = q.filled, q.hand
		q.mu.Unlock()
	}
	frame = q.hand.at(q.taken)
	q.taken++
	q.waiting.Add(-1)
	return frame, true
}

// drops returns how many frames were dropped.
func (q *portQueue) drops() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

func (q *portQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

// putCall queues a control call; false after close.
func (b *inbox) putCall(c *call) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.calls = append(b.calls, c)
	b.signal()
	return true
}

// again queues an unfinished call, behind the waiting calls. It is called by the switch's
// goroutine, which closes the inbox.
func (b *inbox) again(c *call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.begun = true
	b.calls = append(b.calls, c)
	b.signal()
}

// withdraw takes a call back that no one waits for any more; false when it is
// too late.
func (b *inbox) withdraw(c *call) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.calls, c)
	if i < 0 || c.begun {
		return false
	}
	b.calls = slices.Delete(b.calls, i, i+1)
	return true
}

// takeCalls moves the calls that wait to calls.
func (b *inbox) takeCalls(calls []*call) []*call {
	b.mu.Lock()
	defer b.mu.Unlock()
	calls = append(calls[:0], b.calls...)
	clear(b.calls) // a call holds its request, which may be large
	b.calls = b.calls[:0]
	return calls
}

// some reports whether frames wait.
func (b *inbox) some() bool {
	for _, q := range b.ports {
		if q.waiting.Load() > 0 {
			return true
		}
	}
	return false
}

// close refuses later input and returns the calls that wait.
func (b *inbox) close() []*call {
	for _, q := range b.ports {
		q.close()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	calls := b.calls
	b.calls = nil
	return calls
}
