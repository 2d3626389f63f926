package hostapi

import "math"

// Wire has the codepoints by which hosts and switches identify packets (Wire in host.proto). The
// zero Wire leaves it to the host.
type Wire struct {
	UDPPort        uint16 // destination port
	NoTrim         uint8  // DSCPs, 0 to 63: DSCP_NO_TRIM and so on (OCP MRC 1.0, table 7-7)
	Trimmable      uint8
	TrimmableRetx  uint8
	Trimmed        uint8
	TrimmedLastHop uint8
	Control        uint8
}

// A WireField is a value of a Wire under its name in host.proto.
type WireField struct {
	Name  string
	Value uint16
}

// Fields are the values of w, in the order of host.proto.
func (w Wire) Fields() [7]WireField {
	return [7]WireField{
		{"udp_port", w.UDPPort}, {"dscp_no_trim", uint16(w.NoTrim)},
		{"dscp_trimmable", uint16(w.Trimmable)},
		{"dscp_trimmable_retx", uint16(w.TrimmableRetx)}, {"dscp_trimmed", uint16(w.Trimmed)},
		{"dscp_trimmed_lasthop", uint16(w.TrimmedLastHop)}, {"dscp_control", uint16(w.Control)},
	}
}

const maxDSCP = 63

// validate names the first value that no host could take.
func (w Wire) validate() *FieldError {
	if w == (Wire{}) {
		return nil
	}
	for i, f := range w.Fields() {
		switch {
		case i == 0 && f.Value == 0:
			return invalid("wire."+f.Name, "0, want 1 to %d", math.MaxUint16)
		case i > 0 && f.Value > maxDSCP:
			return invalid("wire."+f.Name, "%d, want at most %d", f.Value, maxDSCP)
		}
	}
	return nil
}
