package live

import "net"

// Port is one port of a switch: where its frames go, and where frames come
// from.
type Port interface {
	// Attach sets where the port delivers the frames that arrive, in their
	// order, and whom to tell of its link; it has one until link says
	// otherwise. deliver copies the frames. Neither blocks, and both may be
	// called from any goroutine. Attach is called once, before the first
	// Send.
	Attach(deliver func(frames [][]byte), link func(up bool))
	// Send transmits frames, which are valid only during the call, from one
	// goroutine at a time. It must not block: it drops what it cannot take,
	// and returns how many frames, with how many octets, it took.
	Send(frames [][]byte) (taken, octets int)
	// Close releases the port and ends its deliveries: none is under way or
	// follows when it returns.
	Close() error
}

// Polled is a Port that, with a descriptor, delivers frames only when the switch asks: no frame is
// copied for the switch, and no goroutine woken.
type Polled interface {
	// Poll delivers at most some tens of the frames that have arrived, and reports whether any had.
	Poll() bool
	// Descriptor is a file descriptor that is readable when Poll has frames to deliver; -1: the port
	// delivers by itself.
	Descriptor() int
}

// Losses counts frames that arrived at a port and never came to the switch.
// A Port that knows of any has a method Losses.
type Losses struct {
	Overrun  uint64 // there was no room for them
	Oversize uint64 // longer than the port's link has them
}

type losing interface{ Losses() Losses }

// Details has a Port's facts about its link. Unknown numbers are 0. A Port with such facts has a
// method Details.
type Details struct {
	MAC   net.HardwareAddr
	MTU   int    // octets of the longest frame, from its Ethernet header on
	Speed uint64 // bits a second
}

type detailed interface{ Details() Details }

// Configurable is a Port whose link can be changed. Its methods may be called from any goroutine;
// an error that wraps errors.ErrUnsupported says that the port has no such setting.
type Configurable interface {
	// SetEnabled takes the port's end of its link down, or up again.
	SetEnabled(enabled bool) error
	// SetMTU changes Details.MTU.
	SetMTU(octets int) error
}

// as finds an interface that a port implements beside Port, in front of a tap or behind it.
func as[T any](p Port) (T, bool) {
	for {
		if t, ok := p.(T); ok {
			return t, true
		}
		w, ok := p.(interface{ Unwrap() Port })
		if !ok {
			var none T
			return none, false
		}
		p = w.Unwrap()
	}
}
