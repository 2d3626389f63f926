package packet

import (
	"encoding/binary"
	"fmt"
)

// MinTrimLen is the least a frame may be trimmed to: all that a responder needs to answer it, up to
// the TSETH. An outer IPv6 header and SRH come on top.
const MinTrimLen = EthernetLen + IPv6Len + UDPLen + BTHLen + METHLen + TSETHLen

// Trimmer does what a switch does to a trimmable frame that meets a full queue.
type Trimmer struct {
	DSCP DSCPClasses
	Size int // octets that are left, from the Ethernet header on
	// SetLength: the Payload Length of the outermost IPv6 header becomes that of what is left. Else,
	// as the UDP length always, it stays.
	SetLength bool
}

// Validate reports whether the trimmer can be used.
func (t Trimmer) Validate() error {
	if t.Size < MinTrimLen {
		return fmt.Errorf("trim size: %d octets, want at least %d: %w", t.Size, MinTrimLen, ErrMalformed)
	}
	return t.DSCP.Validate()
}

// Trim cuts a frame and marks it, in place. The outermost header is marked, as TRIMMED_LASTHOP when
// lastHop. A frame that is no longer than Size is marked only. One that is not IPv6, or has a DSCP
// that is not trimmable, is ErrUnsupported and unchanged.
func (t Trimmer) Trim(frame []byte, lastHop bool) ([]byte, error) {
	eth, n, err := ParseEthernet(frame)
	if err != nil {
		return frame, err
	}
	if eth.EtherType != EtherTypeIPv6 {
		return frame, fmt.Errorf("Ethernet header: EtherType %#04x, want %#04x (IPv6): %w", eth.EtherType,
			EtherTypeIPv6, ErrUnsupported)
	}
	ip, _, err := ParseIPv6(frame[n:])
	if err != nil {
		return frame, err
	}
	if dscp := DSCP(ip.TrafficClass); !t.DSCP.MayTrim(dscp) {
		return frame, fmt.Errorf("IPv6 header: DSCP %d, want a trimmable one, %d or %d: %w", dscp,
			t.DSCP.Trimmable, t.DSCP.TrimmableRetx, ErrUnsupported)
	}
	dscp := t.DSCP.Trimmed
	if lastHop {
		dscp = t.DSCP.TrimmedLastHop
	}
	frame = frame[:min(len(frame), max(t.Size, n+IPv6Len))]
	ip.TrafficClass = TrafficClass(dscp, ECN(ip.TrafficClass))
	if t.SetLength {
		ip.PayloadLength = min(ip.PayloadLength, uint16(len(frame)-n-IPv6Len))
	}
	header := frame[n : n+IPv6Len]
	binary.BigEndian.PutUint32(header, 6<<28|uint32(ip.TrafficClass)<<20|ip.FlowLabel)
	binary.BigEndian.PutUint16(header[ipv6PayloadLength:], ip.PayloadLength)
	return frame, nil
}
