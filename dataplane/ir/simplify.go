package ir

import "math/big"

// Simplify drops what cannot be seen: a mask over bits that are zero anyway, and masks inside a
// mask. (p4c masks every result to its width, and again wherever a value is cast.) The operands of
// e are simplified already.
func Simplify(e *Expr) *Expr {
	switch e.Op {
	case OpAnd:
		return simplifyAnd(e)
	case OpEq, OpNe:
		return simplifyBitTest(e)
	}
	return e
}

func simplifyAnd(e *Expr) *Expr {
	a, b := e.A, e.B
	if a.Op == OpConst {
		a, b = b, a
	}
	if b.Op != OpConst || b.N.Sign() < 0 {
		return e
	}
	m := b.N
	a = demand(a, m)
	if a.Op == OpConst {
		return Constant(new(big.Int).And(a.N, m))
	}
	if a.Op == OpAnd && a.B.Op == OpConst && a.B.N.Sign() >= 0 {
		m = new(big.Int).And(m, a.B.N)
		a = a.A
	}
	if IsOnes(m) && a.Nonneg() && a.Hi.BitLen() <= m.BitLen() {
		return a
	}
	return WithInterval(&Expr{Op: OpAnd, A: a, B: Constant(m)})
}

// IsOnes reports whether m is 2^n-1.
func IsOnes(m *big.Int) bool {
	return new(big.Int).And(m, new(big.Int).Add(m, One)).Sign() == 0
}

// demand returns an expression that agrees with e in the bits of m, and may differ in other bits.
func demand(e *Expr, m *big.Int) *Expr {
	below := new(big.Int).Sub(Pow2(m.BitLen()), One)
	pair := func(da, db *big.Int) *Expr {
		a, b := demand(e.A, da), demand(e.B, db)
		if a == e.A && b == e.B {
			return e
		}
		return WithInterval(&Expr{Op: e.Op, Kind: e.Kind, A: a, B: b, C: e.C})
	}
	switch e.Op {
	case OpAnd:
		if e.B.Op == OpConst && new(big.Int).And(e.B.N, m).Cmp(m) == 0 {
			return demand(e.A, m)
		}
		return pair(m, m)
	case OpOr, OpXor:
		return pair(m, m)
	case OpAdd, OpSub, OpMul:
		return pair(below, below)
	case OpCond:
		return pair(m, m)
	case OpNot:
		if a := demand(e.A, m); a != e.A {
			return WithInterval(&Expr{Op: OpNot, A: a})
		}
	case OpTwoComp:
		if m.BitLen() <= e.Bits {
			return demand(e.A, m)
		}
	case OpShl, OpShr:
		if e.B.Op != OpConst || !e.B.N.IsUint64() || e.B.N.Uint64() > 4096 {
			return e
		}
		k := uint(e.B.N.Uint64())
		d := new(big.Int).Rsh(m, k)
		if e.Op == OpShr {
			d.Lsh(m, k)
		}
		// A right shift is quick only while its operand fits.
		if a := demand(e.A, d); a != e.A && (e.Op == OpShl || a.Fits() || !e.A.Fits()) {
			return WithInterval(&Expr{Op: e.Op, A: a, B: e.B})
		}
	}
	return e
}

// simplifyBitTest turns (x >> k) & m == c into x & (m << k) == c << k.
func simplifyBitTest(e *Expr) *Expr {
	if e.A.Kind != KindData || e.B.Op != OpConst || e.B.N.Sign() < 0 || e.A.Op != OpAnd ||
		e.A.B.Op != OpConst {
		return e
	}
	sh := e.A.A
	if sh.Op != OpShr || sh.B.Op != OpConst || !sh.B.N.IsUint64() || sh.B.N.Uint64() > 64 ||
		sh.A.Op == OpField || e.A.B.N.Sign() < 0 {
		return e
	}
	k := uint(sh.B.N.Uint64())
	mask := Constant(new(big.Int).Lsh(e.A.B.N, k))
	return &Expr{Op: e.Op, Kind: KindBool,
		A: simplifyAnd(WithInterval(&Expr{Op: OpAnd, A: sh.A, B: mask})),
		B: Constant(new(big.Int).Lsh(e.B.N, k))}
}

// Same reports whether two expressions are equal by construction.
func Same(a, b *Expr) bool {
	if a == b {
		return true
	}
	if a.Op != b.Op || a.Kind != b.Kind || a.Index != b.Index || a.Off != b.Off || a.Bits != b.Bits {
		return false
	}
	sub := func(x, y *Expr) bool {
		if x == nil || y == nil {
			return x == y
		}
		return Same(x, y)
	}
	switch a.Op {
	case OpConst:
		return a.N.Cmp(b.N) == 0
	case OpField:
		return a.Field == b.Field
	case OpLocal, OpLast, OpSize:
		return true
	case OpAdd, OpSub, OpMul, OpAnd, OpOr, OpXor, OpNot, OpShl, OpShr, OpTwoComp, OpSat, OpUSat:
		return sub(a.A, b.A) && sub(a.B, b.B)
	}
	return false
}
