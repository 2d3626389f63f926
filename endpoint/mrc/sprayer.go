package mrc

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// Sprayer chooses the path of every packet of one queue pair, from the entropy values of its
// profile (OCP MRC 1.0, §9.3), and learns what became of it. No call may call back into the queue
// pair.
type Sprayer interface {
	// Take reports which of the ports that are free a data packet may take now. It is asked before
	// Next is asked for data, with the ports that lead to the peer and are busy: a queue pair waits
	// for one of these when it may take none of the free ones, which are left to other queue pairs.
	// It returns one of the free ports at least when none is busy and there is a path by one.
	Take(free, busy packet.PortMask) packet.PortMask
	// SetWindow sets how many packets the congestion window holds, 1 at least. The queue pair calls it
	// when that has changed, before Take.
	SetWindow(packets int)
	// Next chooses the path of the packet that is sent now. ports are those that could take it; a
	// path by another one must not be chosen. ok is false when there is no path by these ports: a
	// data packet then waits until the ports change, an answer is dropped and counted.
	Next(now time.Duration, use Use, ports packet.PortMask) (p Path, ok bool)
	// Feedback reports the fate of a packet sent by a path of Next or Probe. Of several
	// signals on one packet the first may be wrong: what was thought lost may still arrive.
	Feedback(now time.Duration, id PathID, s Signal)
	// Probe gives a path in doubt that is to be probed now by a reliability probe, if one is due.
	// The queue pair asks while it has work, and answers with SignalProbeOK, SignalProbeMarked or
	// SignalProbeLost.
	Probe(now time.Duration, ports packet.PortMask) (p Path, ok bool)
	// NextProbe is when a probe is due; ok is false when no path is in doubt. A time in the past
	// means that Probe had no port for it.
	NextProbe() (at time.Duration, ok bool)
}

// Timed is a Sprayer that learns from how long packets take.
type Timed interface {
	// Took reports the time from a packet, which was sent once, to the news that it has arrived. It
	// comes before the Feedback of that.
	Took(id PathID, d time.Duration)
}

// Use is the kind of a packet, as far as it matters to a Sprayer.
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
	// into UDP source port and flow label; comes back in SACKs and NACKs. With a Route, that of the
	// inner header.
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

// RoundRobin is a Sprayer that takes its paths in turn whatever becomes of packets. It never
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

// Take is all ports that are free.
func (*RoundRobin) Take(free, _ packet.PortMask) packet.PortMask { return free }

// SetWindow does nothing.
func (*RoundRobin) SetWindow(int) {}

// Feedback does nothing.
func (*RoundRobin) Feedback(time.Duration, PathID, Signal) {}

// Probe has none.
func (*RoundRobin) Probe(time.Duration, packet.PortMask) (Path, bool) { return Path{}, false }

// NextProbe has none.
func (*RoundRobin) NextProbe() (time.Duration, bool) { return 0, false }
