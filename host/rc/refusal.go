package rc

import (
	"fmt"

	"github.com/weft-sdn/weft/host/internal/counts"
)

// Refusal is why a received frame, or a packet in it, was not accepted. Each refused frame counts
// under one reason.
type Refusal uint8

// Reasons, in the order in which they are looked for.
const (
	RefusedEthernet  Refusal = iota // shorter than an Ethernet header
	RefusedMAC                      // to another MAC address
	RefusedEtherType                // not IPv6
	// IPv6 header truncated, of another version, or longer than the frame
	RefusedIPv6
	RefusedDestination // to another IPv6 address
	RefusedNextHeader  // not UDP directly after the IPv6 header
	// UDP header truncated, or its length is not the IPv6 payload length
	RefusedUDPLength
	RefusedUDPPort     // not to the RoCEv2 port
	RefusedUDPChecksum // a non-zero UDP checksum is wrong
	RefusedTruncated   // too short for BTH, ICRC and the headers its opcode promises
	RefusedICRC        // wrong ICRC
	RefusedTVer        // BTH transport version not 0
	RefusedOpcode      // reserved, or of a service other than reliable connection
	// more padding than payload, or payload and padding not a multiple of 4 octets
	RefusedPadCount
	RefusedPKey        // of another partition
	RefusedQPN         // no such queue pair
	RefusedAddressPair // source address is not the queue pair's peer
	RefusedQPState     // queue pair in the error state
	// acknowledgement with payload, or response to a request never made (READ, ATOMIC)
	RefusedResponse
	RefusedSyndrome // reserved AETH syndrome or NAK code
	// acknowledgement of a PSN not sent yet, or a fatal NAK of one not outstanding
	RefusedGhost
	RefusedStale // acknowledgement of what was acknowledged before

	RefusedDuplicate // request executed before; acknowledged again
	RefusedGap       // request beyond the expected PSN; NAKed once per gap
	// opcode out of sequence, unsupported operation or wrong length: NAK Invalid Request
	RefusedInvalidRequest
	RefusedNotReady     // no receive request posted: RNR NAK
	RefusedRemoteAccess // R_Key, range or access right: NAK Remote Access Error
	RefusedOperational  // receive buffer gone: NAK Remote Operational Error

	refusals // number of reasons
)

var refusalNames = [refusals]string{
	"ethernet", "mac", "ether_type", "ipv6", "destination", "next_header", "udp_length", "udp_port",
	"udp_checksum", "truncated", "icrc",
	"tver", "opcode", "pad_count", "pkey", "qpn", "address_pair", "qp_state", "response", "syndrome",
	"ghost", "stale",
	"duplicate", "gap", "invalid_request", "not_ready", "remote_access", "remote_operational",
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
