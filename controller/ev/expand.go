package ev

import (
	"fmt"
	"math/bits"
)

// A Field makes a part of an EV (mrc_ctl_ev_field): Init, over which the bits of
// Mask are written with the next bits of the value, the most significant first.
// In a generated EV those bits are a number from Min to Max. A field that is the
// same in all EVs has Min, Max and Mask 0.
type Field struct {
	Width                int // bits, 1 to 32
	Init, Min, Max, Mask uint32
}

// ones is a number of width bits that are 1, at most 32.
func ones(width int) uint32 { return uint32(1<<uint(width) - 1) }

// ValidateFields checks the rules of mrc_ctl_ev_profile_attr, and that no field
// is wider than that of the format which it goes into.
func ValidateFields(fields []Field, format FormatProfile) error {
	if err := format.Validate(); err != nil {
		return err
	}
	if len(fields) > len(format.Widths) {
		return fmt.Errorf("fields: %d, want at most the %d of the format: %w", len(fields), len(format.Widths), ErrNoRoom)
	}
	for i, f := range fields {
		if f.Width < 1 || f.Width > 32 || f.Width > int(format.Widths[i]) {
			return fmt.Errorf("fields[%d].width: %d, want 1 to %d: %w", i, f.Width, min(32, format.Widths[i]), ErrNoRoom)
		}
		if f.Init > ones(f.Width) {
			return fmt.Errorf("fields[%d].init: %#x, want at most %#x in %d bits: %w", i, f.Init, ones(f.Width), f.Width, ErrNoRoom)
		}
		if f.Mask > ones(f.Width) {
			return fmt.Errorf("fields[%d].mask: %#x, want at most %#x in %d bits: %w", i, f.Mask, ones(f.Width), f.Width, ErrNoRoom)
		}
		if most := ones(bits.OnesCount32(f.Mask)); f.Max > most {
			return fmt.Errorf("fields[%d].max: %#x, want at most %#x in the %d bits of the mask: %w", i, f.Max, most, bits.OnesCount32(f.Mask), ErrNoRoom)
		}
		if f.Min > f.Max {
			return fmt.Errorf("fields[%d].min: %#x, want at most max, %#x: %w", i, f.Min, f.Max, ErrMalformed)
		}
	}
	return nil
}

// ValueBits is the width of the values that fields take.
func ValueBits(fields []Field) int {
	n := 0
	for _, f := range fields {
		n += bits.OnesCount32(f.Mask)
	}
	return n
}

// Expand makes an EV as it lies in a packet out of a value of a profile, by the
// rules of mrc_ctl_ev_profile_attr: a field narrower than its place in the
// format has zeros before it. Fields and format must be valid
// ([ValidateFields]). No fields leave the value as it is.
func Expand(fields []Field, format FormatProfile, v Value) (Value, error) {
	if len(fields) == 0 {
		return v, nil
	}
	if n := ValueBits(fields); v.Bits() > n {
		return Value{}, fmt.Errorf("value %v: %d bits, want at most the %d of the masks: %w", v, v.Bits(), n, ErrNoRoom)
	}
	var out Value
	from, to := 0, 0
	for i, f := range fields {
		x := f.Init
		if f.Mask != 0 {
			n := bits.OnesCount32(f.Mask)
			x = x&^f.Mask | deposit(v.bitsAt(from, n), f.Mask)
			from += n
		}
		width := int(format.Widths[i])
		out.putBits(to+width-f.Width, f.Width, x)
		to += width
	}
	return out, nil
}

// Shrink is the inverse of Expand: the value that makes an EV as it lies in a
// packet.
func Shrink(fields []Field, format FormatProfile, wire Value) (Value, error) {
	if len(fields) == 0 {
		return wire, nil
	}
	var out Value
	from, to := 0, 0
	for i, f := range fields {
		width := int(format.Widths[i])
		x := wire.bitsAt(from+width-f.Width, f.Width)
		if x&^f.Mask != f.Init&^f.Mask {
			return Value{}, fmt.Errorf("EV %v: field %d is %#x, want %#x in the bits that are fixed: %w", wire, i, x, f.Init&^f.Mask, ErrNoRoom)
		}
		n := bits.OnesCount32(f.Mask)
		out.putBits(to, n, extract(x, f.Mask))
		from, to = from+width, to+n
	}
	if back, err := Expand(fields, format, out); err != nil || back != wire {
		return Value{}, fmt.Errorf("EV %v has bits that no field makes: %w", wire, ErrNoRoom)
	}
	return out, nil
}

// deposit puts the low bits of x, in order, where mask has ones.
func deposit(x, mask uint32) uint32 {
	var out uint32
	for ; mask != 0; mask &= mask - 1 {
		if x&1 != 0 {
			out |= mask & -mask
		}
		x >>= 1
	}
	return out
}

// extract collects the bits of x where mask has ones.
func extract(x, mask uint32) uint32 {
	var out uint32
	for i := 0; mask != 0; mask, i = mask&(mask-1), i+1 {
		if x&(mask&-mask) != 0 {
			out |= 1 << i
		}
	}
	return out
}
