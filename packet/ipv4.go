package packet

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// IPv4Len is the length of an IPv4 header without options in octets.
const IPv4Len = 20

// EtherTypeIPv4 is the EtherType of IPv4.
const EtherTypeIPv4 = 0x0800

// Values of the Protocol field beside those of IPv6, and Next Header of IPv4 in IPv6.
const (
	ProtocolICMP   = 1
	NextHeaderIPv4 = 4
)

const (
	ipv4NoOptions   = 0x45
	ipv4TOS         = 1
	ipv4TotalLength = 2
	ipv4ID          = 4
	ipv4Flags       = 6
	ipv4TTL         = 8
	ipv4Protocol    = 9
	ipv4Checksum    = 10
	ipv4Src         = 12
	ipv4Dst         = 16

	ipv4DontFragment = 0x4000
)

// IPv4 is an IPv4 header without options (RFC 791 §3.1).
type IPv4 struct {
	TOS           uint8 // DSCP and ECN, see TrafficClass
	TotalLength   uint16
	ID            uint16
	DontFragment  bool
	MoreFragments bool
	Offset        uint16 // of the fragment, in units of 8 octets
	TTL           uint8
	Protocol      uint8
	Src, Dst      netip.Addr // IPv4; an invalid one is written as 0.0.0.0
}

// ParseIPv4 reads an IPv4 header and verifies its checksum. It does not compare the total length
// with what follows. A header with options wraps ErrUnsupported.
func ParseIPv4(b []byte) (IPv4, int, error) {
	if len(b) < IPv4Len {
		return IPv4{}, 0, truncated("IPv4 header", len(b), IPv4Len)
	}
	switch {
	case b[0]>>4 != 4 || b[0]&0xF < 5:
		return IPv4{}, 0, fmt.Errorf("IPv4 header: begins with %#02x, want %#02x: %w", b[0],
			ipv4NoOptions, ErrMalformed)
	case b[0] != ipv4NoOptions:
		return IPv4{}, 0, fmt.Errorf("IPv4 header with options: %w", ErrUnsupported)
	}
	if sum := Checksum(ChecksumAdd(0, b[:IPv4Len])); sum != 0 {
		return IPv4{}, 0, fmt.Errorf("IPv4 header: checksum is off by %#04x: %w", sum, ErrChecksum)
	}
	fragment := binary.BigEndian.Uint16(b[ipv4Flags:])
	h := IPv4{
		TOS: b[ipv4TOS], TotalLength: binary.BigEndian.Uint16(b[ipv4TotalLength:]),
		ID:           binary.BigEndian.Uint16(b[ipv4ID:]),
		DontFragment: fragment&ipv4DontFragment != 0, MoreFragments: fragment&0x2000 != 0,
		Offset: fragment & 0x1FFF, TTL: b[ipv4TTL], Protocol: b[ipv4Protocol],
		Src: netip.AddrFrom4([4]byte(b[ipv4Src : ipv4Src+4])),
		Dst: netip.AddrFrom4([4]byte(b[ipv4Dst : ipv4Dst+4])),
	}
	if h.TotalLength < IPv4Len {
		return IPv4{}, 0, fmt.Errorf("IPv4 header: Total Length %d, want at least %d: %w",
			h.TotalLength, IPv4Len, ErrMalformed)
	}
	return h, IPv4Len, nil
}

// Append writes the header with its checksum after b.
func (h IPv4) Append(b []byte) []byte {
	start := len(b)
	b = append(b, ipv4NoOptions, h.TOS)
	b = binary.BigEndian.AppendUint16(b, h.TotalLength)
	b = binary.BigEndian.AppendUint16(b, h.ID)
	fragment := h.Offset & 0x1FFF
	if h.DontFragment {
		fragment |= ipv4DontFragment
	}
	if h.MoreFragments {
		fragment |= 0x2000
	}
	b = binary.BigEndian.AppendUint16(b, fragment)
	b = append(b, h.TTL, h.Protocol, 0, 0)
	b = appendIPv4(appendIPv4(b, h.Src), h.Dst)
	binary.BigEndian.PutUint16(b[start+ipv4Checksum:], Checksum(ChecksumAdd(0, b[start:])))
	return b
}

// Len is IPv4Len.
func (IPv4) Len() int { return IPv4Len }

func appendIPv4(b []byte, a netip.Addr) []byte {
	if a = a.Unmap(); !a.Is4() {
		return append(b, 0, 0, 0, 0)
	}
	octets := a.As4()
	return append(b, octets[:]...)
}

// ParseIP reads an IPv4 or IPv6 header and returns what both have, n its octets. Addresses are IPv4
// after an IPv4 header, the payload length is without it, and there is no flow label. A fragment
// wraps ErrUnsupported.
func ParseIP(b []byte) (ip IPv6, n int, err error) {
	ip, _, n, err = parseIP(b)
	return ip, n, err
}

func parseIP(b []byte) (ip IPv6, four IPv4, n int, err error) {
	if len(b) == 0 || b[0]>>4 != 4 {
		ip, n, err = ParseIPv6(b)
		return ip, IPv4{}, n, err
	}
	if four, n, err = ParseIPv4(b); err != nil {
		return IPv6{}, IPv4{}, 0, err
	}
	if four.MoreFragments || four.Offset != 0 {
		return IPv6{}, IPv4{}, 0, fmt.Errorf("IPv4 header of a fragment: %w", ErrUnsupported)
	}
	return IPv6{TrafficClass: four.TOS, PayloadLength: four.TotalLength - IPv4Len,
		NextHeader: four.Protocol, HopLimit: four.TTL, Src: four.Src, Dst: four.Dst}, four, n, nil
}

// checkEtherType reports whether an EtherType is that of the IP header at the start of b.
func checkEtherType(t uint16, b []byte) error {
	version := byte(6)
	switch t {
	case EtherTypeIPv6:
	case EtherTypeIPv4:
		version = 4
	default:
		return fmt.Errorf("Ethernet header: EtherType %#04x, want %#04x (IPv6) or %#04x (IPv4): %w", t,
			EtherTypeIPv6, EtherTypeIPv4, ErrUnsupported)
	}
	if len(b) > 0 && b[0]>>4 != version {
		return fmt.Errorf("IP header: version %d, want %d: %w", b[0]>>4, version, ErrMalformed)
	}
	return nil
}

// IsIPv4 reports whether AppendIP writes an IPv4 header: its addresses are IPv4.
func (h IPv6) IsIPv4() bool { return h.Src.Is4() && h.Dst.Is4() }

// IPLen is the octets that AppendIP writes.
func (h IPv6) IPLen() int {
	if h.IsIPv4() {
		return IPv4Len
	}
	return IPv6Len
}

// EtherType of the header that AppendIP writes.
func (h IPv6) EtherType() uint16 {
	if h.IsIPv4() {
		return EtherTypeIPv4
	}
	return EtherTypeIPv6
}

// AppendIP appends an IPv4 header to b if the addresses are IPv4, else an IPv6 header. id is the
// Identification of the IPv4 header, which sets Don't Fragment.
func (h IPv6) AppendIP(b []byte, id uint16) []byte {
	if !h.IsIPv4() {
		return h.Append(b)
	}
	return IPv4{TOS: h.TrafficClass, TotalLength: h.PayloadLength + IPv4Len, ID: id,
		DontFragment: true, TTL: h.HopLimit, Protocol: h.NextHeader, Src: h.Src,
		Dst: h.Dst}.Append(b)
}
