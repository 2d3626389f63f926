package packet

import "fmt"

// EVBits is the width of a structured entropy value.
const EVBits = 32

// EV is an entropy value of 32 bits: UDP source port and low 16 bits of the IPv6 flow label (OCP
// MRC 1.0, table 9-1), in the mode ECMP too. Its bits are counted from the most significant one.
type EV uint32

// NewEV is the entropy value of a packet with this source port and flow label.
func NewEV(srcPort uint16, flowLabel uint32) EV {
	return EV(uint32(srcPort)<<16 | flowLabel&0xFFFF)
}

// SrcPort is the UDP source port that carries the value.
func (v EV) SrcPort() uint16 { return uint16(v >> 16) }

// FlowLabel is the IPv6 flow label that carries the value, the 4 bits it does not use being zero.
func (v EV) FlowLabel() uint32 { return uint32(v & 0xFFFF) }

// SourcePortOnly is the value without the bits of the flow label: all that IPv4 carries (OCP MRC
// 1.0, §9.1).
func (v EV) SourcePortOnly() EV { return v &^ 0xFFFF }

// EVField is the part of a structured EV read by one tier of switches: Width bits starting at bit
// Offset; bit 0 is the most significant.
type EVField struct {
	Offset, Width int
}

// EVFields makes fields of the given widths that follow each other from the most significant bit
// on.
func EVFields(widths ...int) ([]EVField, error) {
	fields := make([]EVField, 0, len(widths))
	offset := 0
	for i, width := range widths {
		f := EVField{Offset: offset, Width: width}
		if err := f.Validate(); err != nil {
			return nil, fmt.Errorf("field %d: %w", i, err)
		}
		fields = append(fields, f)
		offset += width
	}
	return fields, nil
}

// Validate reports whether the field is within a structured EV.
func (f EVField) Validate() error {
	if f.Width < 1 || f.Width > EVBits {
		return fmt.Errorf("EV field: width %d, want 1 to %d: %w", f.Width, EVBits, ErrMalformed)
	}
	if f.Offset < 0 || f.Offset > EVBits-f.Width {
		return fmt.Errorf("EV field: offset %d with width %d, want 0 to %d: %w", f.Offset, f.Width,
			EVBits-f.Width, ErrMalformed)
	}
	return nil
}

// Max is the greatest value of the field.
func (f EVField) Max() uint32 { return uint32(1<<uint(f.Width) - 1) }

func (f EVField) shift() uint { return uint(EVBits - f.Offset - f.Width) }

// Field returns the value of a field that Validate accepts.
func (v EV) Field(f EVField) uint32 { return uint32(v) >> f.shift() & f.Max() }

// With is v with a field set to a value. It is an error when the field is not within an EV, or too
// narrow for the value.
func (v EV) With(f EVField, value uint32) (EV, error) {
	if err := f.Validate(); err != nil {
		return v, err
	}
	if value > f.Max() {
		return v, fmt.Errorf("EV field of %d bits at %d: value %d, want at most %d: %w", f.Width,
			f.Offset, value, f.Max(), ErrTooLong)
	}
	return EV(uint32(v)&^(f.Max()<<f.shift()) | value<<f.shift()), nil
}
