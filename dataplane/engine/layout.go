package engine

import (
	"encoding/json"
	"math"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/bmv2json"
)

// The state of a packet is one flat octet array (phv.data). A header instance
// occupies consecutive octets in wire order, its variable-length field left
// out, so that extracting and deparsing it are copies. A metadata field
// occupies whole 8-octet words, big-endian and right-aligned, so that reading
// it is one load, of the width it was stored with.

// A program that needs more is refused, so that what it costs to load and run
// it is bounded by its length.
const (
	maxStateBytes = 1 << 17 // of phv.data
	maxFieldBits  = 1 << 16 // of a field, parameter, register entry or constant
	maxStack      = 1 << 15 // elements of a header stack
)

// stateSlack is what phv.data holds beyond the last field, so that an 8-octet
// window over any field stays inside.
const stateSlack = 8

type headerType struct {
	name   string
	fields []fieldType
	index  map[string]int
	bits   int // fixed part
	vl     int // index of the variable-length field, or -1
	maxLen int // octets, fixed part included; 0 when not given
}

type fieldType struct {
	name   string
	width  int // bits; 0 for the variable-length field
	signed bool
	bit    int // offset in the fixed part, from the most significant bit
}

// header is a header or metadata instance.
type header struct {
	name   string
	typ    *headerType
	meta   bool
	off    int // octets into phv.data
	size   int // octets of the fixed part
	word   int // of the validity bit in phv.valid
	mask   uint64
	vl     int // index into phv.vl, or -1
	vlBit  int // bits of the fixed part before the variable-length field
	union  int // union it is a member of, or -1
	fields []field
}

// field is a field of a header instance.
type field struct {
	hdr    *header
	idx    int
	width  int
	bit    int // absolute offset of the most significant bit in phv.data
	signed bool
	vl     bool
	valid  bool // the hidden field $valid$
}

func (f *field) name() string {
	if f.valid {
		return f.hdr.name + ".$valid$"
	}
	return f.hdr.name + "." + f.hdr.typ.fields[f.idx].name
}

// stack is a header stack: elements of one type, laid out consecutively.
type stack struct {
	name string
	idx  int // into phv.next
	typ  *headerType
	hdrs []*header
}

// union is a header union: at most one member is valid.
type union struct {
	name string
	idx  int
	hdrs []*header
}

// unionStack is a stack of header unions.
type unionStack struct {
	name   string
	idx    int // into phv.next, after the header stacks
	unions []*union
	names  []string // of the members of one element
}

// layout is everything about headers a program needs at run time.
type layout struct {
	headers []*header // in validity-bit order
	// deparse says that the first deparsed validity bits are the headers of
	// the deparser in its order.
	deparsed    int
	size        int // octets of phv.data, slack included
	metaOff     int
	metaSize    int
	validWords  int
	numVL       int
	numNext     int
	unions      []*union
	stacks      []*stack
	unionStacks []*unionStack
}

func (l *loader) loadHeaders() {
	l.headerTypes = map[string]*headerType{}
	for i := range l.in.HeaderTypes {
		jt := &l.in.HeaderTypes[i]
		if l.headerTypes[jt.Name] != nil {
			l.bad(jt.Source, "header type %q is declared twice", jt.Name)
		}
		l.headerTypes[jt.Name] = l.headerType(jt)
	}
	byID := map[int]*header{}
	l.headersByName = map[string]*header{}
	var order []*header // as declared
	for _, jh := range l.in.Headers {
		t := l.headerTypes[jh.HeaderType]
		if t == nil {
			l.bad(nil, "header %q has unknown type %q", jh.Name, jh.HeaderType)
		}
		h := &header{name: jh.Name, typ: t, meta: jh.Metadata, vl: -1, union: -1}
		if byID[jh.ID] != nil || l.headersByName[jh.Name] != nil {
			l.bad(nil, "header %q is declared twice", jh.Name)
		}
		if !jh.Metadata && t.bits%8 != 0 {
			l.bad(nil, "header %q is not a whole number of octets", jh.Name)
		}
		byID[jh.ID] = h
		l.headersByName[jh.Name] = h
		order = append(order, h)
	}
	l.orderHeaders(order)
	l.placeHeaders(order, l.declareStacks(byID))
	l.declareUnions(byID)
}

func (l *loader) headerType(jt *bmv2json.HeaderType) *headerType {
	t := &headerType{name: jt.Name, index: map[string]int{}, vl: -1, maxLen: jt.MaxLength}
	if !bmv2json.IsNull(jt.LengthExp) {
		l.unsupported(jt.Source, "length_exp of header type %q (P4_14)", jt.Name)
	}
	for _, raw := range jt.Fields {
		var parts []any
		if err := json.Unmarshal(raw, &parts); err != nil || len(parts) < 2 {
			l.bad(jt.Source, "field of header type %q: want [name, width, signed]", jt.Name)
		}
		name, ok := parts[0].(string)
		if !ok {
			l.bad(jt.Source, "field of header type %q has no name", jt.Name)
		}
		f := fieldType{name: name, bit: t.bits}
		switch w := parts[1].(type) {
		case float64:
			if w < 0 || w != math.Trunc(w) {
				l.bad(jt.Source, "field %s.%s has width %v", jt.Name, name, w)
			}
			if w > maxFieldBits {
				l.unsupported(jt.Source, "field %s.%s of more than %d bits", jt.Name, name, maxFieldBits)
			}
			f.width = int(w)
		case string:
			if w != "*" || t.vl >= 0 {
				l.bad(jt.Source, "field %s.%s has width %q", jt.Name, name, w)
			}
			t.vl = len(t.fields)
		default:
			l.bad(jt.Source, "field %s.%s has no width", jt.Name, name)
		}
		if len(parts) > 2 {
			f.signed, _ = parts[2].(bool)
		}
		if len(parts) > 3 {
			if sat, _ := parts[3].(bool); sat { // p4c does not write it
				l.unsupported(jt.Source, "saturating field %s.%s (P4_14)", jt.Name, name)
			}
		}
		t.index[name] = len(t.fields)
		t.fields = append(t.fields, f)
		if t.bits += f.width; t.bits > maxStateBytes*8 {
			l.unsupported(jt.Source, "header type %q of more than %d octets", jt.Name, maxStateBytes)
		}
	}
	return t
}

// orderHeaders gives every header its validity bit: the deparser's headers
// first and in its order, so that walking the set bits deparses.
func (l *loader) orderHeaders(order []*header) {
	lay := &l.prog.layout
	seen := map[*header]bool{}
	if d := l.deparser(); d != nil {
		for _, name := range d.Order {
			h := l.headersByName[name]
			if h == nil {
				l.bad(d.Source, "deparser emits unknown header %q", name)
			}
			if seen[h] { // loadDeparser notes the whole order
				continue
			}
			seen[h] = true
			lay.headers = append(lay.headers, h)
		}
	}
	lay.deparsed = len(lay.headers)
	for _, h := range order {
		if !seen[h] {
			lay.headers = append(lay.headers, h)
		}
	}
	for i, h := range lay.headers {
		h.word, h.mask = i/64, 1<<(i%64)
	}
	lay.validWords = (len(lay.headers) + 63) / 64
}

func (l *loader) declareStacks(byID map[int]*header) map[*header]*stack {
	lay := &l.prog.layout
	l.stacksByName = map[string]*stack{}
	inStack := map[*header]*stack{}
	for _, js := range l.in.HeaderStacks {
		s := &stack{name: js.Name, idx: lay.numNext, typ: l.headerTypes[js.HeaderType]}
		lay.numNext++
		if s.typ == nil || len(js.HeaderIDs) == 0 {
			l.bad(nil, "header stack %q has no type or no elements", js.Name)
		}
		if len(js.HeaderIDs) > maxStack {
			l.unsupported(nil, "header stack %q of more than %d elements", js.Name, maxStack)
		}
		if l.stacksByName[js.Name] != nil {
			l.bad(nil, "header stack %q is declared twice", js.Name)
		}
		for _, id := range js.HeaderIDs {
			h := byID[id]
			if h == nil || h.typ != s.typ || inStack[h] != nil {
				l.bad(nil, "header stack %q has a wrong element %d", js.Name, id)
			}
			inStack[h] = s
			s.hdrs = append(s.hdrs, h)
		}
		lay.stacks = append(lay.stacks, s)
		l.stacksByName[js.Name] = s
	}
	return inStack
}

// placeHeaders lays the instances out: headers first, metadata after them.
func (l *loader) placeHeaders(order []*header, inStack map[*header]*stack) {
	lay := &l.prog.layout
	off := 0
	place := func(h *header) {
		h.off, h.size = off, h.typ.bits/8
		if off += h.size; off > maxStateBytes {
			l.unsupported(nil, "headers and metadata of more than %d octets", maxStateBytes)
		}
		if h.typ.vl >= 0 {
			h.vl = lay.numVL
			lay.numVL++
			h.vlBit = h.typ.fields[h.typ.vl].bit
		}
		for i, ft := range h.typ.fields {
			h.fields = append(h.fields, field{hdr: h, idx: i, width: ft.width,
				bit: h.off*8 + ft.bit, signed: ft.signed, vl: i == h.typ.vl})
		}
	}
	done := map[*stack]bool{}
	for _, h := range order {
		switch s := inStack[h]; {
		case h.meta && s != nil:
			l.unsupported(nil, "header stack %q of metadata", s.name)
		case h.meta:
		case s == nil:
			place(h)
		case !done[s]:
			done[s] = true
			for _, e := range s.hdrs {
				place(e)
			}
		}
	}
	lay.metaOff = off
	off += 8 // where fields without room of their own are, should anything look
	for _, h := range order {
		if !h.meta {
			continue
		}
		h.off = off
		for i, ft := range h.typ.fields {
			f := field{hdr: h, idx: i, width: ft.width, signed: ft.signed, vl: i == h.typ.vl}
			if f.vl {
				h.vl = lay.numVL
				lay.numVL++
			} else if l.dropped[fieldName{h.name, ft.name}] && ft.width <= 64 {
				f.bit = 8*(lay.metaOff+8) - ft.width
			} else {
				off += slotSize(ft.width)
				f.bit = off*8 - ft.width
			}
			h.fields = append(h.fields, f)
		}
		if h.size = off - h.off; off > maxStateBytes {
			l.unsupported(nil, "headers and metadata of more than %d octets", maxStateBytes)
		}
	}
	lay.metaSize = off - lay.metaOff
	lay.size = off + stateSlack
}

func (l *loader) declareUnions(byID map[int]*header) {
	lay := &l.prog.layout
	types := map[string][]string{}
	for _, jt := range l.in.HeaderUnionTypes {
		for _, m := range jt.Headers {
			types[jt.Name] = append(types[jt.Name], m[0])
		}
	}
	unionByID := map[int]*union{}
	unionType := map[*union]string{}
	l.unionsByName = map[string]*union{}
	for _, ju := range l.in.HeaderUnions {
		u := &union{name: ju.Name, idx: len(lay.unions)}
		if l.unionsByName[ju.Name] != nil || unionByID[ju.ID] != nil {
			l.bad(nil, "header union %q is declared twice", ju.Name)
		}
		for _, id := range ju.HeaderIDs {
			h := byID[id]
			if h == nil || h.union >= 0 {
				l.bad(nil, "header union %q has a wrong member %d", ju.Name, id)
			}
			h.union = u.idx
			u.hdrs = append(u.hdrs, h)
		}
		if len(u.hdrs) != len(types[ju.UnionType]) {
			l.bad(nil, "header union %q does not fit its type %q", ju.Name, ju.UnionType)
		}
		lay.unions = append(lay.unions, u)
		unionByID[ju.ID] = u
		unionType[u] = ju.UnionType
		l.unionsByName[ju.Name] = u
	}
	l.unionStacksByName = map[string]*unionStack{}
	for _, js := range l.in.HeaderUnionStacks {
		s := &unionStack{name: js.Name, idx: lay.numNext, names: types[js.UnionType]}
		lay.numNext++
		for _, id := range js.UnionIDs {
			u := unionByID[id]
			if u == nil || unionType[u] != js.UnionType {
				l.bad(nil, "header union stack %q has a wrong element %d", js.Name, id)
			}
			s.unions = append(s.unions, u)
		}
		if len(s.unions) == 0 {
			l.bad(nil, "header union stack %q has no elements", js.Name)
		}
		if len(s.unions) > maxStack {
			l.unsupported(nil, "header union stack %q of more than %d elements", js.Name, maxStack)
		}
		if l.unionStacksByName[js.Name] != nil {
			l.bad(nil, "header union stack %q is declared twice", js.Name)
		}
		lay.unionStacks = append(lay.unionStacks, s)
		l.unionStacksByName[js.Name] = s
	}
}

// lookupField resolves [header, field]; "$valid$" is the hidden validity bit.
func (l *loader) lookupField(src *bmv2json.Source, hdr, name string) *field {
	h := l.headersByName[hdr]
	if h == nil {
		l.bad(src, "unknown header %q", hdr)
	}
	if name == "$valid$" {
		return &field{hdr: h, width: 1, valid: true}
	}
	i, ok := h.typ.index[name]
	if !ok {
		l.bad(src, "header %q has no field %q", hdr, name)
	}
	l.named[&h.fields[i]] = true
	return &h.fields[i]
}

// std resolves a standard field by the name BMv2 uses, through the program's
// aliases.
func (l *loader) std(hdr, name string) stdField {
	if to, ok := l.aliases[hdr+"."+name]; ok {
		hdr, name = to[0], to[1]
	}
	h := l.headersByName[hdr]
	if h == nil {
		return stdField{off: -1}
	}
	i, ok := h.typ.index[name]
	if !ok {
		return stdField{off: -1}
	}
	f := &h.fields[i]
	if f.vl || f.width > 64 || !h.meta {
		l.unsupported(nil, "standard field %s.%s that is not metadata of at most 64 bits", hdr, name)
	}
	if f.width == 0 {
		return stdField{off: -1, field: f}
	}
	return stdField{off: int32(f.slot()), cut: uint8(64 - f.width), field: f}
}

// slotSize is how many octets a metadata field of n bits occupies.
func slotSize(n int) int {
	return 8 * bitfield.Words(n)
}
