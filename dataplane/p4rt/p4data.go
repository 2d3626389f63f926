package p4rt

import (
	"fmt"
	"strconv"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// typeInfo holds the named types of a P4Info. It converts p4.v1.P4Data to and
// from the flat form of the engine: the leaves of the type in order, each an
// unsigned value in the fixed length of its width.
type typeInfo struct {
	*configv1.P4TypeInfo
	translations map[string]*translation // by the name of the type
}

// maxTypeDepth bounds the nesting of a type, which also ends a type that
// contains itself.
const maxTypeDepth = 16

// symbolWidth is the width in which the BMv2 back end stores the members of
// an enum without underlying type and of error.
const symbolWidth = 32

func newTypeInfo(t *configv1.P4TypeInfo) *typeInfo {
	return &typeInfo{P4TypeInfo: t, translations: newTranslations(t.GetNewTypes())}
}

// check reports INVALID_ARGUMENT for a type that has no flat form.
func (t *typeInfo) check(spec *configv1.P4DataTypeSpec, what string) *Error {
	_, err := t.leaves(nil, spec, what, 0)
	return err
}

// leaves appends the leaves of a type in order.
func (t *typeInfo) leaves(dst []valueType, spec *configv1.P4DataTypeSpec, what string,
	depth int) ([]valueType, *Error) {
	if depth > maxTypeDepth {
		return nil, invalid("P4Info: the type of %s is nested more than %d deep", what, maxTypeDepth)
	}
	switch s := spec.GetTypeSpec().(type) {
	case *configv1.P4DataTypeSpec_Bitstring:
		w, _, ok := bitstringWidth(s.Bitstring)
		if !ok || w <= 0 || w > maxWidth {
			return nil, invalid("P4Info: the type of %s holds a bit string that is not bit<W> or int<W> "+
				"with W in 1 to %d", what, maxWidth)
		}
		return append(dst, plain(w)), nil
	case *configv1.P4DataTypeSpec_Bool:
		return append(dst, plain(1)), nil
	case *configv1.P4DataTypeSpec_Tuple:
		for _, m := range s.Tuple.GetMembers() {
			var err *Error
			if dst, err = t.leaves(dst, m, what, depth+1); err != nil {
				return nil, err
			}
		}
		return dst, nil
	case *configv1.P4DataTypeSpec_Struct:
		st, ok := t.GetStructs()[s.Struct.GetName()]
		if !ok {
			return nil, invalid("P4Info: the type of %s names struct %q, which is not in type_info", what,
				s.Struct.GetName())
		}
		for _, m := range st.GetMembers() {
			var err *Error
			if dst, err = t.leaves(dst, m.GetTypeSpec(), what, depth+1); err != nil {
				return nil, err
			}
		}
		return dst, nil
	case *configv1.P4DataTypeSpec_Header:
		h, ok := t.GetHeaders()[s.Header.GetName()]
		if !ok {
			return nil, invalid("P4Info: the type of %s names header %q, which is not in type_info", what,
				s.Header.GetName())
		}
		for _, m := range h.GetMembers() {
			w, _, ok := bitstringWidth(m.GetTypeSpec())
			if !ok || w <= 0 || w > maxWidth {
				return nil, invalid("P4Info: field %q of header %q in the type of %s is not bit<W> or int<W>",
					m.GetName(), s.Header.GetName(), what)
			}
			dst = append(dst, plain(w))
		}
		return dst, nil
	case *configv1.P4DataTypeSpec_SerializableEnum:
		e, ok := t.GetSerializableEnums()[s.SerializableEnum.GetName()]
		if !ok || e.GetUnderlyingType().GetBitwidth() <= 0 ||
			e.GetUnderlyingType().GetBitwidth() > maxWidth {
			return nil, invalid("P4Info: the type of %s names serializable enum %q, which is not in "+
				"type_info", what, s.SerializableEnum.GetName())
		}
		return append(dst, plain(int(e.GetUnderlyingType().GetBitwidth()))), nil
	case *configv1.P4DataTypeSpec_Enum:
		if _, ok := t.GetEnums()[s.Enum.GetName()]; !ok {
			return nil, invalid("P4Info: the type of %s names enum %q, which is not in type_info", what,
				s.Enum.GetName())
		}
		return append(dst, plain(symbolWidth)), nil
	case *configv1.P4DataTypeSpec_Error:
		return append(dst, plain(symbolWidth)), nil
	case *configv1.P4DataTypeSpec_NewType:
		n, ok := t.GetNewTypes()[s.NewType.GetName()]
		if !ok {
			return nil, invalid("P4Info: the type of %s names new type %q, which is not in type_info", what,
				s.NewType.GetName())
		}
		if n.GetTranslatedType() == nil {
			return t.leaves(dst, n.GetOriginalType(), what, depth+1)
		}
		v, err := t.newValueType(0, &configv1.P4NamedType{Name: s.NewType.GetName()}, what)
		return append(dst, v), err
	}
	kind := "missing"
	switch spec.GetTypeSpec().(type) {
	case *configv1.P4DataTypeSpec_HeaderUnion:
		kind = "a header union"
	case *configv1.P4DataTypeSpec_HeaderStack:
		kind = "a header stack"
	case *configv1.P4DataTypeSpec_HeaderUnionStack:
		kind = "a header union stack"
	}
	return nil, invalid("P4Info: the type of %s is %s; want bit<W>, int<W>, bool, tuple, struct, "+
		"header, enum, error or a new type", what, kind)
}

// translated returns the type of the values of a translated new type.
func (t *typeInfo) translated(name string) (valueType, bool) {
	tr := t.translations[name]
	if tr == nil {
		return valueType{}, false
	}
	v := valueType{width: tr.sdn, device: tr.width, tr: tr}
	if tr.strings() {
		v.width = tr.width
	}
	return v, true
}

// plain returns the type of an untranslated leaf.
func plain(width int) valueType { return valueType{width: width, device: width} }

func bitstringWidth(b *configv1.P4BitstringLikeTypeSpec) (width int, signed, ok bool) {
	switch s := b.GetTypeSpec().(type) {
	case *configv1.P4BitstringLikeTypeSpec_Bit:
		return int(s.Bit.GetBitwidth()), false, true
	case *configv1.P4BitstringLikeTypeSpec_Int:
		return int(s.Int.GetBitwidth()), true, true
	}
	return 0, false, false
}

// encode appends the leaves of data, each in the fixed length of its width.
// The type has passed check; its translated types are bound.
func (t *typeInfo) encode(x texts, dst []byte, spec *configv1.P4DataTypeSpec,
	data *p4v1.P4Data) ([]byte, *Error) {
	mismatch := func(want string) *Error {
		return invalid("the data is %s; want %s", p4DataKind(data), want)
	}
	structLike := func(members []*p4v1.P4Data, n int, member func(int) *configv1.P4DataTypeSpec,
		name func(int) string) ([]byte, *Error) {
		if len(members) != n {
			return dst, invalid("the data has %d members; want %d", len(members), n)
		}
		for i, m := range members {
			var err *Error
			if dst, err = t.encode(x, dst, member(i), m); err != nil {
				return dst, err.in("member %s", name(i))
			}
		}
		return dst, nil
	}
	switch s := spec.GetTypeSpec().(type) {
	case *configv1.P4DataTypeSpec_Bitstring:
		v, ok := data.GetData().(*p4v1.P4Data_Bitstring)
		if !ok {
			return dst, mismatch("a bitstring")
		}
		return appendBits(dst, v.Bitstring, s.Bitstring)
	case *configv1.P4DataTypeSpec_Bool:
		v, ok := data.GetData().(*p4v1.P4Data_Bool)
		if !ok {
			return dst, mismatch("a bool")
		}
		if v.Bool {
			return append(dst, 1), nil
		}
		return append(dst, 0), nil
	case *configv1.P4DataTypeSpec_Tuple:
		v, ok := data.GetData().(*p4v1.P4Data_Tuple)
		if !ok {
			return dst, mismatch("a tuple")
		}
		ms := s.Tuple.GetMembers()
		return structLike(v.Tuple.GetMembers(), len(ms),
			func(i int) *configv1.P4DataTypeSpec { return ms[i] },
			func(i int) string { return strconv.Itoa(i) })
	case *configv1.P4DataTypeSpec_Struct:
		v, ok := data.GetData().(*p4v1.P4Data_Struct)
		if !ok {
			return dst, mismatch(fmt.Sprintf("a struct %q", s.Struct.GetName()))
		}
		ms := t.GetStructs()[s.Struct.GetName()].GetMembers()
		return structLike(v.Struct.GetMembers(), len(ms),
			func(i int) *configv1.P4DataTypeSpec { return ms[i].GetTypeSpec() },
			func(i int) string { return strconv.Quote(ms[i].GetName()) })
	case *configv1.P4DataTypeSpec_Header:
		v, ok := data.GetData().(*p4v1.P4Data_Header)
		if !ok || !v.Header.GetIsValid() {
			return dst, mismatch(fmt.Sprintf("a valid header %q", s.Header.GetName()))
		}
		ms := t.GetHeaders()[s.Header.GetName()].GetMembers()
		if len(v.Header.GetBitstrings()) != len(ms) {
			return dst, invalid("the header has %d bitstrings; want %d", len(v.Header.GetBitstrings()),
				len(ms))
		}
		for i, b := range v.Header.GetBitstrings() {
			var err *Error
			if dst, err = appendBits(dst, b, ms[i].GetTypeSpec()); err != nil {
				return dst, err.in("field %q", ms[i].GetName())
			}
		}
		return dst, nil
	case *configv1.P4DataTypeSpec_SerializableEnum:
		v, ok := data.GetData().(*p4v1.P4Data_EnumValue)
		if !ok {
			return dst, mismatch("an enum_value")
		}
		return appendFixed(dst, v.EnumValue,
			int(t.GetSerializableEnums()[s.SerializableEnum.GetName()].GetUnderlyingType().GetBitwidth()))
	case *configv1.P4DataTypeSpec_Enum:
		v, ok := data.GetData().(*p4v1.P4Data_Enum)
		if !ok {
			return dst, mismatch("an enum")
		}
		for i, m := range t.GetEnums()[s.Enum.GetName()].GetMembers() {
			if m.GetName() == v.Enum {
				return append(dst, byte(i>>24), byte(i>>16), byte(i>>8), byte(i)), nil
			}
		}
		return dst, invalid("%q is not a member of enum %q", v.Enum, s.Enum.GetName())
	case *configv1.P4DataTypeSpec_Error:
		v, ok := data.GetData().(*p4v1.P4Data_Error)
		if !ok {
			return dst, mismatch("an error")
		}
		for i, m := range t.GetError().GetMembers() {
			if m == v.Error {
				return append(dst, byte(i>>24), byte(i>>16), byte(i>>8), byte(i)), nil
			}
		}
		return dst, invalid("%q is not an error of the program", v.Error)
	case *configv1.P4DataTypeSpec_NewType:
		vt, translated := t.translated(s.NewType.GetName())
		if !translated {
			return t.encode(x, dst, t.GetNewTypes()[s.NewType.GetName()].GetOriginalType(), data)
		}
		v, ok := data.GetData().(*p4v1.P4Data_Bitstring)
		if !ok {
			return dst, mismatch("a bitstring")
		}
		b, err := vt.value(x, v.Bitstring)
		if err != nil {
			return dst, err
		}
		return appendFixed(dst, b, vt.device)
	}
	return dst, invalid("the P4Info gives no type for it")
}

func appendBits(dst, v []byte, spec *configv1.P4BitstringLikeTypeSpec) ([]byte, *Error) {
	w, signed, _ := bitstringWidth(spec)
	if !signed {
		return appendFixed(dst, v, w)
	}
	at := len(dst)
	dst, err := appendFixedSigned(dst, v, w)
	if err == nil && w%8 != 0 { // the engine keeps values modulo 2^w
		dst[at] &= 1<<(w%8) - 1
	}
	return dst, err
}

// decode is the inverse of encode: it consumes the leaves of one value from
// *flat and returns it in canonical form.
func (t *typeInfo) decode(x texts, flat *[]byte, spec *configv1.P4DataTypeSpec) *p4v1.P4Data {
	switch s := spec.GetTypeSpec().(type) {
	case *configv1.P4DataTypeSpec_Bitstring:
		return &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: takeBits(flat, s.Bitstring)}}
	case *configv1.P4DataTypeSpec_Bool:
		return &p4v1.P4Data{Data: &p4v1.P4Data_Bool{Bool: !allZero(take(flat, 1))}}
	case *configv1.P4DataTypeSpec_Tuple:
		out := &p4v1.P4StructLike{}
		for _, m := range s.Tuple.GetMembers() {
			out.Members = append(out.Members, t.decode(x, flat, m))
		}
		return &p4v1.P4Data{Data: &p4v1.P4Data_Tuple{Tuple: out}}
	case *configv1.P4DataTypeSpec_Struct:
		out := &p4v1.P4StructLike{}
		for _, m := range t.GetStructs()[s.Struct.GetName()].GetMembers() {
			out.Members = append(out.Members, t.decode(x, flat, m.GetTypeSpec()))
		}
		return &p4v1.P4Data{Data: &p4v1.P4Data_Struct{Struct: out}}
	case *configv1.P4DataTypeSpec_Header:
		out := &p4v1.P4Header{IsValid: true}
		for _, m := range t.GetHeaders()[s.Header.GetName()].GetMembers() {
			out.Bitstrings = append(out.Bitstrings, takeBits(flat, m.GetTypeSpec()))
		}
		return &p4v1.P4Data{Data: &p4v1.P4Data_Header{Header: out}}
	case *configv1.P4DataTypeSpec_SerializableEnum:
		w := int(t.GetSerializableEnums()[s.SerializableEnum.GetName()].GetUnderlyingType().GetBitwidth())
		return &p4v1.P4Data{Data: &p4v1.P4Data_EnumValue{EnumValue: canonical(take(flat, w))}}
	case *configv1.P4DataTypeSpec_Enum:
		name, i := "", symbolIndex(take(flat, symbolWidth))
		if ms := t.GetEnums()[s.Enum.GetName()].GetMembers(); i < len(ms) {
			name = ms[i].GetName()
		}
		return &p4v1.P4Data{Data: &p4v1.P4Data_Enum{Enum: name}}
	case *configv1.P4DataTypeSpec_Error:
		name, i := "", symbolIndex(take(flat, symbolWidth))
		if ms := t.GetError().GetMembers(); i < len(ms) {
			name = ms[i]
		}
		return &p4v1.P4Data{Data: &p4v1.P4Data_Error{Error: name}}
	case *configv1.P4DataTypeSpec_NewType:
		vt, translated := t.translated(s.NewType.GetName())
		if !translated {
			return t.decode(x, flat, t.GetNewTypes()[s.NewType.GetName()].GetOriginalType())
		}
		return &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: vt.told(x, take(flat, vt.device))}}
	}
	return &p4v1.P4Data{}
}

// take consumes a value of width bits; missing octets read as zero.
func take(flat *[]byte, width int) []byte {
	n := byteLen(width)
	if len(*flat) < n {
		out := make([]byte, n)
		copy(out, *flat)
		*flat = nil
		return out
	}
	v := (*flat)[:n:n]
	*flat = (*flat)[n:]
	return v
}

func takeBits(flat *[]byte, spec *configv1.P4BitstringLikeTypeSpec) []byte {
	w, signed, _ := bitstringWidth(spec)
	v := take(flat, w)
	if !signed {
		return canonical(v)
	}
	if top := (w - 1) % 8; v[0]&(1<<top) != 0 && w%8 != 0 {
		v = append([]byte{v[0] | ^byte(1<<(w%8)-1)}, v[1:]...)
	}
	return canonicalSigned(v)
}

func symbolIndex(v []byte) int {
	return int(v[0])<<24 | int(v[1])<<16 | int(v[2])<<8 | int(v[3])
}

func p4DataKind(d *p4v1.P4Data) string {
	switch d.GetData().(type) {
	case nil:
		return "missing"
	case *p4v1.P4Data_Bitstring:
		return "a bitstring"
	case *p4v1.P4Data_Varbit:
		return "a varbit"
	case *p4v1.P4Data_Bool:
		return "a bool"
	case *p4v1.P4Data_Tuple:
		return "a tuple"
	case *p4v1.P4Data_Struct:
		return "a struct"
	case *p4v1.P4Data_Header:
		return "a header"
	case *p4v1.P4Data_HeaderUnion:
		return "a header union"
	case *p4v1.P4Data_HeaderStack:
		return "a header stack"
	case *p4v1.P4Data_HeaderUnionStack:
		return "a header union stack"
	case *p4v1.P4Data_Enum:
		return "an enum"
	case *p4v1.P4Data_Error:
		return "an error"
	case *p4v1.P4Data_EnumValue:
		return "an enum_value"
	}
	return "of an unknown kind"
}
