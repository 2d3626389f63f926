package engine

import (
	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/bmv2json"
)

// validityChange compiles setValid and setInvalid. A header that becomes valid
// starts with all fields zero, and the packet length follows.
func (l *loader) validityChange(src *bmv2json.Source, op string, e *expr) func(*Context) {
	if e.kind != kindHeader {
		l.bad(src, "%s of something that is not a header", op)
	}
	lay := &l.prog.layout
	add := func(c *Context, h *header) {
		if h == nil || h.meta || c.isValid(h) {
			return
		}
		clear(c.data[h.off : h.off+h.size])
		if h.vl >= 0 {
			c.vl[h.vl] = span{}
		}
		c.setValid(h, lay)
		c.Length += h.size
	}
	remove := func(c *Context, h *header) {
		if h == nil || h.meta || !c.isValid(h) {
			return
		}
		c.Length -= c.headerLen(h)
		c.setInvalid(h)
	}
	f := add
	if op == "remove_header" {
		f = remove
	}
	if e.op == opHeader {
		h := e.hdr
		return func(c *Context) { f(c, h) }
	}
	pick := l.headerRef(e)
	return func(c *Context) { f(c, pick(c)) }
}

// copyHeader makes dst what src is.
func (c *Context) copyHeader(dst, src *header, lay *layout) {
	if dst == nil || dst == src {
		return
	}
	if src == nil || !src.meta && !c.isValid(src) {
		if !dst.meta {
			c.setInvalid(dst)
		}
		return
	}
	if !dst.meta {
		c.setValid(dst, lay)
	}
	if src.meta == dst.meta {
		copy(c.data[dst.off:dst.off+dst.size], c.data[src.off:src.off+src.size])
	} else {
		for i := range dst.fields {
			d, s := &dst.fields[i], &src.fields[i]
			for at := 0; at < d.width; {
				n := min(64, d.width-at)
				bitfield.Store64(c.data, d.bit+at, n, bitfield.Load64(c.data, s.bit+at, n))
				at += n
			}
		}
	}
	if dst.vl >= 0 {
		c.vl[dst.vl] = c.vl[src.vl]
	}
}

func (l *loader) assignHeader(src *bmv2json.Source, dst, from *expr) func(*Context) {
	if dst.kind != kindHeader || from.kind != kindHeader || l.typeOf(src, dst) != l.typeOf(src, from) {
		l.bad(src, "assign_header between different things")
	}
	lay := &l.prog.layout
	if dst.op == opHeader && from.op == opHeader {
		d, s := dst.hdr, from.hdr
		return func(c *Context) { c.copyHeader(d, s, lay) }
	}
	d, s := l.headerRef(dst), l.headerRef(from)
	return func(c *Context) { c.copyHeader(d(c), s(c), lay) }
}

// assignComposite compiles the assignment of stacks and unions, member by
// member.
func (l *loader) assignComposite(src *bmv2json.Source, op string, dst, from *expr) func(*Context) {
	lay := &l.prog.layout
	var ds, ss []*header
	dn, sn := -1, -1
	switch {
	case op == "assign_header_stack" && dst.op == opStack && from.op == opStack:
		ds, ss = dst.stk.hdrs, from.stk.hdrs
		dn, sn = dst.stk.idx, from.stk.idx
	case op == "assign_union" && dst.op == opUnion && from.op == opUnion:
		ds, ss = dst.un.hdrs, from.un.hdrs
	case op == "assign_union_stack" && dst.op == opUnionStack && from.op == opUnionStack:
		for _, u := range dst.ustk.unions {
			ds = append(ds, u.hdrs...)
		}
		for _, u := range from.ustk.unions {
			ss = append(ss, u.hdrs...)
		}
		dn, sn = dst.ustk.idx, from.ustk.idx
	default:
		l.unsupported(src, "%s of operands chosen at run time", op)
	}
	if len(ds) != len(ss) {
		l.bad(src, "%s of different sizes", op)
	}
	for i := range ds {
		if ds[i].typ != ss[i].typ {
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
// move, those that appear are invalid.
func (l *loader) pushPop(src *bmv2json.Source, op string, stk, n *expr) func(*Context) {
	count := l.u64(l.dataExpr(src, n))
	var elems [][]*header
	var idx int
	switch stk.op {
	case opStack:
		idx = stk.stk.idx
		for _, h := range stk.stk.hdrs {
			elems = append(elems, []*header{h})
		}
	case opUnionStack:
		idx = stk.ustk.idx
		for _, u := range stk.ustk.unions {
			elems = append(elems, u.hdrs)
		}
	default:
		l.bad(src, "%s of something that is not a stack", op)
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
	if op == "push" {
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
