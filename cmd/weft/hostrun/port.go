package hostrun

// Port is where a host's frames go and come from; live.Port is one.
type Port interface {
	Attach(deliver func(frames [][]byte), link func(up bool))
	Send(frames [][]byte) (taken, octets int)
	Close() error
}

// Send sends a frame by a port, and counts it if the port does not take it.
func (r *Runner) Send(p Port, octets []byte) {
	r.one[0] = octets
	if taken, _ := p.Send(r.one[:]); taken == 0 {
		r.refused++
	}
}

// frame is one that was received.
type frame struct {
	port   int
	octets []byte
}

// Deliver queues copies of frames that came by a port. It is called from the port's goroutine.
func (r *Runner) Deliver(port int, frames [][]byte) {
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
