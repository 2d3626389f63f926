package engine

import (
	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/ir"
)

// Headers and fields chosen at run time: the last element of a stack, an
// element at a computed index, a member of a union in a stack. A choice that
// does not exist (an empty stack, an index out of range, where BMv2 stops the
// process) reads as 0 and takes no writes.

// headerRef compiles an expression of ir.KindHeader to a choice; nil is none.
func (l *loader) headerRef(e *ir.Expr) func(*Context) *ir.Header {
	switch e.Op {
	case ir.OpHeader:
		h := e.Header
		return func(*Context) *ir.Header { return h }
	case ir.OpDynHeader:
		hdrs, idx := e.Stack.Headers, l.u64(e.A)
		return func(c *Context) *ir.Header {
			if i := idx(c); i < uint64(len(hdrs)) {
				return hdrs[i]
			}
			return nil
		}
	default: // ir.OpUnionMember
		unions, idx, m := e.UnionStack.Unions, l.u64(e.A), e.Index
		return func(c *Context) *ir.Header {
			if i := idx(c); i < uint64(len(unions)) {
				return unions[i].Headers[m]
			}
			return nil
		}
	}
}

// fieldRef compiles a run-time field to a choice; nil is none.
func (l *loader) fieldRef(e *ir.Expr) func(*Context) *ir.Field {
	i := e.Index
	switch e.Op {
	case ir.OpStackField:
		s := e.Stack
		return func(c *Context) *ir.Field {
			n := c.next[s.Index]
			if n == 0 {
				return nil
			}
			return &s.Headers[n-1].Fields[i]
		}
	case ir.OpUnionField:
		s, m := e.UnionStack, e.Off
		return func(c *Context) *ir.Field {
			n := c.next[s.Index]
			if n == 0 {
				return nil
			}
			return &s.Unions[n-1].Headers[m].Fields[i]
		}
	default: // ir.OpDynField
		pick := l.headerRef(e.A)
		return func(c *Context) *ir.Field {
			h := pick(c)
			if h == nil {
				return nil
			}
			return &h.Fields[i]
		}
	}
}

func (l *loader) dynGet(e *ir.Expr) u64Fn {
	pick, signed := l.fieldRef(e), !e.Nonneg()
	return func(c *Context) uint64 {
		f := pick(c)
		if f == nil {
			return 0
		}
		bit, n := f.Bit, f.Width
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

func (l *loader) wideDynField(e *ir.Expr, n int) wideFn {
	pick := l.fieldRef(e)
	return func(c *Context, dst []uint64) {
		f := pick(c)
		if f == nil {
			clear(dst)
			return
		}
		w := min(f.Width, 64*n)
		bitfield.Load(c.data, f.Bit+f.Width-w, w, dst)
		if f.Signed && w == f.Width {
			signExtend(dst, w)
		}
	}
}

func (l *loader) unionValidity(e *ir.Expr) boolFn {
	valid := func(c *Context, u *ir.Union) bool {
		for _, h := range u.Headers {
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
func (l *loader) compareHeaders(e *ir.Expr) boolFn {
	eq := e.Op == ir.OpEq
	if e.A.Kind == ir.KindHeader {
		a, b := l.headerRef(e.A), l.headerRef(e.B)
		return func(c *Context) bool {
			x, y := a(c), b(c)
			return (x != nil && y != nil && c.equalHeaders(x, y)) == eq
		}
	}
	a, b := l.unionRef(e.A), l.unionRef(e.B)
	return func(c *Context) bool {
		x, y := a(c), b(c)
		return (x != nil && y != nil && c.equalUnions(x, y)) == eq
	}
}

// unionRef compiles an expression of ir.KindUnion to a choice; nil is none.
func (l *loader) unionRef(e *ir.Expr) func(*Context) *ir.Union {
	if e.Op == ir.OpUnion {
		u := e.Union
		return func(*Context) *ir.Union { return u }
	}
	unions, idx := e.UnionStack.Unions, l.u64(e.A)
	return func(c *Context) *ir.Union {
		if i := idx(c); i < uint64(len(unions)) {
			return unions[i]
		}
		return nil
	}
}

// equalUnions reports whether the same member is valid in both, and equal.
func (c *Context) equalUnions(x, y *ir.Union) bool {
	if len(x.Headers) != len(y.Headers) {
		return false
	}
	for i, h := range x.Headers {
		if c.isValid(h) {
			return c.equalHeaders(h, y.Headers[i])
		}
	}
	return false
}

func (c *Context) equalHeaders(x, y *ir.Header) bool {
	if x.Type != y.Type || !c.isValid(x) || !c.isValid(y) {
		return false
	}
	if string(c.data[x.Off:x.Off+x.Size]) != string(c.data[y.Off:y.Off+y.Size]) {
		return false
	}
	return x.VL < 0 || string(c.bytes(c.vl[x.VL])) == string(c.bytes(c.vl[y.VL]))
}
