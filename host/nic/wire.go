package nic

import (
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/packet"
)

// A Wire holds the UDP port and the DSCPs set by the operator of the host. The controller decides
// nil fields; without a setting from the controller, Config.Host.Wire applies.
type Wire struct {
	UDPPort                                                            *uint16
	NoTrim, Trimmable, TrimmableRetx, Trimmed, TrimmedLastHop, Control *uint8
}

// Over returns s with the values set by the operator in place of the values in s.
func (w *Wire) Over(s packet.MRCSettings) packet.MRCSettings {
	set(&s.Port, w.UDPPort)
	d := &s.DSCP
	set(&d.NoTrim, w.NoTrim)
	set(&d.Trimmable, w.Trimmable)
	set(&d.TrimmableRetx, w.TrimmableRetx)
	set(&d.Trimmed, w.Trimmed)
	set(&d.TrimmedLastHop, w.TrimmedLastHop)
	set(&d.Control, w.Control)
	return s
}

func set[T any](to, value *T) {
	if value != nil {
		*to = *value
	}
}

// wireOf converts the settings to the form in a state of hostapi.
func wireOf(s packet.MRCSettings) hostapi.Wire {
	d := s.DSCP
	return hostapi.Wire{
		UDPPort: s.Port, NoTrim: d.NoTrim, Trimmable: d.Trimmable, TrimmableRetx: d.TrimmableRetx,
		Trimmed: d.Trimmed, TrimmedLastHop: d.TrimmedLastHop, Control: d.Control,
	}
}

// wire returns the settings after a state. The error is a *hostapi.FieldError: the state
// contradicts a value set by the operator, or contains values that packets could not distinguish.
func (n *NIC) wire(to *hostapi.State) (packet.MRCSettings, error) {
	own := n.cfg.Host.Wire // with what the operator has set
	if to.Wire == (hostapi.Wire{}) {
		return own, nil
	}
	w := to.Wire
	said := packet.MRCSettings{Port: w.UDPPort, DSCP: packet.DSCPClasses{
		NoTrim: w.NoTrim, Trimmable: w.Trimmable, TrimmableRetx: w.TrimmableRetx,
		Trimmed: w.Trimmed, TrimmedLastHop: w.TrimmedLastHop, Control: w.Control,
	}}
	if err := said.Validate(); err != nil {
		return own, refusal(hostapi.CodeInvalid, "wire", "%v", err)
	}
	fixed := wireOf(n.cfg.Wire.Over(said)).Fields()
	for i, f := range w.Fields() {
		if f.Value != fixed[i].Value {
			return own, refusal(hostapi.CodeUnsupported, "wire."+f.Name,
				"%d, want %d, which the host is configured with: set the same in the controller's inventory "+
					"and on the host, or leave it out on the host",
				f.Value, fixed[i].Value)
		}
	}
	return said, nil
}
