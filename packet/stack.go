package packet

import "fmt"

// stack is what precedes the UDP header of a packet: an IPv6 or IPv4 header, perhaps in one of IPv6
// with or without SRH.
type stack struct {
	encapsulated, routed bool
	outer                IPv6
	srh                  SRH
	ip                   IPv6 // or what it has in common with four
	four                 IPv4
	ipLen                int
	trim                 Trim
	datagram             []byte // from the inner IP header to the end
	end                  int    // octets of the packet
}

// parse reads a packet that starts with its (outer) IPv6 header. With classes, parse treats a
// packet with a trimmed DSCP as trimmed, and accepts the lengths of the whole packet.
func (s *stack) parse(b []byte, classes *DSCPClasses) error {
	ip, four, n, err := parseIP(b)
	if err != nil {
		return err
	}
	s.four, s.ipLen = four, n
	s.noteTrim(ip, classes)
	s.end = n + int(ip.PayloadLength)
	if len(b) < s.end {
		if s.trim == NotTrimmed {
			return truncated("IP packet", len(b), s.end)
		}
		s.end = len(b)
	}
	b = b[:s.end:s.end]
	next := ip.NextHeader
	if !ip.IsIPv4() &&
		(next == NextHeaderRouting || next == NextHeaderIPv6 || next == NextHeaderIPv4) {
		s.encapsulated, s.outer = true, ip
		if next == NextHeaderRouting {
			srh, m, err := ParseSRH(b[n:])
			if err != nil {
				return err
			}
			s.routed, s.srh = true, srh
			n += m
			next = srh.NextHeader
		}
		if next != NextHeaderIPv6 && next != NextHeaderIPv4 {
			return fmt.Errorf("outer IPv6: Next Header %d, want %d (IPv6) or %d (IPv4): %w", next,
				NextHeaderIPv6, NextHeaderIPv4, ErrUnsupported)
		}
		inner, four, m, err := parseIP(b[n:])
		if err != nil {
			return err
		}
		if want := innerHeader(inner); next != want {
			return fmt.Errorf("outer IPv6: Next Header %d, want %d, of what follows: %w", next, want,
				ErrMalformed)
		}
		s.four, s.ipLen = four, m
		s.noteTrim(inner, classes)
		have, want := int(inner.PayloadLength), len(b)-n-m
		if have < want || have > want && s.trim == NotTrimmed {
			return fmt.Errorf("inner IP header: Payload Length %d, want %d, which the outer "+
				"header leaves: %w", have, want, ErrMalformed)
		}
		ip, next, b = inner, inner.NextHeader, b[n:]
	}
	if next != NextHeaderUDP {
		return fmt.Errorf("IP: Next Header %d, want %d (UDP): %w", next, NextHeaderUDP, ErrUnsupported)
	}
	s.ip, s.datagram = ip, b
	return nil
}

// noteTrim reads the trim state from the outermost header, because the last switch wrote this
// header.
func (s *stack) noteTrim(ip IPv6, classes *DSCPClasses) {
	if classes != nil && s.trim == NotTrimmed {
		s.trim = classes.Trim(DSCP(ip.TrafficClass))
	}
}

// innerHeader returns the Next Header value for an inner header in a tunnel.
func innerHeader(ip IPv6) uint8 {
	if ip.IsIPv4() {
		return NextHeaderIPv4
	}
	return NextHeaderIPv6
}

// appendOuter writes the headers of a tunnel for an inner packet of a length, to which next leads.
func appendOuter(b []byte, outer IPv6, routed bool, srh SRH, next uint8, innerLen int) []byte {
	outer.NextHeader = next
	outer.PayloadLength = uint16(innerLen)
	if !routed {
		return outer.Append(b)
	}
	outer.NextHeader = NextHeaderRouting
	outer.PayloadLength = uint16(srh.Len() + innerLen)
	srh.NextHeader = next
	return srh.Append(outer.Append(b))
}
