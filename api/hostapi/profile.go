package hostapi

import (
	"fmt"
	"net/netip"
	"slices"
)

// Mode is who makes the EVs of a profile (mrc_ctl_ev_mode).
type Mode uint8

// Modes of a profile: the device on its own, the controller, the device by the profile's fields.
const (
	ModeAuto Mode = iota + 1
	ModeExplicit
	ModeGenerated
)

// String is the mode's name in mrc_ctl.h.
func (m Mode) String() string {
	switch m {
	case ModeAuto:
		return "AUTO"
	case ModeExplicit:
		return "EXP"
	case ModeGenerated:
		return "GEN"
	}
	return fmt.Sprintf("mode %d", uint8(m))
}

// A Profile is a set of EVs for some destinations (mrc_ctl_ev_profile_attr). A Profile in a State
// never changes; profiles that differ only in their denials share all other slices.
type Profile struct {
	Name   string
	Format Format
	Mode   Mode
	Fields []Field // none: the value of an EV lies in the packet as it is
	Count  int     // EVs of the profile; of an explicit one len(EVs)
	EVs    []EV    // of an explicit one, in the order of the device's array; copies are allowed
	// Denied lists each denied EV once, in the order of EV.Compare: in an explicit profile, EVs from
	// the list EVs; in a generated profile, EVs that its fields can make.
	Denied []EV
	// EVs left active when the host marks EVs ASSUMED_BAD; at most Count. Denied ones do not count
	MinActive    int
	Events       bool // the host reports ASSUMED_BAD and GOOD
	Destinations []netip.Prefix
	CC           string // name of a CC profile; empty is the device's own choice
}

// Bits returns the width of the profile's EVs: the sum of its fields' widths, or the width of the
// format without fields.
func (p *Profile) Bits() int {
	if len(p.Fields) == 0 {
		return p.Format.Bits()
	}
	n := 0
	for _, f := range p.Fields {
		n += f.Bits()
	}
	return n
}

// Has reports whether an EV may belong to the profile: an explicit profile lists the EV, or the
// fields of a generated profile can make its value. Has returns false for a profile in mode AUTO,
// whose EVs nobody knows.
func (p *Profile) Has(v EV) bool {
	switch p.Mode {
	case ModeExplicit:
		return slices.Contains(p.EVs, v)
	case ModeGenerated:
		return p.generates(v)
	}
	return false
}

func (p *Profile) generates(v EV) bool {
	if v.Bits() > p.Bits() {
		return false
	}
	at := 0
	for _, f := range p.Fields {
		n := f.Bits()
		if x := v.bitsAt(at, n); n > 0 && (x < f.MinVal || x > f.MaxVal) {
			return false
		}
		at += n
	}
	return true
}

// Active returns the number of EVs of the profile that are not denied; for a generated profile, a
// lower bound.
func (p *Profile) Active() int {
	if p.Mode != ModeExplicit {
		return max(0, p.Count-len(p.Denied))
	}
	n := len(p.EVs)
	if len(p.Denied) == 0 {
		return n
	}
	for _, v := range p.EVs {
		if p.IsDenied(v) {
			n--
		}
	}
	return n
}

// IsDenied reports whether an EV is denied.
func (p *Profile) IsDenied(v EV) bool {
	_, found := slices.BinarySearchFunc(p.Denied, v, EV.Compare)
	return found
}

// WithDenied is the profile with other denials, in any order; it shares everything else.
func (p *Profile) WithDenied(denied []EV) *Profile {
	q := *p
	q.Denied = slices.Clone(denied)
	slices.SortFunc(q.Denied, EV.Compare)
	return &q
}

// Validate reports what is wrong with the profile for any host, naming the first wrong field. The
// error is a *FieldError.
func (p *Profile) Validate() error {
	if err := p.validate(); err != nil {
		return err
	}
	return nil
}

func (p *Profile) validate() *FieldError {
	if err := checkName("name", p.Name); err != nil {
		return err
	}
	if p.Count < 0 || p.Count > MaxProfileEVs {
		return invalid("count", "%d, want 0 to %d", p.Count, MaxProfileEVs)
	}
	var err *FieldError
	switch p.Mode {
	case ModeAuto:
		if len(p.EVs)+len(p.Denied)+len(p.Fields) > 0 {
			err = invalid("mode", "AUTO with EVs, denials or fields, want none: the device chooses them")
		}
	case ModeExplicit:
		err = p.validateExplicit()
	case ModeGenerated:
		err = p.validateGenerated()
	default:
		err = invalid("mode", "%d, want AUTO, EXP or GEN", uint8(p.Mode))
	}
	if err != nil {
		return err
	}
	if err := p.validateDenied(); err != nil {
		return err
	}
	if p.MinActive < 0 || p.MinActive > p.Count {
		return invalid("min_active", "%d, want 0 to count, %d", p.MinActive, p.Count)
	}
	if n := len(p.Destinations); n > MaxDestinations {
		return invalid("destinations", "%d, want at most %d", n, MaxDestinations)
	}
	for i, d := range p.Destinations {
		if !d.IsValid() || !isAddress(d.Addr()) || d.Masked() != d {
			return invalid(fmt.Sprintf("destinations[%d]", i),
				"%v, want an IPv6 or IPv4 prefix without bits beyond its length", d)
		}
		if d.Addr().Is4() && p.Format.Mode == FormatSRv6 {
			return invalid(fmt.Sprintf("destinations[%d]", i), "%v, want an IPv6 prefix with SRv6", d)
		}
	}
	if p.CC != "" {
		return checkName("cc_profile", p.CC)
	}
	return nil
}

// layout checks format and fields.
func (p *Profile) layout() *FieldError {
	if err := p.Format.validate(); err != nil {
		return err.within("format")
	}
	if n := len(p.Fields); n > len(p.Format.Widths) {
		return invalid("fields", "%d, want at most %d, the fields of the format", n, len(p.Format.Widths))
	}
	for i, f := range p.Fields {
		if err := f.validate(p.Format.Widths[i]); err != nil {
			return err.within("fields[%d]", i)
		}
	}
	if len(p.Fields) > 0 && p.Bits() > 8*EVBytes {
		return invalid("fields", "masks of %d bits together, want at most %d", p.Bits(), 8*EVBytes)
	}
	return nil
}

func (p *Profile) validateExplicit() *FieldError {
	if err := p.layout(); err != nil {
		return err
	}
	if len(p.EVs) == 0 {
		return invalid("evs", "none, want at least one of a profile of mode EXP")
	}
	if p.Count != len(p.EVs) {
		return invalid("count", "%d, want %d, the number of EVs", p.Count, len(p.EVs))
	}
	width := p.Bits()
	for i, v := range p.EVs {
		if err := checkEV(v, width); err != nil {
			return err.within("evs[%d]", i)
		}
		if v.Port == 0 {
			return invalid(fmt.Sprintf("evs[%d].port", i), "0, want 1 to %d in mode EXP", MaxPort)
		}
	}
	return nil
}

func (p *Profile) validateGenerated() *FieldError {
	if err := p.layout(); err != nil {
		return err
	}
	if len(p.EVs) > 0 {
		return invalid("evs", "%d EVs, want none of a profile of mode GEN", len(p.EVs))
	}
	if len(p.Fields) == 0 {
		return invalid("fields", "none, want those that EVs are generated by")
	}
	if p.Count == 0 {
		return invalid("count", "0, want at least 1 of a profile of mode GEN")
	}
	return nil
}

func checkEV(v EV, width int) *FieldError {
	if n := v.Bits(); n > width {
		return invalid("value", "%v needs %d bits, want at most %d", v, n, width)
	}
	if v.Port > MaxPort {
		return invalid("port", "%d, want at most %d", v.Port, MaxPort)
	}
	return nil
}

func (p *Profile) validateDenied() *FieldError {
	for i, v := range p.Denied {
		if v.Port > MaxPort {
			return invalid(fmt.Sprintf("denied[%d].port", i), "%d, want at most %d", v.Port, MaxPort)
		}
		if i > 0 && p.Denied[i-1].Compare(v) >= 0 {
			return invalid(fmt.Sprintf("denied[%d]", i), "%v after %v, want each once, in order", v,
				p.Denied[i-1])
		}
	}
	if p.Mode == ModeExplicit && len(p.Denied) > 8 { // a set is cheaper than that many searches
		known := make(map[EV]struct{}, len(p.EVs))
		for _, v := range p.EVs {
			known[v] = struct{}{}
		}
		for i, v := range p.Denied {
			if _, ok := known[v]; !ok {
				return unknownEV(fmt.Sprintf("denied[%d]", i), v, p)
			}
		}
		return nil
	}
	for i, v := range p.Denied {
		if !p.Has(v) {
			return unknownEV(fmt.Sprintf("denied[%d]", i), v, p)
		}
	}
	return nil
}

func unknownEV(field string, v EV, p *Profile) *FieldError {
	want := "one of evs"
	if p.Mode == ModeGenerated {
		want = "one that fields can make"
	}
	return invalid(field, "%v is no EV of the profile, want %s", v, want)
}

// sameBut reports whether two profiles are the same but for EVs of equal number and denials.
func (p *Profile) sameBut(q *Profile) bool {
	return p.Name == q.Name && p.Mode == q.Mode && p.Count == q.Count && len(p.EVs) == len(q.EVs) &&
		p.MinActive == q.MinActive &&
		p.Events == q.Events && p.CC == q.CC && p.Format.Equal(q.Format) &&
		slices.Equal(p.Fields, q.Fields) &&
		sameSlice(p.Destinations, q.Destinations)
}

// SameDefinition reports whether two profiles are the same but for their denials.
func (p *Profile) SameDefinition(q *Profile) bool { return p.sameBut(q) && sameSlice(p.EVs, q.EVs) }

// Equal reports whether two profiles are the same.
func (p *Profile) Equal(q *Profile) bool {
	return p == q || p.sameBut(q) && sameSlice(p.EVs, q.EVs) && sameSlice(p.Denied, q.Denied)
}

// sameSlice is slices.Equal, at once for slices that are shared.
func sameSlice[T comparable](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	return len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b)
}
