package engine

import (
	"encoding/binary"
	"math/big"

	"github.com/weft-sdn/weft/dataplane/ir"
)

// Expressions are compiled to closures. Three families: u64 (64-bit words),
// boolean (conditions) and wide (any number of words). A u64 closure is asked
// for either the exact value, when its interval fits, or the value modulo
// 2^64, which is all that a mask or a field of at most 64 bits needs; sums,
// products and bit operations only ever need their operands modulo 2^64.

type (
	u64Fn  = func(*Context) uint64
	boolFn = func(*Context) bool
	wideFn = func(*Context, []uint64) // fills the words, least significant first
)

// u64 compiles an expression to its value modulo 2^64. When e.fits(), that is
// its exact value.
func (l *loader) u64(e *ir.Expr) u64Fn {
	switch e.Op {
	case ir.OpConst:
		v := ir.Low64(e.N)
		return func(*Context) uint64 { return v }
	case ir.OpField:
		if e.Field.Width <= 64 {
			return fieldGetter(e.Field)
		}
		return getter(e.Field.Bit+e.Field.Width-64, 64)
	case ir.OpLocal:
		i := e.Index
		return func(c *Context) uint64 { return c.args[i] }
	case ir.OpStackField, ir.OpDynField, ir.OpUnionField:
		return l.dynGet(e)
	case ir.OpRegister:
		if e.Width64() {
			r, idx := e.Index, l.u64(e.A)
			return func(c *Context) uint64 { return c.st.regs[r].Get(idx(c)) }
		}
	case ir.OpLookahead:
		off, n := e.Off, e.Bits
		if n > 64 {
			off, n = off+n-64, 64
		}
		return func(c *Context) uint64 { return c.lookahead(off, n) }
	case ir.OpLast:
		i := e.Index
		return func(c *Context) uint64 { return uint64(c.next[i]) - 1 }
	case ir.OpSize:
		i := e.Index
		return func(c *Context) uint64 { return uint64(c.next[i]) }
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpAnd, ir.OpOr, ir.OpXor:
		return l.arith(e)
	case ir.OpNot:
		a := l.u64(e.A)
		return func(c *Context) uint64 { return ^a(c) }
	case ir.OpShl:
		return l.shl(e)
	case ir.OpShr:
		if f := l.shr(e); f != nil {
			return f
		}
	case ir.OpTwoComp:
		if e.Bits <= 64 {
			a, r := l.u64(e.A), 64-e.Bits
			return func(c *Context) uint64 { return uint64(int64(a(c)<<r) >> r) }
		}
	case ir.OpSat, ir.OpUSat:
		if f := l.saturate(e); f != nil {
			return f
		}
	case ir.OpDiv, ir.OpMod:
		if e.A.Fits() && e.A.Nonneg() && e.B.Fits() && e.B.Nonneg() {
			a, b, mod := l.u64(e.A), l.u64(e.B), e.Op == ir.OpMod
			return func(c *Context) uint64 {
				x, y := a(c), b(c)
				switch {
				case y == 0: // BMv2 stops the process
					return 0
				case mod:
					return x % y
				}
				return x / y
			}
		}
	case ir.OpCond:
		q, a, b := l.boolean(e.C), l.u64(e.A), l.u64(e.B)
		return func(c *Context) uint64 {
			if q(c) {
				return a(c)
			}
			return b(c)
		}
	case ir.OpB2D:
		a := l.boolean(e.A)
		return func(c *Context) uint64 {
			if a(c) {
				return 1
			}
			return 0
		}
	}
	w := l.wide(e, 1)
	return func(c *Context) uint64 {
		t := c.push(1)
		w(c, t)
		v := t[0]
		c.pop(1)
		return v
	}
}

// arith compiles the operations that work modulo 2^64, with the common cases
// of a constant and of plain operands written out.
func (l *loader) arith(e *ir.Expr) u64Fn {
	a, b := e.A, e.B
	if a.Op == ir.OpConst && e.Op != ir.OpSub {
		a, b = b, a
	}
	if b.Op == ir.OpConst {
		k := ir.Low64(b.N)
		if f := l.slice(e.Op, a, k); f != nil {
			return f
		}
		if e.Op == ir.OpAnd {
			if f := windowMasked(a, k); f != nil {
				return f
			}
		}
		if f := l.windowArith(e.Op, a, b); f != nil {
			return f
		}
		x := l.u64(a)
		switch e.Op {
		case ir.OpAdd:
			return func(c *Context) uint64 { return x(c) + k }
		case ir.OpSub:
			return func(c *Context) uint64 { return x(c) - k }
		case ir.OpMul:
			return func(c *Context) uint64 { return x(c) * k }
		case ir.OpAnd:
			return func(c *Context) uint64 { return x(c) & k }
		case ir.OpOr:
			return func(c *Context) uint64 { return x(c) | k }
		default:
			return func(c *Context) uint64 { return x(c) ^ k }
		}
	}
	if f := l.windowArith(e.Op, a, b); f != nil {
		return f
	}
	x, y := l.u64(a), l.u64(b)
	switch e.Op {
	case ir.OpAdd:
		return func(c *Context) uint64 { return x(c) + y(c) }
	case ir.OpSub:
		return func(c *Context) uint64 { return x(c) - y(c) }
	case ir.OpMul:
		return func(c *Context) uint64 { return x(c) * y(c) }
	case ir.OpAnd:
		return func(c *Context) uint64 { return x(c) & y(c) }
	case ir.OpOr:
		return func(c *Context) uint64 { return x(c) | y(c) }
	default:
		return func(c *Context) uint64 { return x(c) ^ y(c) }
	}
}

// slice compiles (field >> n) & mask, as p4c writes a bit slice, and masks
// that change nothing. It returns nil when there is no short cut.
func (l *loader) slice(op ir.Op, a *ir.Expr, k uint64) u64Fn {
	if op != ir.OpAnd || k&(k+1) != 0 {
		return nil
	}
	n := 64
	for n > 0 && k>>(n-1) == 0 {
		n--
	}
	if a.Nonneg() && a.Hi.BitLen() <= n {
		return l.u64(a)
	}
	f, sh := a, 0
	if a.Op == ir.OpShr && a.B.Op == ir.OpConst && a.B.N.IsInt64() && a.B.N.Sign() >= 0 &&
		a.B.N.Int64() < 8*ir.MaxStateBytes {
		f, sh = a.A, int(a.B.N.Int64())
	}
	if f.Op != ir.OpField || f.Field.Signed || f.Field.Valid || n == 0 {
		return nil
	}
	if avail := f.Field.Width - sh; avail < n {
		n = max(avail, 0)
	}
	return getter(f.Field.Bit+f.Field.Width-sh-n, n)
}

func (l *loader) shl(e *ir.Expr) u64Fn {
	if e.B.Op == ir.OpConst && e.B.N.IsUint64() {
		if f := l.windowArith(ir.OpShl, e.A, e.B); f != nil {
			return f
		}
	}
	a := l.u64(e.A)
	if e.B.Op == ir.OpConst {
		if !e.B.N.IsUint64() || e.B.N.Uint64() >= 64 {
			return func(*Context) uint64 { return 0 }
		}
		k := e.B.N.Uint64() & 63
		return func(c *Context) uint64 { return a(c) << k }
	}
	k := l.shiftAmount(e.B)
	return func(c *Context) uint64 { return a(c) << k(c) }
}

// shiftAmount compiles the amount of a shift: of a wide one BMv2 takes the low
// 32 bits.
func (l *loader) shiftAmount(e *ir.Expr) u64Fn { return l.low32(e) }

// low32 compiles an amount or index of which BMv2 takes the low 32 bits.
func (l *loader) low32(e *ir.Expr) u64Fn {
	v := l.u64(e)
	if e.Nonneg() && e.Hi.BitLen() <= 32 {
		return v
	}
	return func(c *Context) uint64 { return v(c) & (1<<32 - 1) }
}

// index is low32 as a term.
func (l *loader) index(e *ir.Expr) term {
	if e.Nonneg() && e.Hi.BitLen() <= 32 {
		return l.term(e)
	}
	return term{kind: termCall, get: l.low32(e)}
}

// shr compiles a right shift when its operand is exact in 64 bits, or when it
// is a shift of a field by a constant; otherwise it returns nil.
func (l *loader) shr(e *ir.Expr) u64Fn {
	if f := e.A; f.Op == ir.OpField && !f.Field.Signed && !f.Field.Valid && e.B.Op == ir.OpConst &&
		e.B.N.Sign() >= 0 {
		if e.B.N.Cmp(big.NewInt(int64(f.Field.Width))) >= 0 {
			return func(*Context) uint64 { return 0 }
		}
		rest := f.Field.Width - int(e.B.N.Int64())
		n := min(64, rest)
		return getter(f.Field.Bit+rest-n, n)
	}
	if !e.A.Fits() {
		return nil
	}
	a, k := l.u64(e.A), l.shiftAmount(e.B)
	if e.A.Nonneg() {
		if e.B.Op == ir.OpConst && e.B.N.IsUint64() {
			n := e.B.N.Uint64()
			return func(c *Context) uint64 { return a(c) >> n }
		}
		return func(c *Context) uint64 { return a(c) >> k(c) }
	}
	return func(c *Context) uint64 { return uint64(int64(a(c)) >> k(c)) }
}

// saturate compiles saturating casts whose operand and result fit; nil
// otherwise.
func (l *loader) saturate(e *ir.Expr) u64Fn {
	if !e.A.Fits() || !e.Fits() {
		return nil
	}
	a, lo, hi := l.u64(e.A), ir.Low64(e.Lo), ir.Low64(e.Hi)
	if e.A.Nonneg() {
		return func(c *Context) uint64 { return min(a(c), hi) }
	}
	if e.Hi.Cmp(ir.MaxInt64) > 0 { // uint64 from a value that is at most int64
		return func(c *Context) uint64 { return uint64(max(int64(a(c)), 0)) }
	}
	return func(c *Context) uint64 { return uint64(min(max(int64(a(c)), int64(lo)), int64(hi))) }
}

// boolean compiles a condition.
func (l *loader) boolean(e *ir.Expr) boolFn {
	switch e.Op {
	case ir.OpBool:
		v := e.Index != 0
		return func(*Context) bool { return v }
	case ir.OpLAnd:
		if f := l.before(e); f != nil {
			return f
		}
		a, b := l.boolean(e.A), l.boolean(e.B)
		return func(c *Context) bool { return a(c) && b(c) }
	case ir.OpLOr:
		a, b := l.boolean(e.A), l.boolean(e.B)
		return func(c *Context) bool { return a(c) || b(c) }
	case ir.OpLNot:
		a := l.boolean(e.A)
		return func(c *Context) bool { return !a(c) }
	case ir.OpD2B:
		return l.nonZero(e.A)
	case ir.OpValid:
		return l.validity(e.A)
	case ir.OpValidUnion:
		return l.unionValidity(e.A)
	case ir.OpCond:
		q, a, b := l.boolean(e.C), l.boolean(e.A), l.boolean(e.B)
		return func(c *Context) bool {
			if q(c) {
				return a(c)
			}
			return b(c)
		}
	}
	switch e.A.Kind {
	case ir.KindBool:
		a, b, eq := l.boolean(e.A), l.boolean(e.B), e.Op == ir.OpEq
		return func(c *Context) bool { return (a(c) == b(c)) == eq }
	case ir.KindHeader, ir.KindUnion:
		return l.compareHeaders(e)
	}
	return l.compare(e)
}

func (l *loader) nonZero(a *ir.Expr) boolFn {
	if a.Op == ir.OpField && a.Field.Valid {
		return l.validity(&ir.Expr{Op: ir.OpHeader, Kind: ir.KindHeader, Header: a.Field.Header})
	}
	if a.Fits() {
		x := l.u64(a)
		return func(c *Context) bool { return x(c) != 0 }
	}
	n := a.ExactLimbs()
	w := l.wide(a, n)
	return func(c *Context) bool {
		t := c.push(n)
		w(c, t)
		var or uint64
		for _, x := range t {
			or |= x
		}
		c.pop(n)
		return or != 0
	}
}

func (l *loader) validity(h *ir.Expr) boolFn {
	if h.Op == ir.OpHeader {
		if h.Header.Meta {
			return func(*Context) bool { return true }
		}
		w, m := h.Header.Word, h.Header.Mask
		return func(c *Context) bool { return c.valid[w]&m != 0 }
	}
	pick := l.headerRef(h)
	return func(c *Context) bool {
		h := pick(c)
		return h != nil && c.isValid(h)
	}
}

// compare compiles a comparison of integers, or of variable-length fields.
func (l *loader) compare(e *ir.Expr) boolFn {
	a, b, op := e.A, e.B, e.Op
	if a.Varbit() || b.Varbit() {
		if !a.Varbit() || !b.Varbit() || op != ir.OpEq && op != ir.OpNe {
			l.unsupported(nil, "comparison of a varbit field with something else")
		}
		x, y, eq := a.Field.Header.VL, b.Field.Header.VL, op == ir.OpEq
		return func(c *Context) bool {
			return (string(c.bytes(c.vl[x])) == string(c.bytes(c.vl[y]))) == eq
		}
	}
	if a.Op == ir.OpConst {
		a, b, op = b, a, mirror(op)
	}
	if f := l.compareWideField(op, a, b); f != nil {
		return f
	}
	if f := windowCompare(op, a, b); f != nil {
		return f
	}
	unsigned := a.Nonneg() && b.Nonneg() && a.Fits() && b.Fits()
	if !unsigned && !(a.FitsSigned() && b.FitsSigned()) {
		return l.compareWide(op, a, b)
	}
	x := l.u64(a)
	if b.Op == ir.OpConst {
		k := ir.Low64(b.N)
		switch {
		case op == ir.OpEq:
			return func(c *Context) bool { return x(c) == k }
		case op == ir.OpNe:
			return func(c *Context) bool { return x(c) != k }
		case unsigned && op == ir.OpLt:
			return func(c *Context) bool { return x(c) < k }
		case unsigned && op == ir.OpLe:
			return func(c *Context) bool { return x(c) <= k }
		case unsigned && op == ir.OpGt:
			return func(c *Context) bool { return x(c) > k }
		case unsigned && op == ir.OpGe:
			return func(c *Context) bool { return x(c) >= k }
		}
	}
	y := l.u64(b)
	switch {
	case op == ir.OpEq:
		return func(c *Context) bool { return x(c) == y(c) }
	case op == ir.OpNe:
		return func(c *Context) bool { return x(c) != y(c) }
	case unsigned && op == ir.OpLt:
		return func(c *Context) bool { return x(c) < y(c) }
	case unsigned && op == ir.OpLe:
		return func(c *Context) bool { return x(c) <= y(c) }
	case unsigned && op == ir.OpGt:
		return func(c *Context) bool { return x(c) > y(c) }
	case unsigned && op == ir.OpGe:
		return func(c *Context) bool { return x(c) >= y(c) }
	case op == ir.OpLt:
		return func(c *Context) bool { return int64(x(c)) < int64(y(c)) }
	case op == ir.OpLe:
		return func(c *Context) bool { return int64(x(c)) <= int64(y(c)) }
	case op == ir.OpGt:
		return func(c *Context) bool { return int64(x(c)) > int64(y(c)) }
	default:
		return func(c *Context) bool { return int64(x(c)) >= int64(y(c)) }
	}
}

// mirror is the comparison with its sides exchanged.
func mirror(op ir.Op) ir.Op {
	switch op {
	case ir.OpLt:
		return ir.OpGt
	case ir.OpLe:
		return ir.OpGe
	case ir.OpGt:
		return ir.OpLt
	case ir.OpGe:
		return ir.OpLe
	}
	return op
}

// compareWideField compiles (in)equality of an octet-aligned wide field with
// a constant, a parameter or another such field without going through words.
func (l *loader) compareWideField(op ir.Op, a, b *ir.Expr) boolFn {
	aligned := func(e *ir.Expr) bool {
		return e.Op == ir.OpField && e.Field.Width == 128 && e.Field.Bit%8 == 0 && !e.Field.Signed
	}
	if op != ir.OpEq && op != ir.OpNe || !aligned(a) {
		return nil
	}
	off, eq := a.Field.Bit/8, op == ir.OpEq
	hi := func(c *Context) uint64 { return binary.BigEndian.Uint64(c.data[off:]) }
	lo := func(c *Context) uint64 { return binary.BigEndian.Uint64(c.data[off+8:]) }
	switch {
	case b.Op == ir.OpConst && b.N.Sign() >= 0 && b.N.BitLen() <= 128:
		kl, kh := ir.Low64(b.N), ir.Low64(new(big.Int).Rsh(b.N, 64))
		return func(c *Context) bool { return (hi(c) == kh && lo(c) == kl) == eq }
	case b.Op == ir.OpLocal && b.Bits == 128:
		i := b.Index
		return func(c *Context) bool { return (lo(c) == c.args[i] && hi(c) == c.args[i+1]) == eq }
	case aligned(b):
		o := b.Field.Bit / 8
		return func(c *Context) bool {
			return (binary.BigEndian.Uint64(c.data[o+8:]) == lo(c) &&
				binary.BigEndian.Uint64(c.data[o:]) == hi(c)) == eq
		}
	}
	return nil
}
