package p4rt

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"

	"github.com/weft-sdn/weft/dataplane/engine"
)

// translation is a user-defined type that clients and the program know by
// different values (@p4runtime_translation; P4Runtime specification, "PSA
// Metadata Translation"). It is immutable once the P4Info is bound to a
// program.
type translation struct {
	name  string
	index int // of its textTable in texts
	sdn   int // bits of the numbers that clients use; 0: they use strings
	width int // bits in the program; 0: not seen there
	// given are the values, in canonical form, that the P4Info gives strings.
	given map[string][]byte
}

// strings reports that clients use strings.
func (t *translation) strings() bool { return t != nil && t.sdn == 0 }

// bind takes the width that the type has at one place of the program.
func (t *translation) bind(width int, what string) *Error {
	if t.width != 0 && t.width != width {
		return invalid("%s: type %q has %d bits in the program; it has %d elsewhere", what, t.name, width,
			t.width)
	}
	t.width = width
	return nil
}

// newTranslations finds the translated types of a P4Info, by name.
func newTranslations(types map[string]*configv1.P4NewTypeSpec) map[string]*translation {
	out := make(map[string]*translation)
	for _, name := range slices.Sorted(maps.Keys(types)) {
		tr := types[name].GetTranslatedType()
		if tr == nil {
			continue
		}
		t := &translation{name: name, index: len(out), sdn: int(tr.GetSdnBitwidth())}
		if tr.GetSdnString() != nil {
			t.sdn, t.given = 0, givenStrings(types[name].GetAnnotations())
		} else if t.sdn <= 0 || t.sdn > maxWidth {
			t.sdn = -1 // refused where it is used
		}
		out[name] = t
	}
	return out
}

// givenPattern matches a string and a number, which may start with a width.
var givenPattern = regexp.MustCompile(`("(?:[^"\\]|\\.)*")\s*,\s*(?:\d+w)?(0[xX][0-9a-fA-F]+|\d+)`)

// givenStrings reads the annotation with which P4 programs name values of a
// type: @p4runtime_translation_mappings({{"", 0}, {"cpu", 510}}).
func givenStrings(annotations []string) map[string][]byte {
	given := make(map[string][]byte)
	for _, a := range annotations {
		list, ok := strings.CutPrefix(a, "@p4runtime_translation_mappings")
		if !ok {
			continue
		}
		for _, m := range givenPattern.FindAllStringSubmatch(list, -1) {
			name, err := strconv.Unquote(m[1])
			if v, ok := parseNumber(m[2]); ok && err == nil {
				given[name] = v
			}
		}
	}
	return given
}

// valueType is the type of a value: in a match field, an action parameter, a packet header's field
// or a leaf of P4Data.
type valueType struct {
	width  int          // bits that clients may use
	device int          // bits in the program
	tr     *translation // nil: both are the same
}

// newValueType settles the type of a value that may have a user-defined one.
func (t *typeInfo) newValueType(width int, named *configv1.P4NamedType, what string) (valueType,
	*Error) {
	v := valueType{width: width, device: width, tr: t.translations[named.GetName()]}
	if v.tr.strings() {
		return v, nil // bind finds the width
	}
	if v.tr != nil {
		if v.width == 0 {
			v.width = v.tr.sdn
		}
		v.device = 0
	}
	if v.width <= 0 || v.width > maxWidth {
		return v, invalid("P4Info: %s is %d bits wide; want 1 to %d", what, v.width, maxWidth)
	}
	return v, nil
}

// bind takes the width that the value has in the program. It reports false if the type cannot have
// that width.
func (v *valueType) bind(width int, what string) (bool, *Error) {
	if v.tr == nil {
		return v.width == width, nil
	}
	v.device = width
	if v.tr.strings() {
		v.width = width
	}
	return true, v.tr.bind(width, what)
}

// resized reports that the widths of clients and of the program differ.
func (v *valueType) resized() bool { return v.width != v.device }

// value checks a client's value and returns the program's.
func (v *valueType) value(x texts, b []byte) ([]byte, *Error) {
	if v.tr == nil {
		return b, checkFits(b, v.width)
	}
	if v.tr.strings() {
		return x.tables[v.tr.index].value(b, x.look)
	}
	if err := checkFits(b, v.width); err != nil {
		return nil, err
	}
	if n := bitLen(b); n > v.device {
		return nil, outOfRange("value 0x%x needs %d bits; type %q has %d in the program", b, n, v.tr.name,
			v.device)
	}
	return b, nil
}

// told returns a value of the program in the clients' canonical form.
func (v *valueType) told(x texts, b []byte) []byte {
	if v.tr.strings() {
		return x.tables[v.tr.index].text(b)
	}
	return canonical(b)
}

// checkGiven refuses strings whose value does not fit.
func (t *typeInfo) checkGiven() *Error {
	for _, name := range slices.Sorted(maps.Keys(t.translations)) {
		tr := t.translations[name]
		if tr.width == 0 {
			continue // not used
		}
		for _, s := range slices.Sorted(maps.Keys(tr.given)) {
			if n := bitLen(tr.given[s]); n > tr.width {
				return invalid("P4Info: type %q gives string %q a value of %d bits; it has %d in the program",
					name, s, n, tr.width)
			}
		}
	}
	return nil
}

// bindPacket finds the header of the program that a packet_in or packet_out
// header is, when the P4Info alone does not give its layout: translated fields
// have the program's width on the wire.
func (p *packetSchema) bindPacket(headers []engine.HeaderInfo) *Error {
	if !slices.ContainsFunc(p.fields, func(f paramSchema) bool { return f.tr != nil }) {
		return nil
	}
	var found []int
	for _, h := range headers {
		widths := p.widthsIn(h)
		if widths == nil {
			continue
		}
		if found != nil && !slices.Equal(found, widths) {
			return invalid("the %q header: several headers of the program have its fields, with different "+
				"widths; change a name", p.name)
		}
		found = widths
	}
	if found == nil {
		return invalid("the %q header of the P4Info is not in the program; compile both from the same "+
			"source", p.name)
	}
	for i := range p.fields {
		if _, err := p.fields[i].bind(found[i], "the "+p.name+" header"); err != nil {
			return err
		}
	}
	return nil
}

// widthsIn returns the widths of the fields in a header of the program, or nil for a different
// header.
func (p *packetSchema) widthsIn(h engine.HeaderInfo) []int {
	if len(h.Fields) != len(p.fields) {
		return nil
	}
	widths := make([]int, len(p.fields))
	for i, f := range p.fields {
		have := h.Fields[i]
		if have.Name != f.name || f.tr == nil && have.Width != f.width || f.tr != nil &&
			f.tr.width != 0 && f.tr.width != have.Width {
			return nil
		}
		widths[i] = have.Width
	}
	return widths
}
