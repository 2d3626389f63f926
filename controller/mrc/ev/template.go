package ev

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"

	"github.com/weft-sdn/weft/api/hostapi"
)

// A Template describes, in mode usid-structured, all paths from the hosts of one attachment to the
// hosts of another. The outer destination address of a path is Data with the bits of an EV at the
// places of Mask. A template's EVs select planes and indexes, so one EV means equal links up for
// all destinations in a row.
type Template struct{ Data, Mask netip.Addr }

// Address returns the outer destination address of an EV: it puts the bits of the EV, from the
// least significant on, into the 1 bits of the template's mask (the x86 operation pdep).
func (t Template) Address(ev uint64) netip.Addr {
	data, mask := t.Data.As16(), t.Mask.As16()
	for i := len(data) - 1; i >= 0; i-- {
		for bit := range 8 {
			if mask[i]>>bit&1 != 0 {
				data[i] |= byte(ev&1) << bit
				ev >>= 1
			}
		}
	}
	return netip.AddrFrom16(data)
}

// EV returns the EV of an address; ok is false if the template makes the address from no EV.
func (t Template) EV(a netip.Addr) (ev uint64, ok bool) {
	octets, mask := a.As16(), t.Mask.As16()
	at := 0
	for i := len(octets) - 1; i >= 0; i-- {
		for bit := range 8 {
			if mask[i]>>bit&1 != 0 {
				ev |= uint64(octets[i]>>bit&1) << at
				at++
			}
		}
	}
	return ev, t.Address(ev) == a
}

// Bits returns how many bits an EV has.
func (t Template) Bits() int {
	n := 0
	for _, b := range t.Mask.As16() {
		n += bits.OnesCount8(b)
	}
	return n
}

// Template returns the template of a pair of attachments. It is an error in other modes, when the
// paths of two ports differ in length, or the T0s of an attachment in their index: then no template
// makes them all.
func (a *Assignment) Template(p Pair) (Template, error) {
	if a.format.Mode != ModeUSIDStructured {
		return Template{}, fmt.Errorf("mode %v has no templates: %w", a.format.Mode, ErrMalformed)
	}
	lanes, _, err := a.lanes(p)
	if err != nil {
		return Template{}, err
	}
	return a.templateOf(lanes)
}

func (a *Assignment) templateOf(lanes []lane) (t Template, err error) {
	for i := range lanes {
		l := &lanes[i]
		if len(l.candidates) == 0 {
			continue
		}
		hops := l.set.Hops()
		if !l.set.Even() {
			return t, fmt.Errorf("port %d: paths that are not as long up as down: %w", l.port, ErrNoRoom)
		}
		var mask Value
		n := a.usidsOf(hops)
		for at := range hops + 1 {
			tier := min(at, hops-at)
			number := a.format.Numbering[tier]
			field := number.planeMask()
			if tier > 0 {
				field |= number.indexMask()
			}
			a.put(&mask, at, n, field)
		}
		clear(mask[:a.format.Block.Bits()/8])
		data := l.candidates[0].wire
		for j := range mask {
			data[j] &^= mask[j]
		}
		one := Template{data.Container(), mask.Container()}
		if !t.Data.IsValid() {
			t = one
		}
		if one != t {
			return Template{}, fmt.Errorf("port %d: its template is %v with mask %v, and that of another "+
				"port %v with %v: want T0s of one index in all planes: %w", l.port, one.Data, one.Mask, t.Data,
				t.Mask, ErrNoRoom)
		}
	}
	if !t.Data.IsValid() {
		return t, ErrNoPath
	}
	return t, nil
}

// fields returns the fields of a profile whose values are EVs of the template.
func (t Template) fields(widths []uint8) []hostapi.Field {
	data, mask := t.Data.As16(), t.Mask.As16()
	out := make([]hostapi.Field, len(widths))
	at := 0
	for i, width := range widths {
		f := hostapi.Field{Width: width}
		switch width {
		case 32:
			f.InitVal, f.Mask = binary.BigEndian.Uint32(data[at:]), binary.BigEndian.Uint32(mask[at:])
		case 16:
			f.InitVal = uint32(binary.BigEndian.Uint16(data[at:]))
			f.Mask = uint32(binary.BigEndian.Uint16(mask[at:]))
		}
		f.MaxVal = uint32(1)<<bits.OnesCount32(f.Mask) - 1
		out[i] = f
		at += int(width) / 8
	}
	return out
}
