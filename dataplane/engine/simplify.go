package engine

import "math/big"

// p4c masks every result to its width, and again wherever a value is cast.
// simplify drops what cannot be seen: a mask over bits that are zero anyway,
// and masks inside a mask. Operands are simplified already.
func simplify(e *expr) *expr {
	switch e.op {
	case opAnd:
		return simplifyAnd(e)
	case opEq, opNe:
		return simplifyBitTest(e)
	}
	return e
}

func simplifyAnd(e *expr) *expr {
	a, b := e.a, e.b
	if a.op == opConst {
		a, b = b, a
	}
	if b.op != opConst || b.n.Sign() < 0 {
		return e
	}
	m := b.n
	a = demand(a, m)
	if a.op == opConst {
		return constExpr(new(big.Int).And(a.n, m))
	}
	if a.op == opAnd && a.b.op == opConst && a.b.n.Sign() >= 0 {
		m = new(big.Int).And(m, a.b.n)
		a = a.a
	}
	if isOnes(m) && a.nonneg() && a.hi.BitLen() <= m.BitLen() {
		return a
	}
	return withInterval(&expr{op: opAnd, a: a, b: constExpr(m)})
}

// isOnes tells that m is 2^n-1.
func isOnes(m *big.Int) bool {
	return new(big.Int).And(m, new(big.Int).Add(m, bigOne)).Sign() == 0
}

// demand returns an expression that agrees with e in the bits of m; what it
// is elsewhere does not matter.
func demand(e *expr, m *big.Int) *expr {
	below := new(big.Int).Sub(pow2(m.BitLen()), bigOne)
	pair := func(da, db *big.Int) *expr {
		a, b := demand(e.a, da), demand(e.b, db)
		if a == e.a && b == e.b {
			return e
		}
		return withInterval(&expr{op: e.op, kind: e.kind, a: a, b: b, c: e.c})
	}
	switch e.op {
	case opAnd:
		if e.b.op == opConst && new(big.Int).And(e.b.n, m).Cmp(m) == 0 {
			return demand(e.a, m)
		}
		return pair(m, m)
	case opOr, opXor:
		return pair(m, m)
	case opAdd, opSub, opMul:
		return pair(below, below)
	case opCond:
		return pair(m, m)
	case opNot:
		if a := demand(e.a, m); a != e.a {
			return withInterval(&expr{op: opNot, a: a})
		}
	case opTwoComp:
		if m.BitLen() <= e.bits {
			return demand(e.a, m)
		}
	case opShl, opShr:
		if e.b.op != opConst || !e.b.n.IsUint64() || e.b.n.Uint64() > 4096 {
			return e
		}
		k := uint(e.b.n.Uint64())
		d := new(big.Int).Rsh(m, k)
		if e.op == opShr {
			d.Lsh(m, k)
		}
		// A right shift is quick only while its operand fits.
		if a := demand(e.a, d); a != e.a && (e.op == opShl || a.fits() || !e.a.fits()) {
			return withInterval(&expr{op: e.op, a: a, b: e.b})
		}
	}
	return e
}

// simplifyBitTest turns (x >> k) & m == c into x & (m << k) == c << k.
func simplifyBitTest(e *expr) *expr {
	if e.a.kind != kindData || e.b.op != opConst || e.b.n.Sign() < 0 || e.a.op != opAnd || e.a.b.op != opConst {
		return e
	}
	sh := e.a.a
	if sh.op != opShr || sh.b.op != opConst || !sh.b.n.IsUint64() || sh.b.n.Uint64() > 64 || sh.a.op == opField || e.a.b.n.Sign() < 0 {
		return e
	}
	k := uint(sh.b.n.Uint64())
	mask := constExpr(new(big.Int).Lsh(e.a.b.n, k))
	return &expr{op: e.op, kind: kindBool, a: simplifyAnd(withInterval(&expr{op: opAnd, a: sh.a, b: mask})),
		b: constExpr(new(big.Int).Lsh(e.b.n, k))}
}

// same tells that two expressions are equal by construction.
func same(a, b *expr) bool {
	if a == b {
		return true
	}
	if a.op != b.op || a.kind != b.kind || a.idx != b.idx || a.off != b.off || a.bits != b.bits {
		return false
	}
	sub := func(x, y *expr) bool {
		if x == nil || y == nil {
			return x == y
		}
		return same(x, y)
	}
	switch a.op {
	case opConst:
		return a.n.Cmp(b.n) == 0
	case opField:
		return a.f == b.f
	case opLocal, opLast, opSize:
		return true
	case opAdd, opSub, opMul, opAnd, opOr, opXor, opNot, opShl, opShr, opTwoComp, opSat, opUSat:
		return sub(a.a, b.a) && sub(a.b, b.b)
	}
	return false
}
