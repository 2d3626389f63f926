package live

import "sync/atomic"

// outbox gathers the frames that leave by a port, to be sent many at a time. It
// belongs to the switch's goroutine; the counts can be read from any.
type outbox struct {
	port  Port
	held  frames
	views [][]byte // of held, while they are sent

	sent, octets, dropped atomic.Uint64
}

// Limits at which an outbox sends.
const (
	outFrames = 64
	outOctets = 256 << 10
)

// put takes a frame, and reports whether the outbox was empty before.
func (o *outbox) put(frame []byte) (first bool) {
	first = o.held.len() == 0
	o.held.append(frame)
	if o.held.len() >= outFrames || len(o.held.octets) >= outOctets {
		o.flush()
	}
	return first
}

// flush sends the frames that are held.
func (o *outbox) flush() {
	n := o.held.len()
	if n == 0 {
		return
	}
	for i := range n {
		o.views = append(o.views, o.held.at(i))
	}
	taken, octets := o.port.Send(o.views)
	o.sent.Add(uint64(taken))
	o.octets.Add(uint64(octets))
	o.dropped.Add(uint64(n - taken))
	clear(o.views)
	o.views = o.views[:0]
	o.held.clear()
}
