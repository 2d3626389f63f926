package packet

import "fmt"

// SRv6Frame is an Ethernet frame in IPv6 with Next Header 143 (RFC 8986 §10.1), with or without
// SRH.
type SRv6Frame struct {
	Ethernet Ethernet // outermost
	IPv6     IPv6     // PayloadLength and NextHeader are not looked at by Append
	Routed   bool     // there is an SRH
	SRH      SRH      // NextHeader is not looked at by Append
	Frame    []byte   // the one inside, without frame check sequence
}

// ParseSRv6Frame reads a whole frame; n is the octets up to the end of the IPv6 payload. What is
// inside is not looked at, but for an Ethernet header's length.
func ParseSRv6Frame(b []byte) (p SRv6Frame, n int, err error) {
	eth, n, err := ParseEthernet(b)
	if err != nil {
		return SRv6Frame{}, 0, err
	}
	if eth.EtherType != EtherTypeIPv6 {
		return SRv6Frame{}, 0, fmt.Errorf("Ethernet header: EtherType %#04x, want %#04x (IPv6): %w",
			eth.EtherType, EtherTypeIPv6, ErrUnsupported)
	}
	ip, m, err := ParseIPv6(b[n:])
	if err != nil {
		return SRv6Frame{}, 0, err
	}
	n += m
	end := n + int(ip.PayloadLength)
	if len(b) < end {
		return SRv6Frame{}, 0, truncated("IPv6 packet", len(b)-EthernetLen, end-EthernetLen)
	}
	p = SRv6Frame{Ethernet: eth, IPv6: ip}
	next := ip.NextHeader
	if next == NextHeaderRouting {
		srh, m, err := ParseSRH(b[n:end:end])
		if err != nil {
			return SRv6Frame{}, 0, err
		}
		p.Routed, p.SRH = true, srh
		n += m
		next = srh.NextHeader
	}
	if next != NextHeaderEthernet {
		return SRv6Frame{}, 0, fmt.Errorf("IPv6: Next Header %d, want %d (Ethernet): %w", next,
			NextHeaderEthernet, ErrUnsupported)
	}
	if end-n < EthernetLen {
		return SRv6Frame{}, 0, truncated("inner Ethernet header", end-n, EthernetLen)
	}
	p.Frame = b[n:end:end]
	return p, end, nil
}

// Append writes the frame after b. Lengths and next headers follow from what is in it; an inner
// frame beyond 65,535 octets less the SRH does not fit.
func (p SRv6Frame) Append(b []byte) []byte {
	b = p.Ethernet.Append(b)
	ip := p.IPv6
	ip.NextHeader, ip.PayloadLength = NextHeaderEthernet, uint16(len(p.Frame))
	if !p.Routed {
		return append(ip.Append(b), p.Frame...)
	}
	ip.NextHeader, ip.PayloadLength = NextHeaderRouting, uint16(p.SRH.Len()+len(p.Frame))
	srh := p.SRH
	srh.NextHeader = NextHeaderEthernet
	return append(srh.Append(ip.Append(b)), p.Frame...)
}

// Len is the octets of the frame.
func (p SRv6Frame) Len() int {
	n := EthernetLen + IPv6Len + len(p.Frame)
	if p.Routed {
		n += p.SRH.Len()
	}
	return n
}
