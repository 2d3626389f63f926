package dataplane

import "time"

// Output takes what leaves a switch. Its methods are called from within
// Advance; they must not call back into the switch.
type Output interface {
	// Transmit sends a frame out of a port (the CPU port is a port like any
	// other). The frame is valid only during the call, unless the callee
	// calls Switch.Replace.
	Transmit(now time.Duration, port uint32, frame []byte)
	// Digest delivers one digest message: the values of its fields in the
	// order of DigestInfo.Fields, ceil(width/8) octets each, big-endian. The
	// values are valid only during the call. Batching and acknowledgement
	// are the receiver's business.
	Digest(now time.Duration, digest int, values [][]byte)
}
