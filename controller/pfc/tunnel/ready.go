package tunnel

import (
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// Ready has the tasks that a [Core] wants done. The caller that takes a Ready does all tasks.
type Ready struct {
	// Nodes may have another [Core.Node] than before, in order.
	Nodes []topology.NodeID
	// Probes must be sent; those that come back go to Core.Answered.
	Probes []Probe
	// Queries ask for the state of queues, which goes to Core.Report.
	Queries []Queue
	// Policies are SRv6 policies and PFC policies whose status may have changed.
	Policies []string
	// Events are for people.
	Events []Event
}

// Empty reports whether there is nothing to do.
func (r *Ready) Empty() bool {
	return len(r.Nodes)+len(r.Probes)+len(r.Queries)+len(r.Policies)+len(r.Events) == 0
}

// Probe goes from a node by a segment list to the far end of a tunnel, whose
// cross-connect sends it back.
type Probe struct {
	From topology.NodeID
	// First is the node of the first of SIDs.
	First topology.NodeID
	// Source is the address of From. SIDs is the list on the wire, without the last SID, which belongs
	// to From.
	Source netip.Addr
	SIDs   []netip.Addr
	// Cookie names what the tunnel measures, Seq the probe.
	Cookie, Seq uint32
}

// Event reports that something changed.
type Event struct {
	Type    api.EventType
	Object  string // name of the policy, or a tunnel's ends
	Message string
}

func (c *Core) event(t api.EventType, object, message string) {
	c.out.Events = append(c.out.Events, Event{t, object, message})
}

// Report is what a switch reports about a queue. Ages are before now, -1 for never.
type Report struct {
	Paused                          bool
	PausedFor                       time.Duration
	Held, MaxHeld                   uint64 // octets
	XOFFReceived, XONReceived       uint64
	XOFFSent, XONSent               uint64
	Dropped, Storms                 uint64
	Storm                           bool // one is on
	XOFFSentAge, XONSentAge         time.Duration
	XOFFReceivedAge, XONReceivedAge time.Duration
}
