package gnmi

import (
	"net/netip"
	"time"
)

// Priorities is the number of priorities of PFC (IEEE 802.1Qbb).
const Priorities = 8

// Sample holds the counts of a switch port, or of the switch's SIDs, at one moment. All counts are
// totals since an unknown start. A switch may reset the counts, and an interface of 32 bits may
// wrap.
type Sample struct {
	// Switch is the name of the switch in the inventory, Port the P4Runtime port; 0: 0: no port, the
	// sample has SIDs alone.
	Switch string
	Port   uint32
	// Interface is the name that the switch gives the port.
	Interface string
	// Time is when the switch counted, by the switch's clock; zero when the switch gave no time.
	Time time.Time
	// Arrived is when the sample was complete, by the controller's clock.
	Arrived time.Time

	In, Out Traffic
	// Queues are ordered by Name. A sample without queues has none: the switch does not count them.
	Queues []Queue
	// PFC are the PFC frames of each priority.
	PFC [Priorities]PFC
	// SIDs lists the local SIDs that the switch counts, ordered by Prefix.
	SIDs []SID
}

// SID is a local SID of a switch.
type SID struct {
	Prefix netip.Prefix
	// Packets and Octets went by the SID.
	Packets, Octets Count
}

// Count is a count that a switch may not report.
type Count struct {
	Value uint64
	// OK reports that the sample has the count. The switch did not report it otherwise, and Value is
	// 0.
	OK bool
}

// Traffic is what crossed a port in one direction.
type Traffic struct {
	Octets Count
	// Packets are the packets of all kinds. Where the switch only counts unicast, multicast and
	// broadcast packets, it is their sum.
	Packets, Unicast, Multicast, Broadcast Count
	// Errors counts packets dropped because they were malformed, Discards packets dropped for any
	// other reason.
	Errors, Discards Count
}

// Queue is a queue of a port that packets leave by.
type Queue struct {
	// Name is the name that the switch gives the queue: a number for most.
	Name string
	// Packets and Octets were transmitted. DroppedPackets and DroppedOctets found no room.
	Packets, Octets               Count
	DroppedPackets, DroppedOctets Count
	// Longest is the greatest length of the queue, in octets, since the switch began to watch it.
	Longest Count
	// Marked packets got the ECN codepoint CE; Trimmed ones lost their payload.
	Marked, Trimmed Count
}

// PFC counts the PFC frames of a priority.
type PFC struct {
	// In frames were received, and Out frames sent, that name the priority.
	In, Out Count
}

// Samples receives the samples of one switch's ports, all samples of an interval at once if the
// switch reports them together. Samples must return at once and must not keep the slice, because
// the switch's gNMI stream waits for the call.
type Samples func(batch []Sample)
