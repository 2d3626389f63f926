package p4rt

import (
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"github.com/weft-sdn/weft/p4/wire"
)

func (r *realm) writeValueSet(typ p4v1.Update_Type, e *p4v1.ValueSetEntry, undo *undoLog) *Error {
	v := r.p.valueSets[e.GetValueSetId()]
	if v == nil {
		return invalid("value set id 0x%08x is not in the P4Info", e.GetValueSetId())
	}
	if err := r.applyValueSet(v, typ, e, undo); err != nil {
		return err.in("value set %q", v.name)
	}
	return nil
}

func (r *realm) applyValueSet(v *valueSetSchema, typ p4v1.Update_Type, e *p4v1.ValueSetEntry,
	undo *undoLog) *Error {
	if err := onlyModify(typ, "a value set"); err != nil {
		return err
	}
	if n := len(e.GetMembers()); n > v.size {
		return errorf(codes.ResourceExhausted, "%d members; want at most %d", n, v.size)
	}
	values := make([][]byte, 0, len(e.GetMembers()))
	seen := make(map[string]struct{}, len(e.GetMembers()))
	for i, m := range e.GetMembers() {
		ms, err := v.key.matches(r.texts, nil, m.GetMatch())
		if err != nil {
			return err.in("member %d", i)
		}
		w := bitWriter{}
		if pad := 8*byteLen(v.width) - v.width; pad > 0 {
			w.write([]byte{0}, pad)
		}
		for j, f := range v.key.fields {
			fixed, err := appendFixed(nil, ms[j].Value, f.device)
			if err != nil {
				return err.in("member %d", i)
			}
			w.write(fixed, f.device)
		}
		if _, dup := seen[string(w.buf)]; dup {
			return errorf(codes.AlreadyExists, "member %d is given twice", i)
		}
		seen[string(w.buf)] = struct{}{}
		values = append(values, w.buf)
	}
	old, gerr := r.sw.ValueSet(v.engine)
	if gerr != nil {
		return engineError(gerr)
	}
	if err := engineError(r.sw.SetValueSet(v.engine, values)); err != nil {
		return err
	}
	undo.add(func() { _ = r.sw.SetValueSet(v.engine, old) })
	return nil
}

// bind checks a value set against the width that it has in the program.
func (v *valueSetSchema) bind(width int) *Error {
	v.width = width
	left, open := width, -1
	for i, f := range v.key.fields {
		switch {
		case f.kind != exactMatch:
			return invalid("value set %q: field %q is %s; BMv2 JSON has exact value sets only", v.name,
				f.name, f.kind)
		case f.tr == nil:
			left -= f.width
		case f.tr.width != 0:
			left -= f.tr.width
		case open >= 0:
			return invalid("value set %q: fields %q and %q have translated types, whose widths in the "+
				"program BMv2 JSON does not tell", v.name, v.key.fields[open].name, f.name)
		default:
			open = i
		}
	}
	if open < 0 && left != 0 || open >= 0 && left <= 0 {
		return invalid("value set %q: %d bits in the P4Info and %d in the program", v.name, width-left,
			width)
	}
	for i := range v.key.fields {
		f := &v.key.fields[i]
		have := f.width
		switch {
		case i == open:
			have = left
		case f.tr != nil:
			have = f.tr.width
		}
		if _, err := f.valueType.bind(have, "value set "+v.name); err != nil {
			return err
		}
	}
	return nil
}

// readValueSets reads one value set, or with id 0 all of them.
func (r *realm) readValueSets(q *p4v1.ValueSetEntry, out *reading) *Error {
	if q.GetValueSetId() == 0 {
		for _, v := range r.p.valueSetList {
			if err := r.emitValueSet(v, out); err != nil {
				return err
			}
		}
		return nil
	}
	v := r.p.valueSets[q.GetValueSetId()]
	if v == nil {
		return invalid("value set id 0x%08x is not in the P4Info", q.GetValueSetId())
	}
	return r.emitValueSet(v, out)
}

func (r *realm) emitValueSet(v *valueSetSchema, out *reading) *Error {
	values, err := r.sw.ValueSet(v.engine)
	if err != nil {
		return engineError(err).in("value set %q", v.name)
	}
	e := &p4v1.ValueSetEntry{ValueSetId: v.id}
	for _, val := range values {
		rd := bitReader{buf: val, pos: 8*len(val) - v.width}
		m := &p4v1.ValueSetMember{}
		for _, f := range v.key.fields {
			m.Match = append(m.Match, &p4v1.FieldMatch{FieldId: f.id,
				FieldMatchType: &p4v1.FieldMatch_Exact_{
					Exact: &p4v1.FieldMatch_Exact{Value: f.told(r.texts, rd.read(nil, f.device))},
				}})
		}
		e.Members = append(e.Members, m)
	}
	out.emit(wire.Entity(e))
	return nil
}
