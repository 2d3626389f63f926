package hostapi

import "slices"

// Optional features of a device (mrc_ctl_attr_opt), bits of Capabilities.OptAttr.
const (
	OptEVProfileModifyOnline uint32 = 1 << iota
	OptCCProfileModifyOnline
	OptEVEvent
	OptEVExplicitRange // explicit EVs are a range: the last is the first plus the count less one
	OptEVEventPreciseDropCount
	OptEVProbe
)

// Capabilities of the transport (mrc_device_cap), bits of Capabilities.DeviceCap.
const (
	CapTrimNACK uint32 = 1 << iota
	CapDynamicMPR
	CapServiceTime
)

// Capabilities are the attributes of a device (mrc_ctl_device_attr and mrc_device_attr).
type Capabilities struct {
	ProtocolVersions  uint32 // bit set; 0 is the device's choice
	EVMaxFormats      int
	EVMaxProfiles     int
	EVMaxCount        int // EVs in all profiles
	EVFreeCount       int // of those, free; for people
	EVMaxCountProfile int
	EVCountAlign      int // 0 is 1
	EVMaxWidth        int // bits
	EVFormatModes     uint32
	EVModes           uint32
	EVOpMaxEntries    int // in one batch that the device takes; 0 is any
	CCMaxProfiles     int
	CCAlgorithms      []string
	Ports             PortMask
	OptAttr           uint32
	DeviceCap         uint32
	MaxMPR            int  // units of 128 PSNs
	MaxWIMM           int  // WriteIMMs in flight, as requester
	MaxWIMMDest       int  // and as responder
	QPHints           bool // the agent takes State.Hints
	SelfProbes        bool // the agent takes a plan of SelfProbes
}

// HasFormat reports whether the device takes a format mode.
func (c *Capabilities) HasFormat(m FormatMode) bool {
	return m > 0 && c.EVFormatModes>>(m-1)&1 != 0
}

// HasMode reports whether the device takes an EV mode.
func (c *Capabilities) HasMode(m Mode) bool { return m > 0 && c.EVModes>>(m-1)&1 != 0 }

// Modes is the bit set of some modes.
func Modes[M ~uint8](modes ...M) uint32 {
	var set uint32
	for _, m := range modes {
		if m > 0 && m <= 32 {
			set |= 1 << (m - 1)
		}
	}
	return set
}

// Equal reports whether two devices have the same attributes.
func (c *Capabilities) Equal(d *Capabilities) bool {
	a, b := *c, *d
	a.CCAlgorithms, b.CCAlgorithms = nil, nil
	return slices.Equal(c.CCAlgorithms, d.CCAlgorithms) && c.QPHints == d.QPHints &&
		c.SelfProbes == d.SelfProbes && a.same(b)
}

func (c Capabilities) same(d Capabilities) bool {
	type plain struct {
		numbers [14]int
		sets    [6]uint32
	}
	of := func(c Capabilities) plain {
		return plain{
			[14]int{c.EVMaxFormats, c.EVMaxProfiles, c.EVMaxCount, c.EVFreeCount, c.EVMaxCountProfile,
				c.EVCountAlign, c.EVMaxWidth,
				c.EVOpMaxEntries, c.CCMaxProfiles, c.MaxMPR, c.MaxWIMM, c.MaxWIMMDest},
			[6]uint32{c.ProtocolVersions, c.EVFormatModes, c.EVModes, uint32(c.Ports), c.OptAttr,
				c.DeviceCap},
		}
	}
	return of(c) == of(d)
}

func (c *Capabilities) validate() *FieldError {
	if err := c.Ports.check("phy_port_mask"); err != nil {
		return err
	}
	if n := len(c.CCAlgorithms); n > MaxAlgorithms {
		return invalid("cc_algorithms", "%d, want at most %d", n, MaxAlgorithms)
	}
	for i, a := range c.CCAlgorithms {
		if a == "" || len(a) > MaxAlgorithmName || !printable(a) {
			return invalid("cc_algorithms", "name %d is %.80q, want 1 to %d printable octets", i, a,
				MaxAlgorithmName)
		}
	}
	return nil
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Check reports what of a state the device cannot hold, naming the first such field. The error is a
// *FieldError of CodeUnsupported.
func (c *Capabilities) Check(s *State) error {
	if s == nil {
		return nil
	}
	for _, p := range s.Profiles {
		if err := c.profile(p); err != nil {
			return err.within("set_profiles[%s]", p.Name)
		}
	}
	for _, p := range s.CC {
		if err := c.cc(p); err != nil {
			return err.within("set_cc_profiles[%s]", p.Name)
		}
	}
	if err := c.totals(s); err != nil {
		return err
	}
	return c.hints(s)
}

// hints checks that the host of a state with hints accepts hints.
func (c *Capabilities) hints(s *State) error {
	if s.Hints != (QPHints{}) && !c.QPHints {
		return unsupported("qp_hints", "the agent takes none (qp_hints)")
	}
	return nil
}

// CheckUpdate reports what of a state that a delta led to the device cannot hold, or cannot come to
// from the state before. It looks at what the delta touches.
func (c *Capabilities) CheckUpdate(s *State, d *Delta) error {
	for _, p := range d.SetProfiles {
		if err := c.profile(p); err != nil {
			return err.within("set_profiles[%s]", p.Name)
		}
	}
	for i := range d.Change {
		change := &d.Change[i]
		if len(change.Replace) == 0 {
			continue
		}
		if c.OptAttr&OptEVProfileModifyOnline == 0 {
			return unsupported("replace",
				"the device cannot modify a profile that is ONLINE, want the profile set as a whole").
				within("change_profiles[%s]", change.Name)
		}
		if err := c.profile(s.Profile(change.Name)); err != nil {
			return err.within("change_profiles[%s]", change.Name)
		}
	}
	for _, p := range d.SetCC {
		if err := c.cc(p); err != nil {
			return err.within("set_cc_profiles[%s]", p.Name)
		}
	}
	if len(d.SetProfiles)+len(d.SetCC) > 0 {
		if err := c.totals(s); err != nil {
			return err
		}
	}
	return c.hints(s)
}

// totals checks the limits for all profiles together, and blames the first profile over a limit.
func (c *Capabilities) totals(s *State) *FieldError {
	count := 0
	var formats []Format
	for i, p := range s.Profiles {
		within := func(err *FieldError) *FieldError { return err.within("set_profiles[%s]", p.Name) }
		if i >= c.EVMaxProfiles {
			return within(unsupported("", "profile %d, want at most %d (ev_max_profiles)", i+1,
				c.EVMaxProfiles))
		}
		if count += p.Count; count > c.EVMaxCount {
			return within(unsupported("count",
				"%d EVs with the profiles before it, want at most %d (ev_max_count)", count, c.EVMaxCount))
		}
		if p.Mode != ModeAuto && !slices.ContainsFunc(formats, p.Format.Equal) {
			if formats = append(formats, p.Format); len(formats) > c.EVMaxFormats {
				return within(unsupported("format", "format %d, want at most %d (ev_max_fmt_profiles)",
					len(formats), c.EVMaxFormats))
			}
		}
	}
	if len(s.CC) > c.CCMaxProfiles {
		return unsupported("", "CC profile %d, want at most %d (cc_max_profiles)", c.CCMaxProfiles+1,
			c.CCMaxProfiles).
			within("set_cc_profiles[%s]", s.CC[c.CCMaxProfiles].Name)
	}
	return nil
}

func (c *Capabilities) profile(p *Profile) *FieldError {
	if !c.HasMode(p.Mode) {
		return unsupported("mode", "%v, want one of the device's (ev_mode_mask %#x)", p.Mode, c.EVModes)
	}
	if p.Count > c.EVMaxCountProfile {
		return unsupported("count", "%d, want at most %d (ev_max_count_profile)", p.Count,
			c.EVMaxCountProfile)
	}
	if p.Events && c.OptAttr&OptEVEvent == 0 {
		return unsupported("events", "the device has none (opt_attr %#x)", c.OptAttr)
	}
	if p.Mode == ModeAuto {
		return nil
	}
	if !c.HasFormat(p.Format.Mode) {
		return unsupported("format.mode", "%v, want one of the device's (ev_fmt_mode_mask %#x)",
			p.Format.Mode, c.EVFormatModes)
	}
	if n := p.Bits(); n > c.EVMaxWidth {
		return unsupported("fields", "EVs of %d bits, want at most %d (ev_max_width)", n, c.EVMaxWidth)
	}
	for i, v := range p.EVs {
		if v.Port != 0 && !c.Ports.Has(int(v.Port)) {
			return unsupported("port", "%d, want one of the device's (phy_port_mask %#x)", v.Port,
				uint32(c.Ports)).within("evs[%d]", i)
		}
	}
	if p.Mode != ModeExplicit {
		return nil
	}
	if a := c.EVCountAlign; a > 1 && p.Count%a != 0 {
		return unsupported("count", "%d, want a multiple of %d (ev_count_align)", p.Count, a)
	}
	if c.OptAttr&OptEVExplicitRange != 0 {
		for i := 1; i < len(p.EVs); i++ {
			if next, ok := p.EVs[i-1].next(p.Bits()); !ok || p.EVs[i].Value != next {
				return unsupported("value",
					"%v after %v, want one more: the device takes ranges only (opt_attr)", p.EVs[i],
					p.EVs[i-1]).within("evs[%d]", i)
			}
		}
	}
	return nil
}

// next is the value after v's in a width of bits; false after the last one.
func (v EV) next(width int) ([EVBytes]byte, bool) {
	value := v.Value
	if width < 1 {
		return value, false
	}
	carry := uint16(1) << (7 - (width-1)%8)
	for i := (width - 1) / 8; i >= 0 && carry != 0; i-- {
		sum := uint16(value[i]) + carry
		value[i] = byte(sum)
		carry = sum >> 8
	}
	return value, carry == 0
}

func (c *Capabilities) cc(p *CCProfile) *FieldError {
	if !slices.Contains(c.CCAlgorithms, p.Algorithm) {
		return unsupported("algorithm", "%.64q, want one of the device's, %q", p.Algorithm,
			c.CCAlgorithms)
	}
	return nil
}
