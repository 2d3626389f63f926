package mrc

import (
	"time"

	"github.com/weft-sdn/weft/packet"
)

// Congestion is the congestion controller of a queue pair, or of several (see Context; OCP MRC 1.0,
// §8.3, the actions of table 8-2). The queue pair does the preprocessing of sections 8.4 and 8.5
// and counts what is in flight (table 8-3), together with other queue pairs that share the
// controller; the controller sets the window. All sizes are octets of nominal_pktsize.
//
// The queue pair may send while Window() > octets in flight, new data and retransmissions alike. No
// call may call back into the queue pair.
type Congestion interface {
	// Window is cwnd in octets.
	Window() int
	// MaxWindow is the greatest value Window can have, in octets. Loss is inferred from no more
	// reordering than that.
	MaxWindow() int
	// NextSend is the time before which no packet may leave, whatever the window: a window of less
	// than a packet lets one leave in several round trips.
	NextSend() time.Duration

	// OnNewData reports posted work: backlog is the octets of its packets.
	OnNewData(now time.Duration, backlog int)
	// OnSend reports a packet that was sent, for the first time or again.
	OnSend(Sent)
	// OnSACK reports a SACK, which may answer a reliability probe.
	OnSACK(SACK)
	// OnNACK reports a NACK of any reason.
	OnNACK(NACK)
	// OnLoss reports a packet that counts as lost after a timeout or by the evidence of SACKs.
	OnLoss(Loss)
}

// A Context is a congestion controller shared by several queue pairs from a host to a destination
// (OCP MRC 1.0, §8.3: a QPCC manages a subset of the queue pairs to a destination). Pass the
// Context to each queue pair as its Congestion. A single window bounds the octets in flight of all
// queue pairs together, and the queue pairs take turns to send. The Context gets the feedback of
// all queue pairs.
type Context struct {
	Congestion
	inFlight int64 // of all queue pairs; table 8-3
}

// NewContext makes a context of a congestion controller that no queue pair has.
func NewContext(c Congestion) *Context { return &Context{Congestion: c} }

// InFlight returns the octets in flight of all queue pairs of the context.
func (c *Context) InFlight() int { return int(max(0, c.inFlight)) }

// open reports whether the window lets a packet leave.
func (c *Context) open() bool { return int64(c.Window()) > c.inFlight }

// contextOf returns the context of a congestion controller; a controller without a context gets a
// new context.
func contextOf(c Congestion) *Context {
	if shared, ok := c.(*Context); ok {
		return shared
	}
	return NewContext(c)
}

// Sent describes a sent packet.
type Sent struct {
	Now            time.Duration
	Size           int // octets
	InFlight       int // octets, this packet included
	Retransmission bool
}

// SACK has the congestion fields of a SACK.
type SACK struct {
	Now time.Duration
	// octets received that no SACK told of before: what rcvd_bytes has grown by; 0 for a SACK that
	// others overtook
	Newly    int
	InFlight int // octets, Newly taken off
	// of the packet or probe answered, without the responder's service time where that is known
	RTT      time.Duration
	RTTValid bool
	Marked   bool // the packet answered was marked Congestion Experienced
	OOOCount int  // packets received above the cumulative acknowledgement

	Penalty        uint8 // rcv_cwnd_pen, 0 to packet.MaxRcvCwndPenalty
	RestoreCwnd    bool
	Retransmission bool // the packet answered was a retransmission
	Probe          bool // the answer to a reliability probe
}

// NACK has the congestion fields of a NACK.
type NACK struct {
	Now time.Duration
	// octets of the packet refused; 0 when it was acknowledged, or given up as lost, before
	Size     int
	InFlight int // octets, Size taken off
	Reason   packet.NACKReason
	RTT      time.Duration
	RTTValid bool
}

// Loss is a packet thought lost.
type Loss struct {
	Now      time.Duration
	Size     int  // octets
	InFlight int  // octets, Size taken off
	Timeout  bool // its Local ACK Timeout expired; else SACKs say so
}

// FixedWindow is a Congestion whose window never changes, in octets.
type FixedWindow int

// Window is the window.
func (w FixedWindow) Window() int { return int(w) }

// MaxWindow is the window.
func (w FixedWindow) MaxWindow() int { return int(w) }

// NextSend returns a past time: the window alone decides.
func (FixedWindow) NextSend() time.Duration { return 0 }

// OnNewData does nothing.
func (FixedWindow) OnNewData(time.Duration, int) {}

// OnSend does nothing.
func (FixedWindow) OnSend(Sent) {}

// OnSACK does nothing.
func (FixedWindow) OnSACK(SACK) {}

// OnNACK does nothing.
func (FixedWindow) OnNACK(NACK) {}

// OnLoss does nothing.
func (FixedWindow) OnLoss(Loss) {}
