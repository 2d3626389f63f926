package live

import (
	"sync"
)

// Port is one port of a switch: where its frames go, and where frames come
// from.
type Port interface {
	// Attach tells the port where to deliver the frames that arrive. deliver
	// copies the frame, never blocks and may be called from any goroutine.
	// Attach is called once, before the first Send.
	Attach(deliver func(frame []byte))
	// Send transmits a frame, which is valid only during the call. It must
	// not block: it reports false for a frame it had to drop.
	Send(frame []byte) bool
	// Close releases the port and ends its deliveries: none is under way or
	// follows when it returns.
	Close() error
}

// Cable is a link between two in-memory ports.
type Cable struct {
	A, B Port

	mu sync.RWMutex
	up bool                  // guarded by mu
	to [2]func(frame []byte) // guarded by mu; where each end delivers, nil: nowhere
}

// NewCable makes a link that is up. A frame sent into one end is delivered at
// once, on the sender's goroutine, into the queue of whatever the other end is
// attached to; a full queue there, or a link that is down, drops it.
func NewCable() *Cable {
	c := &Cable{up: true}
	c.A, c.B = &cableEnd{c, 0}, &cableEnd{c, 1}
	return c
}

// SetUp cuts the link or restores it.
func (c *Cable) SetUp(up bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.up = up
}

type cableEnd struct {
	cable *Cable
	side  int
}

func (e *cableEnd) Attach(deliver func(frame []byte)) {
	e.cable.mu.Lock()
	defer e.cable.mu.Unlock()
	e.cable.to[e.side] = deliver
}

func (e *cableEnd) Send(frame []byte) bool {
	e.cable.mu.RLock()
	defer e.cable.mu.RUnlock()
	deliver := e.cable.to[1-e.side]
	if !e.cable.up || deliver == nil {
		return false
	}
	deliver(frame)
	return true
}

func (e *cableEnd) Close() error {
	e.Attach(nil)
	return nil
}
