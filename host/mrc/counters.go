package mrc

// Counters of a host, since it was made.
type Counters struct {
	FramesReceived, OctetsReceived uint64
	FramesSent, OctetsSent         uint64
	NoPath                         uint64 // answers to endpoint requests not sent for lack of a path
	Refused                        Refusals
}

// QPCounters of a queue pair, since it was created.
type QPCounters struct {
	// Requester.
	RequestsSent   uint64 // packets, retransmissions included
	RequestsResent uint64 // packets sent before
	PayloadSent    uint64 // octets, retransmissions included
	AcksReceived   uint64 // transport ACKs that acknowledge something new
	NAKsReceived   uint64
	SACKsReceived  uint64
	NACKsReceived  uint64
	// ResourceNACKsReceived counts the NACKs in NACKsReceived for lack of a resource at the responder:
	// NO_BITMAP, NO_PKT_BUFFER, NO_RESOURCE.
	ResourceNACKsReceived uint64
	PenaltiesReceived     uint64 // SACKs with rcv_cwnd_pen above 0
	Timeouts              uint64 // Local ACK Timeouts, of packets and of transport ACKs
	SACKLosses            uint64 // packets found lost by SACKs
	ProbeLosses           uint64 // packets found lost by answers to probes
	ResendsSaved          uint64 // packets found lost that arrived before they were sent again
	AckProbes             uint64 // packets sent again only for their transport ACK
	ProbesSent            uint64 // reliability probes
	ProbesAnswered        uint64
	ProbesLost            uint64 // not answered within the Local ACK Timeout
	ProbesUnknown         uint64 // answers to probes that nobody waits for
	EVMismatch            uint64 // answers with another entropy value than the packet had
	CCStatesUnknown       uint64 // SACKs with a congestion control state of another kind than NSCC
	MPRUnset              uint64 // SACKs without mpr though both ends support dynamic MPR

	// Responder.
	RequestsReceived uint64 // packets executed, each once
	PayloadReceived  uint64 // octets written
	Duplicates       uint64
	Trimmed          uint64
	MaxOOO           int // greatest rx_ooo_count
	CEReceived       uint64
	SACKsSent        uint64
	NACKsSent        uint64
	// ResourceNACKsSent counts the NACKs in NACKsSent with a reason from QPConfig.Admit.
	ResourceNACKsSent uint64
	PenaltiesSent     uint64 // SACKs with rcv_cwnd_pen above 0
	AcksSent          uint64
	NAKsSent          uint64
	NoPath            uint64 // answers not sent for lack of a path
}
