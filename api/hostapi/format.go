package hostapi

import (
	"fmt"
	"math/bits"
	"slices"
)

// FormatMode is how EVs lie in a packet (mrc_ctl_ev_fmt_mode).
type FormatMode uint8

// Modes of a format: structured EVs in source port and flow label, SRv6 addresses, the source port
// alone.
const (
	FormatSTEV FormatMode = iota + 1
	FormatSRv6
	FormatUDP
)

// String is the mode's name in mrc_ctl.h.
func (m FormatMode) String() string {
	switch m {
	case FormatSTEV:
		return "STEV"
	case FormatSRv6:
		return "SRV6"
	case FormatUDP:
		return "UDP"
	}
	return fmt.Sprintf("format mode %d", uint8(m))
}

// MaxBits is the width of the widest EV of the mode (OCP MRC 1.0, section 9.4.3): 32, 256 and 16
// bits.
func (m FormatMode) MaxBits() int {
	switch m {
	case FormatSTEV:
		return 32
	case FormatSRv6:
		return 8 * EVBytes
	case FormatUDP:
		return 16
	}
	return 0
}

// Format is an EV format (mrc_ctl_ev_fmt_profile_attr): the widths of the fields in bits, the most
// significant first.
type Format struct {
	Mode   FormatMode
	Widths []uint8
}

// Equal reports whether two formats are equal; a device stores a single format for all profiles
// with equal formats.
func (f Format) Equal(g Format) bool { return f.Mode == g.Mode && slices.Equal(f.Widths, g.Widths) }

// Bits returns the width of an EV in the packet.
func (f Format) Bits() int {
	n := 0
	for _, w := range f.Widths {
		n += int(w)
	}
	return n
}

func (f Format) validate() *FieldError {
	if f.Mode < FormatSTEV || f.Mode > FormatUDP {
		return invalid("mode", "%d, want STEV, SRV6 or UDP", uint8(f.Mode))
	}
	if n := len(f.Widths); n < 1 || n > MaxFields {
		return invalid("field_widths", "%d fields, want 1 to %d", n, MaxFields)
	}
	for i, w := range f.Widths {
		if w == 0 {
			return invalid(fmt.Sprintf("field_widths[%d]", i), "0, want 1 to 255 bits")
		}
	}
	if n := f.Bits(); n > f.Mode.MaxBits() {
		return invalid("field_widths", "%d bits together, want at most %d in mode %v", n,
			f.Mode.MaxBits(), f.Mode)
	}
	return nil
}

// Field makes one field of the EV in the packet (mrc_ctl_ev_field): InitVal, over which the bits of
// Mask are written with the next bits of the EV, the most significant first. Width is in bits.
// Generated EVs take Min to Max in the bits of Mask.
type Field struct {
	Width                uint8
	InitVal              uint32
	MinVal, MaxVal, Mask uint32
}

// Bits is how many bits of an EV go into the field.
func (f Field) Bits() int { return bits.OnesCount32(f.Mask) }

func (f Field) validate(limit uint8) *FieldError {
	if f.Width == 0 || f.Width > limit {
		return invalid("width", "%d bits, want 1 to %d, the width of the format's field", f.Width, limit)
	}
	top := uint32(1)<<min(f.Width, 32) - 1 // all ones from 32 bits on
	if f.InitVal > top {
		return invalid("init_val", "%d, want at most %d in %d bits", f.InitVal, top, f.Width)
	}
	if f.Mask > top {
		return invalid("mask", "%#x, want bits within %#x in %d bits", f.Mask, top, f.Width)
	}
	if limit := uint32(1)<<f.Bits() - 1; f.MaxVal > limit {
		return invalid("max_val", "%d, want at most %d in the %d bits of the mask", f.MaxVal, limit,
			f.Bits())
	}
	if f.MinVal > f.MaxVal {
		return invalid("min_val", "%d, want at most max_val, %d", f.MinVal, f.MaxVal)
	}
	return nil
}
