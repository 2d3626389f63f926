package hostrun

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
	// Descriptor is a file descriptor that is readable when there are frames; -1: the port is not
	// polled.
	Descriptor() int
}

// sendBatch is how many frames go to a port at once.
const sendBatch = 64

// outbox is frames that a port has not got yet.
type outbox struct {
	port   Port
	octets []byte // of the frames
	frames [][]byte
}

// Attach has a port deliver frames to the endpoint, whose port of a number it is from now on, and
// tell link of its link.
func (r *Runner) Attach(number int, p Port, link func(up bool)) {
	deliver := func(frames [][]byte) { r.queue(number, frames) }
	if polled, ok := p.(Polled); ok && polled.Descriptor() >= 0 {
		r.polled = append(r.polled, polled)
		deliver = func(frames [][]byte) { r.handle(number, frames) }
	}
	for len(r.out) < number {
		r.out = append(r.out, outbox{})
	}
	r.out[number-1].port = p
	p.Attach(deliver, link)
}

// Send sends a frame by a port of the endpoint, at the latest before the runner waits.
func (r *Runner) Send(number int, octets []byte) {
	if number > len(r.out) {
		r.refused++
		return
	}
	o := &r.out[number-1]
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
	for _, octets := range frames {
		r.Endpoint.Receive(r.last, port, octets)
	}
}

// receive handles a frame and those that wait behind it.
func (r *Runner) receive(f frame) {
	for i := 1; ; i++ {
		r.last = r.Now()
		r.Endpoint.Receive(r.last, f.port, f.octets)
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
