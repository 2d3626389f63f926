package live

import (
	"slices"
	"sync"
	"time"
)

// inbox is what waits for the switch's goroutine: frames, in a bounded queue a
// port so that a flood on one starves no other, and control calls.
type inbox struct {
	wake chan struct{} // has a token while something may wait

	mu     sync.Mutex
	closed bool                  // guarded by mu
	ports  []*portQueue          // guarded by mu; sorted by port
	byPort map[uint32]*portQueue // not changed after newInbox
	calls  []*call               // guarded by mu
	spare  [][]byte              // guarded by mu; buffers to use again
}

type portQueue struct {
	port    uint32
	frames  [][]byte
	dropped uint64
}

// call is a control call: exactly one of run and refuse happens.
type call struct {
	f    func(now time.Duration)
	done chan struct{} // closed when f has run or never will
	ran  bool          // valid after done
}

// maxSpare bounds the buffers kept for use.
const maxSpare = 1024

func newInbox(ports []uint32) *inbox {
	b := &inbox{wake: make(chan struct{}, 1), byPort: make(map[uint32]*portQueue, len(ports))}
	for _, p := range ports {
		q := &portQueue{port: p}
		b.ports = append(b.ports, q)
		b.byPort[p] = q
	}
	slices.SortFunc(b.ports, func(x, y *portQueue) int { return int(x.port) - int(y.port) })
	return b
}

func (b *inbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// putFrame queues a copy of a frame, or drops it when limit frames of its port
// wait.
func (b *inbox) putFrame(port uint32, frame []byte, limit int) {
	b.mu.Lock()
	q := b.byPort[port]
	if b.closed || len(q.frames) >= limit {
		q.dropped++
		b.mu.Unlock()
		return
	}
	var buf []byte
	if n := len(b.spare); n > 0 {
		buf, b.spare = b.spare[n-1], b.spare[:n-1]
	}
	q.frames = append(q.frames, append(buf[:0], frame...))
	b.mu.Unlock()
	b.signal()
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

// withdraw takes a call back that nobody waits for any more; false when it is
// too late.
func (b *inbox) withdraw(c *call) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.calls, c)
	if i < 0 {
		return false
	}
	b.calls = slices.Delete(b.calls, i, i+1)
	return true
}

// arrival is a frame with its port.
type arrival struct {
	port  uint32
	frame []byte
}

// take moves up to batch frames of every port to frames, one of each port in
// turn, and all calls to calls. It gives back the buffers of the last batch.
func (b *inbox) take(frames []arrival, calls []*call, batch int) ([]arrival, []*call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range frames {
		if len(b.spare) < maxSpare {
			b.spare = append(b.spare, a.frame)
		}
	}
	frames, calls = frames[:0], append(calls[:0], b.calls...)
	b.calls = b.calls[:0]
	for i := range batch {
		some := false
		for _, q := range b.ports {
			if i < len(q.frames) {
				frames = append(frames, arrival{q.port, q.frames[i]})
				some = true
			}
		}
		if !some {
			break
		}
	}
	for _, q := range b.ports {
		n := min(batch, len(q.frames))
		rest := copy(q.frames, q.frames[n:])
		clear(q.frames[rest:])
		q.frames = q.frames[:rest]
		if rest > 0 {
			b.signal()
		}
	}
	return frames, calls
}

// close refuses what comes from now on and returns the calls that wait.
func (b *inbox) close() []*call {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	calls := b.calls
	b.calls = nil
	return calls
}

// drops returns the frames of a port that were dropped.
func (b *inbox) drops(port uint32) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if q := b.byPort[port]; q != nil {
		return q.dropped
	}
	return 0
}
