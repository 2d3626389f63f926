package packet

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// EtherTypeARP is the EtherType of ARP.
const EtherTypeARP = 0x0806

// Operations of ARP.
const (
	ARPRequest = 1
	ARPReply   = 2
)

// BroadcastMAC is the address of all stations of a link.
var BroadcastMAC = MAC{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}

// ARPLen is the length of a packet of ARP between IPv4 addresses on Ethernet, in octets.
const ARPLen = 28

// arpHead is the start of such a packet: hardware and protocol with the octets of their addresses.
const arpHead = 0x0001_0800_06_04

// minFrame is the shortest frame of Ethernet without its check sequence, in octets.
const minFrame = 60

// ARP is a packet of the Address Resolution Protocol (RFC 826) on Ethernet. A request from 0.0.0.0
// is a probe; a request with equal sender and target is an announcement (RFC 5227 §1.1).
type ARP struct {
	Operation            uint16
	SenderMAC, TargetMAC MAC
	Sender, Target       netip.Addr // IPv4
}

// ARPFrame is a frame of ARP.
type ARPFrame struct {
	Ethernet Ethernet
	ARP      ARP
}

// ParseARP reads a packet of ARP; of another link or protocol it wraps ErrUnsupported.
func ParseARP(b []byte) (ARP, int, error) {
	if len(b) < ARPLen {
		return ARP{}, 0, truncated("ARP packet", len(b), ARPLen)
	}
	if head := binary.BigEndian.Uint64(b) >> 16; head != arpHead {
		return ARP{}, 0, fmt.Errorf("ARP packet: begins with %#012x, want %#012x: %w", head,
			uint64(arpHead), ErrUnsupported)
	}
	return ARP{
		Operation: binary.BigEndian.Uint16(b[6:]),
		SenderMAC: MAC(b[8:14]), Sender: netip.AddrFrom4([4]byte(b[14:18])),
		TargetMAC: MAC(b[18:24]), Target: netip.AddrFrom4([4]byte(b[24:28])),
	}, ARPLen, nil
}

// Append writes the packet after b.
func (a ARP) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, arpHead<<16|uint64(a.Operation))
	b = appendIPv4(append(b, a.SenderMAC[:]...), a.Sender)
	return appendIPv4(append(b, a.TargetMAC[:]...), a.Target)
}

// Len is ARPLen.
func (ARP) Len() int { return ARPLen }

// ParseARPFrame reads a frame of ARP and checks what receivers must (RFC 5227 §2.4, RFC 826): the
// operation is known, and no address of a sender is multicast.
func ParseARPFrame(frame []byte) (f ARPFrame, err error) {
	var n int
	if f.Ethernet, n, err = ParseEthernet(frame); err != nil {
		return ARPFrame{}, err
	}
	if f.Ethernet.EtherType != EtherTypeARP {
		return ARPFrame{}, fmt.Errorf("Ethernet header: EtherType %#04x, want %#04x (ARP): %w",
			f.Ethernet.EtherType, EtherTypeARP, ErrUnsupported)
	}
	if f.ARP, _, err = ParseARP(frame[n:]); err != nil {
		return ARPFrame{}, err
	}
	switch a := &f.ARP; {
	case a.Operation != ARPRequest && a.Operation != ARPReply:
		return ARPFrame{}, fmt.Errorf("ARP packet: operation %d, want 1 or 2: %w", a.Operation,
			ErrUnsupported)
	case a.SenderMAC[0]&1 != 0 || a.Sender.IsMulticast():
		return ARPFrame{}, fmt.Errorf("ARP packet: sender %v at %v: %w", a.Sender, a.SenderMAC,
			ErrMalformed)
	}
	return f, nil
}

// Append writes the frame after b, with zeros up to the shortest frame of Ethernet.
func (f ARPFrame) Append(b []byte) []byte {
	start := len(b)
	eth := f.Ethernet
	eth.EtherType = EtherTypeARP
	b = f.ARP.Append(eth.Append(b))
	for len(b)-start < minFrame {
		b = append(b, 0)
	}
	return b
}
