package engine

import (
	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/ir"
)

// validityChange compiles setValid and setInvalid.
func validityChange(change func(*Context, *ir.Header)) func(*loader, *note) func(*Context) {
	return func(l *loader, n *note) func(*Context) {
		e := n.args[0]
		if e.Kind != ir.KindHeader {
			l.bad(n.source, "%s of something that is not a header", n.op.name)
		}
		if h := e.Header; e.Op == ir.OpHeader {
			return func(c *Context) { change(c, h) }
		}
		pick := l.headerRef(e)
		return func(c *Context) { change(c, pick(c)) }
	}
}

// add makes a header valid: all fields are zero, and the packet length follows.
func (c *Context) add(h *ir.Header) {
	if h == nil || h.Meta || c.isValid(h) {
		return
	}
	clear(c.data[h.Off : h.Off+h.Size])
	if h.VL >= 0 {
		c.vl[h.VL] = span{}
	}
	c.setValid(h, &c.st.prog.layout)
	c.Length += h.Size
}

// remove makes a header invalid.
func (c *Context) remove(h *ir.Header) {
	if h == nil || h.Meta || !c.isValid(h) {
		return
	}
	c.Length -= c.headerLen(h)
	c.setInvalid(h)
}

// copyHeader makes dst what src is.
func (c *Context) copyHeader(dst, src *ir.Header, lay *ir.Layout) {
	if dst == nil || dst == src {
		return
	}
	if src == nil || !src.Meta && !c.isValid(src) {
		if !dst.Meta {
			c.setInvalid(dst)
		}
		return
	}
	if !dst.Meta {
		c.setValid(dst, lay)
	}
	if src.Meta == dst.Meta {
		copy(c.data[dst.Off:dst.Off+dst.Size], c.data[src.Off:src.Off+src.Size])
	} else {
		for i := range dst.Fields {
			d, s := &dst.Fields[i], &src.Fields[i]
			for at := 0; at < d.Width; {
				n := min(64, d.Width-at)
				bitfield.Store64(c.data, d.Bit+at, n, bitfield.Load64(c.data, s.Bit+at, n))
				at += n
			}
		}
	}
	if dst.VL >= 0 {
		c.vl[dst.VL] = c.vl[src.VL]
	}
}

func (l *loader) assignHeader(n *note) func(*Context) {
	src, dst, from := n.source, n.args[0], n.args[1]
	if dst.Kind != ir.KindHeader || from.Kind != ir.KindHeader ||
		l.typeOf(src, dst) != l.typeOf(src, from) {
		l.bad(src, "assign_header between different things")
	}
	lay := &l.prog.layout
	if dst.Op == ir.OpHeader && from.Op == ir.OpHeader {
		d, s := dst.Header, from.Header
		return func(c *Context) { c.copyHeader(d, s, lay) }
	}
	d, s := l.headerRef(dst), l.headerRef(from)
	return func(c *Context) { c.copyHeader(d(c), s(c), lay) }
}

// assignComposite compiles the assignment of stacks, of unions or of stacks of unions, member by
// member.
func (l *loader) assignComposite(n *note, of ir.Op) func(*Context) {
	src, op, dst, from := n.source, n.op.name, n.args[0], n.args[1]
	lay := &l.prog.layout
	var ds, ss []*ir.Header
	dn, sn := -1, -1
	switch {
	case dst.Op != of || from.Op != of:
		l.unsupported(src, "%s of operands chosen at run time", op)
	case of == ir.OpStack:
		ds, ss = dst.Stack.Headers, from.Stack.Headers
		dn, sn = dst.Stack.Index, from.Stack.Index
	case of == ir.OpUnion:
		ds, ss = dst.Union.Headers, from.Union.Headers
	case of == ir.OpUnionStack:
		for _, u := range dst.UnionStack.Unions {
			ds = append(ds, u.Headers...)
		}
		for _, u := range from.UnionStack.Unions {
			ss = append(ss, u.Headers...)
		}
		dn, sn = dst.UnionStack.Index, from.UnionStack.Index
	}
	if len(ds) != len(ss) {
		l.bad(src, "%s of different sizes", op)
	}
	for i := range ds {
		if ds[i].Type != ss[i].Type {
			l.bad(src, "%s of different types", op)
		}
	}
	return func(c *Context) {
		// First what becomes invalid, so that in a union the valid member stays.
		for i, d := range ds {
			if !c.isValid(ss[i]) {
				c.setInvalid(d)
			}
		}
		for i, d := range ds {
			if c.isValid(ss[i]) {
				c.copyHeader(d, ss[i], lay)
			}
		}
		if dn >= 0 {
			c.next[dn] = c.next[sn]
		}
	}
}

// pushPop compiles push_front and pop_front (P4_16 section 8.18): elements
// move, and new elements are invalid.
func (l *loader) pushPop(n *note, push bool) func(*Context) {
	stk, count := n.args[0], l.u64(l.dataExpr(n.source, n.args[1]))
	var elems [][]*ir.Header
	var idx int
	switch stk.Op {
	case ir.OpStack:
		idx = stk.Stack.Index
		for _, h := range stk.Stack.Headers {
			elems = append(elems, []*ir.Header{h})
		}
	case ir.OpUnionStack:
		idx = stk.UnionStack.Index
		for _, u := range stk.UnionStack.Unions {
			elems = append(elems, u.Headers)
		}
	default:
		l.bad(n.source, "%s of something that is not a stack", n.op.name)
	}
	lay := &l.prog.layout
	size := len(elems)
	move := func(c *Context, to, from int) {
		for i, d := range elems[to] {
			s := elems[from][i]
			if c.isValid(s) {
				c.copyHeader(d, s, lay)
			} else {
				c.setInvalid(d)
			}
		}
	}
	invalidate := func(c *Context, i int) {
		for _, h := range elems[i] {
			c.setInvalid(h)
		}
	}
	if push {
		return func(c *Context) {
			k := int(min(count(c), uint64(size)))
			for i := size - 1; i >= k; i-- {
				move(c, i, i-k)
			}
			for i := range k {
				invalidate(c, i)
			}
			c.next[idx] = uint16(min(size, int(c.next[idx])+k))
		}
	}
	return func(c *Context) {
		k := int(min(count(c), uint64(size)))
		for i := 0; i+k < size; i++ {
			move(c, i, i+k)
		}
		for i := size - k; i < size; i++ {
			invalidate(c, i)
		}
		c.next[idx] = uint16(max(0, int(c.next[idx])-k))
	}
}
