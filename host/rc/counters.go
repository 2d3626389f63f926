package rc

// Counters of a host, since it was made.
type Counters struct {
	FramesReceived, OctetsReceived uint64
	FramesSent, OctetsSent         uint64
	Refused                        Refusals
}

// QPCounters of a queue pair, since it was created; a reset keeps them.
type QPCounters struct {
	// Requester.
	RequestsSent   uint64 // packets, retransmissions included
	RequestsResent uint64 // packets sent before
	PayloadSent    uint64 // octets, retransmissions included
	AcksReceived   uint64 // acknowledgements of something new
	NAKsReceived   uint64 // sequence NAKs and fatal ones, RNR not included
	RNRsReceived   uint64
	CNPsReceived   uint64
	Rewinds        uint64 // times the requester went back, for a NAK, an RNR NAK or a timeout
	Timeouts       uint64 // Local ACK Timeouts
	GhostAcks      uint64 // acknowledgements of a PSN not sent yet: ignored
	StaleAcks      uint64 // acknowledgements of what was acknowledged before
	MaxRetryRun    uint64 // longest run of retries (sequence NAKs and timeouts) without progress
	MaxRNRRun      uint64 // longest run of RNR NAKs without progress

	// Responder.
	RequestsReceived uint64 // packets executed, each once
	PayloadReceived  uint64 // octets written
	Duplicates       uint64
	OutOfOrder       uint64 // packets beyond the expected PSN
	AcksSent         uint64
	NAKsSent         uint64 // RNR NAKs not included
	RNRsSent         uint64
	CEReceived       uint64 // packets marked Congestion Experienced
	CNPsSent         uint64
}
