package mrc

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// Sprayer chooses the path of every packet of a queue pair from the entropy values of its profile
// (OCP MRC 1.0, §9.3), and gets feedback on each packet. No method may call the queue pair.
type Sprayer interface {
	// Take returns the free ports that a data packet may use now. The queue pair calls Take before
	// Next for data, and also passes the busy ports with a path to the peer. If Take returns no port,
	// the queue pair waits for a busy port and leaves the free ports to other queue pairs. If no port
	// is busy and a free port has a path, Take returns at least one free port.
	Take(free, busy packet.PortMask) packet.PortMask
	// SetWindow sets the congestion window in packets, at least 1. The queue pair calls SetWindow
	// after a change of the window, before Take.
	SetWindow(packets int)
	// Next chooses the path of the packet to send now, by one of ports only. ok is false if no path
	// uses these ports: then a data packet waits until the ports change, and the host drops and counts
	// an answer.
	Next(now time.Duration, use Use, ports packet.PortMask) (p Path, ok bool)
	// Feedback reports the fate of a packet sent by a path of Next or Probe. A packet may get several
	// signals, because a packet taken for lost may still arrive.
	Feedback(now time.Duration, id PathID, s Signal)
	// Probe returns a doubtful path due for a reliability probe now, if any. The queue pair calls
	// Probe while it has work, and reports SignalProbeOK, SignalProbeMarked or SignalProbeLost.
	Probe(now time.Duration, ports packet.PortMask) (p Path, ok bool)
	// NextProbe returns the time of the next probe; ok is false if no path is doubtful. A time in the
	// past means that Probe had no port for the path.
	NextProbe() (at time.Duration, ok bool)
}

// Timed is a Sprayer that learns from how long packets take.
type Timed interface {
	// Took reports the time from sending a packet, sent once only, to its acknowledgement. The queue
	// pair calls Took before Feedback.
	Took(id PathID, d time.Duration)
}

// Repeater is a Sprayer that lets packets follow each other by one path (Config.Burst).
type Repeater interface {
	// Again reports whether another data packet may take a path of Next, and notes the packet.
	Again(id PathID) bool
}

// Use is the kind of packet, as a Sprayer distinguishes kinds.
type Use uint8

// Uses of a path.
const (
	UseData    Use = iota // WRITE requests; SACKs and NACKs say what became of them
	UseControl            // SACK, NACK, ACK: nobody answers, so no Feedback comes
	UseProbe              // a reliability probe sent by the queue pair for itself
)

// PathID is a Sprayer's own name for a path.
type PathID uint16

// Path is where a packet is sent: its entropy value and its port.
type Path struct {
	ID PathID
	// into UDP source port and flow label; comes back in SACKs and NACKs. With a Route, the inner
	// header carries EV.
	EV   packet.EV
	Port int // of the host, 1 to packet.MaxPort
	// Route, if not nil, is the outer header of source routing by SRv6. It is shared and never
	// changes.
	Route *Route
}

// Route is the outer IPv6 header that takes a packet along a path (OCP MRC 1.0, §9.2).
type Route struct {
	Dst netip.Addr  // destination of the outer header: a uSID container
	SRH *packet.SRH // the rest of the path, at most one; nil for none
}

// Signal is the outcome of a packet.
type Signal uint8

// Signals.
const (
	SignalArrived Signal = iota // SACKed, not marked
	SignalMarked                // SACKed with m = skip once: marked Congestion Experienced
	// SACKed with m = always skip: the responder knows that the path is bad
	SignalBad
	SignalTrimmed // NACK TRIMMED
	// NACK TRIMMED_LASTHOP: congestion at the destination, not of the path
	SignalTrimmedLastHop
	SignalRefused     // NACK for another reason: the path is innocent
	SignalLost        // SACKs say that it is lost
	SignalTimeout     // its Local ACK Timeout expired
	SignalProbeOK     // a probe was answered, not marked
	SignalProbeMarked // a probe was answered with m = skip once
	SignalProbeLost   // a probe was not answered in time

	signals // number of signals
)

var signalNames = [signals]string{
	"arrived", "marked", "bad", "trimmed", "trimmed at the last hop", "refused", "lost", "timeout",
	"probe answered", "probe marked", "probe lost",
}

// String names the signal.
func (s Signal) String() string {
	if s < signals {
		return signalNames[s]
	}
	return fmt.Sprintf("signal %d", uint8(s))
}

// RoundRobin is a Sprayer that takes its paths in turn, and ignores feedback. RoundRobin never
// probes.
type RoundRobin struct {
	paths []Path
	turn  int
}

// NewRoundRobin makes a Sprayer of paths, whose ID becomes their index.
func NewRoundRobin(paths ...Path) *RoundRobin {
	r := &RoundRobin{paths: make([]Path, len(paths))}
	for i, p := range paths {
		p.ID = PathID(i)
		r.paths[i] = p
	}
	return r
}

// Next is the next path by one of the ports.
func (r *RoundRobin) Next(_ time.Duration, _ Use, ports packet.PortMask) (Path, bool) {
	for range r.paths {
		if r.turn++; r.turn >= len(r.paths) {
			r.turn = 0
		}
		if p := r.paths[r.turn]; ports.Has(p.Port) {
			return p, true
		}
	}
	return Path{}, false
}

// Take returns all free ports.
func (*RoundRobin) Take(free, _ packet.PortMask) packet.PortMask { return free }

// SetWindow does nothing.
func (*RoundRobin) SetWindow(int) {}

// Feedback does nothing.
func (*RoundRobin) Feedback(time.Duration, PathID, Signal) {}

// Probe has none.
func (*RoundRobin) Probe(time.Duration, packet.PortMask) (Path, bool) { return Path{}, false }

// NextProbe has none.
func (*RoundRobin) NextProbe() (time.Duration, bool) { return 0, false }
