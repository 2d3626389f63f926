package spray

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/packet"
)

// Received is a profile that a controller sent, as a sender needs it: EVs as they lie in packets,
// in the order of evs, which are those that the controller knows, for what is said of them. An
// explicit profile has those that it lists; a generated one has them made over the host's ports.
// One of mode AUTO has none: see Auto. The error wraps ErrProfile.
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
