package nic

import (
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/packet"
)

// A Wire is the UDP port and the DSCPs that the operator of the host has set; what is nil is left
// to the controller, or, while that says nothing, to Config.Host.Wire.
type Wire struct {
	UDPPort                                                            *uint16
	NoTrim, Trimmable, TrimmableRetx, Trimmed, TrimmedLastHop, Control *uint8
}

// Over are settings in which what the operator has set takes the place of what was there.
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

// wireOf is what a state says of the settings as hostapi has them.
func wireOf(s packet.MRCSettings) hostapi.Wire {
	d := s.DSCP
	return hostapi.Wire{
		UDPPort: s.Port, NoTrim: d.NoTrim, Trimmable: d.Trimmable, TrimmableRetx: d.TrimmableRetx,
		Trimmed: d.Trimmed, TrimmedLastHop: d.TrimmedLastHop, Control: d.Control,
	}
}

// wire are the settings that a state leads to. The error is a *hostapi.FieldError: the state says
// another value than the operator has set, or values that cannot be told apart.
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
