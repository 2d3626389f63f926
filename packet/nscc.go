package packet

import "encoding/binary"

// CCStateLen is the length of the congestion control state in a SETH, in octets.
const CCStateLen = 8

// RcvdBytesUnit is the unit of NSCC.RcvdBytes in octets.
const RcvdBytesUnit = 256

// MaxRcvCwndPenalty is the greatest receiver window penalty: a window of one packet a round trip.
const MaxRcvCwndPenalty = 127

const (
	nsccOOOCount  = 2
	nsccPenalty   = 4
	nsccRcvdBytes = 5
	nsccMaxOOO    = 0x7FFF
	nsccRestore   = 0x80
)

// CCType is the cc_type of a SETH or NETH: what kind of congestion control state it carries. 4
// bits.
type CCType uint8

// Kinds of congestion control state.
const (
	CCTypeNSCC      CCType = 0b0000 // of a SETH: NSCC
	CCTypeTimestamp CCType = 0b0010 // of a NETH: its timestamp
)

// NSCC is the CC_STATE of cc_type 0 (OCP MRC 1.0, tables 7-12 and 7-13). Its reserved bit is
// written as zero and ignored when read.
type NSCC struct {
	Timestamp      uint16 // of the request, or the responder's service time
	OOOCount       uint16 // packets received above the cumulative acknowledgement; 15 bits
	RestoreCwnd    bool   // r_c: the window comes back when the penalty ends
	RcvCwndPenalty uint8  // rcv_cwnd_pen, 0 (none) to MaxRcvCwndPenalty
	RcvdBytes      uint32 // octets received, modulo 2^24, in RcvdBytesUnit: see RcvdBytes
}

// ParseNSCC reads a CC_STATE of cc_type 0.
func ParseNSCC(b []byte) (NSCC, int, error) {
	if len(b) < CCStateLen {
		return NSCC{}, 0, truncated("CC_STATE", len(b), CCStateLen)
	}
	return NSCC{
		Timestamp:      binary.BigEndian.Uint16(b),
		OOOCount:       binary.BigEndian.Uint16(b[nsccOOOCount:]) & nsccMaxOOO,
		RestoreCwnd:    b[nsccPenalty]&nsccRestore != 0,
		RcvCwndPenalty: b[nsccPenalty] & MaxRcvCwndPenalty,
		RcvdBytes:      uint24(b[nsccRcvdBytes:]),
	}, CCStateLen, nil
}

// Append writes the state after b. Append writes a count or penalty too large for its field as the
// greatest value, because a truncated value would mean the opposite, and drops bits of RcvdBytes
// beyond 24.
func (s NSCC) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, s.Timestamp)
	b = binary.BigEndian.AppendUint16(b, min(s.OOOCount, nsccMaxOOO))
	penalty := min(s.RcvCwndPenalty, MaxRcvCwndPenalty)
	if s.RestoreCwnd {
		penalty |= nsccRestore
	}
	return binary.BigEndian.AppendUint32(b, uint32(penalty)<<24|s.RcvdBytes&PSNMask)
}

// Len is CCStateLen.
func (NSCC) Len() int { return CCStateLen }

// RcvdBytes returns the rcvd_bytes value for a number of received octets: rounded up to
// RcvdBytesUnit, modulo 2^24.
func RcvdBytes(octets uint64) uint32 {
	units := octets / RcvdBytesUnit
	if octets%RcvdBytesUnit != 0 {
		units++
	}
	return uint32(units) & PSNMask
}
