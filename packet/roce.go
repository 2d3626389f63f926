package packet

import (
	"encoding/binary"
	"fmt"
)

// RoCE is a whole RoCEv2 frame: Ethernet, perhaps an outer IPv6 header with or without SRH, IPv6 or
// IPv4, UDP, BTH, the extension headers of the opcode, payload, padding, ICRC.
//
// Append derives, and ParseRoCE fills in: EtherType, Next Headers, the lengths, PadCount and ICRC.
// All else is the caller's, the hop limits and UDP.DstPort (RoCEPort) too.
type RoCE struct {
	Ethernet Ethernet

	Encapsulated bool // Outer is there
	Routed       bool // SRH is there too
	Outer        IPv6
	SRH          SRH

	// IPv6 stands for an IPv4 header where its addresses are IPv4: FlowLabel is 0 then, and ID the
	// Identification of the header, which asks not to be fragmented.
	IPv6 IPv6
	ID   uint16
	UDP  UDP
	// Checksummed: the UDP checksum is present. Without Checksummed the checksum is 0, as RoCEv2
	// senders leave it.
	Checksummed bool
	BTH         BTH
	RETH        RETH
	AETH        AETH
	ImmDt       ImmDt
	Payload     []byte // without padding; a slice of the frame after ParseRoCE
	ICRC        uint32 // as computed; its octets are reversed on the wire

	// Datagram, set by ParseRoCE, is the slice of the frame from the inner IP header to the ICRC,
	// for CheckICRC.
	Datagram []byte
}

// ParseRoCE reads a frame; n is the octets up to the ICRC, which Ethernet padding may follow.
// Lengths are checked, the ICRC and the UDP checksum are not: see CheckICRC and CheckUDPChecksum.
// An error that wraps ErrUnsupported means that the frame is no RoCEv2 over IP, or has an opcode
// this package does not decode; in the latter case all up to the BTH, and Datagram, is filled in.
func ParseRoCE(frame []byte) (p RoCE, n int, err error) {
	p.Ethernet, n, err = ParseEthernet(frame)
	if err != nil {
		return RoCE{}, 0, err
	}
	if err := checkEtherType(p.Ethernet.EtherType, frame[n:]); err != nil {
		return RoCE{}, 0, err
	}
	m, err := p.parseIPv6(frame[n:])
	return p, n + m, err
}

// ParseRoCEPacket is ParseRoCE for a packet that starts with its (outer) IPv6 header.
func ParseRoCEPacket(b []byte) (p RoCE, n int, err error) {
	n, err = p.parseIPv6(b)
	return p, n, err
}

func (p *RoCE) parseIPv6(b []byte) (int, error) {
	var s stack
	if err := s.parse(b, nil); err != nil {
		return 0, err
	}
	p.Encapsulated, p.Routed, p.Outer, p.SRH, p.IPv6, p.Datagram = s.encapsulated, s.routed, s.outer,
		s.srh, s.ip, s.datagram
	p.ID = s.four.ID
	return s.end, p.parseTransport(s.datagram[s.ipLen:])
}

func (p *RoCE) parseTransport(b []byte) error {
	var n int
	var err error
	if p.UDP, n, err = ParseUDP(b); err != nil {
		return err
	}
	if p.UDP.DstPort != RoCEPort {
		return fmt.Errorf("UDP header: destination port %d, want %d: %w", p.UDP.DstPort, RoCEPort,
			ErrUnsupported)
	}
	if int(p.UDP.Length) != len(b) {
		return fmt.Errorf("UDP header: Length %d, want the IPv6 Payload Length %d: %w", p.UDP.Length,
			len(b), ErrMalformed)
	}
	p.Checksummed = p.UDP.Checksum != 0
	b = b[n:]
	if p.BTH, n, err = ParseBTH(b); err != nil {
		return err
	}
	b = b[n:]
	if b, p.ICRC, err = cutICRC(b); err != nil {
		return err
	}
	ext, ok := p.BTH.Opcode.Extensions()
	if !ok {
		return fmt.Errorf("BTH: %v, want an opcode of reliable connection without ATOMIC and "+
			"Invalidate, or CNP: %w", p.BTH.Opcode, ErrUnsupported)
	}
	if ext.Is(ExtRETH) {
		if p.RETH, n, err = ParseRETH(b); err != nil {
			return err
		}
		b = b[n:]
	}
	if ext.Is(ExtAETH) {
		if p.AETH, n, err = ParseAETH(b); err != nil {
			return err
		}
		b = b[n:]
	}
	if ext.Is(ExtImmDt) {
		if p.ImmDt, n, err = ParseImmDt(b); err != nil {
			return err
		}
		b = b[n:]
	}
	if ext.Is(ExtCNP) {
		if _, n, err = ParseCNP(b); err != nil {
			return err
		}
		b = b[n:]
	}
	p.Payload, err = cutPad(b, p.BTH.PadCount)
	return err
}

// Append writes the frame after b. It derives what the comment on RoCE says, and computes the UDP
// checksum if Checksummed; p itself does not change. Extension headers the opcode does not have are
// left out. A payload too long for the length fields gives a frame that does not parse.
func (p *RoCE) Append(b []byte) []byte {
	eth := p.Ethernet
	eth.EtherType = p.IPv6.EtherType()
	if p.Encapsulated {
		eth.EtherType = EtherTypeIPv6
	}
	return p.AppendPacket(eth.Append(b))
}

// AppendPacket is Append without the Ethernet header.
func (p *RoCE) AppendPacket(b []byte) []byte {
	if p.Encapsulated {
		b = appendOuter(b, p.Outer, p.Routed, p.SRH, innerHeader(p.IPv6), p.innerLen())
	}
	start, ipLen := len(b), p.IPv6.IPLen()
	ip, udp, bth := p.IPv6, p.UDP, p.BTH
	ip.NextHeader = NextHeaderUDP
	udp.Length = uint16(p.innerLen() - ipLen)
	ip.PayloadLength = udp.Length
	udp.Checksum = 0
	bth.PadCount = padCount(p.Payload)
	b = bth.Append(udp.Append(ip.AppendIP(b, p.ID)))
	ext, _ := bth.Opcode.Extensions()
	if ext.Is(ExtRETH) {
		b = p.RETH.Append(b)
	}
	if ext.Is(ExtAETH) {
		b = p.AETH.Append(b)
	}
	if ext.Is(ExtImmDt) {
		b = p.ImmDt.Append(b)
	}
	if ext.Is(ExtCNP) {
		b = CNP{}.Append(b)
	}
	b = append(b, p.Payload...)
	for range bth.PadCount {
		b = append(b, 0)
	}
	b = binary.LittleEndian.AppendUint32(b, icrc(b[start:]))
	if p.Checksummed {
		sum := UDPChecksum(ip.Src, ip.Dst, b[start+ipLen:])
		binary.BigEndian.PutUint16(b[start+ipLen+udpChecksum:], sum)
	}
	return b
}

// Len is the octets Append writes.
func (p *RoCE) Len() int {
	n := EthernetLen + p.innerLen()
	if p.Encapsulated {
		n += IPv6Len
		if p.Routed {
			n += p.SRH.Len()
		}
	}
	return n
}

func (p *RoCE) innerLen() int {
	ext, _ := p.BTH.Opcode.Extensions()
	return innerLen(ext, p.Payload) - IPv6Len + p.IPv6.IPLen()
}
