package packet

import (
	"fmt"
	"iter"
)

// Types of SRH TLVs (RFC 8754 §8.2). Types with the highest bit set carry data that may change en
// route.
const (
	TLVPad1 uint8 = 0
	TLVPadN uint8 = 4
	TLVHMAC uint8 = 5
	// TLVEndMTDefault is the type of End.MT TLVs unless configured otherwise: the draft leaves the
	// type to IANA, so 124 comes from the experimental types for data unchanged en route.
	TLVEndMTDefault uint8 = 124
)

// TLVHeaderLen is the octets of type and length of every TLV but Pad1.
const TLVHeaderLen = 2

// maxPadN is the most padding one PadN may hold (RFC 8754 §2.1.1.2).
const maxPadN = 5

// TLV is a type-length-value object of a segment routing header (RFC 8754 §2.1). Only Pad1 is a
// single octet, without length and value.
type TLV struct {
	Type  uint8
	Value []byte
}

// ParseTLV reads the TLV at the start of b; its Value is a slice of b. A PadN longer than a sender
// should make it is accepted.
func ParseTLV(b []byte) (TLV, int, error) {
	if len(b) == 0 {
		return TLV{}, 0, truncated("TLV", 0, 1)
	}
	t := b[0]
	if t == TLVPad1 {
		return TLV{Type: TLVPad1}, 1, nil
	}
	if len(b) < TLVHeaderLen {
		return TLV{}, 0, fmt.Errorf("TLV of type %d: no Length, want %d octets or a Pad1: %w", t,
			TLVHeaderLen, ErrTruncated)
	}
	n := TLVHeaderLen + int(b[1])
	if n > len(b) {
		return TLV{}, 0, fmt.Errorf("TLV of type %d: Length %d, want at most the %d octets left: %w", t,
			b[1], len(b)-TLVHeaderLen, ErrTruncated)
	}
	return TLV{Type: t, Value: b[TLVHeaderLen:n:n]}, n, nil
}

// Append writes the TLV after b. Of a value longer than 255 octets the first 255 are written.
func (t TLV) Append(b []byte) []byte {
	if t.Type == TLVPad1 {
		return append(b, TLVPad1)
	}
	value := t.Value[:min(len(t.Value), 255)]
	b = append(b, t.Type, uint8(len(value)))
	return append(b, value...)
}

// Len is the octets Append writes.
func (t TLV) Len() int {
	if t.Type == TLVPad1 {
		return 1
	}
	return TLVHeaderLen + min(len(t.Value), 255)
}

// TLVs yields the TLVs of the header without padding, in order. The sequence ends early at a
// malformed TLV; headers from ParseSRH or NewSRH contain no malformed TLV.
func (h SRH) TLVs() iter.Seq[TLV] {
	return func(yield func(TLV) bool) {
		for b := h.TLVList; len(b) > 0; {
			t, n, err := ParseTLV(b)
			if err != nil {
				return
			}
			b = b[n:]
			if t.Type != TLVPad1 && t.Type != TLVPadN && !yield(t) {
				return
			}
		}
	}
}

// AppendPadding pads a list of TLVs to a multiple of 8 octets: with a Pad1 where one octet is
// missing, else with a PadN.
func AppendPadding(tlvs []byte) []byte {
	switch missing := (8 - len(tlvs)%8) % 8; missing {
	case 0:
		return tlvs
	case 1:
		return append(tlvs, TLVPad1)
	default:
		var zeros [maxPadN]byte
		tlvs = append(tlvs, TLVPadN, uint8(missing-TLVHeaderLen))
		return append(tlvs, zeros[:missing-TLVHeaderLen]...)
	}
}
