package ev

import (
	"bytes"
	"fmt"
)

// A FormatModes is a set of format modes (mrc_ctl_ev_fmt_mode).
type FormatModes uint32

// Format modes.
const (
	FormatStructured FormatModes = 1 << iota // MRC_CTL_EV_FMT_MODE_STEV
	FormatSRv6                               // MRC_CTL_EV_FMT_MODE_SRV6
	FormatUDP                                // MRC_CTL_EV_FMT_MODE_UDP
)

// A ProfileModes is a set of profile modes (mrc_ctl_ev_mode).
type ProfileModes uint32

// Profile modes.
const (
	// Auto: the device chooses EVs itself; the controller provides none.
	Auto ProfileModes = 1 << iota
	// Explicit: the controller provides every EV.
	Explicit
	// Generated: the device makes EVs as the fields say.
	Generated
)

// Options are optional features of a device (mrc_ctl_attr_opt).
type Options uint32

// Optional features.
const (
	ModifyOnline   Options = 1 << 0 // EV profiles are changed while ONLINE
	EVEvents       Options = 1 << 2
	ExplicitRange  Options = 1 << 3 // explicit EVs must be consecutive values
	PreciseDrops   Options = 1 << 4
	EVProbes       Options = 1 << 5
	ModifyCCOnline Options = 1 << 1
)

// Capabilities are what a host's device can hold: mrc_ctl_device_attr of
// mrc_ctl.h, under Go names.
type Capabilities struct {
	MaxFormats    uint32       // ev_max_fmt_profiles
	MaxProfiles   uint32       // ev_max_profiles
	MaxEVs        uint32       // ev_max_count, over all profiles
	FreeEVs       uint32       // ev_free_count
	MaxProfileEVs uint32       // ev_max_count_profile
	Align         uint32       // ev_count_align; 0 is 1
	MaxWidth      uint32       // ev_max_width: bits of a value
	Formats       FormatModes  // ev_fmt_mode_mask
	Modes         ProfileModes // ev_mode_mask
	MaxBatch      uint32       // ev_op_max_entries; 0 is no limit
	Ports         uint32       // phy_port_mask: bit n is port n, from 1
	Options       Options      // opt_attr
}

// Unlimited are the capabilities of a device that can do everything.
func Unlimited() Capabilities {
	const much = 1<<32 - 1
	return Capabilities{
		MaxFormats: much, MaxProfiles: much, MaxEVs: much, FreeEVs: much, MaxProfileEVs: much, Align: 1, MaxWidth: 8 * ValueBytes,
		Formats: FormatStructured | FormatSRv6 | FormatUDP, Modes: Auto | Explicit | Generated, Ports: much - 1, Options: ModifyOnline | EVEvents | EVProbes,
	}
}

func (c *Capabilities) align() int { return int(max(c.Align, 1)) }

// limit is the greatest number of EVs of a profile that is not over n.
func (c *Capabilities) limit(n int) int {
	n = min(n, int(c.MaxProfileEVs), int(c.MaxEVs))
	return n / c.align() * c.align()
}

// Validate says whether the device can hold a profile, by itself; the error
// names what is beyond it. See [Capabilities.Fit] for several.
func (c *Capabilities) Validate(p *Profile) error {
	if c.Modes&p.Mode == 0 {
		return fmt.Errorf("mode: %v, want one of the host's, %#x: %w", p.Mode, uint32(c.Modes), ErrNoRoom)
	}
	if p.Mode == Auto {
		return nil
	}
	if c.Formats&p.Format.Mode == 0 {
		return fmt.Errorf("format.mode: %v, want one of the host's, %#x: %w", p.Format.Mode, uint32(c.Formats), ErrNoRoom)
	}
	if uint64(p.Count) > uint64(c.MaxProfileEVs) {
		return fmt.Errorf("count: %d, want at most %d: %w", p.Count, c.MaxProfileEVs, ErrNoRoom)
	}
	if p.Mode == Explicit && p.Count%c.align() != 0 {
		return fmt.Errorf("count: %d, want a multiple of %d: %w", p.Count, c.align(), ErrNoRoom)
	}
	width := ValueBits(p.Fields)
	if len(p.Fields) == 0 {
		for _, w := range p.Format.Widths {
			width += int(w)
		}
	}
	if width > int(c.MaxWidth) {
		return fmt.Errorf("fields: values of %d bits, want at most %d: %w", width, c.MaxWidth, ErrNoRoom)
	}
	for i, e := range p.EVs {
		if e.EV.Port >= 32 || c.Ports>>e.EV.Port&1 == 0 {
			return fmt.Errorf("evs[%d].port: %d, want one of the host's, %#x: %w", i, e.EV.Port, c.Ports, ErrNoRoom)
		}
	}
	if p.Mode == Explicit && c.Options&ExplicitRange != 0 {
		return consecutive(p.EVs, width)
	}
	return nil
}

// consecutive says whether the values of EVs count up by one.
func consecutive(evs []Entry, width int) error {
	for i := 1; i < len(evs); i++ {
		next := evs[i-1].EV.Value
		for bit := width - 1; bit >= 0; bit-- { // one more, in the last of width bits
			b := byte(1 << (7 - bit%8))
			next[bit/8] ^= b
			if next[bit/8]&b != 0 {
				break
			}
		}
		if !bytes.Equal(next[:], evs[i].EV.Value[:]) {
			return fmt.Errorf("evs[%d].value: %v, want %v: the host takes consecutive values only: %w", i, evs[i].EV.Value, next, ErrNoRoom)
		}
	}
	return nil
}

// Fit says whether the device can hold profiles together; the error names the
// first limit that is passed.
func (c *Capabilities) Fit(profiles []*Profile) error {
	if uint64(len(profiles)) > uint64(c.MaxProfiles) {
		return fmt.Errorf("profiles: %d, want at most %d: %w", len(profiles), c.MaxProfiles, ErrNoRoom)
	}
	formats := make(map[string]bool)
	evs := uint64(0)
	for i, p := range profiles {
		if err := p.Validate(); err != nil {
			return fmt.Errorf("profiles[%d].%w", i, err)
		}
		if err := c.Validate(p); err != nil {
			return fmt.Errorf("profiles[%d].%w", i, err)
		}
		if p.Mode != Auto {
			formats[fmt.Sprint(p.Format)] = true
		}
		evs += uint64(p.Count)
	}
	if uint64(len(formats)) > uint64(c.MaxFormats) {
		return fmt.Errorf("profiles: %d formats, want at most %d: %w", len(formats), c.MaxFormats, ErrNoRoom)
	}
	if evs > uint64(c.MaxEVs) {
		return fmt.Errorf("profiles: %d EVs in all, want at most %d: %w", evs, c.MaxEVs, ErrNoRoom)
	}
	return nil
}
