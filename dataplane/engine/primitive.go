package engine

import (
	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/bmv2json"
	"github.com/weft-sdn/weft/dataplane/ir"
)

// primitive compiles one primitive call of an action, and completes its note.
func (l *loader) primitive(n *note) func(*Context) {
	if n.source != nil {
		l.at = n.source
	}
	return n.op.compile(l, n)
}

// calculate compiles dst = a op b.
func calculate(op ir.Op) func(*loader, *note) func(*Context) {
	return func(l *loader, n *note) func(*Context) {
		e := n.args[len(n.args)-2:]
		return l.assign(n.source, n.args[0], ir.WithInterval(&ir.Expr{Op: op,
			A: l.dataExpr(n.source, e[0]), B: l.dataExpr(n.source, e[1])}))
	}
}

// store compiles the assignment of a computed 64-bit value to a field.
func (l *loader) store(src *bmv2json.Source, dst *ir.Expr) func(*Context, uint64) {
	switch dst.Op {
	case ir.OpField:
		if dst.Field.Valid || dst.Field.VL {
			l.bad(src, "%s cannot be assigned", dst.Field.Name())
		}
		if dst.Field.Width <= 64 {
			return fieldSetter(dst.Field)
		}
		f, n := dst.Field, bitfield.Words(dst.Field.Width)
		return func(c *Context, v uint64) {
			t := c.push(n)
			clear(t)
			t[0] = v
			c.storeField(f, t)
			c.pop(n)
		}
	case ir.OpStackField, ir.OpDynField, ir.OpUnionField:
		pick := l.fieldRef(dst)
		return func(c *Context, v uint64) {
			f := pick(c)
			if f == nil {
				return
			}
			n := bitfield.Words(f.Width)
			t := c.push(n)
			clear(t)
			t[0] = v
			c.storeField(f, t)
			c.pop(n)
		}
	case ir.OpRegister:
		r, idx := dst.Index, l.u64(dst.A)
		return func(c *Context, v uint64) { c.st.regs[r].Set(idx(c), v) }
	}
	l.bad(src, "assignment to something that is not a field")
	return nil
}

// storeField writes words to a field, cut to its width.
func (c *Context) storeField(f *ir.Field, v []uint64) {
	if !f.Header.Meta {
		c.dirty[f.Header.Word] |= f.Header.Mask
	}
	bitfield.Store(c.data, f.Bit, f.Width, v)
}

// assign compiles dst = value, cut to dst's width.
func (l *loader) assign(src *bmv2json.Source, dst, value *ir.Expr) func(*Context) {
	if value.Op == ir.OpField && value.Field.VL {
		return l.assignVL(src, dst, value)
	}
	v := l.dataExpr(src, value)
	if dst.Op != ir.OpField {
		return l.assignDynamic(src, dst, v)
	}
	f := dst.Field
	if f.Valid || f.VL {
		l.bad(src, "%s cannot be assigned", f.Name())
	}
	if f.Width > 64 {
		return l.assignWide(f, v)
	}
	v = stripMask(v, f.Width)
	if f.Header.Meta && f.Width > 0 {
		return l.assignMeta(f, v)
	}
	set := fieldSetter(f)
	if v.Op == ir.OpConst {
		k := ir.Low64(v.N)
		return func(c *Context) { set(c, k) }
	}
	get := l.u64(v)
	return func(c *Context) { set(c, get(c)) }
}

// stripMask removes masks that keep at least n low bits, which an assignment
// to n bits makes redundant.
func stripMask(v *ir.Expr, n int) *ir.Expr {
	for v.Op == ir.OpAnd {
		switch {
		case v.B.Op == ir.OpConst && ir.Low64(v.B.N)&bitfield.Mask(n) == bitfield.Mask(n):
			v = v.A
		case v.A.Op == ir.OpConst && ir.Low64(v.A.N)&bitfield.Mask(n) == bitfield.Mask(n):
			v = v.B
		default:
			return v
		}
	}
	return v
}

func (l *loader) assignWide(f *ir.Field, v *ir.Expr) func(*Context) {
	if v.Op == ir.OpField && v.Field.Width == f.Width && f.Bit%8 == 0 && f.Width%8 == 0 &&
		v.Field.Bit%8 == 0 {
		to, from, n := f.Bit/8, v.Field.Bit/8, f.Width/8
		w, d, meta := f.Header.Word, f.Header.Mask, f.Header.Meta
		return func(c *Context) {
			if !meta {
				c.dirty[w] |= d
			}
			copy(c.data[to:to+n], c.data[from:from+n])
		}
	}
	if f.Width == 128 && f.Bit%8 == 0 {
		hi, lo := setter(f.Bit, 64), setter(f.Bit+64, 64)
		w, d, meta := f.Header.Word, f.Header.Mask, f.Header.Meta
		if v.Op == ir.OpLocal && v.Bits == 128 {
			i := v.Index
			return func(c *Context) {
				if !meta {
					c.dirty[w] |= d
				}
				lo(c, c.args[i])
				hi(c, c.args[i+1])
			}
		}
	}
	n := bitfield.Words(f.Width)
	get := l.wide(v, n)
	return func(c *Context) {
		t := c.push(n)
		get(c, t)
		c.storeField(f, t)
		c.pop(n)
	}
}

func (l *loader) assignDynamic(src *bmv2json.Source, dst, v *ir.Expr) func(*Context) {
	switch dst.Op {
	case ir.OpStackField, ir.OpDynField, ir.OpUnionField:
		n := max(1, bitfield.Words(dst.Hi.BitLen()+1))
		pick, get := l.fieldRef(dst), l.wide(v, n)
		return func(c *Context) {
			t := c.push(n)
			get(c, t)
			if f := pick(c); f != nil {
				c.storeField(f, t)
			}
			c.pop(n)
		}
	case ir.OpRegister:
		r, idx, n := dst.Index, l.u64(dst.A), bitfield.Words(l.prog.info.registers[dst.Index].Width)
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
func (l *loader) assignVL(src *bmv2json.Source, dst, value *ir.Expr) func(*Context) {
	if dst.Op != ir.OpField || !dst.Field.VL || value.Op != ir.OpField || !value.Field.VL {
		l.unsupported(src, "assignment between a varbit field and something else")
	}
	to, from := dst.Field.Header.VL, value.Field.Header.VL
	return func(c *Context) { c.vl[to] = c.vl[from] }
}

func (l *loader) assertion(n *note) func(*Context) {
	ok := l.boolean(l.boolExpr(n.source, n.args[0]))
	where := n.source.String()
	return func(c *Context) {
		if !ok(c) {
			c.assertFailed(n.op.name, where)
		}
	}
}

// logMessage checks the call; the message itself is for an observer.
func (l *loader) logMessage(n *note) func(*Context) {
	format, list := n.args[0], &ir.Expr{Kind: ir.KindList}
	if len(n.args) == 2 {
		list = n.args[1]
	}
	if format.Kind != ir.KindString || list.Kind != ir.KindList {
		l.bad(n.source, "log_msg wants a string and a list")
	}
	var args []u64Fn
	for _, a := range list.List {
		args = append(args, l.u64(l.dataExpr(n.source, a)))
	}
	return func(c *Context) {
		if c.ID != 0 {
			c.traceLog(format.Str, args)
		}
	}
}

// random compiles random(dst, lo, hi); as in BMv2 nothing is written when
// lo > hi.
func (l *loader) random(n *note) func(*Context) {
	set := l.store(n.source, n.args[0])
	a, b := l.u64(l.dataExpr(n.source, n.args[1])), l.u64(l.dataExpr(n.source, n.args[2]))
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

func (l *loader) markToDrop(*note) func(*Context) {
	spec := fieldSetter(l.prog.std.egressSpec.field)
	if l.prog.std.mcastGroup.field == nil {
		return func(c *Context) { spec(c, c.st.dropPort) }
	}
	group := fieldSetter(l.prog.std.mcastGroup.field)
	return func(c *Context) {
		spec(c, c.st.dropPort)
		group(c, 0)
	}
}
