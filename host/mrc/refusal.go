package mrc

import (
	"fmt"

	"github.com/weft-sdn/weft/host/internal/counts"
)

// Refusal is why a received frame was not accepted. Each refused frame counts under one reason.
type Refusal uint8

// Reasons.
const (
	RefusedPort        Refusal = iota // by a port that the host does not have, or that is down
	RefusedMalformed                  // truncated, or with lengths that contradict each other
	RefusedMAC                        // to another MAC address
	RefusedProtocol                   // not MRC over IP to the UDP port
	RefusedDestination                // to another address
	// congestion was marked on the outer header of a packet that does not understand marks (RFC 6040)
	RefusedECN
	RefusedICRC        // wrong ICRC
	RefusedTVer        // BTH transport version not 0
	RefusedPKey        // of another partition
	RefusedOpcode      // an opcode of MRC that is no request and not assigned
	RefusedQPN         // no such queue pair
	RefusedAddressPair // source address is not the queue pair's peer
	RefusedHeaders     // trimmed so far that too little is left
	RefusedQPState     // queue pair in the error state

	RefusedWindow    // request beyond what can be tracked, or too old to tell: dropped in silence
	RefusedShrunk    // request beyond a window that has shrunk: NACK PSN_OOR_WINDOW
	RefusedDuplicate // request received before: acknowledged again
	RefusedTrimmed   // what is left of a trimmed request
	RefusedFault     // request after one that cannot be executed
	RefusedResource  // request for which a resource is missing: NACK
	// unsupported operation, wrong length, or too many WRITEs with Immediate: NAK Invalid Request
	RefusedInvalidRequest
	RefusedRemoteAccess // R_Key, range or access right: NAK Remote Access Error
	// no receive request for a WRITE with Immediate: NAK Remote Operational Error
	RefusedOperational

	RefusedGhost    // acknowledgement of a PSN not sent yet
	RefusedStale    // acknowledgement of what was acknowledged before
	RefusedSyndrome // AETH syndrome that MRC does not have
	RefusedReason   // reserved NACK reason

	RefusedEndpoint // reserved endpoint operation, or the answer to a request that nobody waits for

	refusals // number of reasons
)

var refusalNames = [refusals]string{
	"port", "malformed", "mac", "protocol", "destination", "ecn", "icrc", "tver", "pkey", "opcode",
	"qpn", "address_pair", "headers", "qp_state",
	"window", "shrunk_window", "duplicate", "trimmed", "after_fault", "resource", "invalid_request",
	"remote_access", "remote_operational",
	"ghost", "stale", "syndrome", "nack_reason", "endpoint",
}

// String is the name the reason has in counters.
func (r Refusal) String() string {
	if r < refusals {
		return refusalNames[r]
	}
	return fmt.Sprintf("refusal %d", uint8(r))
}

// Refusals counts refused frames by reason.
type Refusals [refusals]uint64

// Total is the number of refused frames.
func (r Refusals) Total() uint64 { return counts.Total(r[:]) }

// Map is the counts that are not zero, by name.
func (r Refusals) Map() map[string]uint64 {
	return counts.Map(r[:], func(i int) string { return Refusal(i).String() })
}
