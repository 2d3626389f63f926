package packet

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

const (
	// SRHFixedLen is the length of a segment routing header without segments and TLVs, in octets.
	SRHFixedLen = 8
	// SRHMaxLen is the greatest length of a segment routing header in octets: what Hdr Ext Len can
	// say.
	SRHMaxLen = 8 + 255*8
	// SegmentLen is the length of one segment in octets.
	SegmentLen = 16
	// RoutingTypeSRH is the routing type of the segment routing header.
	RoutingTypeSRH = 4
)

const (
	srhHdrExtLen    = 1
	srhRoutingType  = 2
	srhSegmentsLeft = 3
	srhLastEntry    = 4
	srhFlags        = 5
	srhTag          = 6
)

// SRH is a segment routing header (RFC 8754 §2). Its segments and TLVs stay in wire format; Segment
// and TLVs read them.
type SRH struct {
	NextHeader   uint8
	SegmentsLeft uint8
	LastEntry    uint8
	Flags        uint8
	Tag          uint16
	SegmentList  []byte // 16 octets a segment, the last one to be visited (Segment List[0]) first
	TLVList      []byte // encoded TLVs, a multiple of 8 octets with their padding
}

// NewSRH makes the header for a list of segments in the order of visit, and a list of encoded TLVs
// (see AppendPadding). The first segment belongs into the IPv6 destination address too;
// SegmentsLeft points at it.
func NewSRH(nextHeader uint8, visit []netip.Addr, tlvs []byte) (SRH, error) {
	if len(visit) == 0 {
		return SRH{}, fmt.Errorf("SRH: no segments, want at least one: %w", ErrMalformed)
	}
	list := make([]byte, 0, SegmentLen*len(visit))
	for i := len(visit) - 1; i >= 0; i-- {
		list = appendAddr(list, visit[i])
	}
	last := uint8(len(visit) - 1) // what does not fit, Validate finds
	h := SRH{NextHeader: nextHeader, SegmentsLeft: last, LastEntry: last, SegmentList: list,
		TLVList: tlvs}
	return h, h.Validate()
}

// NewReducedSRH is NewSRH without the first segment, which is in the IPv6 destination address alone
// (RFC 8754 §4.1.1): Segments Left is Last Entry + 1. A list of one segment needs no SRH at all.
func NewReducedSRH(nextHeader uint8, visit []netip.Addr, tlvs []byte) (SRH, error) {
	if len(visit) < 2 {
		return SRH{}, fmt.Errorf("reduced SRH: %d segments, want at least 2: %w", len(visit),
			ErrMalformed)
	}
	h, err := NewSRH(nextHeader, visit[1:], tlvs)
	if err != nil {
		return SRH{}, err
	}
	h.SegmentsLeft++
	return h, h.Validate()
}

// ParseSRH reads a segment routing header. Its SegmentList and TLVList are slices of b. Refused are
// another routing type, a Last Entry beyond the header, Segments Left > Last Entry + 1 (RFC 8754
// §4.3.1.1), and a TLV that runs past the header. What is inside the TLVs is not looked at.
func ParseSRH(b []byte) (SRH, int, error) {
	if len(b) < SRHFixedLen {
		return SRH{}, 0, truncated("SRH", len(b), SRHFixedLen)
	}
	if t := b[srhRoutingType]; t != RoutingTypeSRH {
		return SRH{}, 0, fmt.Errorf("routing header: Routing Type %d, want %d (SRH): %w", t,
			RoutingTypeSRH, ErrUnsupported)
	}
	n := SRHFixedLen + 8*int(b[srhHdrExtLen])
	if len(b) < n {
		return SRH{}, 0, truncated("SRH", len(b), n)
	}
	h := SRH{
		NextHeader:   b[0],
		SegmentsLeft: b[srhSegmentsLeft],
		LastEntry:    b[srhLastEntry],
		Flags:        b[srhFlags],
		Tag:          binary.BigEndian.Uint16(b[srhTag:]),
	}
	end := SRHFixedLen + SegmentLen*(int(h.LastEntry)+1)
	if end > n {
		return SRH{}, 0, fmt.Errorf("SRH: Last Entry %d, want at most %d with Hdr Ext Len %d: %w",
			h.LastEntry, int(b[srhHdrExtLen])/2-1, b[srhHdrExtLen], ErrMalformed)
	}
	h.SegmentList = b[SRHFixedLen:end:end]
	h.TLVList = b[end:n:n]
	if err := h.Validate(); err != nil {
		return SRH{}, 0, err
	}
	return h, n, nil
}

// Validate reports whether Append would write a header that ParseSRH accepts and reads as the same.
func (h SRH) Validate() error {
	if n := len(h.SegmentList); n != SegmentLen*(int(h.LastEntry)+1) {
		return fmt.Errorf("SRH: %d octets of segments, want %d with Last Entry %d: %w",
			n, SegmentLen*(int(h.LastEntry)+1), h.LastEntry, ErrMalformed)
	}
	if int(h.SegmentsLeft) > int(h.LastEntry)+1 {
		return fmt.Errorf("SRH: Segments Left %d, want at most Last Entry + 1 = %d: %w", h.SegmentsLeft,
			int(h.LastEntry)+1, ErrMalformed)
	}
	if n := len(h.TLVList); n%8 != 0 {
		return fmt.Errorf("SRH: %d octets of TLVs, want a multiple of 8: %w", n, ErrMalformed)
	}
	if n := h.Len(); n > SRHMaxLen {
		return fmt.Errorf("SRH: %d octets, want at most %d: %w", n, SRHMaxLen, ErrTooLong)
	}
	for b := h.TLVList; len(b) > 0; {
		_, n, err := ParseTLV(b)
		if err != nil {
			return fmt.Errorf("SRH at octet %d: %w", SRHFixedLen+len(h.SegmentList)+len(h.TLVList)-len(b),
				err)
		}
		b = b[n:]
	}
	return nil
}

// Append writes the header after b. Hdr Ext Len follows from the segments and TLVs; a header put
// together by hand should have passed Validate.
func (h SRH) Append(b []byte) []byte {
	b = append(b, h.NextHeader, uint8((h.Len()-SRHFixedLen)/8), RoutingTypeSRH, h.SegmentsLeft,
		h.LastEntry, h.Flags)
	b = binary.BigEndian.AppendUint16(b, h.Tag)
	b = append(b, h.SegmentList...)
	return append(b, h.TLVList...)
}

// Len is the octets of the header with its segments and TLVs.
func (h SRH) Len() int { return SRHFixedLen + len(h.SegmentList) + len(h.TLVList) }

// NumSegments is the number of segments.
func (h SRH) NumSegments() int { return len(h.SegmentList) / SegmentLen }

// Segment is Segment List[i]; the zero Addr when there is none.
func (h SRH) Segment(i int) netip.Addr {
	if i < 0 || i >= h.NumSegments() {
		return netip.Addr{}
	}
	return netip.AddrFrom16([16]byte(h.SegmentList[SegmentLen*i : SegmentLen*(i+1)]))
}
