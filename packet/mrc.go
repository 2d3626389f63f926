package packet

import (
	"encoding/binary"
	"fmt"
)

// MRCSettings are the wire settings that both ends of an MRC connection must share.
type MRCSettings struct {
	Port uint16 // UDP destination port
	DSCP DSCPClasses
}

// DefaultMRCSettings are RoCEPort and DefaultDSCPClasses.
func DefaultMRCSettings() MRCSettings {
	return MRCSettings{Port: RoCEPort, DSCP: DefaultDSCPClasses()}
}

// Validate reports whether the settings can be used.
func (s MRCSettings) Validate() error {
	if s.Port == 0 {
		return fmt.Errorf("MRC: UDP port 0, want 1 to 65535: %w", ErrMalformed)
	}
	return s.DSCP.Validate()
}

// MRC is a whole MRC frame: Ethernet, optionally an outer IPv6 header with or without SRH, IPv6 or
// IPv4, UDP, BTH, the extension headers of the opcode; in a WRITE, payload and padding; ICRC.
//
// Append derives, and ParseMRC fills in: EtherType, Next Headers, the lengths, the UDP checksum
// (0), PadCount, ICRC, and the fields marked as set by ParseMRC. The caller sets all other fields,
// including the hop limits, UDP.DstPort and the UDP length of a NACK. A NACK of a trimmed packet
// carries the UDP length of the whole packet, so Append writes UDP.Length unless 0.
type MRC struct {
	Ethernet Ethernet

	Encapsulated bool // Outer is there
	Routed       bool // SRH is there too
	Outer        IPv6
	SRH          SRH

	// IPv6 stands for an IPv4 header where its addresses are IPv4, as in RoCE: FlowLabel is 0 then.
	IPv6  IPv6
	UDP   UDP
	BTH   MRCBTH
	METH  METH
	TSETH TSETH
	// VA is the address of this packet's payload, DMALength the length of the whole operation (table
	// 6-5)
	RETH  RETH
	AETH  AETH
	ImmDt ImmDt
	SETH  SETH
	NETH  NETH
	PETH  PETH
	ERTH  ERTH
	EETH  EETH

	Payload []byte // without padding; a slice of the frame after ParseMRC
	ICRC    uint32 // as computed; its octets are reversed on the wire

	// Trim, set by ParseMRC: a DSCP reports that a switch trimmed the packet. A trimmed packet has no
	// ICRC to check, Payload is nil even if some payload is left, the IPv6 and UDP lengths may still
	// count the whole packet, and only Headers are present.
	Trim Trim
	// Headers, set by ParseMRC, are the extension headers present: all headers of the opcode, or the
	// headers left complete by trimming.
	Headers Extension
	// Datagram, set by ParseMRC, is the slice of the frame from the inner IP header to the end, for
	// CheckICRC.
	Datagram []byte
}

// EV is the entropy value the packet travels with, that is reflected in the answer to it: of the
// inner header when it is encapsulated.
func (p *MRC) EV() EV { return NewEV(p.UDP.SrcPort, p.IPv6.FlowLabel) }

// SetEV writes an entropy value into source port and flow label. IPv4 has the source port alone
// (OCP MRC 1.0, §9.1).
func (p *MRC) SetEV(v EV) {
	if p.IPv6.IsIPv4() {
		v = v.SourcePortOnly()
	}
	p.UDP.SrcPort, p.IPv6.FlowLabel = v.SrcPort(), v.FlowLabel()
}

// ParseMRC reads a frame; n is the octets up to the ICRC, which Ethernet padding may follow.
// ParseMRC checks lengths but not the ICRC: see CheckICRC. ParseMRC ignores the UDP checksum, which
// MRC sends as 0. An error that wraps ErrUnsupported means that the frame is not MRC over IP, or
// has an unassigned opcode; with an unassigned opcode, ParseMRC fills in Datagram and everything up
// to the BTH.
func ParseMRC(frame []byte, s MRCSettings) (p MRC, n int, err error) {
	p.Ethernet, n, err = ParseEthernet(frame)
	if err != nil {
		return MRC{}, 0, err
	}
	if err := checkEtherType(p.Ethernet.EtherType, frame[n:]); err != nil {
		return MRC{}, 0, err
	}
	m, err := p.parseIPv6(frame[n:], &s)
	return p, n + m, err
}

// ParseMRCPacket is ParseMRC for a packet that starts with its (outer) IP header.
func ParseMRCPacket(b []byte, s MRCSettings) (p MRC, n int, err error) {
	n, err = p.parseIPv6(b, &s)
	return p, n, err
}

func (p *MRC) parseIPv6(b []byte, s *MRCSettings) (int, error) {
	var st stack
	if err := st.parse(b, &s.DSCP); err != nil {
		return 0, err
	}
	p.Encapsulated, p.Routed, p.Outer, p.SRH, p.IPv6 = st.encapsulated, st.routed, st.outer, st.srh,
		st.ip
	p.Trim, p.Datagram = st.trim, st.datagram
	return st.end, p.parseTransport(st.datagram[st.ipLen:], s.Port)
}

func (p *MRC) parseTransport(b []byte, port uint16) error {
	udp := len(b)
	var n int
	var err error
	if p.UDP, n, err = ParseUDP(b); err != nil {
		return err
	}
	if p.UDP.DstPort != port {
		return fmt.Errorf("UDP header: destination port %d, want %d: %w", p.UDP.DstPort, port,
			ErrUnsupported)
	}
	b = b[n:]
	if p.BTH, n, err = ParseMRCBTH(b); err != nil {
		return err
	}
	b = b[n:]
	ext, assigned := p.BTH.Extensions()
	switch length := int(p.UDP.Length); {
	case p.Trim != NotTrimmed:
		if length < udp {
			return fmt.Errorf("UDP header of a trimmed packet: Length %d, want at least the %d octets "+
				"that are left: %w", length, udp, ErrMalformed)
		}
	case p.BTH.Opcode != OpMRCNACK && length != udp:
		return fmt.Errorf("UDP header: Length %d, want the IPv6 Payload Length %d: %w", length, udp,
			ErrMalformed)
	}
	if !assigned {
		return fmt.Errorf("BTH: %v, want an assigned opcode of MRC: %w", p.BTH.Opcode, ErrUnsupported)
	}
	if p.Trim != NotTrimmed {
		_, err = p.parseExtensions(b, ext)
		return err
	}
	if b, p.ICRC, err = cutICRC(b); err != nil {
		return err
	}
	if b, err = p.parseExtensions(b, ext); err != nil {
		return err
	}
	return p.parsePayload(b, ext)
}

// parseExtensions reads the headers of ext at the start of b and returns the rest. In a trimmed
// packet, parseExtensions reads only complete headers.
func (p *MRC) parseExtensions(b []byte, ext Extension) ([]byte, error) {
	for ; ext != 0; ext &= ext - 1 {
		header := ext.first()
		var n int
		var err error
		switch header {
		case ExtMETH:
			p.METH, n, err = ParseMETH(b)
		case ExtTSETH:
			p.TSETH, n, err = ParseTSETH(b)
		case ExtRETH:
			p.RETH, n, err = ParseRETH(b)
		case ExtAETH:
			p.AETH, n, err = ParseAETH(b)
		case ExtImmDt:
			p.ImmDt, n, err = ParseImmDt(b)
		case ExtSETH:
			p.SETH, n, err = ParseSETH(b)
		case ExtNETH:
			p.NETH, n, err = ParseNETH(b)
		case ExtPETH:
			p.PETH, n, err = ParsePETH(b)
		case ExtERTH:
			p.ERTH, n, err = ParseERTH(b)
		case ExtEETH:
			p.EETH, n, err = ParseEETH(b)
		}
		if err != nil {
			if p.Trim != NotTrimmed {
				return nil, nil
			}
			return nil, err
		}
		p.Headers |= header
		b = b[n:]
	}
	return b, nil
}

func (p *MRC) parsePayload(b []byte, ext Extension) error {
	if !ext.Is(ExtMETH) {
		if len(b) != 0 {
			return fmt.Errorf("%v: %d octets between headers and ICRC, want none: %w", p.BTH.Opcode, len(b),
				ErrMalformed)
		}
		return nil
	}
	payload, err := cutPad(b, p.BTH.PadCount)
	if err != nil {
		return err
	}
	if len(b)%4 != 0 {
		return fmt.Errorf("BTH: Pad Count %d, want one that makes %d octets of payload a multiple of "+
			"4: %w", p.BTH.PadCount, len(payload), ErrMalformed)
	}
	p.Payload = payload
	return nil
}

// Append writes the frame after b. It derives what the comment on MRC says; p itself does not
// change. Extension headers the opcode does not have are left out, and so is the payload of
// anything but a WRITE. It writes whole packets: Trimmer makes trimmed ones of them. A payload too
// long for the length fields gives a frame that does not parse.
func (p *MRC) Append(b []byte) []byte {
	eth := p.Ethernet
	eth.EtherType = EtherTypeIPv6
	if !p.Encapsulated {
		eth.EtherType = p.IPv6.EtherType()
	}
	return p.AppendPacket(eth.Append(b))
}

// AppendPacket is Append without the Ethernet header.
func (p *MRC) AppendPacket(b []byte) []byte {
	ext, payload := p.layout()
	inner := p.innerLen()
	if p.Encapsulated {
		b = appendOuter(b, p.Outer, p.Routed, p.SRH, innerHeader(p.IPv6), inner)
	}
	start := len(b)
	ip, udp, bth := p.IPv6, p.UDP, p.BTH
	ip.NextHeader = NextHeaderUDP
	ip.PayloadLength = uint16(inner - ip.IPLen())
	if bth.Opcode != OpMRCNACK || udp.Length == 0 {
		udp.Length = ip.PayloadLength
	}
	udp.Checksum = 0
	bth.PadCount = padCount(payload)
	b = bth.Append(udp.Append(ip.AppendIP(b, 0)))
	b = p.appendExtensions(b, ext)
	b = append(b, payload...)
	for range bth.PadCount {
		b = append(b, 0)
	}
	return binary.LittleEndian.AppendUint32(b, icrc(b[start:]))
}

func (p *MRC) appendExtensions(b []byte, ext Extension) []byte {
	for ; ext != 0; ext &= ext - 1 {
		switch ext.first() {
		case ExtMETH:
			b = p.METH.Append(b)
		case ExtTSETH:
			b = p.TSETH.Append(b)
		case ExtRETH:
			b = p.RETH.Append(b)
		case ExtAETH:
			b = p.AETH.Append(b)
		case ExtImmDt:
			b = p.ImmDt.Append(b)
		case ExtSETH:
			b = p.SETH.Append(b)
		case ExtNETH:
			b = p.NETH.Append(b)
		case ExtPETH:
			b = p.PETH.Append(b)
		case ExtERTH:
			b = p.ERTH.Append(b)
		case ExtEETH:
			b = p.EETH.Append(b)
		}
	}
	return b
}

// Len is the octets Append writes.
func (p *MRC) Len() int {
	n := EthernetLen + p.innerLen()
	if p.Encapsulated {
		n += IPv6Len
		if p.Routed {
			n += p.SRH.Len()
		}
	}
	return n
}

// layout is what Append writes after the BTH.
func (p *MRC) layout() (ext Extension, payload []byte) {
	ext, _ = p.BTH.Extensions()
	if ext.Is(ExtMETH) {
		payload = p.Payload
	}
	return ext, payload
}

func (p *MRC) innerLen() int { return innerLen(p.layout()) + p.IPv6.IPLen() - IPv6Len }

// innerLen returns the packet length from the inner IPv6 header to the ICRC.
func innerLen(ext Extension, payload []byte) int {
	return icrcMin + ext.Len() + len(payload) + int(padCount(payload)) + ICRCLen
}
