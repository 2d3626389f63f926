package packet

import "fmt"

// MaxDSCP is the greatest differentiated services codepoint: 6 bits.
const MaxDSCP = 63

// Trim reports whether a packet was trimmed on its way, and where.
type Trim uint8

// What may have happened to a packet.
const (
	NotTrimmed     Trim = iota
	Trimmed             // by a switch
	TrimmedLastHop      // by the last switch before the receiver
)

// DSCPClasses are the codepoints MRC tells its packets apart by (OCP MRC 1.0, tables 7-7 and 7-8).
// The specification assigns no numbers.
type DSCPClasses struct {
	NoTrim         uint8 // data that switches drop rather than trim
	Trimmable      uint8 // data that switches may trim
	TrimmableRetx  uint8 // data sent again; may be Trimmable
	Trimmed        uint8
	TrimmedLastHop uint8 // may be Trimmed, where nobody tells the two apart
	Control        uint8
}

// DefaultDSCPClasses are codepoints from the pool for local use, xxxx11 (RFC 2474 §6): the data
// classes below the control class and what shares it.
func DefaultDSCPClasses() DSCPClasses {
	return DSCPClasses{NoTrim: 3, Trimmable: 7, TrimmableRetx: 11, Trimmed: 35, TrimmedLastHop: 39,
		Control: 43}
}

// Validate reports whether every codepoint has 6 bits, and no two that must be told apart are the
// same.
func (c DSCPClasses) Validate() error {
	classes := [...]struct {
		name string
		dscp uint8
		may  int // index of the one class before it that it may be the same as; its own when none
	}{
		{"NoTrim", c.NoTrim, 0},
		{"Trimmable", c.Trimmable, 1},
		{"TrimmableRetx", c.TrimmableRetx, 1},
		{"Trimmed", c.Trimmed, 3},
		{"TrimmedLastHop", c.TrimmedLastHop, 3},
		{"Control", c.Control, 5},
	}
	for i, class := range classes {
		if class.dscp > MaxDSCP {
			return fmt.Errorf("DSCP %s: %d, want at most %d: %w", class.name, class.dscp, MaxDSCP,
				ErrMalformed)
		}
		for j, other := range classes[:i] {
			if other.dscp == class.dscp && j != class.may {
				return fmt.Errorf("DSCP %s: %d, want another than %s has: %w", class.name, class.dscp,
					other.name, ErrMalformed)
			}
		}
	}
	return nil
}

// MayTrim reports whether switches may trim packets of a codepoint.
func (c DSCPClasses) MayTrim(dscp uint8) bool {
	return dscp == c.Trimmable || dscp == c.TrimmableRetx
}

// Trim reports whether switches may trim or have trimmed packets of a codepoint.
func (c DSCPClasses) Trim(dscp uint8) Trim {
	switch dscp {
	case c.Trimmed:
		return Trimmed
	case c.TrimmedLastHop:
		return TrimmedLastHop
	}
	return NotTrimmed
}

// High reports whether packets with a codepoint belong to the control class: control packets and
// trimmed packets.
func (c DSCPClasses) High(dscp uint8) bool {
	return dscp == c.Control || c.Trim(dscp) != NotTrimmed
}

// Of returns the codepoint of a sent packet (table 7-8); trimmable reports whether switches may
// trim data of its queue pair. Requesters may send EV probes with any codepoint.
func (c DSCPClasses) Of(h MRCBTH, trimmable bool) uint8 {
	ext, _ := h.Extensions()
	switch {
	case h.Opcode == OpMRCProbe:
		return c.Trimmable
	case !ext.Is(ExtMETH):
		return c.Control
	case h.Retransmission:
		return c.TrimmableRetx
	case trimmable:
		return c.Trimmable
	}
	return c.NoTrim
}

// Decap gives the traffic class a packet leaves a tunnel with, from those of its inner and outer
// headers: the inner codepoint, unless the outer one reports that the packet was trimmed in the
// tunnel, and ECN as DecapECN says. ok is false when the packet must be dropped.
func (c DSCPClasses) Decap(inner, outer uint8) (trafficClass uint8, ok bool) {
	dscp := DSCP(inner)
	if c.Trim(DSCP(outer)) != NotTrimmed {
		dscp = DSCP(outer)
	}
	ecn, ok := DecapECN(ECN(inner), ECN(outer))
	return TrafficClass(dscp, ecn), ok
}
