package ir

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// exact computes operations in unbounded precision.
var exact = map[Op]func(e *Expr, x, y *big.Int) *big.Int{
	OpAdd: func(_ *Expr, x, y *big.Int) *big.Int { return new(big.Int).Add(x, y) },
	OpSub: func(_ *Expr, x, y *big.Int) *big.Int { return new(big.Int).Sub(x, y) },
	OpMul: func(_ *Expr, x, y *big.Int) *big.Int { return new(big.Int).Mul(x, y) },
	OpAnd: func(_ *Expr, x, y *big.Int) *big.Int { return new(big.Int).And(x, y) },
	OpOr:  func(_ *Expr, x, y *big.Int) *big.Int { return new(big.Int).Or(x, y) },
	OpXor: func(_ *Expr, x, y *big.Int) *big.Int { return new(big.Int).Xor(x, y) },
	OpShl: func(_ *Expr, x, y *big.Int) *big.Int { return new(big.Int).Lsh(x, uint(y.Uint64())) },
	OpShr: func(_ *Expr, x, y *big.Int) *big.Int { return new(big.Int).Rsh(x, uint(y.Uint64())) },
	OpNot: func(_ *Expr, x, _ *big.Int) *big.Int { return new(big.Int).Not(x) },
	OpTwoComp: func(e *Expr, x, _ *big.Int) *big.Int {
		n := new(big.Int).And(x, new(big.Int).Sub(Pow2(e.Bits), One))
		if n.Bit(e.Bits-1) == 1 {
			n.Sub(n, Pow2(e.Bits))
		}
		return n
	},
}

// values are the values of fields.
type values map[*Field]*big.Int

// random makes an expression of at most depth operations in a row, simplified from its leaves up,
// and its exact value.
func (vs values) random(rng *rand.Rand, depth int) (*Expr, *big.Int) {
	if depth == 0 || rng.IntN(5) == 0 {
		v := new(big.Int).SetUint64(rng.Uint64() >> rng.IntN(64))
		f := &Field{Width: v.BitLen() + rng.IntN(8)}
		switch rng.IntN(3) {
		case 0:
			return Constant(v), v
		case 1:
			f.Width, f.Signed = f.Width+1, true
			if rng.IntN(2) == 0 {
				v = new(big.Int).Neg(v)
			}
		}
		vs[f] = v
		return FieldValue(f), v
	}
	ops := []Op{OpAdd, OpSub, OpMul, OpAnd, OpAnd, OpAnd, OpOr, OpXor, OpShl, OpShr, OpNot, OpTwoComp}
	e := &Expr{Op: ops[rng.IntN(len(ops))]}
	a, x := vs.random(rng, depth-1)
	var y *big.Int
	switch e.A = a; e.Op {
	case OpNot:
	case OpTwoComp:
		e.Bits = 1 + rng.IntN(70)
	case OpShl, OpShr:
		y = big.NewInt(rng.Int64N(40))
		e.B = Constant(y)
	default:
		e.B, y = vs.random(rng, depth-1)
		if e.Op == OpAnd && rng.IntN(3) > 0 { // a cast or slice
			y = new(big.Int).Sub(Pow2(1+rng.IntN(70)), One)
			y.Lsh(y.Rsh(y, 4), uint(4*rng.IntN(2)))
			e.B = Constant(y)
		}
	}
	return Simplify(WithInterval(e)), exact[e.Op](e, x, y)
}

// eval computes an expression.
func (vs values) eval(e *Expr) *big.Int {
	switch {
	case e == nil:
		return nil
	case e.Op == OpConst:
		return e.N
	case e.Op == OpField:
		return vs[e.Field]
	}
	return exact[e.Op](e, vs.eval(e.A), vs.eval(e.B))
}

// TestIntervals checks that a simplified expression keeps its exact value, that the value lies in
// the interval of the expression, and that Fits, FitsSigned and ExactLimbs hold.
func TestIntervals(t *testing.T) {
	const seed = 20261123
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 200_000 {
		vs := values{}
		e, v := vs.random(rng, 1+rng.IntN(4))
		if got := vs.eval(e); got.Cmp(v) != 0 {
			t.Fatalf("operation %d: simplified to %v, want %v", e.Op, got, v)
		}
		if v.Cmp(e.Lo) < 0 || v.Cmp(e.Hi) > 0 {
			t.Fatalf("operation %d: %v is not in [%v, %v]", e.Op, v, e.Lo, e.Hi)
		}
		if e.Fits() && e.Nonneg() && !v.IsUint64() || e.Fits() && !e.Nonneg() && !v.IsInt64() ||
			e.FitsSigned() && !v.IsInt64() {
			t.Fatalf("operation %d: %v does not fit 64 bits", e.Op, v)
		}
		n := 64 * e.ExactLimbs()
		if v.Cmp(Pow2(n-1)) >= 0 && !(e.Nonneg() && v.Cmp(Pow2(n)) < 0) ||
			v.Cmp(new(big.Int).Neg(Pow2(n-1))) < 0 {
			t.Fatalf("operation %d: %v does not fit %d bits", e.Op, v, n)
		}
	}
}

// TestSimplify checks what masks become.
func TestSimplify(t *testing.T) {
	f := FieldValue(&Field{Width: 8})
	and := func(a *Expr, m int64) *Expr {
		return Simplify(WithInterval(&Expr{Op: OpAnd, A: a, B: Constant(big.NewInt(m))}))
	}
	sum := WithInterval(&Expr{Op: OpAdd, A: and(f, 0xff), B: f})
	if got := and(f, 0xff); got != f {
		t.Errorf("a mask of all bits stays: %+v", got)
	}
	if got := and(and(f, 0x3c), 0x0f); got.Op != OpAnd || got.A != f || got.B.N.Int64() != 0x0c {
		t.Errorf("two masks do not become one: %+v", got)
	}
	if got := and(sum, 0xff); got.Op != OpAnd || got.A != sum {
		t.Errorf("the mask of a sum that may be longer goes: %+v", got)
	}
	if got := and(sum, 0x1ff); got != sum {
		t.Errorf("the mask of a sum that cannot be longer stays: %+v", got)
	}
	if got := and(Constant(big.NewInt(0x1234)), 0xff); got.Op != OpConst || got.N.Int64() != 0x34 {
		t.Errorf("a masked constant is %+v", got)
	}
}
