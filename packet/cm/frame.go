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
	packetLen  = packet.IPv6Len + datagram
	afterBTH   = packet.IPv6Len + packet.UDPLen + packet.BTHLen
	afterDETH  = afterBTH + dethLen
	sourceMask = 1<<24 - 1
)

// Frame is a CM message on RoCEv2. Append derives EtherType, Next Header, lengths and ICRC, and
// leaves the UDP checksum out; the hop limit is the caller's.
type Frame struct {
	Ethernet packet.Ethernet
	IPv6     packet.IPv6
	SrcPort  uint16 // of UDP
	PKey     uint16
	PSN      uint32 // 24 bits
	// SourceQPN is GSI, unless a host redirects, which Weft does not.
	SourceQPN uint32 // 24 bits
	MAD       MAD
}

// IsFrame reports whether a frame is RoCEv2 to queue pair 1, so that ParseFrame is its reader.
func IsFrame(frame []byte) bool {
	if len(frame) < packet.EthernetLen+afterDETH {
		return false
	}
	ip := frame[packet.EthernetLen:]
	return binary.BigEndian.Uint16(frame[12:]) == packet.EtherTypeIPv6 && ip[0]>>4 == 6 &&
		ip[6] == packet.NextHeaderUDP &&
		binary.BigEndian.Uint16(ip[packet.IPv6Len+2:]) == packet.RoCEPort &&
		binary.BigEndian.Uint32(ip[packet.IPv6Len+packet.UDPLen+4:])&sourceMask == GSI
}

// ParseFrame reads a frame, n octets up to its ICRC, which is verified. Errors wrap those of
// package packet: ErrUnsupported for what is no CM message, ErrICRC for one that is corrupt.
func ParseFrame(frame []byte) (f Frame, n int, err error) {
	if f.Ethernet, n, err = packet.ParseEthernet(frame); err != nil {
		return Frame{}, 0, err
	}
	if f.Ethernet.EtherType != packet.EtherTypeIPv6 {
		return Frame{}, 0, fmt.Errorf("EtherType %#04x, want %#04x (IPv6): %w",
			f.Ethernet.EtherType, packet.EtherTypeIPv6, packet.ErrUnsupported)
	}
	b := frame[n:]
	if err := f.parsePacket(b); err != nil {
		return Frame{}, 0, err
	}
	return f, n + packetLen, nil
}

// parsePacket reads the packet from its IPv6 header on.
func (f *Frame) parsePacket(b []byte) error {
	var err error
	if f.IPv6, _, err = packet.ParseIPv6(b); err != nil {
		return err
	}
	if f.IPv6.NextHeader != packet.NextHeaderUDP || f.IPv6.PayloadLength != datagram {
		return fmt.Errorf("IPv6 header: Next Header %d, Payload Length %d, want %d (UDP), %d: %w",
			f.IPv6.NextHeader, f.IPv6.PayloadLength, packet.NextHeaderUDP, datagram,
			packet.ErrUnsupported)
	}
	if len(b) < packetLen {
		return fmt.Errorf("CM packet: %d octets, need %d: %w", len(b), packetLen,
			packet.ErrTruncated)
	}
	b = b[:packetLen]
	udp, _, err := packet.ParseUDP(b[packet.IPv6Len:])
	if err != nil {
		return err
	}
	f.SrcPort = udp.SrcPort
	bth, _, err := packet.ParseBTH(b[packet.IPv6Len+packet.UDPLen:])
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
	if err := packet.CheckICRC(b); err != nil {
		return err
	}
	f.MAD, _, err = ParseMAD(b[afterDETH:])
	return err
}

// Append writes the frame after b.
func (f Frame) Append(b []byte) []byte {
	eth, ip := f.Ethernet, f.IPv6
	eth.EtherType = packet.EtherTypeIPv6
	b = eth.Append(b)
	start := len(b)
	ip.NextHeader, ip.PayloadLength = packet.NextHeaderUDP, datagram
	b = ip.Append(b)
	b = packet.UDP{SrcPort: f.SrcPort, DstPort: packet.RoCEPort, Length: datagram}.Append(b)
	b = packet.BTH{Opcode: OpUDSendOnly, PKey: f.PKey, DestQPN: GSI, PSN: f.PSN}.Append(b)
	b = binary.BigEndian.AppendUint32(b, QKey)
	b = binary.BigEndian.AppendUint32(b, f.SourceQPN&sourceMask)
	b = f.MAD.Append(b)
	crc, _ := packet.ICRC(b[start:])
	return binary.LittleEndian.AppendUint32(b, crc)
}

// Len is the octets that Append writes.
func (Frame) Len() int { return packet.EthernetLen + packetLen }
