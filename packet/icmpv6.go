package packet

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

const (
	// ICMPv6ErrorLen is the length of an ICMPv6 error up to the packet that it quotes, in octets.
	ICMPv6ErrorLen = 8
	// ICMPv6MaxQuoted is how much of a packet in error fits: the error is no longer than the least MTU
	// of IPv6 (RFC 4443 §2.4 c).
	ICMPv6MaxQuoted = 1280 - IPv6Len - ICMPv6ErrorLen
)

// Types and codes of ICMPv6 errors (RFC 4443 §3, RFC 8754 §9, RFC 8986 §10.3).
const (
	ICMPv6TimeExceeded     = 3 // code 0: Hop Limit exceeded in transit
	ICMPv6ParameterProblem = 4

	ICMPv6ErroneousField   = 0 // of a Parameter Problem: erroneous header field encountered
	ICMPv6UpperLayerHeader = 4 // of a Parameter Problem: SR Upper-layer Header Error
)

const (
	icmpCode     = 1
	icmpChecksum = 2
	icmpPointer  = 4
)

// ICMPv6Error is an ICMPv6 error message (RFC 4443 §3): of the types below 128, with one word
// before the quotation.
type ICMPv6Error struct {
	Type, Code uint8
	Checksum   uint16
	Word       uint32 // Pointer of a Parameter Problem, unused of a Time Exceeded
	Quoted     []byte // the packet in error from its IPv6 header on, as much as there is
}

// ParseICMPv6Error reads a message to its end. Its Quoted is a slice of b. A type of 128 and above
// is no error; the checksum is not looked at.
func ParseICMPv6Error(b []byte) (ICMPv6Error, int, error) {
	if len(b) < ICMPv6ErrorLen {
		return ICMPv6Error{}, 0, truncated("ICMPv6 error", len(b), ICMPv6ErrorLen)
	}
	if t := b[0]; t >= 128 {
		return ICMPv6Error{}, 0, fmt.Errorf("ICMPv6: type %d, want an error (0 to 127): %w", t,
			ErrUnsupported)
	}
	return ICMPv6Error{
		Type: b[0], Code: b[icmpCode],
		Checksum: binary.BigEndian.Uint16(b[icmpChecksum:]),
		Word:     binary.BigEndian.Uint32(b[icmpPointer:]),
		Quoted:   b[ICMPv6ErrorLen:len(b):len(b)],
	}, len(b), nil
}

// Append writes the message after b.
func (h ICMPv6Error) Append(b []byte) []byte {
	b = append(b, h.Type, h.Code)
	b = binary.BigEndian.AppendUint16(b, h.Checksum)
	b = binary.BigEndian.AppendUint32(b, h.Word)
	return append(b, h.Quoted...)
}

// Len is the octets of the message.
func (h ICMPv6Error) Len() int { return ICMPv6ErrorLen + len(h.Quoted) }

// ICMPv6Checksum computes the checksum of an ICMPv6 message between two addresses (RFC 4443 §2.3).
// What its checksum field holds does not matter.
func ICMPv6Checksum(src, dst netip.Addr, message []byte) uint16 {
	s, d := src.As16(), dst.As16()
	sum := ChecksumAdd(ChecksumAdd(0, s[:]), d[:]) + uint64(len(message)) + NextHeaderICMPv6
	sum = ChecksumAdd(sum, message[:min(len(message), icmpChecksum)])
	if len(message) > icmpPointer {
		sum = ChecksumAdd(sum, message[icmpPointer:])
	}
	return Checksum(sum)
}
