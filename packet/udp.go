package packet

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// UDPLen is the length of a UDP header in octets.
const UDPLen = 8

// RoCEPort is the UDP destination port of RoCEv2 (IBTA annex A17.3).
const RoCEPort = 4791

const (
	udpDstPort  = 2
	udpLength   = 4
	udpChecksum = 6
)

// UDP is a UDP header (RFC 768).
type UDP struct {
	SrcPort, DstPort uint16
	Length           uint16 // octets of header and payload
	Checksum         uint16 // 0: none
}

// ParseUDP reads a UDP header. A length below 8 is malformed; the length is not compared with what
// follows.
func ParseUDP(b []byte) (UDP, int, error) {
	if len(b) < UDPLen {
		return UDP{}, 0, truncated("UDP header", len(b), UDPLen)
	}
	h := UDP{
		SrcPort:  binary.BigEndian.Uint16(b),
		DstPort:  binary.BigEndian.Uint16(b[udpDstPort:]),
		Length:   binary.BigEndian.Uint16(b[udpLength:]),
		Checksum: binary.BigEndian.Uint16(b[udpChecksum:]),
	}
	if h.Length < UDPLen {
		return UDP{}, 0, fmt.Errorf("UDP header: Length %d, want at least %d: %w", h.Length, UDPLen,
			ErrMalformed)
	}
	return h, UDPLen, nil
}

// Append writes the header after b.
func (h UDP) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, h.SrcPort)
	b = binary.BigEndian.AppendUint16(b, h.DstPort)
	b = binary.BigEndian.AppendUint16(b, h.Length)
	return binary.BigEndian.AppendUint16(b, h.Checksum)
}

// Len is UDPLen.
func (UDP) Len() int { return UDPLen }

// UDPChecksum computes the checksum of a UDP datagram (header and payload) between two IPv6
// addresses (RFC 8200 §8.1). UDPChecksum ignores the checksum field. The result is never 0, because
// 0 means "no checksum". For a datagram shorter than its header, UDPChecksum sums the octets
// present.
func UDPChecksum(src, dst netip.Addr, datagram []byte) uint16 {
	s, d := src.As16(), dst.As16()
	sum := ChecksumAdd(0, s[:])
	sum = ChecksumAdd(sum, d[:])
	sum += uint64(len(datagram)) + NextHeaderUDP
	sum = ChecksumAdd(sum, datagram[:min(len(datagram), udpChecksum)])
	if len(datagram) > UDPLen {
		sum = ChecksumAdd(sum, datagram[UDPLen:])
	}
	if c := Checksum(sum); c != 0 {
		return c
	}
	return 0xFFFF
}

// CheckUDPChecksum reports whether the checksum of a datagram is right. A checksum of 0 is
// accepted: RoCEv2 senders leave it out, being protected by the ICRC.
func CheckUDPChecksum(src, dst netip.Addr, datagram []byte) error {
	if len(datagram) < UDPLen {
		return truncated("UDP datagram", len(datagram), UDPLen)
	}
	got := binary.BigEndian.Uint16(datagram[udpChecksum:])
	if got == 0 {
		return nil
	}
	if want := UDPChecksum(src, dst, datagram); got != want {
		return fmt.Errorf("UDP checksum %#04x, want %#04x: %w", got, want, ErrChecksum)
	}
	return nil
}
