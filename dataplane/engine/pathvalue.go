package engine

import (
	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/ir"
)

// needAll has the path depend on expressions.
func (r *recorder) needAll(es []*ir.Expr) {
	for _, e := range es {
		r.need(e)
	}
}

// need makes the path depend on all values that an expression reads. The dependencies of the path
// already determine validity, lengths, arguments of actions and the places of stacks.
func (r *recorder) need(e *ir.Expr) {
	if e == nil || !r.on {
		return
	}
	switch e.Op {
	case ir.OpConst, ir.OpBool, ir.OpString, ir.OpLast, ir.OpSize:
		return
	case ir.OpLocal:
		for i, n := r.argWords(e); n > 0; i, n = i+1, n-1 {
			v := r.arg(i)
			r.ask(opEq, v, val{now: v.now}, true)
		}
		return
	case ir.OpField, ir.OpStackField:
		if f := r.fieldOf(e); f != nil {
			r.field(f)
		}
		return
	case ir.OpLookahead:
		r.ahead(e)
		return
	case ir.OpValid:
		if e.A.Op == ir.OpHeader {
			return
		}
		r.lose()
		return
	}
	if e.Op < ir.OpAdd || e.Op > ir.OpD2B {
		r.lose()
		return
	}
	if e.A != nil && e.A.Kind != ir.KindData && e.A.Kind != ir.KindBool {
		r.lose() // headers, stacks
		return
	}
	r.need(e.A)
	r.need(e.B)
	r.need(e.C)
}

// fieldOf is the field that an expression reads, OpField or OpStackField; nil: the stack is empty.
func (r *recorder) fieldOf(e *ir.Expr) *ir.Field {
	if e.Op == ir.OpField {
		return e.Field
	}
	n := r.c.next[e.Stack.Index]
	if n == 0 {
		return nil
	}
	return &e.Stack.Headers[n-1].Fields[e.Index]
}

// field has the path depend on a field.
func (r *recorder) field(f *ir.Field) {
	switch {
	case f.Valid:
	case f.VL:
		r.lose()
	case !f.Header.Meta && !r.c.isValid(f.Header) && r.c.dirty[f.Header.Word]&f.Header.Mask != 0:
		r.lose() // what a header that is not there reads is for the program that runs
	default:
		if r.varies(r.src[f.Bit/8 : (f.Bit+f.Width+7)/8]) {
			if v, ok := r.fieldValue(f); ok {
				r.ask(opEq, v, val{now: v.now}, true)
				return
			}
		}
		r.look(f.Bit, f.Width)
	}
}

// ahead has it depend on octets ahead of the parser.
func (r *recorder) ahead(e *ir.Expr) {
	from, to := 8*r.c.cur+e.Off, 8*r.c.cur+e.Off+e.Bits
	if to > 8*len(r.c.frame.b) {
		return // parsing ends
	}
	for at := from; at < to; at++ {
		r.lookSource(r.inAt(at/8), 0x80>>(at%8))
	}
}

// assign runs an assignment.
func (r *recorder) assign(dst, value *ir.Expr, run func()) {
	if !r.on {
		run()
		return
	}
	if dst.Op != ir.OpField || dst.Field.Valid {
		r.lose()
		run()
		return
	}
	f := dst.Field
	if f.VL || value.Op == ir.OpField && value.Field.VL {
		if !f.VL || value.Op != ir.OpField || !value.Field.VL {
			r.lose()
		}
		run()
		return
	}
	var from []octet
	if f.Width%8 == 0 && f.Bit%8 == 0 && !f.Signed {
		from, _ = r.octets(value, f.Width/8)
	}
	if from == nil {
		if r.settable(f) {
			if v, ok := r.value(value); ok {
				r.set(f, v, run)
				return
			}
		}
		r.need(value)
	}
	at, n := octetsOf(f)
	if (!f.Header.Meta || f.Width > 64) && (f.Bit%8 != 0 || f.Width%8 != 0) {
		r.look(8*at, 8*n) // the rest of the octets stays
	}
	run()
	for i := range n {
		s := fixed
		if k := i - (n - len(from)); k >= 0 && k < len(from) {
			s = from[k].from
		}
		r.write(at+i, s)
	}
}

// octetsOf is the octets of the packet state that a field is in.
func octetsOf(f *ir.Field) (at, n int) {
	if f.Header.Meta && f.Width <= 64 && f.Width > 0 {
		return f.Slot(), ir.SlotSize(f.Width)
	}
	return f.Bit / 8, (f.Bit+f.Width+7)/8 - f.Bit/8
}

// settable reports whether a field may have a value.
func (r *recorder) settable(f *ir.Field) bool {
	_, n := octetsOf(f)
	return !f.Valid && !f.VL && !f.Signed && f.Width <= 64 && f.Width > 0 && n <= 8 &&
		(f.Header.Meta || r.c.isValid(f.Header))
}

// set runs what makes a value that of a field.
func (r *recorder) set(f *ir.Field, v val, run func()) {
	if !r.settable(f) {
		r.lose()
		run()
		return
	}
	v = r.cut(v, f.Width)
	at, n := octetsOf(f)
	if !f.Header.Meta && (f.Bit%8 != 0 || f.Width%8 != 0) {
		beside, ok := r.gather(r.src[at:at+n], r.c.data[at:at+n])
		if !ok {
			r.lose()
			run()
			return
		}
		down := 8*(at+n) - f.Bit - f.Width
		beside = r.join(opAnd, beside, val{now: ^(bitfield.Mask(f.Width) << down)})
		v = r.cut(r.join(opOr, beside, r.join(opShl, v, val{now: uint64(down)})), 8*n)
	}
	run()
	r.put(at, n, v)
}

// octets returns the sources of the n lower octets of a value, the uppermost first; false if the
// octets are not unchanged octets of the packet.
func (r *recorder) octets(e *ir.Expr, n int) ([]octet, bool) {
	out := make([]octet, n)
	switch e.Op {
	case ir.OpConst:
		if e.N.Sign() < 0 {
			return nil, false
		}
		for i, low := 0, e.N; i < n; i++ {
			if i > 0 && i%8 == 0 {
				low = ir.Rsh(low, 64)
			}
			out[n-1-i].val = byte(ir.Low64(low) >> (i % 8 * 8))
		}
		return out, true
	case ir.OpField:
		f := e.Field
		if f.Valid || f.VL || f.Signed || f.Width%8 != 0 || f.Bit%8 != 0 ||
			!f.Header.Meta && !r.c.isValid(f.Header) {
			return nil, false
		}
		for i := range min(n, f.Width/8) {
			at := (f.Bit+f.Width)/8 - 1 - i
			out[n-1-i] = octet{r.src[at], r.c.data[at]}
		}
		return out, true
	case ir.OpLocal:
		first, words := r.argWords(e)
		if e.Lo == nil || e.Lo.Sign() < 0 {
			return nil, false
		}
		for i := range min(n, 8*words) {
			v := r.arg(first + i/8)
			o := octet{val: byte(v.now >> (i % 8 * 8))}
			if v.mask>>(i%8*8) != 0 {
				o.from = slotOctet(int(v.slot), i%8*8)
			}
			out[n-1-i] = o
		}
		return out, true
	case ir.OpLookahead:
		end := r.c.cur + (e.Off+e.Bits)/8
		if e.Off%8 != 0 || e.Bits%8 != 0 || end > len(r.c.frame.b) {
			return nil, false
		}
		for i := range min(n, e.Bits/8) {
			at := end - 1 - i
			out[n-1-i] = octet{r.inAt(at), r.c.frame.b[at]}
		}
		return out, true
	case ir.OpCond:
		yes, ok := r.decided(e.C)
		switch {
		case !ok:
			return nil, false
		case yes:
			return r.octets(e.A, n)
		}
		return r.octets(e.B, n)
	case ir.OpAnd, ir.OpOr:
		a, ok1 := r.octets(e.A, n)
		b, ok2 := r.octets(e.B, n)
		if !ok1 || !ok2 {
			return nil, false
		}
		for i := range out {
			var ok bool
			if out[i], ok = combine(e.Op == ir.OpAnd, a[i], b[i]); !ok {
				return nil, false
			}
		}
		return out, true
	case ir.OpShl, ir.OpShr:
		if e.B.Op != ir.OpConst || !e.B.N.IsUint64() || e.B.N.Uint64()%8 != 0 ||
			e.B.N.Uint64() > 1024 {
			return nil, false
		}
		k := int(e.B.N.Uint64() / 8)
		if e.Op == ir.OpShr {
			a, ok := r.octets(e.A, n+k)
			if !ok || !e.A.Nonneg() {
				return nil, false
			}
			return a[:n], true
		}
		a, ok := r.octets(e.A, n)
		if !ok {
			return nil, false
		}
		copy(out, a[min(k, n):])
		return out, true
	}
	return nil, false
}

// combine returns the AND or the OR of two octets, if the result is one operand or a constant for
// all packets.
func combine(and bool, a, b octet) (octet, bool) {
	if a.from == fixed {
		a, b = b, a
	}
	if b.from != fixed {
		return octet{}, false
	}
	none, all := byte(0), byte(0xff) // what makes the result 0, or a
	if !and {
		none, all = all, none
	}
	switch {
	case b.val == all:
		return a, true
	case a.from == fixed && and:
		return octet{val: a.val & b.val}, true
	case a.from == fixed:
		return octet{val: a.val | b.val}, true
	case b.val == none:
		return octet{val: none}, true
	}
	return octet{}, false
}
