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

// ParseUDP reads a UDP header. A length below 8 is malformed; the length is not compared with what follows.
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
		return UDP{}, 0, fmt.Errorf("UDP header: Length %d, want at least %d: %w", h.Length, UDPLen, ErrMalformed)
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

// UDPChecksum computes the checksum of a UDP datagram (header and payload) between two IPv6 addresses (RFC 8200 §8.1). What the
// checksum field holds does not matter. The result is never 0, which would mean "no checksum". A datagram shorter
// than its header gives the checksum of what there is.
func UDPChecksum(src, dst netip.Addr, datagram []byte) uint16 {
	s, d := src.As16(), dst.As16()
	sum := sum16(0, s[:])
	sum = sum16(sum, d[:])
	sum += uint64(len(datagram)) + NextHeaderUDP
	sum = sum16(sum, datagram[:min(len(datagram), udpChecksum)])
	if len(datagram) > UDPLen {
		sum = sum16(sum, datagram[UDPLen:])
	}
	for sum > 0xFFFF {
		sum = sum>>16 + sum&0xFFFF
	}
	if sum == 0xFFFF {
		return 0xFFFF
	}
	return ^uint16(sum)
}

// CheckUDPChecksum says whether the checksum of a datagram is right. A checksum of 0 is accepted: RoCEv2 senders
// leave it out, being protected by the ICRC.
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

// sum16 adds the 16-bit words of b to sum; a last odd octet counts as the high half of a word.
func sum16(sum uint64, b []byte) uint64 {
	for ; len(b) >= 4; b = b[4:] {
		// Four octets at once: 2^16 is 1 modulo 2^16-1, so the high word folds down like a carry.
		sum += uint64(binary.BigEndian.Uint32(b))
	}
	if len(b) >= 2 {
		sum += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	return sum
}
