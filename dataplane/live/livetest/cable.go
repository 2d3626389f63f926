// Package livetest connects embedded switches in memory, for tests and measurements.
package livetest

import (
	"errors"
	"sync"

	"github.com/weft-sdn/weft/dataplane/live"
)

// Cable is a link between two in-memory ports.
type Cable struct {
	A, B live.Port

	mu   sync.RWMutex
	up   bool                     // guarded by mu
	off  [2]bool                  // guarded by mu; an end is disabled
	to   [2]func(frames [][]byte) // guarded by mu; where each end delivers, nil: nowhere
	link [2]func(up bool)         // guarded by mu; whom each end tells, nil: nobody
}

// NewCable makes a link and sets it up. The link delivers frames sent into one end at once, on the
// sender's goroutine, into the queue at the far end. A full queue there, or a link that is down,
// drops the frames.
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
	c.tell()
}

// tell reports the link to both ends. The caller holds c.mu.
func (c *Cable) tell() {
	for _, tell := range c.link {
		if tell != nil {
			tell(c.passes())
		}
	}
}

// passes reports whether the link is up. The caller holds c.mu.
func (c *Cable) passes() bool { return c.up && !c.off[0] && !c.off[1] }

type cableEnd struct {
	cable *Cable
	side  int
}

func (e *cableEnd) Attach(deliver func(frames [][]byte), link func(up bool)) {
	e.cable.mu.Lock()
	defer e.cable.mu.Unlock()
	e.cable.to[e.side], e.cable.link[e.side] = deliver, link
	if link != nil && !e.cable.passes() {
		link(false)
	}
}

// SetEnabled implements [live.Configurable].
func (e *cableEnd) SetEnabled(enabled bool) error {
	e.cable.mu.Lock()
	defer e.cable.mu.Unlock()
	e.cable.off[e.side] = !enabled
	e.cable.tell()
	return nil
}

// SetMTU implements [live.Configurable]: a cable in memory carries frames of any length.
func (e *cableEnd) SetMTU(int) error { return errors.ErrUnsupported }

func (e *cableEnd) Send(frames [][]byte) (taken, octets int) {
	e.cable.mu.RLock()
	defer e.cable.mu.RUnlock()
	deliver := e.cable.to[1-e.side]
	if !e.cable.passes() || deliver == nil {
		return 0, 0
	}
	deliver(frames)
	for _, f := range frames {
		octets += len(f)
	}
	return len(frames), octets
}

func (e *cableEnd) Close() error {
	e.Attach(nil, nil)
	return nil
}
