package engine

import (
	"encoding/json"
	"math"

	"github.com/weft-sdn/weft/dataplane/ir"

	"github.com/weft-sdn/weft/dataplane/bmv2json"
)

func (l *loader) loadHeaders() {
	l.headerTypes = map[string]*ir.HeaderType{}
	for i := range l.in.HeaderTypes {
		jt := &l.in.HeaderTypes[i]
		if l.headerTypes[jt.Name] != nil {
			l.bad(jt.Source, "header type %q is declared twice", jt.Name)
		}
		l.headerTypes[jt.Name] = l.headerType(jt)
	}
	byID := map[int]*ir.Header{}
	l.headersByName = map[string]*ir.Header{}
	var order []*ir.Header // as declared
	for _, jh := range l.in.Headers {
		t := l.headerTypes[jh.HeaderType]
		if t == nil {
			l.bad(nil, "header %q has unknown type %q", jh.Name, jh.HeaderType)
		}
		h := &ir.Header{Name: jh.Name, Type: t, Meta: jh.Metadata, VL: -1, Union: -1}
		if byID[jh.ID] != nil || l.headersByName[jh.Name] != nil {
			l.bad(nil, "header %q is declared twice", jh.Name)
		}
		if !jh.Metadata && t.Bits%8 != 0 {
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

func (l *loader) headerType(jt *bmv2json.HeaderType) *ir.HeaderType {
	t := &ir.HeaderType{Name: jt.Name, Index: map[string]int{}, VL: -1, MaxLen: jt.MaxLength}
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
		f := ir.FieldType{Name: name, Bit: t.Bits}
		switch w := parts[1].(type) {
		case float64:
			if w < 0 || w != math.Trunc(w) {
				l.bad(jt.Source, "field %s.%s has width %v", jt.Name, name, w)
			}
			if w > ir.MaxFieldBits {
				l.unsupported(jt.Source, "field %s.%s of more than %d bits", jt.Name, name, ir.MaxFieldBits)
			}
			f.Width = int(w)
		case string:
			if w != "*" || t.VL >= 0 {
				l.bad(jt.Source, "field %s.%s has width %q", jt.Name, name, w)
			}
			t.VL = len(t.Fields)
		default:
			l.bad(jt.Source, "field %s.%s has no width", jt.Name, name)
		}
		if len(parts) > 2 {
			f.Signed, _ = parts[2].(bool)
		}
		if len(parts) > 3 {
			if sat, _ := parts[3].(bool); sat { // p4c does not write it
				l.unsupported(jt.Source, "saturating field %s.%s (P4_14)", jt.Name, name)
			}
		}
		t.Index[name] = len(t.Fields)
		t.Fields = append(t.Fields, f)
		if t.Bits += f.Width; t.Bits > ir.MaxStateBytes*8 {
			l.unsupported(jt.Source, "header type %q of more than %d octets", jt.Name, ir.MaxStateBytes)
		}
	}
	return t
}

// orderHeaders gives every header its validity bit: the deparser's headers
// first and in its order, so that walking the set bits deparses.
func (l *loader) orderHeaders(order []*ir.Header) {
	lay := &l.prog.layout
	seen := map[*ir.Header]bool{}
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
			lay.Headers = append(lay.Headers, h)
		}
	}
	lay.Deparsed = len(lay.Headers)
	for _, h := range order {
		if !seen[h] {
			lay.Headers = append(lay.Headers, h)
		}
	}
	for i, h := range lay.Headers {
		h.Word, h.Mask = i/64, 1<<(i%64)
	}
	lay.ValidWords = (len(lay.Headers) + 63) / 64
}

func (l *loader) declareStacks(byID map[int]*ir.Header) map[*ir.Header]*ir.Stack {
	lay := &l.prog.layout
	l.stacksByName = map[string]*ir.Stack{}
	inStack := map[*ir.Header]*ir.Stack{}
	for _, js := range l.in.HeaderStacks {
		s := &ir.Stack{Name: js.Name, Index: lay.NumNext, Type: l.headerTypes[js.HeaderType]}
		lay.NumNext++
		if s.Type == nil || len(js.HeaderIDs) == 0 {
			l.bad(nil, "header stack %q has no type or no elements", js.Name)
		}
		if len(js.HeaderIDs) > ir.MaxStack {
			l.unsupported(nil, "header stack %q of more than %d elements", js.Name, ir.MaxStack)
		}
		if l.stacksByName[js.Name] != nil {
			l.bad(nil, "header stack %q is declared twice", js.Name)
		}
		for _, id := range js.HeaderIDs {
			h := byID[id]
			if h == nil || h.Type != s.Type || inStack[h] != nil {
				l.bad(nil, "header stack %q has a wrong element %d", js.Name, id)
			}
			inStack[h] = s
			s.Headers = append(s.Headers, h)
		}
		lay.Stacks = append(lay.Stacks, s)
		l.stacksByName[js.Name] = s
	}
	return inStack
}

// placeHeaders lays the instances out: headers first, metadata after them.
func (l *loader) placeHeaders(order []*ir.Header, inStack map[*ir.Header]*ir.Stack) {
	lay := &l.prog.layout
	off := 0
	place := func(h *ir.Header) {
		h.Off, h.Size = off, h.Type.Bits/8
		if off += h.Size; off > ir.MaxStateBytes {
			l.unsupported(nil, "headers and metadata of more than %d octets", ir.MaxStateBytes)
		}
		if h.Type.VL >= 0 {
			h.VL = lay.NumVL
			lay.NumVL++
			h.VLBit = h.Type.Fields[h.Type.VL].Bit
		}
		for i, ft := range h.Type.Fields {
			h.Fields = append(h.Fields, ir.Field{Header: h, Index: i, Width: ft.Width,
				Bit: h.Off*8 + ft.Bit, Signed: ft.Signed, VL: i == h.Type.VL})
		}
	}
	done := map[*ir.Stack]bool{}
	for _, h := range order {
		switch s := inStack[h]; {
		case h.Meta && s != nil:
			l.unsupported(nil, "header stack %q of metadata", s.Name)
		case h.Meta:
		case s == nil:
			place(h)
		case !done[s]:
			done[s] = true
			for _, e := range s.Headers {
				place(e)
			}
		}
	}
	lay.MetaOff = off
	off += 8 // where fields without room of their own are, should anything look
	for _, h := range order {
		if !h.Meta {
			continue
		}
		h.Off = off
		for i, ft := range h.Type.Fields {
			f := ir.Field{Header: h, Index: i, Width: ft.Width, Signed: ft.Signed, VL: i == h.Type.VL}
			if f.VL {
				h.VL = lay.NumVL
				lay.NumVL++
			} else if l.dropped[fieldName{h.Name, ft.Name}] && ft.Width <= 64 {
				f.Bit = 8*(lay.MetaOff+8) - ft.Width
			} else {
				off += ir.SlotSize(ft.Width)
				f.Bit = off*8 - ft.Width
			}
			h.Fields = append(h.Fields, f)
		}
		if h.Size = off - h.Off; off > ir.MaxStateBytes {
			l.unsupported(nil, "headers and metadata of more than %d octets", ir.MaxStateBytes)
		}
	}
	lay.MetaSize = off - lay.MetaOff
	lay.Size = off + ir.StateSlack
}

func (l *loader) declareUnions(byID map[int]*ir.Header) {
	lay := &l.prog.layout
	types := map[string][]string{}
	for _, jt := range l.in.HeaderUnionTypes {
		for _, m := range jt.Headers {
			types[jt.Name] = append(types[jt.Name], m[0])
		}
	}
	unionByID := map[int]*ir.Union{}
	unionType := map[*ir.Union]string{}
	l.unionsByName = map[string]*ir.Union{}
	for _, ju := range l.in.HeaderUnions {
		u := &ir.Union{Name: ju.Name, Index: len(lay.Unions)}
		if l.unionsByName[ju.Name] != nil || unionByID[ju.ID] != nil {
			l.bad(nil, "header union %q is declared twice", ju.Name)
		}
		for _, id := range ju.HeaderIDs {
			h := byID[id]
			if h == nil || h.Union >= 0 {
				l.bad(nil, "header union %q has a wrong member %d", ju.Name, id)
			}
			h.Union = u.Index
			u.Headers = append(u.Headers, h)
		}
		if len(u.Headers) != len(types[ju.UnionType]) {
			l.bad(nil, "header union %q does not fit its type %q", ju.Name, ju.UnionType)
		}
		lay.Unions = append(lay.Unions, u)
		unionByID[ju.ID] = u
		unionType[u] = ju.UnionType
		l.unionsByName[ju.Name] = u
	}
	l.unionStacksByName = map[string]*ir.UnionStack{}
	for _, js := range l.in.HeaderUnionStacks {
		s := &ir.UnionStack{Name: js.Name, Index: lay.NumNext, Names: types[js.UnionType]}
		lay.NumNext++
		for _, id := range js.UnionIDs {
			u := unionByID[id]
			if u == nil || unionType[u] != js.UnionType {
				l.bad(nil, "header union stack %q has a wrong element %d", js.Name, id)
			}
			s.Unions = append(s.Unions, u)
		}
		if len(s.Unions) == 0 {
			l.bad(nil, "header union stack %q has no elements", js.Name)
		}
		if len(s.Unions) > ir.MaxStack {
			l.unsupported(nil, "header union stack %q of more than %d elements", js.Name, ir.MaxStack)
		}
		if l.unionStacksByName[js.Name] != nil {
			l.bad(nil, "header union stack %q is declared twice", js.Name)
		}
		lay.UnionStacks = append(lay.UnionStacks, s)
		l.unionStacksByName[js.Name] = s
	}
}

// lookupField resolves [header, field]; "$valid$" is the hidden validity bit.
func (l *loader) lookupField(src *bmv2json.Source, hdr, name string) *ir.Field {
	h := l.headersByName[hdr]
	if h == nil {
		l.bad(src, "unknown header %q", hdr)
	}
	if name == "$valid$" {
		return &ir.Field{Header: h, Width: 1, Valid: true}
	}
	i, ok := h.Type.Index[name]
	if !ok {
		l.bad(src, "header %q has no field %q", hdr, name)
	}
	l.named[&h.Fields[i]] = true
	return &h.Fields[i]
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
	i, ok := h.Type.Index[name]
	if !ok {
		return stdField{off: -1}
	}
	f := &h.Fields[i]
	if f.VL || f.Width > 64 || !h.Meta {
		l.unsupported(nil, "standard field %s.%s that is not metadata of at most 64 bits", hdr, name)
	}
	if f.Width == 0 {
		return stdField{off: -1, field: f}
	}
	return stdField{off: int32(f.Slot()), cut: uint8(64 - f.Width), field: f}
}
