package cm

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-sdn/weft/packet"
)

// OpUDSendOnly is the BTH opcode of a whole message of the unreliable datagram service.
const OpUDSendOnly packet.Opcode = 0x64

// GSI is the number of the queue pair that CM messages come from and go to.
const GSI = 1

// QKey is the Q_Key of the queue pairs of management (IBTA volume 1, section 10.2.5).
const QKey = 0x80010000

const (
	dethLen    = 8
	datagram   = packet.UDPLen + packet.BTHLen + dethLen + MADLen + packet.ICRCLen
	afterBTH   = packet.UDPLen + packet.BTHLen
	afterDETH  = afterBTH + dethLen
	sourceMask = 1<<24 - 1
)

// Frame is a CM message on RoCEv2. Append derives EtherType, Next Header, lengths and ICRC, and
// leaves the UDP checksum out; the hop limit is the caller's.
type Frame struct {
	Ethernet packet.Ethernet
	IPv6     packet.IPv6 // or an IPv4 header, where its addresses are IPv4
	SrcPort  uint16      // of UDP
	PKey     uint16
	PSN      uint32 // 24 bits
	// SourceQPN is GSI, unless a host redirects, which Weft does not.
	SourceQPN uint32 // 24 bits
	MAD       MAD
}

// IsFrame reports whether a frame is RoCEv2 to queue pair 1, so that ParseFrame can read the frame.
func IsFrame(frame []byte) bool {
	if len(frame) < packet.EthernetLen+packet.IPv4Len+afterDETH {
		return false
	}
	ip, n, next := frame[packet.EthernetLen:], packet.IPv6Len, 6
	switch etherType := binary.BigEndian.Uint16(frame[12:]); {
	case etherType == packet.EtherTypeIPv6 && ip[0]>>4 == 6:
	case etherType == packet.EtherTypeIPv4 && ip[0] == 0x45:
		n, next = packet.IPv4Len, 9
	default:
		return false
	}
	return len(ip) >= n+afterDETH && ip[next] == packet.NextHeaderUDP &&
		binary.BigEndian.Uint16(ip[n+2:]) == packet.RoCEPort &&
		binary.BigEndian.Uint32(ip[n+packet.UDPLen+4:])&sourceMask == GSI
}

// ParseFrame reads a frame, n octets up to its ICRC, and verifies the ICRC. Errors wrap errors of
// package packet: ErrUnsupported for a frame without a CM message, ErrICRC for a corrupt frame.
func ParseFrame(frame []byte) (f Frame, n int, err error) {
	if f.Ethernet, n, err = packet.ParseEthernet(frame); err != nil {
		return Frame{}, 0, err
	}
	b := frame[n:]
	if f.IPv6, _, err = packet.ParseIP(b); err != nil {
		return Frame{}, 0, err
	}
	if f.Ethernet.EtherType != f.IPv6.EtherType() {
		return Frame{}, 0, fmt.Errorf("EtherType %#04x, want %#04x, of what follows: %w",
			f.Ethernet.EtherType, f.IPv6.EtherType(), packet.ErrUnsupported)
	}
	if err := f.parsePacket(b); err != nil {
		return Frame{}, 0, err
	}
	return f, n + f.IPv6.IPLen() + datagram, nil
}

// parsePacket reads what follows the IP header.
func (f *Frame) parsePacket(b []byte) error {
	if f.IPv6.NextHeader != packet.NextHeaderUDP || f.IPv6.PayloadLength != datagram {
		return fmt.Errorf("IP header: Next Header %d, Payload Length %d, want %d (UDP), %d: %w",
			f.IPv6.NextHeader, f.IPv6.PayloadLength, packet.NextHeaderUDP, datagram,
			packet.ErrUnsupported)
	}
	n := f.IPv6.IPLen()
	if len(b) < n+datagram {
		return fmt.Errorf("CM packet: %d octets, need %d: %w", len(b), n+datagram,
			packet.ErrTruncated)
	}
	whole := b[:n+datagram]
	b = whole[n:]
	udp, _, err := packet.ParseUDP(b)
	if err != nil {
		return err
	}
	f.SrcPort = udp.SrcPort
	bth, _, err := packet.ParseBTH(b[packet.UDPLen:])
	if err != nil {
		return err
	}
	f.PKey, f.PSN = bth.PKey, bth.PSN
	deth := b[afterBTH:afterDETH]
	f.SourceQPN = u32(deth[4:]) & sourceMask
	switch {
	case udp.DstPort != packet.RoCEPort:
		return fmt.Errorf("UDP header: destination port %d, want %d: %w", udp.DstPort,
			packet.RoCEPort, packet.ErrUnsupported)
	case udp.Length != datagram:
		return fmt.Errorf("UDP header: Length %d, want %d: %w", udp.Length, datagram,
			packet.ErrMalformed)
	case bth.Opcode != OpUDSendOnly || bth.DestQPN != GSI:
		return fmt.Errorf("BTH: %v to queue pair %d, want %v to %d: %w", bth.Opcode, bth.DestQPN,
			OpUDSendOnly, GSI, packet.ErrUnsupported)
	case bth.PadCount != 0:
		return fmt.Errorf("BTH: PadCount %d, want 0: %w", bth.PadCount, packet.ErrMalformed)
	case u32(deth) != QKey:
		return fmt.Errorf("DETH: Q_Key %#08x, want %#08x: %w", u32(deth), QKey,
			packet.ErrMalformed)
	}
	if err := packet.CheckICRC(whole); err != nil {
		return err
	}
	f.MAD, _, err = ParseMAD(b[afterDETH:])
	return err
}

// Append writes the frame after b.
func (f Frame) Append(b []byte) []byte {
	eth, ip := f.Ethernet, f.IPv6
	eth.EtherType = ip.EtherType()
	b = eth.Append(b)
	start := len(b)
	ip.NextHeader, ip.PayloadLength = packet.NextHeaderUDP, datagram
	b = ip.AppendIP(b, 0)
	b = packet.UDP{SrcPort: f.SrcPort, DstPort: packet.RoCEPort, Length: datagram}.Append(b)
	b = packet.BTH{Opcode: OpUDSendOnly, PKey: f.PKey, DestQPN: GSI, PSN: f.PSN}.Append(b)
	b = binary.BigEndian.AppendUint32(b, QKey)
	b = binary.BigEndian.AppendUint32(b, f.SourceQPN&sourceMask)
	b = f.MAD.Append(b)
	crc, _ := packet.ICRC(b[start:])
	return binary.LittleEndian.AppendUint32(b, crc)
}

// Len is the octets that Append writes.
func (f Frame) Len() int { return packet.EthernetLen + f.IPv6.IPLen() + datagram }
