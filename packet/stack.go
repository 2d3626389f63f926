package packet

import "fmt"

// stack is what precedes the UDP header of a packet: an IPv6 header, perhaps in another with or
// without SRH.
type stack struct {
	encapsulated, routed bool
	outer                IPv6
	srh                  SRH
	ip                   IPv6
	trim                 Trim
	datagram             []byte // from the inner IPv6 header to the end
	end                  int    // octets of the packet
}

// parse reads a packet that starts with its (outer) IPv6 header. With classes it takes a packet
// that reports that it was trimmed for one, and accepts that its lengths are those of the whole
// packet.
func (s *stack) parse(b []byte, classes *DSCPClasses) error {
	ip, n, err := ParseIPv6(b)
	if err != nil {
		return err
	}
	s.noteTrim(ip, classes)
	s.end = n + int(ip.PayloadLength)
	if len(b) < s.end {
		if s.trim == NotTrimmed {
			return truncated("IPv6 packet", len(b), s.end)
		}
		s.end = len(b)
	}
	b = b[:s.end:s.end]
	next := ip.NextHeader
	if next == NextHeaderRouting || next == NextHeaderIPv6 {
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
		if next != NextHeaderIPv6 {
			return fmt.Errorf("outer IPv6: Next Header %d, want %d (IPv6): %w", next, NextHeaderIPv6,
				ErrUnsupported)
		}
		inner, m, err := ParseIPv6(b[n:])
		if err != nil {
			return err
		}
		s.noteTrim(inner, classes)
		have, want := int(inner.PayloadLength), len(b)-n-m
		if have < want || have > want && s.trim == NotTrimmed {
			return fmt.Errorf("inner IPv6 header: Payload Length %d, want %d, which the outer header "+
				"leaves: %w", have, want, ErrMalformed)
		}
		ip, next, b = inner, inner.NextHeader, b[n:]
	}
	if next != NextHeaderUDP {
		return fmt.Errorf("IPv6: Next Header %d, want %d (UDP): %w", next, NextHeaderUDP, ErrUnsupported)
	}
	s.ip, s.datagram = ip, b
	return nil
}

// noteTrim takes the outermost header's word: it is the one that the last switch wrote.
func (s *stack) noteTrim(ip IPv6, classes *DSCPClasses) {
	if classes != nil && s.trim == NotTrimmed {
		s.trim = classes.Trim(DSCP(ip.TrafficClass))
	}
}

// appendOuter writes the headers of a tunnel for an inner packet of a length.
func appendOuter(b []byte, outer IPv6, routed bool, srh SRH, innerLen int) []byte {
	outer.NextHeader = NextHeaderIPv6
	outer.PayloadLength = uint16(innerLen)
	if !routed {
		return outer.Append(b)
	}
	outer.NextHeader = NextHeaderRouting
	outer.PayloadLength = uint16(srh.Len() + innerLen)
	srh.NextHeader = NextHeaderIPv6
	return srh.Append(outer.Append(b))
}
