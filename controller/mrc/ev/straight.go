package ev

import (
	"slices"

	"github.com/weft-sdn/weft/api/hostapi"
)

// In a regular plane of two tiers every leaf climbs by the same numbers to the same switches, and a
// leaf uses the same structured EVs to every other leaf. So neither generation nor losses need a
// look at each path, in contrast to building.generated.

// straightFields makes the fields of structured EVs that a leaf climbs by: none when the EVs are
// not all combinations of ranges of the fields.
func (a *Assignment) straightFields(up []word4) (fields []hostapi.Field) {
	one := lane{candidates: make([]candidate, len(up))}
	for i := range up {
		one.candidates[i].wire = up[i].value()
	}
	b := building{lanes: []lane{one}}
	product, at := 1, 0
	for _, w := range a.formatOf(2).Widths {
		f, ok := b.rangeOf(at, w)
		if !ok {
			return nil
		}
		fields = append(fields, f)
		product *= int(f.MaxVal-f.MinVal) + 1
		at += int(w)
	}
	if product != len(up) {
		return nil
	}
	return fields
}

// straight does the work of building.generated without candidates, for pairs whose ports all climb
// alike. For other pairs, and after an error, it returns false and changes nothing.
func (b *building) straight(p *hostapi.Profile) bool {
	src, dst := b.r.Source, b.r.Destination
	if b.a.format.Mode != ModeStructured || b.r.Explicit || b.most == 0 ||
		!b.caps.HasMode(hostapi.ModeGenerated) || src.validate() != nil || dst.validate() != nil {
		return false
	}
	var lanes []lane
	var fields []hostapi.Field
	paths := 0
	for i := range min(len(src), len(dst)) {
		if src[i] == "" {
			continue
		}
		l := lane{port: uint8(i + 1)}
		var err error
		if l.set, err = b.a.paths(src[i], dst[i], l.port); err != nil || !l.set.Straight() {
			return false
		}
		f := b.a.halves[memberKey{src[i], l.set.Plane()}].fields
		if f == nil || len(lanes) > 0 && !slices.Equal(f, fields) {
			return false
		}
		lanes, fields, paths = append(lanes, l), f, paths+l.set.Up().Len()
	}
	if len(lanes) != src.Ports() || len(lanes) != dst.Ports() {
		return false
	}
	format, width := b.a.formatOf(2), 0
	for _, f := range fields {
		width += f.Bits()
	}
	if width > b.caps.EVMaxWidth {
		return false
	}
	b.lanes = lanes
	p.Format, p.Mode, p.Fields, p.Count = format, hostapi.ModeGenerated, fields, b.count(paths)
	return true
}
