package packet

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// IPv6Len is the length of the IPv6 header in octets.
const IPv6Len = 40

// Values of Next Header fields (IANA, Assigned Internet Protocol Numbers).
const (
	NextHeaderUDP      = 17
	NextHeaderIPv6     = 41
	NextHeaderRouting  = 43
	NextHeaderICMPv6   = 58
	NextHeaderNone     = 59
	NextHeaderEthernet = 143
)

// MaxFlowLabel is the greatest IPv6 flow label: 20 bits.
const MaxFlowLabel = 1<<20 - 1

const (
	ipv6PayloadLength = 4
	ipv6NextHeader    = 6
	ipv6HopLimit      = 7
	ipv6Src           = 8
	ipv6Dst           = 24
)

// IPv6 is the fixed IPv6 header (RFC 8200 §3). An invalid (zero) netip.Addr is written as "::".
type IPv6 struct {
	TrafficClass  uint8  // DSCP and ECN, see TrafficClass
	FlowLabel     uint32 // 20 bits
	PayloadLength uint16 // octets after this header
	NextHeader    uint8
	HopLimit      uint8
	Src, Dst      netip.Addr
}

// ParseIPv6 reads an IPv6 header. It does not compare the payload length with what follows.
func ParseIPv6(b []byte) (IPv6, int, error) {
	if len(b) < IPv6Len {
		return IPv6{}, 0, truncated("IPv6 header", len(b), IPv6Len)
	}
	first := binary.BigEndian.Uint32(b)
	if v := first >> 28; v != 6 {
		return IPv6{}, 0, fmt.Errorf("IPv6 header: version %d, want 6: %w", v, ErrMalformed)
	}
	return IPv6{
		TrafficClass:  uint8(first >> 20),
		FlowLabel:     first & MaxFlowLabel,
		PayloadLength: binary.BigEndian.Uint16(b[ipv6PayloadLength:]),
		NextHeader:    b[ipv6NextHeader],
		HopLimit:      b[ipv6HopLimit],
		Src:           netip.AddrFrom16([16]byte(b[ipv6Src : ipv6Src+16])),
		Dst:           netip.AddrFrom16([16]byte(b[ipv6Dst : ipv6Dst+16])),
	}, IPv6Len, nil
}

// Append writes the header after b; bits of the flow label beyond 20 are dropped.
func (h IPv6) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, 6<<28|uint32(h.TrafficClass)<<20|h.FlowLabel&MaxFlowLabel)
	b = binary.BigEndian.AppendUint16(b, h.PayloadLength)
	b = append(b, h.NextHeader, h.HopLimit)
	b = appendAddr(b, h.Src)
	return appendAddr(b, h.Dst)
}

// Len is IPv6Len.
func (IPv6) Len() int { return IPv6Len }

func appendAddr(b []byte, a netip.Addr) []byte {
	octets := a.As16()
	return append(b, octets[:]...)
}
