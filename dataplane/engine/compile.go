package engine

import (
	"encoding/binary"
	"math/big"
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
func (l *loader) u64(e *expr) u64Fn {
	switch e.op {
	case opConst:
		v := low64(e.n)
		return func(*Context) uint64 { return v }
	case opField:
		if e.f.width <= 64 {
			return e.f.get()
		}
		return getter(e.f.bit+e.f.width-64, 64)
	case opLocal:
		i := e.idx
		return func(c *Context) uint64 { return c.args[i] }
	case opStackField, opDynField, opUnionField:
		return l.dynGet(e)
	case opRegister:
		if e.width64() {
			r, idx := e.idx, l.u64(e.a)
			return func(c *Context) uint64 { return c.st.regs[r].Get(idx(c)) }
		}
	case opLookahead:
		off, n := e.off, e.bits
		if n > 64 {
			off, n = off+n-64, 64
		}
		return func(c *Context) uint64 { return c.lookahead(off, n) }
	case opLast:
		i := e.idx
		return func(c *Context) uint64 { return uint64(c.next[i]) - 1 }
	case opSize:
		i := e.idx
		return func(c *Context) uint64 { return uint64(c.next[i]) }
	case opAdd, opSub, opMul, opAnd, opOr, opXor:
		return l.arith(e)
	case opNot:
		a := l.u64(e.a)
		return func(c *Context) uint64 { return ^a(c) }
	case opShl:
		return l.shl(e)
	case opShr:
		if f := l.shr(e); f != nil {
			return f
		}
	case opTwoComp:
		if e.bits <= 64 {
			a, r := l.u64(e.a), 64-e.bits
			return func(c *Context) uint64 { return uint64(int64(a(c)<<r) >> r) }
		}
	case opSat, opUSat:
		if f := l.saturate(e); f != nil {
			return f
		}
	case opDiv, opMod:
		if e.a.fits() && e.a.nonneg() && e.b.fits() && e.b.nonneg() {
			a, b, mod := l.u64(e.a), l.u64(e.b), e.op == opMod
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
	case opCond:
		q, a, b := l.boolean(e.c), l.u64(e.a), l.u64(e.b)
		return func(c *Context) uint64 {
			if q(c) {
				return a(c)
			}
			return b(c)
		}
	case opB2D:
		a := l.boolean(e.a)
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

// width64 tells that an unsigned leaf has at most 64 bits.
func (e *expr) width64() bool { return e.nonneg() && e.hi.BitLen() <= 64 }

// arith compiles the operations that work modulo 2^64, with the common cases
// of a constant and of plain operands written out.
func (l *loader) arith(e *expr) u64Fn {
	a, b := e.a, e.b
	if a.op == opConst && e.op != opSub {
		a, b = b, a
	}
	if b.op == opConst {
		k := low64(b.n)
		if f := l.slice(e.op, a, k); f != nil {
			return f
		}
		if e.op == opAnd {
			if f := windowMasked(a, k); f != nil {
				return f
			}
		}
		if f := l.windowArith(e.op, a, b); f != nil {
			return f
		}
		x := l.u64(a)
		switch e.op {
		case opAdd:
			return func(c *Context) uint64 { return x(c) + k }
		case opSub:
			return func(c *Context) uint64 { return x(c) - k }
		case opMul:
			return func(c *Context) uint64 { return x(c) * k }
		case opAnd:
			return func(c *Context) uint64 { return x(c) & k }
		case opOr:
			return func(c *Context) uint64 { return x(c) | k }
		default:
			return func(c *Context) uint64 { return x(c) ^ k }
		}
	}
	if f := l.windowArith(e.op, a, b); f != nil {
		return f
	}
	x, y := l.u64(a), l.u64(b)
	switch e.op {
	case opAdd:
		return func(c *Context) uint64 { return x(c) + y(c) }
	case opSub:
		return func(c *Context) uint64 { return x(c) - y(c) }
	case opMul:
		return func(c *Context) uint64 { return x(c) * y(c) }
	case opAnd:
		return func(c *Context) uint64 { return x(c) & y(c) }
	case opOr:
		return func(c *Context) uint64 { return x(c) | y(c) }
	default:
		return func(c *Context) uint64 { return x(c) ^ y(c) }
	}
}

// slice compiles (field >> n) & mask, as p4c writes a bit slice, and masks
// that change nothing. It returns nil when there is no short cut.
func (l *loader) slice(op exprOp, a *expr, k uint64) u64Fn {
	if op != opAnd || k&(k+1) != 0 {
		return nil
	}
	n := 64
	for n > 0 && k>>(n-1) == 0 {
		n--
	}
	if a.nonneg() && a.hi.BitLen() <= n {
		return l.u64(a)
	}
	f, sh := a, 0
	if a.op == opShr && a.b.op == opConst && a.b.n.IsInt64() && a.b.n.Sign() >= 0 && a.b.n.Int64() < 8*maxStateBytes {
		f, sh = a.a, int(a.b.n.Int64())
	}
	if f.op != opField || f.f.signed || f.f.valid || n == 0 {
		return nil
	}
	if avail := f.f.width - sh; avail < n {
		n = max(avail, 0)
	}
	return getter(f.f.bit+f.f.width-sh-n, n)
}

func (l *loader) shl(e *expr) u64Fn {
	if e.b.op == opConst && e.b.n.IsUint64() {
		if f := l.windowArith(opShl, e.a, e.b); f != nil {
			return f
		}
	}
	a := l.u64(e.a)
	if e.b.op == opConst {
		if !e.b.n.IsUint64() || e.b.n.Uint64() >= 64 {
			return func(*Context) uint64 { return 0 }
		}
		k := e.b.n.Uint64() & 63
		return func(c *Context) uint64 { return a(c) << k }
	}
	k := l.shiftAmount(e.b)
	return func(c *Context) uint64 { return a(c) << k(c) }
}

// shiftAmount compiles the amount of a shift: of a wide one BMv2 takes the low
// 32 bits.
func (l *loader) shiftAmount(e *expr) u64Fn { return l.low32(e) }

// low32 compiles an amount or index of which BMv2 takes the low 32 bits.
func (l *loader) low32(e *expr) u64Fn {
	v := l.u64(e)
	if e.nonneg() && e.hi.BitLen() <= 32 {
		return v
	}
	return func(c *Context) uint64 { return v(c) & (1<<32 - 1) }
}

// index is low32 as a term.
func (l *loader) index(e *expr) term {
	if e.nonneg() && e.hi.BitLen() <= 32 {
		return l.term(e)
	}
	return term{kind: termCall, get: l.low32(e)}
}

// shr compiles a right shift when its operand is exact in 64 bits, or when it
// is a shift of a field by a constant; otherwise it returns nil.
func (l *loader) shr(e *expr) u64Fn {
	if f := e.a; f.op == opField && !f.f.signed && !f.f.valid && e.b.op == opConst && e.b.n.Sign() >= 0 {
		if e.b.n.Cmp(big.NewInt(int64(f.f.width))) >= 0 {
			return func(*Context) uint64 { return 0 }
		}
		rest := f.f.width - int(e.b.n.Int64())
		n := min(64, rest)
		return getter(f.f.bit+rest-n, n)
	}
	if !e.a.fits() {
		return nil
	}
	a, k := l.u64(e.a), l.shiftAmount(e.b)
	if e.a.nonneg() {
		if e.b.op == opConst && e.b.n.IsUint64() {
			n := e.b.n.Uint64()
			return func(c *Context) uint64 { return a(c) >> n }
		}
		return func(c *Context) uint64 { return a(c) >> k(c) }
	}
	return func(c *Context) uint64 { return uint64(int64(a(c)) >> k(c)) }
}

// saturate compiles saturating casts whose operand and result fit; nil
// otherwise.
func (l *loader) saturate(e *expr) u64Fn {
	if !e.a.fits() || !e.fits() {
		return nil
	}
	a, lo, hi := l.u64(e.a), low64(e.lo), low64(e.hi)
	if e.a.nonneg() {
		return func(c *Context) uint64 { return min(a(c), hi) }
	}
	if e.hi.Cmp(maxInt64) > 0 { // uint64 from a value that is at most int64
		return func(c *Context) uint64 { return uint64(max(int64(a(c)), 0)) }
	}
	return func(c *Context) uint64 { return uint64(min(max(int64(a(c)), int64(lo)), int64(hi))) }
}

// boolean compiles a condition.
func (l *loader) boolean(e *expr) boolFn {
	switch e.op {
	case opBool:
		v := e.idx != 0
		return func(*Context) bool { return v }
	case opLAnd:
		if f := l.before(e); f != nil {
			return f
		}
		a, b := l.boolean(e.a), l.boolean(e.b)
		return func(c *Context) bool { return a(c) && b(c) }
	case opLOr:
		a, b := l.boolean(e.a), l.boolean(e.b)
		return func(c *Context) bool { return a(c) || b(c) }
	case opLNot:
		a := l.boolean(e.a)
		return func(c *Context) bool { return !a(c) }
	case opD2B:
		return l.nonZero(e.a)
	case opValid:
		return l.validity(e.a)
	case opValidUnion:
		return l.unionValidity(e.a)
	case opCond:
		q, a, b := l.boolean(e.c), l.boolean(e.a), l.boolean(e.b)
		return func(c *Context) bool {
			if q(c) {
				return a(c)
			}
			return b(c)
		}
	}
	switch e.a.kind {
	case kindBool:
		a, b, eq := l.boolean(e.a), l.boolean(e.b), e.op == opEq
		return func(c *Context) bool { return (a(c) == b(c)) == eq }
	case kindHeader, kindUnion:
		return l.compareHeaders(e)
	}
	return l.compare(e)
}

func (l *loader) nonZero(a *expr) boolFn {
	if a.op == opField && a.f.valid {
		return l.validity(&expr{op: opHeader, kind: kindHeader, hdr: a.f.hdr})
	}
	if a.fits() {
		x := l.u64(a)
		return func(c *Context) bool { return x(c) != 0 }
	}
	n := a.exactLimbs()
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

func (l *loader) validity(h *expr) boolFn {
	if h.op == opHeader {
		if h.hdr.meta {
			return func(*Context) bool { return true }
		}
		w, m := h.hdr.word, h.hdr.mask
		return func(c *Context) bool { return c.valid[w]&m != 0 }
	}
	pick := l.headerRef(h)
	return func(c *Context) bool {
		h := pick(c)
		return h != nil && c.isValid(h)
	}
}

// compare compiles a comparison of integers, or of variable-length fields.
func (l *loader) compare(e *expr) boolFn {
	a, b, op := e.a, e.b, e.op
	if a.varbit() || b.varbit() {
		if !a.varbit() || !b.varbit() || op != opEq && op != opNe {
			l.unsupported(nil, "comparison of a varbit field with something else")
		}
		x, y, eq := a.f.hdr.vl, b.f.hdr.vl, op == opEq
		return func(c *Context) bool {
			return (string(c.bytes(c.vl[x])) == string(c.bytes(c.vl[y]))) == eq
		}
	}
	if a.op == opConst {
		a, b, op = b, a, mirror(op)
	}
	if f := l.compareWideField(op, a, b); f != nil {
		return f
	}
	if f := windowCompare(op, a, b); f != nil {
		return f
	}
	unsigned := a.nonneg() && b.nonneg() && a.fits() && b.fits()
	if !unsigned && !(a.fitsSigned() && b.fitsSigned()) {
		return l.compareWide(op, a, b)
	}
	x := l.u64(a)
	if b.op == opConst {
		k := low64(b.n)
		switch {
		case op == opEq:
			return func(c *Context) bool { return x(c) == k }
		case op == opNe:
			return func(c *Context) bool { return x(c) != k }
		case unsigned && op == opLt:
			return func(c *Context) bool { return x(c) < k }
		case unsigned && op == opLe:
			return func(c *Context) bool { return x(c) <= k }
		case unsigned && op == opGt:
			return func(c *Context) bool { return x(c) > k }
		case unsigned && op == opGe:
			return func(c *Context) bool { return x(c) >= k }
		}
	}
	y := l.u64(b)
	switch {
	case op == opEq:
		return func(c *Context) bool { return x(c) == y(c) }
	case op == opNe:
		return func(c *Context) bool { return x(c) != y(c) }
	case unsigned && op == opLt:
		return func(c *Context) bool { return x(c) < y(c) }
	case unsigned && op == opLe:
		return func(c *Context) bool { return x(c) <= y(c) }
	case unsigned && op == opGt:
		return func(c *Context) bool { return x(c) > y(c) }
	case unsigned && op == opGe:
		return func(c *Context) bool { return x(c) >= y(c) }
	case op == opLt:
		return func(c *Context) bool { return int64(x(c)) < int64(y(c)) }
	case op == opLe:
		return func(c *Context) bool { return int64(x(c)) <= int64(y(c)) }
	case op == opGt:
		return func(c *Context) bool { return int64(x(c)) > int64(y(c)) }
	default:
		return func(c *Context) bool { return int64(x(c)) >= int64(y(c)) }
	}
}

// mirror is the comparison with its sides exchanged.
func mirror(op exprOp) exprOp {
	switch op {
	case opLt:
		return opGt
	case opLe:
		return opGe
	case opGt:
		return opLt
	case opGe:
		return opLe
	}
	return op
}

// compareWideField compiles (in)equality of an octet-aligned wide field with
// a constant, a parameter or another such field without going through words.
func (l *loader) compareWideField(op exprOp, a, b *expr) boolFn {
	aligned := func(e *expr) bool {
		return e.op == opField && e.f.width == 128 && e.f.bit%8 == 0 && !e.f.signed
	}
	if op != opEq && op != opNe || !aligned(a) {
		return nil
	}
	off, eq := a.f.bit/8, op == opEq
	hi := func(c *Context) uint64 { return binary.BigEndian.Uint64(c.data[off:]) }
	lo := func(c *Context) uint64 { return binary.BigEndian.Uint64(c.data[off+8:]) }
	switch {
	case b.op == opConst && b.n.Sign() >= 0 && b.n.BitLen() <= 128:
		kl, kh := low64(b.n), low64(new(big.Int).Rsh(b.n, 64))
		return func(c *Context) bool { return (hi(c) == kh && lo(c) == kl) == eq }
	case b.op == opLocal && b.bits == 128:
		i := b.idx
		return func(c *Context) bool { return (lo(c) == c.args[i] && hi(c) == c.args[i+1]) == eq }
	case aligned(b):
		o := b.f.bit / 8
		return func(c *Context) bool {
			return (binary.BigEndian.Uint64(c.data[o+8:]) == lo(c) &&
				binary.BigEndian.Uint64(c.data[o:]) == hi(c)) == eq
		}
	}
	return nil
}
