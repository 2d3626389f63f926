package engine

import (
	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/bmv2json"
)

// primitive compiles one primitive call of an action.
func (l *loader) primitive(p *bmv2json.Primitive) func(*Context) {
	src := p.Source
	if src != nil {
		l.at = src
	}
	switch p.Op {
	case "no_op":
		return func(*Context) {}
	case "assign", "modify_field":
		e := l.args(p, 2)
		return l.assign(src, e[0], e[1])
	case "assign_VL":
		e := l.args(p, 2)
		return l.assignVL(src, e[0], e[1])
	case "add", "subtract", "bit_xor", "bit_or", "bit_and", "shift_left", "shift_right":
		e := l.args(p, 3)
		op := map[string]exprOp{"add": opAdd, "subtract": opSub, "bit_xor": opXor, "bit_or": opOr,
			"bit_and": opAnd, "shift_left": opShl, "shift_right": opShr}[p.Op]
		return l.assign(src, e[0], withInterval(&expr{op: op, a: l.dataExpr(src, e[1]), b: l.dataExpr(src, e[2])}))
	case "add_to_field", "subtract_from_field":
		e := l.args(p, 2)
		op := opAdd
		if p.Op == "subtract_from_field" {
			op = opSub
		}
		return l.assign(src, e[0], withInterval(&expr{op: op, a: l.dataExpr(src, e[0]), b: l.dataExpr(src, e[1])}))
	case "assign_header", "copy_header":
		e := l.args(p, 2)
		return l.assignHeader(src, e[0], e[1])
	case "assign_header_stack", "assign_union", "assign_union_stack":
		e := l.args(p, 2)
		return l.assignComposite(src, p.Op, e[0], e[1])
	case "add_header", "remove_header":
		e := l.args(p, 1)
		return l.validityChange(src, p.Op, e[0])
	case "push", "pop":
		e := l.args(p, 2)
		return l.pushPop(src, p.Op, e[0], e[1])
	case "mark_to_drop":
		l.args(p, 1)
		return l.markToDrop()
	case "drop":
		l.args(p, 0)
		return l.markToDrop()
	case "exit":
		l.args(p, 0)
		return func(c *Context) { c.exit = true }
	case "assert", "assume":
		e := l.args(p, 1)
		return l.assertion(src, p.Op, e[0])
	case "log_msg":
		return l.logMessage(p)
	case "truncate":
		e := l.args(p, 1)
		n := l.u64(l.dataExpr(src, e[0]))
		return func(c *Context) { c.Trunc = min(c.Trunc, int(min(n(c), 1<<31))) }
	case "modify_field_rng_uniform":
		e := l.args(p, 3)
		return l.random(src, e[0], e[1], e[2])
	}
	return l.statefulPrimitive(p)
}

// store compiles the assignment of a computed 64-bit value to a field.
func (l *loader) store(src *bmv2json.Source, dst *expr) func(*Context, uint64) {
	switch dst.op {
	case opField:
		if dst.f.valid || dst.f.vl {
			l.bad(src, "%s cannot be assigned", dst.f.name())
		}
		if dst.f.width <= 64 {
			return dst.f.set()
		}
		f, n := dst.f, bitfield.Words(dst.f.width)
		return func(c *Context, v uint64) {
			t := c.push(n)
			clear(t)
			t[0] = v
			c.storeField(f, t)
			c.pop(n)
		}
	case opStackField, opDynField, opUnionField:
		pick := l.fieldRef(dst)
		return func(c *Context, v uint64) {
			f := pick(c)
			if f == nil {
				return
			}
			n := bitfield.Words(f.width)
			t := c.push(n)
			clear(t)
			t[0] = v
			c.storeField(f, t)
			c.pop(n)
		}
	case opRegister:
		r, idx := dst.idx, l.u64(dst.a)
		return func(c *Context, v uint64) { c.st.regs[r].Set(idx(c), v) }
	}
	l.bad(src, "assignment to something that is not a field")
	return nil
}

// storeField writes words to a field, cut to its width.
func (c *Context) storeField(f *field, v []uint64) {
	if !f.hdr.meta {
		c.dirty[f.hdr.word] |= f.hdr.mask
	}
	bitfield.Store(c.data, f.bit, f.width, v)
}

// assign compiles dst = value, cut to dst's width.
func (l *loader) assign(src *bmv2json.Source, dst, value *expr) func(*Context) {
	if value.op == opField && value.f.vl {
		return l.assignVL(src, dst, value)
	}
	v := l.dataExpr(src, value)
	if dst.op != opField {
		return l.assignDynamic(src, dst, v)
	}
	f := dst.f
	if f.valid || f.vl {
		l.bad(src, "%s cannot be assigned", f.name())
	}
	if f.width > 64 {
		return l.assignWide(f, v)
	}
	v = stripMask(v, f.width)
	if f.hdr.meta && f.width > 0 {
		return l.assignMeta(f, v)
	}
	set := f.set()
	if v.op == opConst {
		k := low64(v.n)
		return func(c *Context) { set(c, k) }
	}
	get := l.u64(v)
	return func(c *Context) { set(c, get(c)) }
}

// stripMask removes masks that keep at least n low bits, which an assignment
// to n bits makes redundant.
func stripMask(v *expr, n int) *expr {
	for v.op == opAnd {
		switch {
		case v.b.op == opConst && low64(v.b.n)&bitfield.Mask(n) == bitfield.Mask(n):
			v = v.a
		case v.a.op == opConst && low64(v.a.n)&bitfield.Mask(n) == bitfield.Mask(n):
			v = v.b
		default:
			return v
		}
	}
	return v
}

func (l *loader) assignWide(f *field, v *expr) func(*Context) {
	if v.op == opField && v.f.width == f.width && f.bit%8 == 0 && f.width%8 == 0 && v.f.bit%8 == 0 {
		to, from, n := f.bit/8, v.f.bit/8, f.width/8
		w, d, meta := f.hdr.word, f.hdr.mask, f.hdr.meta
		return func(c *Context) {
			if !meta {
				c.dirty[w] |= d
			}
			copy(c.data[to:to+n], c.data[from:from+n])
		}
	}
	if f.width == 128 && f.bit%8 == 0 {
		hi, lo := setter(f.bit, 64), setter(f.bit+64, 64)
		w, d, meta := f.hdr.word, f.hdr.mask, f.hdr.meta
		if v.op == opLocal && v.bits == 128 {
			i := v.idx
			return func(c *Context) {
				if !meta {
					c.dirty[w] |= d
				}
				lo(c, c.args[i])
				hi(c, c.args[i+1])
			}
		}
	}
	n := bitfield.Words(f.width)
	get := l.wide(v, n)
	return func(c *Context) {
		t := c.push(n)
		get(c, t)
		c.storeField(f, t)
		c.pop(n)
	}
}

func (l *loader) assignDynamic(src *bmv2json.Source, dst, v *expr) func(*Context) {
	switch dst.op {
	case opStackField, opDynField, opUnionField:
		n := max(1, bitfield.Words(dst.hi.BitLen()+1))
		pick, get := l.fieldRef(dst), l.wide(v, n)
		return func(c *Context) {
			t := c.push(n)
			get(c, t)
			if f := pick(c); f != nil {
				c.storeField(f, t)
			}
			c.pop(n)
		}
	case opRegister:
		r, idx, n := dst.idx, l.u64(dst.a), bitfield.Words(l.prog.info.registers[dst.idx].Width)
		get := l.wide(v, n)
		return func(c *Context) {
			t := c.push(n)
			get(c, t)
			c.st.regs[r].SetWords(idx(c), t)
			c.pop(n)
		}
	}
	l.bad(src, "assignment to something that is not a field")
	return nil
}

// assignVL compiles the assignment of a variable-length field, which is a
// reference into the frame.
func (l *loader) assignVL(src *bmv2json.Source, dst, value *expr) func(*Context) {
	if dst.op != opField || !dst.f.vl || value.op != opField || !value.f.vl {
		l.unsupported(src, "assignment between a varbit field and something else")
	}
	to, from := dst.f.hdr.vl, value.f.hdr.vl
	return func(c *Context) { c.vl[to] = c.vl[from] }
}

func (l *loader) assertion(src *bmv2json.Source, op string, e *expr) func(*Context) {
	ok := l.boolean(l.boolExpr(src, e))
	where := src.String()
	return func(c *Context) {
		if !ok(c) {
			c.assertFailed(op, where)
		}
	}
}

// logMessage checks the call; the message itself is for an observer.
func (l *loader) logMessage(p *bmv2json.Primitive) func(*Context) {
	if len(p.Parameters) == 1 { // log_msg("text")
		p.Parameters = append(p.Parameters, bmv2json.Value{Type: "parameters_vector", Value: []byte("[]")})
	}
	e := l.args(p, 2)
	if e[0].kind != kindString || e[1].kind != kindList {
		l.bad(p.Source, "log_msg wants a string and a list")
	}
	format := e[0].str
	var args []u64Fn
	for _, a := range e[1].list {
		args = append(args, l.u64(l.dataExpr(p.Source, a)))
	}
	return func(c *Context) {
		if c.ID != 0 {
			c.traceLog(format, args)
		}
	}
}

// random compiles random(dst, lo, hi); as in BMv2 nothing is written when
// lo > hi.
func (l *loader) random(src *bmv2json.Source, dst, lo, hi *expr) func(*Context) {
	set := l.store(src, dst)
	a, b := l.u64(l.dataExpr(src, lo)), l.u64(l.dataExpr(src, hi))
	return func(c *Context) {
		x, y := a(c), b(c)
		if x > y {
			return
		}
		if n := y - x + 1; n != 0 {
			set(c, x+c.st.rng.Uint64N(n))
			return
		}
		set(c, c.st.rng.Uint64())
	}
}

func (l *loader) markToDrop() func(*Context) {
	spec := l.prog.std.egressSpec.field.set()
	if l.prog.std.mcastGroup.field == nil {
		return func(c *Context) { spec(c, c.st.dropPort) }
	}
	group := l.prog.std.mcastGroup.field.set()
	return func(c *Context) {
		spec(c, c.st.dropPort)
		group(c, 0)
	}
}
