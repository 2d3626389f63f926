package ir

import (
	"math/big"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// Numbers that bound intervals. They must not be changed.
var (
	Zero      = new(big.Int)
	One       = big.NewInt(1)
	maxUint64 = new(big.Int).SetUint64(^uint64(0))
	MaxInt64  = big.NewInt(1<<63 - 1)
	minInt64  = big.NewInt(-1 << 63)
)

// maxShift is the largest left shift by a run-time amount that is computed;
// beyond it all bits of any field are gone.
const maxShift = 2048

// Pow2 returns 1<<n.
func Pow2(n int) *big.Int { return new(big.Int).Lsh(One, uint(n)) }

// Constant returns the expression of a constant.
func Constant(n *big.Int) *Expr {
	return &Expr{Op: OpConst, N: n, Lo: n, Hi: n}
}

// FieldValue returns the expression of a field of known place.
func FieldValue(f *Field) *Expr {
	return WithWidth(&Expr{Op: OpField, Field: f}, f.Width, f.Signed)
}

// Unsigned sets the interval of an unsigned value of width bits.
func Unsigned(e *Expr, width int) *Expr { return WithWidth(e, width, false) }

// WithWidth sets the interval of a value of width bits.
func WithWidth(e *Expr, width int, signed bool) *Expr {
	if signed && width > 0 {
		e.Hi = Pow2(width - 1)
		e.Lo = new(big.Int).Neg(e.Hi)
		e.Hi = new(big.Int).Sub(e.Hi, One)
		return e
	}
	e.Lo, e.Hi = Zero, new(big.Int).Sub(Pow2(width), One)
	return e
}

// Nonneg reports whether the value cannot be negative.
func (e *Expr) Nonneg() bool { return e.Lo.Sign() >= 0 }

// Fits reports whether the value is exactly representable in 64 bits: as uint64
// when nonneg, as int64 otherwise.
func (e *Expr) Fits() bool {
	if e.Nonneg() {
		return e.Hi.Cmp(maxUint64) <= 0
	}
	return e.Lo.Cmp(minInt64) >= 0 && e.Hi.Cmp(MaxInt64) <= 0
}

// FitsSigned reports whether the value is exactly representable as int64.
func (e *Expr) FitsSigned() bool {
	return e.Lo.Cmp(minInt64) >= 0 && e.Hi.Cmp(MaxInt64) <= 0
}

// ExactLimbs returns how many words hold the value in two's complement.
func (e *Expr) ExactLimbs() int {
	n := max(e.Hi.BitLen(), e.Lo.BitLen()) + 1
	return bitfield.Words(n)
}

// Width returns the number of bits of a value that has a declared width: a field,
// a parameter, a constant with a width; 0 otherwise.
func (e *Expr) Width() int {
	switch e.Op {
	case OpField:
		return e.Field.Width
	case OpConst, OpLocal, OpLookahead:
		return e.Bits
	case OpStackField:
		return e.Stack.Type.Fields[e.Index].Width
	case OpAnd: // a slice as p4c writes it
		if e.B.Op == OpConst {
			return e.B.N.BitLen()
		}
	}
	return 0
}

func minMax(vs ...*big.Int) (lo, hi *big.Int) {
	lo, hi = vs[0], vs[0]
	for _, v := range vs[1:] {
		if v.Cmp(lo) < 0 {
			lo = v
		}
		if v.Cmp(hi) > 0 {
			hi = v
		}
	}
	return lo, hi
}

// ones returns the least 2^n-1 of at least v.
func ones(v *big.Int) *big.Int {
	return new(big.Int).Sub(Pow2(v.BitLen()), One)
}

// WithInterval computes the interval of an operation from its operands'.
func WithInterval(e *Expr) *Expr {
	a, b := e.A, e.B
	if e.Kind == KindBool {
		return e
	}
	switch e.Op {
	case OpAdd:
		e.Lo, e.Hi = new(big.Int).Add(a.Lo, b.Lo), new(big.Int).Add(a.Hi, b.Hi)
	case OpSub:
		e.Lo, e.Hi = new(big.Int).Sub(a.Lo, b.Hi), new(big.Int).Sub(a.Hi, b.Lo)
	case OpMul:
		m := func(x, y *big.Int) *big.Int { return new(big.Int).Mul(x, y) }
		e.Lo, e.Hi = minMax(m(a.Lo, b.Lo), m(a.Lo, b.Hi), m(a.Hi, b.Lo), m(a.Hi, b.Hi))
	case OpDiv:
		e.Lo, e.Hi = minMax(a.Lo, a.Hi, Zero)
	case OpMod:
		_, top := minMax(b.Hi, Zero)
		e.Lo, e.Hi = Zero, top
	case OpAnd:
		e.Lo, e.Hi = andInterval(a, b)
	case OpOr, OpXor:
		e.Lo, e.Hi = orInterval(a, b)
	case OpNot:
		e.Lo = new(big.Int).Not(a.Hi)
		e.Hi = new(big.Int).Not(a.Lo)
	case OpShl:
		e.Lo, e.Hi = shlInterval(a, b)
	case OpShr:
		k := uint(0)
		if b.Op == OpConst {
			k = uint(min(b.N.Uint64(), 8*MaxStateBytes))
		}
		e.Lo, e.Hi = minMax(new(big.Int).Rsh(a.Lo, k), new(big.Int).Rsh(a.Hi, k), a.Lo, Zero)
		if a.Nonneg() {
			e.Lo = Zero
			e.Hi = new(big.Int).Rsh(a.Hi, k)
		} else {
			_, e.Hi = minMax(a.Hi, Zero)
		}
	case OpTwoComp, OpSat:
		WithWidth(e, e.Bits, true)
	case OpUSat:
		WithWidth(e, e.Bits, false)
	case OpCond:
		e.Lo, _ = minMax(a.Lo, b.Lo)
		_, e.Hi = minMax(a.Hi, b.Hi)
	case OpB2D:
		e.Lo, e.Hi = Zero, One
	case OpLast:
		e.Lo, e.Hi = Zero, maxUint64 // an empty stack has 2^64-1, as in BMv2
	case OpSize:
		e.Lo, e.Hi = Zero, big.NewInt(int64(e.Bits))
	}
	return e
}

func andInterval(a, b *Expr) (lo, hi *big.Int) {
	switch {
	case a.Nonneg() && b.Nonneg():
		hi, _ = minMax(a.Hi, b.Hi)
		return Zero, hi
	case a.Nonneg():
		return Zero, a.Hi
	case b.Nonneg():
		return Zero, b.Hi
	}
	return orInterval(a, b)
}

func orInterval(a, b *Expr) (lo, hi *big.Int) {
	_, m := minMax(ones(a.Hi), ones(b.Hi), ones(new(big.Int).Abs(a.Lo)), ones(new(big.Int).Abs(b.Lo)))
	if a.Nonneg() && b.Nonneg() {
		return Zero, m
	}
	return new(big.Int).Not(m), m
}

func shlInterval(a, b *Expr) (lo, hi *big.Int) {
	k := uint(maxShift)
	if b.Hi.IsUint64() && b.Hi.Uint64() < maxShift {
		k = uint(b.Hi.Uint64())
	}
	least := uint(0)
	if b.Op == OpConst {
		least = k
	}
	lo, hi = minMax(new(big.Int).Lsh(a.Lo, k), new(big.Int).Lsh(a.Lo, least),
		new(big.Int).Lsh(a.Hi, k), new(big.Int).Lsh(a.Hi, least))
	return lo, hi
}

// Low64 returns n modulo 2^64.
func Low64(n *big.Int) uint64 {
	switch {
	case n.IsUint64():
		return n.Uint64()
	case n.Sign() > 0:
		return new(big.Int).And(n, maxUint64).Uint64()
	}
	return -new(big.Int).And(new(big.Int).Neg(n), maxUint64).Uint64()
}

// Rsh returns n>>k, rounding down.
func Rsh(n *big.Int, k int) *big.Int { return new(big.Int).Rsh(n, uint(k)) }
