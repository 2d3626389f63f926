package hostrun

import (
	"slices"
	"sync"
	"time"
)

// Port is where a host's frames go and come from; live.Port is one.
type Port interface {
	Attach(deliver func(frames [][]byte), link func(up bool))
	Send(frames [][]byte) (taken, octets int)
	Close() error
}

// Polled is a Port that delivers frames while Poll is called and at no other time.
type Polled interface {
	// Poll reports whether there were any.
	Poll() bool
	// Descriptor returns a file descriptor that is readable when frames have arrived; -1: the runner
	// does not poll the port.
	Descriptor() int
}

// sendBatch is how many frames go to a port at once.
const sendBatch = 64

// outbox holds frames that wait for their port.
type outbox struct {
	port   Port
	link   neighbor
	octets []byte // of the frames
	frames [][]byte
}

// Attach connects a port to the endpoint under a port number: the port delivers frames to the
// endpoint and reports its link to link. The port answers neighbor discovery and ARP as the
// neighbor on; without an address, the port answers nothing.
func (r *Runner) Attach(number int, p Port, on Neighbor, link func(up bool)) {
	deliver := func(frames [][]byte) { r.queue(number, frames) }
	if polled, ok := p.(Polled); ok && polled.Descriptor() >= 0 {
		r.polled = append(r.polled, polled)
		deliver = func(frames [][]byte) { r.handle(number, frames) }
	}
	for len(r.out) < number {
		r.out = append(r.out, outbox{})
	}
	r.out[number-1].port, r.out[number-1].link = p, newNeighbor(on)
	p.Attach(deliver, func(up bool) {
		link(up)
		if up {
			r.cameUp.add(number)
			r.Wake()
		}
	})
}

// cameUp are ports whose link came up, as their goroutines say.
type cameUp struct {
	mu   sync.Mutex
	list []int
}

func (l *cameUp) add(number int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, number)
}

func (l *cameUp) take() (list []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, l.list = l.list, nil
	return list
}

// found reports whether a port has found the switch behind it.
func (r *Runner) found() bool {
	return len(r.out) == 0 || slices.ContainsFunc(r.out, func(o outbox) bool { return o.link.found() })
}

// neighbors sends the frames of each port's link that are due, and returns the time when frames are
// due again.
func (r *Runner) neighbors() (next time.Duration, pending bool) {
	now := r.Now()
	for _, number := range r.cameUp.take() {
		r.out[number-1].link.up(now)
	}
	for i := range r.out {
		frames, at, more := r.out[i].link.advance(now)
		for _, f := range frames {
			r.append(&r.out[i], f)
		}
		if more && (!pending || at < next) {
			next, pending = at, true
		}
	}
	return next, pending
}

// Send sends a frame by a port of the endpoint, at the latest before the runner waits.
func (r *Runner) Send(number int, octets []byte) {
	if number > len(r.out) {
		r.refused++
		return
	}
	if o := &r.out[number-1]; o.link.fill(octets) {
		r.append(o, octets)
	} else {
		r.refused++
	}
}

func (r *Runner) append(o *outbox, octets []byte) {
	start := len(o.octets)
	o.octets = append(o.octets, octets...)
	o.frames = append(o.frames, o.octets[start:])
	if len(o.frames) == sendBatch {
		r.flush(o)
	}
}

// Flush hands to ports what waits for them, and counts what they do not take.
func (r *Runner) Flush() {
	for i := range r.out {
		if len(r.out[i].frames) > 0 {
			r.flush(&r.out[i])
		}
	}
}

func (r *Runner) flush(o *outbox) {
	taken, _ := o.port.Send(o.frames)
	r.refused += uint64(len(o.frames) - taken)
	o.octets, o.frames = o.octets[:0], o.frames[:0]
}

// frame is one that was received.
type frame struct {
	port   int
	octets []byte
}

// queue keeps copies of frames that came by a port. It is called from the port's goroutine.
func (r *Runner) queue(port int, frames [][]byte) {
	for _, octets := range frames {
		var b []byte
		select {
		case b = <-r.spare:
		default:
		}
		select {
		case r.frames <- frame{port, append(b[:0], octets...)}:
		default: // the peer retransmits
			r.dropped.Add(1)
		}
	}
}

// handle handles frames on the runner's goroutine.
func (r *Runner) handle(port int, frames [][]byte) {
	r.last = r.Now()
	r.take(port, frames...)
}

// take hands frames to the endpoint, or answers them.
func (r *Runner) take(port int, frames ...[]byte) {
	o := &r.out[port-1]
	for _, octets := range frames {
		answer, mine := o.link.receive(octets)
		switch {
		case !mine:
			r.batch = append(r.batch, octets)
		case len(answer) > 0:
			r.append(o, answer)
		}
	}
	r.Endpoint.ReceiveAll(r.last, port, r.batch)
	clear(r.batch)
	r.batch = r.batch[:0]
}

// receive handles a frame and those that wait behind it.
func (r *Runner) receive(f frame) {
	for i := 1; ; i++ {
		r.last = r.Now()
		r.take(f.port, f.octets)
		select {
		case r.spare <- f.octets:
		default:
		}
		if i == frameBatch {
			return
		}
		select {
		case f = <-r.frames:
		default:
			return
		}
	}
}
