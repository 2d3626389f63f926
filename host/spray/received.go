package spray

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/packet"
)

// Received converts a profile from the controller to the form that a sender needs. made holds EVs
// as they lie in packets; evs holds the same EVs, in the same order, as the controller knows them,
// for reports to the controller. An explicit profile lists its EVs; Received generates the EVs of a
// generated profile over the host's ports. A profile of mode AUTO has no EVs: see Auto. The error
// wraps ErrProfile.
func Received(p *hostapi.Profile, ports hostapi.PortMask) (made Profile, evs []hostapi.EV,
	err error) {
	switch p.Mode {
	case hostapi.ModeExplicit:
		evs = p.EVs
	case hostapi.ModeGenerated:
		evs = p.Generate(ports)
	default:
		return made, nil, fmt.Errorf("mode %v: want EXP or GEN: %w", p.Mode, ErrProfile)
	}
	made = Profile{EVs: make([]EV, len(evs)), MinActive: p.MinActive}
	for i, v := range evs {
		wire, err := p.Expand(v)
		if err != nil {
			return Profile{}, nil, fmt.Errorf("EVs[%d]: %w: %w", i, err, ErrProfile)
		}
		if p.Format.Mode == hostapi.FormatSRv6 {
			if made.EVs[i], err = NewSRv6(wire.Value, int(v.Port)); err != nil {
				return Profile{}, nil, fmt.Errorf("EVs[%d]: %w", i, err)
			}
		} else {
			made.EVs[i] = EV{Value: packet.EV(binary.BigEndian.Uint32(wire.Value[:])), Port: int(v.Port)}
		}
		made.EVs[i].Denied = p.IsDenied(v)
	}
	if err := made.Validate(); err != nil {
		return Profile{}, nil, err
	}
	return made, evs, nil
}
