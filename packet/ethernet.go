package packet

import (
	"encoding/binary"
	"fmt"
	"net"
)

// EthernetLen is the length of an untagged Ethernet header in octets.
const EthernetLen = 14

// EtherTypeIPv6 is the EtherType of IPv6.
const EtherTypeIPv6 = 0x86DD

const (
	ethDst  = 0
	ethSrc  = 6
	ethType = 12
)

// MAC is an Ethernet address.
type MAC [6]byte

// ParseMAC reads the text form of an Ethernet address, such as "02:00:00:00:00:01".
func ParseMAC(s string) (MAC, error) {
	hw, err := net.ParseMAC(s)
	if err != nil {
		return MAC{}, fmt.Errorf("MAC %q: want six octets such as 02:00:00:00:00:01: %w", s, ErrMalformed)
	}
	if len(hw) != 6 {
		return MAC{}, fmt.Errorf("MAC %q has %d octets, want 6: %w", s, len(hw), ErrMalformed)
	}
	return MAC(hw), nil
}

// String writes the address as six colon-separated pairs of hexadecimal digits.
func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// Ethernet is an untagged Ethernet II header, without the frame check sequence.
type Ethernet struct {
	Dst, Src  MAC
	EtherType uint16
}

// ParseEthernet reads an Ethernet header. It does not look at the EtherType.
func ParseEthernet(b []byte) (Ethernet, int, error) {
	if len(b) < EthernetLen {
		return Ethernet{}, 0, truncated("Ethernet header", len(b), EthernetLen)
	}
	return Ethernet{
		Dst:       MAC(b[ethDst:]),
		Src:       MAC(b[ethSrc:]),
		EtherType: binary.BigEndian.Uint16(b[ethType:]),
	}, EthernetLen, nil
}

// Append writes the header after b.
func (h Ethernet) Append(b []byte) []byte {
	b = append(b, h.Dst[:]...)
	b = append(b, h.Src[:]...)
	return binary.BigEndian.AppendUint16(b, h.EtherType)
}

// Len is EthernetLen.
func (Ethernet) Len() int { return EthernetLen }
