package engine

import "github.com/weft-sdn/weft/dataplane/bitfield"

// Headers and fields chosen at run time: the last element of a stack, an
// element at a computed index, a member of a union in a stack. A choice that
// does not exist (an empty stack, an index out of range, where BMv2 stops the
// process) reads as 0 and takes no writes.

// headerRef compiles an expression of kindHeader to a choice; nil is none.
func (l *loader) headerRef(e *expr) func(*Context) *header {
	switch e.op {
	case opHeader:
		h := e.hdr
		return func(*Context) *header { return h }
	case opDynHeader:
		hdrs, idx := e.stk.hdrs, l.u64(e.a)
		return func(c *Context) *header {
			if i := idx(c); i < uint64(len(hdrs)) {
				return hdrs[i]
			}
			return nil
		}
	default: // opUnionMember
		unions, idx, m := e.ustk.unions, l.u64(e.a), e.idx
		return func(c *Context) *header {
			if i := idx(c); i < uint64(len(unions)) {
				return unions[i].hdrs[m]
			}
			return nil
		}
	}
}

// fieldRef compiles a run-time field to a choice; nil is none.
func (l *loader) fieldRef(e *expr) func(*Context) *field {
	i := e.idx
	switch e.op {
	case opStackField:
		s := e.stk
		return func(c *Context) *field {
			n := c.next[s.idx]
			if n == 0 {
				return nil
			}
			return &s.hdrs[n-1].fields[i]
		}
	case opUnionField:
		s, m := e.ustk, e.off
		return func(c *Context) *field {
			n := c.next[s.idx]
			if n == 0 {
				return nil
			}
			return &s.unions[n-1].hdrs[m].fields[i]
		}
	default: // opDynField
		pick := l.headerRef(e.a)
		return func(c *Context) *field {
			h := pick(c)
			if h == nil {
				return nil
			}
			return &h.fields[i]
		}
	}
}

func (l *loader) dynGet(e *expr) u64Fn {
	pick, signed := l.fieldRef(e), !e.nonneg()
	return func(c *Context) uint64 {
		f := pick(c)
		if f == nil {
			return 0
		}
		bit, n := f.bit, f.width
		if n > 64 {
			bit, n = bit+n-64, 64
		}
		v := bitfield.Load64(c.data, bit, n)
		if signed {
			v = uint64(int64(v<<(64-n)) >> (64 - n))
		}
		return v
	}
}

func (l *loader) wideDynField(e *expr, n int) wideFn {
	pick := l.fieldRef(e)
	return func(c *Context, dst []uint64) {
		f := pick(c)
		if f == nil {
			clear(dst)
			return
		}
		w := min(f.width, 64*n)
		bitfield.Load(c.data, f.bit+f.width-w, w, dst)
		if f.signed && w == f.width {
			signExtend(dst, w)
		}
	}
}

func (l *loader) unionValidity(e *expr) boolFn {
	valid := func(c *Context, u *union) bool {
		for _, h := range u.hdrs {
			if c.isValid(h) {
				return true
			}
		}
		return false
	}
	pick := l.unionRef(e)
	return func(c *Context) bool {
		u := pick(c)
		return u != nil && valid(c, u)
	}
}

// compareHeaders compiles == and != of headers and unions. As in BMv2 two
// headers are equal when both are valid and all their fields are equal; two
// unions when the same member is valid in both and equal.
func (l *loader) compareHeaders(e *expr) boolFn {
	eq := e.op == opEq
	if e.a.kind == kindHeader {
		a, b := l.headerRef(e.a), l.headerRef(e.b)
		return func(c *Context) bool {
			x, y := a(c), b(c)
			return (x != nil && y != nil && c.equalHeaders(x, y)) == eq
		}
	}
	a, b := l.unionRef(e.a), l.unionRef(e.b)
	return func(c *Context) bool {
		x, y := a(c), b(c)
		return (x != nil && y != nil && c.equalUnions(x, y)) == eq
	}
}

// unionRef compiles an expression of kindUnion to a choice; nil is none.
func (l *loader) unionRef(e *expr) func(*Context) *union {
	if e.op == opUnion {
		u := e.un
		return func(*Context) *union { return u }
	}
	unions, idx := e.ustk.unions, l.u64(e.a)
	return func(c *Context) *union {
		if i := idx(c); i < uint64(len(unions)) {
			return unions[i]
		}
		return nil
	}
}

// equalUnions tells that the same member is valid in both, and equal.
func (c *Context) equalUnions(x, y *union) bool {
	if len(x.hdrs) != len(y.hdrs) {
		return false
	}
	for i, h := range x.hdrs {
		if c.isValid(h) {
			return c.equalHeaders(h, y.hdrs[i])
		}
	}
	return false
}

func (c *Context) equalHeaders(x, y *header) bool {
	if x.typ != y.typ || !c.isValid(x) || !c.isValid(y) {
		return false
	}
	if string(c.data[x.off:x.off+x.size]) != string(c.data[y.off:y.off+y.size]) {
		return false
	}
	return x.vl < 0 || string(c.bytes(c.vl[x.vl])) == string(c.bytes(c.vl[y.vl]))
}
