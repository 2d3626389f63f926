package p4rt

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/p4/wire"
)

// matches converts the match of a table entry to the engine's form, in the
// order of the key. It enforces the P4Runtime specification, "Match Format":
// every exact field is there, don't-care fields are left out, no bit outside
// the mask or prefix is set. The result is in the memory of buf where it fits.
func (k *keySchema) matches(x texts, buf []engine.Match, fields []*p4v1.FieldMatch) ([]engine.Match,
	*Error) {
	out := slices.Grow(buf[:0], len(k.fields))[:len(k.fields)]
	clear(out)
	var seen uint64
	var seenMore map[int]bool // for keys of more than 64 fields
	for n, m := range fields {
		i, ok := n, n < len(k.fields) && k.fields[n].id == m.GetFieldId() // mostly in order
		if !ok {
			i, ok = k.byID[m.GetFieldId()]
		}
		if !ok {
			return nil, invalid("match field id %d is unknown; want %s", m.GetFieldId(), k.ids())
		}
		f := &k.fields[i]
		dup := false
		if i < 64 {
			dup = seen&(1<<i) != 0
			seen |= 1 << i
		} else {
			if seenMore == nil {
				seenMore = make(map[int]bool)
			}
			dup = seenMore[i]
			seenMore[i] = true
		}
		if dup {
			return nil, invalid("%s is given twice", f)
		}
		var err *Error
		if out[i], err = f.match(x, m); err != nil {
			return nil, err.in("%s", f)
		}
	}
	for i := range k.fields {
		f := &k.fields[i]
		given := i < 64 && seen&(1<<i) != 0 || i >= 64 && seenMore[i]
		if !given && f.kind == exactMatch {
			return nil, invalid("%s is missing; exact fields cannot be left out", f)
		}
	}
	return out, nil
}

// String names the field in messages; fields of value sets have no name.
func (f *fieldSchema) String() string {
	if f.name == "" {
		return fmt.Sprintf("match field %d", f.id)
	}
	return fmt.Sprintf("match field %q (id %d)", f.name, f.id)
}

// ids lists the fields of the key for messages.
func (k *keySchema) ids() string {
	if len(k.fields) == 0 {
		return "none: the key is empty"
	}
	var b strings.Builder
	for i, f := range k.fields {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, f.id)
		if f.name != "" {
			fmt.Fprintf(&b, " (%s)", f.name)
		}
	}
	return b.String()
}

func (f *fieldSchema) match(x texts, m *p4v1.FieldMatch) (engine.Match, *Error) {
	switch t := m.GetFieldMatchType().(type) {
	case *p4v1.FieldMatch_Exact_:
		if f.kind != exactMatch {
			return engine.Match{}, f.kindError("exact")
		}
		v, err := f.value(x, t.Exact.GetValue())
		return engine.Match{Value: v}, err

	case *p4v1.FieldMatch_Lpm:
		if f.kind != lpmMatch {
			return engine.Match{}, f.kindError("lpm")
		}
		n := int(t.Lpm.GetPrefixLen())
		v, err := f.value(x, t.Lpm.GetValue())
		if err != nil {
			return engine.Match{}, err
		}
		if n <= 0 || n > f.width {
			return engine.Match{}, invalid(
				"prefix length %d; want 1 to %d (leave the field out for don't care)", n, f.width)
		}
		if !allZero(v) && trailingZeros(v) < f.width-n {
			return engine.Match{}, invalid(
				"value 0x%x has bits set beyond its prefix length %d; they must be zero", v, n)
		}
		if f.resized() {
			if n != f.width {
				return engine.Match{}, f.oneValue("prefix length %d", n)
			}
			n = f.device
		}
		return engine.Match{Value: v, PrefixLen: n}, nil

	case *p4v1.FieldMatch_Ternary_:
		if f.kind != ternaryMatch {
			return engine.Match{}, f.kindError("ternary")
		}
		mask := t.Ternary.GetMask()
		v, err := f.value(x, t.Ternary.GetValue())
		if err != nil {
			return engine.Match{}, err
		}
		if err := checkFits(mask, f.width); err != nil {
			return engine.Match{}, err.in("mask")
		}
		if allZero(mask) {
			return engine.Match{}, invalid("the mask is zero; leave the field out for don't care")
		}
		if !within(v, mask) {
			return engine.Match{}, invalid(
				"value 0x%x has bits set outside its mask 0x%x; they must be zero", v, mask)
		}
		if f.resized() {
			if bits := canonical(mask); len(bits) != byteLen(f.width) || !allOnes(bits, f.width) {
				return engine.Match{}, f.oneValue("mask 0x%x", mask)
			}
			mask = f.ones
		}
		return engine.Match{Value: v, Mask: mask}, nil

	case *p4v1.FieldMatch_Range_:
		if f.kind != rangeMatch {
			return engine.Match{}, f.kindError("range")
		}
		low, err := f.value(x, t.Range.GetLow())
		if err != nil {
			return engine.Match{}, err.in("low")
		}
		high, err := f.value(x, t.Range.GetHigh())
		if err != nil {
			return engine.Match{}, err.in("high")
		}
		low, high = canonical(low), canonical(high)
		if compareUnsigned(low, high) > 0 {
			return engine.Match{}, invalid("low 0x%x is above high 0x%x", low, high)
		}
		if allZero(low) && len(high) == byteLen(f.width) && allOnes(high, f.width) {
			return engine.Match{}, invalid("the range is every value; leave the field out for don't care")
		}
		if f.resized() && !bytes.Equal(low, high) {
			return engine.Match{}, f.oneValue("range 0x%x to 0x%x", low, high)
		}
		return engine.Match{Value: low, High: high}, nil

	case *p4v1.FieldMatch_Optional_:
		if f.kind != optionalMatch {
			return engine.Match{}, f.kindError("optional")
		}
		v, err := f.value(x, t.Optional.GetValue())
		return engine.Match{Value: v, Mask: f.ones}, err

	case *p4v1.FieldMatch_Other:
		return engine.Match{}, f.kindError("of another type")
	}
	return engine.Match{}, invalid("no match type is set; want %s", f.kind)
}

// oneValue refuses a match of several values if the type has another width in the program: the
// values in the program have no form in the client's width (P4Runtime specification, "Translation
// of Match Fields").
func (f *fieldSchema) oneValue(format string, args ...any) *Error {
	return invalid("%s; type %q is translated from %d bits to %d: match one value, or leave the "+
		"field out for don't care",
		fmt.Sprintf(format, args...), f.tr.name, f.width, f.device)
}

func (f *fieldSchema) kindError(got string) *Error {
	return invalid("the match is %s; want %s", got, f.kind)
}

// within reports whether every bit of v is set in mask too; both may have any
// number of leading zero octets.
func within(v, mask []byte) bool {
	for i := range v {
		var m byte
		if j := len(mask) - len(v) + i; j >= 0 {
			m = mask[j]
		}
		if v[i]&^m != 0 {
			return false
		}
	}
	return true
}

// compareUnsigned compares two canonical values.
func compareUnsigned(a, b []byte) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return bytes.Compare(a, b)
}

// fieldMatches is the inverse of matches: canonical, don't-care fields left
// out, in the order of the key.
func (k *keySchema) fieldMatches(x texts, s *wire.Slab, ms []engine.Match) []*p4v1.FieldMatch {
	out := s.Matches(len(k.fields))
	for i := range k.fields {
		f, m := &k.fields[i], &ms[i]
		if f.kind == exactMatch {
			out = append(out, s.NewExact(f.id, f.told(x, m.Value)))
			continue
		}
		fm := &p4v1.FieldMatch{FieldId: f.id}
		switch f.kind {
		case lpmMatch:
			if m.PrefixLen == 0 {
				continue
			}
			fm.FieldMatchType = &p4v1.FieldMatch_Lpm{Lpm: &p4v1.FieldMatch_LPM{Value: canonical(m.Value),
				PrefixLen: int32(m.PrefixLen + f.width - f.device)}}
		case ternaryMatch:
			if allZero(m.Mask) {
				continue
			}
			mask := canonical(m.Mask)
			if f.resized() && bytes.Equal(mask, f.ones) {
				mask = appendOnes(nil, f.width)
			}
			fm.FieldMatchType = &p4v1.FieldMatch_Ternary_{Ternary: &p4v1.FieldMatch_Ternary{Value: canonical(
				m.Value), Mask: mask}}
		case rangeMatch:
			if wholeRange(m, f.device) {
				continue
			}
			fm.FieldMatchType = &p4v1.FieldMatch_Range_{Range: &p4v1.FieldMatch_Range{Low: canonical(
				m.Value), High: canonical(m.High)}}
		case optionalMatch:
			if allZero(m.Mask) {
				continue
			}
			fm.FieldMatchType = &p4v1.FieldMatch_Optional_{Optional: &p4v1.FieldMatch_Optional{Value: f.told(
				x, m.Value)}}
		}
		out = append(out, fm)
	}
	return out
}

// sameMatches compares two keys in the engine's form, whatever their leading
// zero octets and whatever way don't care is written.
func (k *keySchema) sameMatches(a, b []engine.Match) bool {
	same := func(x, y []byte) bool { return bytes.Equal(canonical(x), canonical(y)) }
	for i := range k.fields {
		f, x, y := &k.fields[i], &a[i], &b[i]
		if f.kind == rangeMatch {
			if wx, wy := wholeRange(x, f.device), wholeRange(y, f.device); wx || wy {
				if wx != wy {
					return false
				}
				continue
			}
		}
		if !same(x.Value, y.Value) || !same(x.Mask, y.Mask) || !same(x.High, y.High) ||
			x.PrefixLen != y.PrefixLen {
			return false
		}
	}
	return true
}

// bind takes the width that the field has in the program; see valueType.
func (f *fieldSchema) bind(width int, what string) (bool, *Error) {
	ok, err := f.valueType.bind(width, what)
	if ok && err == nil && (f.kind == ternaryMatch || f.kind == optionalMatch) {
		f.ones = appendOnes(nil, width)
	}
	return ok, err
}

// wholeRange reports whether a range is don't care.
func wholeRange(m *engine.Match, width int) bool {
	if len(m.Value) == 0 && len(m.High) == 0 {
		return true
	}
	h := canonical(m.High)
	return allZero(m.Value) && len(h) == byteLen(width) && allOnes(h, width)
}
