package packet

import "fmt"

// USIDBehavior is the behavior of a node for packets with its own uSID active.
type USIDBehavior uint8

// Behaviors of uSIDs (RFC 9800 §4.1, RFC 8986 §4).
const (
	UN USIDBehavior = iota // End with NEXT-CSID: on to the next uSID by a lookup
	// End.X with NEXT-CSID: on to the next uSID over an adjacency, without a lookup
	UA
	UDT6 // End.DT6: out of the tunnel, and a lookup
	UDX6 // End.DX6: out of the tunnel, over an adjacency
)

// String is the name of the behavior.
func (b USIDBehavior) String() string {
	switch b {
	case UN:
		return "uN"
	case UA:
		return "uA"
	case UDT6:
		return "uDT6"
	case UDX6:
		return "uDX6"
	}
	return fmt.Sprintf("uSID behavior %d", uint8(b))
}

// SIDOutcome is the result for a packet at the node with its destination address.
type SIDOutcome uint8

// Outcomes. All but the first leave the headers as they are.
const (
	SIDForward SIDOutcome = iota // on to its new destination; Hop Limit is one less
	// no segments left: what follows the IPv6 headers decides (RFC 8986 §4.1.1)
	SIDUpperLayer
	SIDDecapsulate  // out of the tunnel
	SIDTimeExceeded // ICMPv6 Time Exceeded, code 0
	// ICMPv6 Parameter Problem, code 0, pointing to Segments Left
	SIDParameterProblem
)

// Process applies a behavior, without flavors, to a packet; ip is its (outer) IPv6 header, srh its
// SRH or nil. Process follows the pseudocode of RFC 9800 §4.1.1 and then RFC 8986 §4.1, and for
// uDT6 and uDX6 the pseudocode of RFC 8986 §4.4 and §4.6. An unknown behavior returns
// SIDUpperLayer.
func (f USIDFormat) Process(behavior USIDBehavior, ip *IPv6, srh *SRH) SIDOutcome {
	segmentsLeft := srh != nil && srh.SegmentsLeft != 0
	switch behavior {
	case UDT6, UDX6:
		next := ip.NextHeader
		if srh != nil {
			next = srh.NextHeader
		}
		switch {
		case segmentsLeft:
			return SIDParameterProblem
		case next == NextHeaderIPv6:
			return SIDDecapsulate
		}
		return SIDUpperLayer
	case UN, UA:
	default:
		return SIDUpperLayer
	}
	endOfContainer := f.EndOfContainer(ip.Dst)
	switch {
	case endOfContainer && !segmentsLeft:
		return SIDUpperLayer
	case ip.HopLimit <= 1:
		return SIDTimeExceeded
	case !endOfContainer:
		ip.Dst = f.Shift(ip.Dst)
	default:
		if int(srh.LastEntry) >= srh.NumSegments() || int(srh.SegmentsLeft) > int(srh.LastEntry)+1 {
			return SIDParameterProblem
		}
		srh.SegmentsLeft--
		ip.Dst = srh.Segment(int(srh.SegmentsLeft))
	}
	ip.HopLimit--
	return SIDForward
}
