package ev

import (
	"fmt"
	"math/bits"

	"github.com/weft-sdn/weft/topology"
)

// DefaultMaxEVs is the number of EVs of a profile at most (section 11.2.1).
const DefaultMaxEVs = 128

// MaxPorts is the number of ports that a host may have.
const MaxPorts = 31

// An Attachment says by which leaf each port of a host is attached: that of port
// 1 first, empty for a port that is not. A port is in the plane of its leaf, or
// when its leaf is in several, in the one of the port's number (section 11.5:
// port = plane). Hosts with the same attachment share profiles.
type Attachment []topology.NodeID

// A Profile is the set of EVs from hosts of one attachment to hosts of another,
// shaped after mrc_ctl_ev_profile_attr.
type Profile struct {
	Source, Destination Attachment
	Format              FormatProfile
	Mode                ProfileModes // one of them
	// Fields make EVs as they lie in packets out of values; see [Expand]. None:
	// they are the same.
	Fields []Field
	// Count is the number of EVs: of an explicit profile as many as EVs, of a
	// generated one as many as the device is to make, of an automatic one 0.
	Count int
	// MinActive is how many EVs a host leaves active when it marks EVs
	// ASSUMED_BAD itself, and how many the controller tries to leave.
	MinActive int
	// EVs of an explicit profile, in the order of the device's array; the same
	// may be there more than once, to fill up to the device's alignment. Of a
	// generated profile those of its EVs that are not GOOD.
	EVs []Entry
	// Degraded is why the profile is less than it should be; empty: it is not.
	Degraded string
}

// FormatProfile is how the EVs of a profile lie in a packet
// (mrc_ctl_ev_fmt_profile_attr).
type FormatProfile struct {
	Mode FormatModes // one of them
	// Widths of the fields in bits, the most significant first.
	Widths []uint8
}

// An Entry is an EV of a profile.
type Entry struct {
	EV    EV
	State State
}

// Bits is the width that a mode may have at most (section 9.4.3).
func (m FormatModes) Bits() int {
	switch m {
	case FormatStructured:
		return 32
	case FormatSRv6:
		return 256
	case FormatUDP:
		return 16
	}
	return 0
}

// Validate says whether the format can be.
func (f FormatProfile) Validate() error {
	most := f.Mode.Bits()
	if most == 0 {
		return fmt.Errorf("format.mode: %#x, want one of STEV, SRV6 and UDP: %w", uint32(f.Mode), ErrMalformed)
	}
	total := 0
	for i, w := range f.Widths {
		if w == 0 {
			return fmt.Errorf("format.widths[%d]: 0, want 1 to 255: %w", i, ErrMalformed)
		}
		total += int(w)
	}
	if total == 0 || total > most {
		return fmt.Errorf("format.widths: %d bits in all, want 1 to %d for %v: %w", total, most, f.Mode, ErrNoRoom)
	}
	return nil
}

// Validate checks what mrc_ctl.h demands of a profile, whatever the device.
func (p *Profile) Validate() error {
	if bits.OnesCount32(uint32(p.Mode)) != 1 || p.Mode > Generated {
		return fmt.Errorf("mode: %#x, want one of AUTO, EXP and GEN: %w", uint32(p.Mode), ErrMalformed)
	}
	if p.Count < 0 || p.Count == 0 && p.Mode != Auto {
		return fmt.Errorf("count: %d, want 1 or more: %w", p.Count, ErrMalformed)
	}
	if p.MinActive < 0 || p.MinActive > p.Count {
		return fmt.Errorf("minActive: %d, want 0 to count, %d: %w", p.MinActive, p.Count, ErrMalformed)
	}
	if p.Mode == Auto {
		return nil
	}
	if err := ValidateFields(p.Fields, p.Format); err != nil {
		return err
	}
	if p.Mode == Generated && len(p.Fields) == 0 {
		return fmt.Errorf("fields: none, want one or more to generate EVs by: %w", ErrMalformed)
	}
	if p.Mode == Explicit && len(p.EVs) != p.Count {
		return fmt.Errorf("evs: %d, want count, %d: %w", len(p.EVs), p.Count, ErrMalformed)
	}
	for i, e := range p.EVs {
		if e.EV.Port == 0 || e.EV.Port > MaxPorts {
			return fmt.Errorf("evs[%d].port: %d, want 1 to %d: %w", i, e.EV.Port, MaxPorts, ErrMalformed)
		}
		wire, err := Expand(p.Fields, p.Format, e.EV.Value)
		if err != nil {
			return fmt.Errorf("evs[%d]: %w", i, err)
		}
		if most := p.Format.Mode.Bits(); wire.Bits() > most {
			return fmt.Errorf("evs[%d].value: %d bits, want at most %d for %v: %w", i, wire.Bits(), most, p.Format.Mode, ErrNoRoom)
		}
	}
	return nil
}

// Wire is an EV of the profile as it lies in packets.
func (p *Profile) Wire(e EV) (EV, error) {
	v, err := Expand(p.Fields, p.Format, e.Value)
	return EV{Value: v, Port: e.Port}, err
}

// Active is the number of explicit EVs that are GOOD, or that the device may
// generate and the controller has not denied.
func (p *Profile) Active() int {
	n := p.Count
	for _, e := range p.EVs {
		if e.State != Good {
			n--
		}
	}
	return max(n, 0)
}

// String is the mode's name in mrc_ctl.h.
func (m FormatModes) String() string {
	switch m {
	case FormatStructured:
		return "STEV"
	case FormatSRv6:
		return "SRV6"
	case FormatUDP:
		return "UDP"
	}
	return fmt.Sprintf("format modes %#x", uint32(m))
}

// String is the mode's name in mrc_ctl.h.
func (m ProfileModes) String() string {
	switch m {
	case Auto:
		return "AUTO"
	case Explicit:
		return "EXP"
	case Generated:
		return "GEN"
	}
	return fmt.Sprintf("modes %#x", uint32(m))
}
