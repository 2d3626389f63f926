package packet

import "fmt"

// MinTrimLen is the least a frame may be trimmed to: all that a responder needs to answer it, up to
// the TSETH. An outer IPv6 header and SRH come on top.
const MinTrimLen = EthernetLen + IPv6Len + UDPLen + BTHLen + METHLen + TSETHLen

// Trimmer does what a switch does to a trimmable frame that meets a full queue.
type Trimmer struct {
	DSCP DSCPClasses
	Size int // octets left, from the Ethernet header on
	// SetLength makes Trim set the Payload Length of the outermost IPv6 header to the remaining
	// length. Without SetLength the Payload Length stays, as the UDP length always does.
	SetLength bool
}

// Validate reports whether the trimmer can be used.
func (t Trimmer) Validate() error {
	if t.Size < MinTrimLen {
		return fmt.Errorf("trim size: %d octets, want at least %d: %w", t.Size, MinTrimLen, ErrMalformed)
	}
	return t.DSCP.Validate()
}

// Trim cuts and marks a frame in place. Trim marks the outermost header, as TRIMMED_LASTHOP if
// lastHop, and only marks a frame of at most Size octets. A frame without IP, or with a DSCP that
// is not trimmable, stays unchanged, and Trim returns ErrUnsupported.
func (t Trimmer) Trim(frame []byte, lastHop bool) ([]byte, error) {
	eth, n, err := ParseEthernet(frame)
	if err != nil {
		return frame, err
	}
	if err := checkEtherType(eth.EtherType, frame[n:]); err != nil {
		return frame, err
	}
	ip, four, header, err := parseIP(frame[n:])
	if err != nil {
		return frame, err
	}
	if dscp := DSCP(ip.TrafficClass); !t.DSCP.MayTrim(dscp) {
		return frame, fmt.Errorf("IP header: DSCP %d, want a trimmable one, %d or %d: %w", dscp,
			t.DSCP.Trimmable, t.DSCP.TrimmableRetx, ErrUnsupported)
	}
	dscp := t.DSCP.Trimmed
	if lastHop {
		dscp = t.DSCP.TrimmedLastHop
	}
	frame = frame[:min(len(frame), max(t.Size, n+header))]
	ip.TrafficClass = TrafficClass(dscp, ECN(ip.TrafficClass))
	if t.SetLength {
		ip.PayloadLength = min(ip.PayloadLength, uint16(len(frame)-n-header))
	}
	if ip.IsIPv4() {
		four.TOS, four.TotalLength = ip.TrafficClass, ip.PayloadLength+IPv4Len
		four.Append(frame[n : n : n+header])
	} else {
		ip.Append(frame[n : n : n+header])
	}
	return frame, nil
}
