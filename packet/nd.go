package packet

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
)

// Types of neighbor discovery messages (RFC 4861 §4), and of other messages from hosts at the edge:
// echoes (RFC 4443 §4) and multicast listener reports (RFC 3810 §5.2).
const (
	ICMPv6EchoRequest           = 128
	ICMPv6EchoReply             = 129
	ICMPv6RouterSolicitation    = 133
	ICMPv6RouterAdvertisement   = 134
	ICMPv6NeighborSolicitation  = 135
	ICMPv6NeighborAdvertisement = 136
	ICMPv6Redirect              = 137
	ICMPv6ListenerReport        = 143
)

// NDHopLimit is the Hop Limit of all neighbor discovery messages: a message with another Hop Limit
// came from another link (RFC 4861 §7.1).
const NDHopLimit = 255

var (
	// AllNodes and AllRouters are the multicast addresses of a link's nodes and routers (RFC 4291
	// §2.7.1).
	AllNodes   = netip.MustParseAddr("ff02::1")
	AllRouters = netip.MustParseAddr("ff02::2")
)

// Options of neighbor discovery (RFC 4861 §4.6, RFC 3971 §5.3.2). A length counts 8 octets.
const (
	ndSourceMAC = 1
	ndTargetMAC = 2
	ndPrefix    = 3
	ndMTU       = 5
	ndNonce     = 14

	ndHead        = 4 // type, code and checksum
	ndSolicitLen  = 8 // of a router solicitation, up to its options
	ndNeighborLen = 24
	ndRouterLen   = 16
	ndUnit        = 8
	ndPrefixLen   = 32

	ndRouterBit, ndSolicitedBit, ndOverrideBit = 0x80, 0x40, 0x20 // of neighbor advertisements
	ndOnLinkBit, ndAutonomousBit               = 0x80, 0x40       // of a prefix
)

// ND is a message of neighbor discovery (RFC 4861 §4.1 to §4.4): a solicitation or advertisement
// of a router or a neighbor. Which fields count depends on Type.
type ND struct {
	Type, Code uint8
	Checksum   uint16

	// Of a router advertisement. Seconds, and milliseconds; 0 is unspecified.
	HopLimit           uint8
	Lifetime           uint16
	Reachable, Retrans uint32

	// Of a neighbor advertisement.
	Router, Solicited, Override bool
	// Target of neighbor solicitations and advertisements.
	Target netip.Addr

	// Options; zero is none. Nonce has the octets after the head of the option, 6 or 8 more each.
	SourceMAC, TargetMAC MAC
	MTU                  uint32
	Prefixes             []NDPrefix
	Nonce                []byte
}

// NDPrefix is a Prefix Information option (RFC 4861 §4.6.2). Lifetimes are in seconds.
type NDPrefix struct {
	Prefix             netip.Prefix
	OnLink, Autonomous bool
	Valid, Preferred   uint32
}

// ParseND reads a message to its end. It skips options that it does not know, and refuses a message
// with an option of length 0 (RFC 4861 §4.6). The checksum is not looked at.
func ParseND(b []byte) (ND, int, error) {
	if len(b) < ndHead {
		return ND{}, 0, truncated("ICMPv6 message", len(b), ndHead)
	}
	m := ND{Type: b[0], Code: b[icmpCode], Checksum: binary.BigEndian.Uint16(b[icmpChecksum:])}
	at := ndSolicitLen
	switch m.Type {
	case ICMPv6RouterSolicitation:
	case ICMPv6RouterAdvertisement:
		at = ndRouterLen
	case ICMPv6NeighborSolicitation, ICMPv6NeighborAdvertisement:
		at = ndNeighborLen
	default:
		return ND{}, 0, fmt.Errorf("ICMPv6: type %d, want one of neighbor discovery (133 to 136): %w",
			m.Type, ErrUnsupported)
	}
	if len(b) < at {
		return ND{}, 0, truncated("neighbor discovery", len(b), at)
	}
	switch m.Type {
	case ICMPv6RouterAdvertisement:
		m.HopLimit = b[ndHead]
		m.Lifetime = binary.BigEndian.Uint16(b[6:])
		m.Reachable, m.Retrans = binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint32(b[12:])
	case ICMPv6NeighborAdvertisement:
		f := b[ndHead]
		m.Router, m.Solicited = f&ndRouterBit != 0, f&ndSolicitedBit != 0
		m.Override = f&ndOverrideBit != 0
		m.Target = netip.AddrFrom16([16]byte(b[8:]))
	case ICMPv6NeighborSolicitation:
		m.Target = netip.AddrFrom16([16]byte(b[8:]))
	}
	for at < len(b) {
		if len(b) < at+2 {
			return ND{}, 0, truncated("option of neighbor discovery", len(b)-at, 2)
		}
		size := int(b[at+1]) * ndUnit
		if size == 0 {
			return ND{}, 0, fmt.Errorf("neighbor discovery: option %d of length 0: %w", b[at],
				ErrMalformed)
		}
		if len(b) < at+size {
			return ND{}, 0, truncated(fmt.Sprintf("option %d of neighbor discovery", b[at]), len(b)-at, size)
		}
		if err := m.option(b[at], b[at:at+size]); err != nil {
			return ND{}, 0, err
		}
		at += size
	}
	return m, at, nil
}

// option keeps an option that is known; of several of a type the last one, and all prefixes.
func (m *ND) option(typ uint8, b []byte) error {
	wrong := func(want int) error {
		return fmt.Errorf("neighbor discovery: option %d of %d octets, want %d: %w", typ, len(b), want,
			ErrMalformed)
	}
	switch typ {
	case ndSourceMAC, ndTargetMAC:
		if len(b) != ndUnit {
			return wrong(ndUnit)
		}
		if typ == ndSourceMAC {
			m.SourceMAC = MAC(b[2:])
		} else {
			m.TargetMAC = MAC(b[2:])
		}
	case ndMTU:
		if len(b) != ndUnit {
			return wrong(ndUnit)
		}
		m.MTU = binary.BigEndian.Uint32(b[4:])
	case ndPrefix:
		if len(b) != ndPrefixLen {
			return wrong(ndPrefixLen)
		}
		bits := int(b[2])
		if bits > 128 {
			return fmt.Errorf("neighbor discovery: prefix of %d bits: %w", bits, ErrMalformed)
		}
		m.Prefixes = append(m.Prefixes, NDPrefix{
			Prefix: netip.PrefixFrom(netip.AddrFrom16([16]byte(b[16:])), bits).Masked(),
			OnLink: b[3]&ndOnLinkBit != 0, Autonomous: b[3]&ndAutonomousBit != 0,
			Valid: binary.BigEndian.Uint32(b[4:]), Preferred: binary.BigEndian.Uint32(b[8:]),
		})
	case ndNonce:
		m.Nonce = slices.Clone(b[2:])
	}
	return nil
}

// Append writes the message after b, with its options in the order of the fields. A nonce is padded
// with zeros to whole units of 8 octets with its head.
func (m ND) Append(b []byte) []byte {
	b = append(b, m.Type, m.Code)
	b = binary.BigEndian.AppendUint16(b, m.Checksum)
	switch m.Type {
	case ICMPv6RouterAdvertisement:
		b = append(b, m.HopLimit, 0)
		b = binary.BigEndian.AppendUint16(b, m.Lifetime)
		b = binary.BigEndian.AppendUint32(b, m.Reachable)
		b = binary.BigEndian.AppendUint32(b, m.Retrans)
	case ICMPv6NeighborSolicitation, ICMPv6NeighborAdvertisement:
		var f uint8
		if m.Type == ICMPv6NeighborAdvertisement {
			f = flag(m.Router, ndRouterBit) | flag(m.Solicited, ndSolicitedBit) |
				flag(m.Override, ndOverrideBit)
		}
		b = append(b, f, 0, 0, 0)
		b = appendAddr(b, m.Target)
	default:
		b = append(b, 0, 0, 0, 0)
	}
	b = appendMACOption(b, ndSourceMAC, m.SourceMAC)
	b = appendMACOption(b, ndTargetMAC, m.TargetMAC)
	if m.MTU != 0 {
		b = append(b, ndMTU, 1, 0, 0)
		b = binary.BigEndian.AppendUint32(b, m.MTU)
	}
	for _, p := range m.Prefixes {
		b = append(b, ndPrefix, ndPrefixLen/ndUnit, uint8(p.Prefix.Bits()),
			flag(p.OnLink, ndOnLinkBit)|flag(p.Autonomous, ndAutonomousBit))
		b = binary.BigEndian.AppendUint32(b, p.Valid)
		b = binary.BigEndian.AppendUint32(b, p.Preferred)
		b = appendAddr(append(b, 0, 0, 0, 0), p.Prefix.Addr())
	}
	if n := len(m.Nonce); n > 0 {
		units := (n + 2 + ndUnit - 1) / ndUnit
		b = append(b, ndNonce, uint8(units))
		b = append(append(b, m.Nonce...), make([]byte, units*ndUnit-2-n)...)
	}
	return b
}

// Len returns the octets that Append writes.
func (m ND) Len() int { return len(m.Append(nil)) }

func flag(on bool, bit uint8) uint8 {
	if on {
		return bit
	}
	return 0
}

func appendMACOption(b []byte, typ uint8, mac MAC) []byte {
	if mac == (MAC{}) {
		return b
	}
	return append(append(b, typ, 1), mac[:]...)
}

// LinkLocal returns the link-local address that an Ethernet address makes (RFC 4291, appendix A).
func LinkLocal(m MAC) netip.Addr {
	return netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80,
		8: m[0] ^ 2, 9: m[1], 10: m[2], 11: 0xff, 12: 0xfe, 13: m[3], 14: m[4], 15: m[5]})
}

// SolicitedNode returns the multicast address that an address is asked for at (RFC 4291 §2.7.1).
func SolicitedNode(a netip.Addr) netip.Addr {
	o := a.As16()
	return netip.AddrFrom16([16]byte{0: 0xff, 1: 0x02, 11: 1, 12: 0xff, 13: o[13], 14: o[14],
		15: o[15]})
}

// MulticastMAC returns the Ethernet address of a multicast address (RFC 2464 §7).
func MulticastMAC(a netip.Addr) MAC {
	o := a.As16()
	return MAC{0x33, 0x33, o[12], o[13], o[14], o[15]}
}

// NDFrame is a neighbor discovery message with its headers.
type NDFrame struct {
	Ethernet Ethernet
	IP       IPv6
	ND       ND
}

// ParseNDFrame reads a frame and validates its message as RFC 4861 §6.1 and §7.1 ask of
// receivers: Hop Limit 255, checksum, code 0, and what the addresses allow. Octets behind the
// payload are padding. A message behind extension headers is refused.
func ParseNDFrame(frame []byte) (NDFrame, error) {
	var f NDFrame
	var n, m int
	var err error
	if f.Ethernet, n, err = ParseEthernet(frame); err != nil {
		return NDFrame{}, err
	}
	if f.IP, m, err = ParseIPv6(frame[n:]); err != nil {
		return NDFrame{}, err
	}
	bad := func(format string, a ...any) (NDFrame, error) {
		return NDFrame{}, fmt.Errorf("neighbor discovery: %s: %w", fmt.Sprintf(format, a...),
			ErrMalformed)
	}
	body := frame[n+m:]
	switch size := int(f.IP.PayloadLength); {
	case len(body) < size:
		return NDFrame{}, truncated("neighbor discovery", len(body), size)
	case f.Ethernet.EtherType != EtherTypeIPv6 || f.IP.NextHeader != NextHeaderICMPv6:
		return bad("EtherType %#x, next header %d", f.Ethernet.EtherType, f.IP.NextHeader)
	case f.IP.HopLimit != NDHopLimit:
		return bad("Hop Limit %d, want %d", f.IP.HopLimit, NDHopLimit)
	default:
		body = body[:size]
	}
	if f.ND, _, err = ParseND(body); err != nil {
		return NDFrame{}, err
	}
	if want := ICMPv6Checksum(f.IP.Src, f.IP.Dst, body); f.ND.Checksum != want {
		return bad("checksum %#04x, want %#04x", f.ND.Checksum, want)
	}
	unspecified := f.IP.Src.IsUnspecified()
	switch t := f.ND.Type; {
	case f.ND.Code != 0:
		return bad("code %d, want 0", f.ND.Code)
	case f.IP.Src.IsMulticast():
		return bad("source %v", f.IP.Src)
	case f.ND.Target.IsMulticast():
		return bad("target %v", f.ND.Target)
	case unspecified && f.ND.SourceMAC != MAC{}:
		return bad("a link-layer address of source ::")
	case t == ICMPv6NeighborSolicitation && unspecified && f.IP.Dst != SolicitedNode(f.ND.Target):
		return bad("destination %v of source ::, want %v", f.IP.Dst, SolicitedNode(f.ND.Target))
	case t == ICMPv6NeighborAdvertisement && f.IP.Dst.IsMulticast() && f.ND.Solicited:
		return bad("a solicited advertisement to %v", f.IP.Dst)
	case t == ICMPv6RouterAdvertisement && !f.IP.Src.IsLinkLocalUnicast():
		return bad("router %v, want a link-local address", f.IP.Src)
	}
	return f, nil
}

// Append writes the frame after b, with Hop Limit 255, lengths and checksum of its own.
func (f NDFrame) Append(b []byte) []byte {
	m := f.ND
	m.Checksum = 0
	body := m.Append(nil)
	binary.BigEndian.PutUint16(body[icmpChecksum:], ICMPv6Checksum(f.IP.Src, f.IP.Dst, body))
	e, ip := f.Ethernet, f.IP
	e.EtherType = EtherTypeIPv6
	ip.NextHeader, ip.HopLimit = NextHeaderICMPv6, NDHopLimit
	ip.PayloadLength = uint16(len(body))
	return append(ip.Append(e.Append(b)), body...)
}
