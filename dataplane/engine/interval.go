package engine

import (
	"math/big"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// BMv2 computes with integers of unbounded precision and only cuts a result to
// its width when a field takes it. The intervals below bound what a value can
// be, so that the compiler knows where 64 bits give the same answer.

var (
	bigZero   = new(big.Int)
	bigOne    = big.NewInt(1)
	maxUint64 = new(big.Int).SetUint64(^uint64(0))
	maxInt64  = big.NewInt(1<<63 - 1)
	minInt64  = big.NewInt(-1 << 63)
)

// maxShift is the largest left shift by a run-time amount that is computed;
// beyond it all bits of any field are gone.
const maxShift = 2048

// pow2 is 1<<n.
func pow2(n int) *big.Int { return new(big.Int).Lsh(bigOne, uint(n)) }

func constExpr(n *big.Int) *expr {
	return &expr{op: opConst, n: n, lo: n, hi: n}
}

func fieldExpr(f *field) *expr {
	return intervalOf(&expr{op: opField, f: f}, f.width, f.signed)
}

// unsignedExpr sets the interval of an unsigned value of width bits.
func unsignedExpr(e *expr, width int) *expr { return intervalOf(e, width, false) }

// intervalOf sets the interval of a value of width bits.
func intervalOf(e *expr, width int, signed bool) *expr {
	if signed && width > 0 {
		e.hi = pow2(width - 1)
		e.lo = new(big.Int).Neg(e.hi)
		e.hi = new(big.Int).Sub(e.hi, bigOne)
		return e
	}
	e.lo, e.hi = bigZero, new(big.Int).Sub(pow2(width), bigOne)
	return e
}

// nonneg tells that the value cannot be negative.
func (e *expr) nonneg() bool { return e.lo.Sign() >= 0 }

// fits tells that the value is exactly representable in 64 bits: as uint64
// when nonneg, as int64 otherwise.
func (e *expr) fits() bool {
	if e.nonneg() {
		return e.hi.Cmp(maxUint64) <= 0
	}
	return e.lo.Cmp(minInt64) >= 0 && e.hi.Cmp(maxInt64) <= 0
}

// fitsSigned tells that the value is exactly representable as int64.
func (e *expr) fitsSigned() bool {
	return e.lo.Cmp(minInt64) >= 0 && e.hi.Cmp(maxInt64) <= 0
}

// exactLimbs is how many words hold the value in two's complement.
func (e *expr) exactLimbs() int {
	n := max(e.hi.BitLen(), e.lo.BitLen()) + 1
	return bitfield.Words(n)
}

// width is the number of bits of a value that has a declared width: a field,
// a parameter, a constant with a width; 0 otherwise.
func (e *expr) width() int {
	switch e.op {
	case opField:
		return e.f.width
	case opConst, opLocal, opLookahead:
		return e.bits
	case opStackField:
		return e.stk.typ.fields[e.idx].width
	case opAnd: // a slice as p4c writes it
		if e.b.op == opConst {
			return e.b.n.BitLen()
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

// ones is the least 2^n-1 that is no smaller than v.
func ones(v *big.Int) *big.Int {
	return new(big.Int).Sub(pow2(v.BitLen()), bigOne)
}

// withInterval computes the interval of an operation from its operands'.
func withInterval(e *expr) *expr {
	a, b := e.a, e.b
	if e.kind == kindBool {
		return e
	}
	switch e.op {
	case opAdd:
		e.lo, e.hi = new(big.Int).Add(a.lo, b.lo), new(big.Int).Add(a.hi, b.hi)
	case opSub:
		e.lo, e.hi = new(big.Int).Sub(a.lo, b.hi), new(big.Int).Sub(a.hi, b.lo)
	case opMul:
		m := func(x, y *big.Int) *big.Int { return new(big.Int).Mul(x, y) }
		e.lo, e.hi = minMax(m(a.lo, b.lo), m(a.lo, b.hi), m(a.hi, b.lo), m(a.hi, b.hi))
	case opDiv:
		e.lo, e.hi = minMax(a.lo, a.hi, bigZero)
	case opMod:
		_, top := minMax(b.hi, bigZero)
		e.lo, e.hi = bigZero, top
	case opAnd:
		e.lo, e.hi = andInterval(a, b)
	case opOr, opXor:
		e.lo, e.hi = orInterval(a, b)
	case opNot:
		e.lo = new(big.Int).Not(a.hi)
		e.hi = new(big.Int).Not(a.lo)
	case opShl:
		e.lo, e.hi = shlInterval(a, b)
	case opShr:
		k := uint(0)
		if b.op == opConst {
			k = uint(min(b.n.Uint64(), 8*maxStateBytes))
		}
		e.lo, e.hi = minMax(new(big.Int).Rsh(a.lo, k), new(big.Int).Rsh(a.hi, k), a.lo, bigZero)
		if a.nonneg() {
			e.lo = bigZero
			e.hi = new(big.Int).Rsh(a.hi, k)
		} else {
			_, e.hi = minMax(a.hi, bigZero)
		}
	case opTwoComp, opSat:
		intervalOf(e, e.bits, true)
	case opUSat:
		intervalOf(e, e.bits, false)
	case opCond:
		e.lo, _ = minMax(a.lo, b.lo)
		_, e.hi = minMax(a.hi, b.hi)
	case opB2D:
		e.lo, e.hi = bigZero, bigOne
	case opLast:
		e.lo, e.hi = bigZero, maxUint64 // an empty stack has 2^64-1, as in BMv2
	case opSize:
		e.lo, e.hi = bigZero, big.NewInt(int64(e.bits))
	}
	return e
}

func andInterval(a, b *expr) (lo, hi *big.Int) {
	switch {
	case a.nonneg() && b.nonneg():
		hi, _ = minMax(a.hi, b.hi)
		return bigZero, hi
	case a.nonneg():
		return bigZero, a.hi
	case b.nonneg():
		return bigZero, b.hi
	}
	return orInterval(a, b)
}

func orInterval(a, b *expr) (lo, hi *big.Int) {
	_, m := minMax(ones(a.hi), ones(b.hi), ones(new(big.Int).Abs(a.lo)), ones(new(big.Int).Abs(b.lo)))
	if a.nonneg() && b.nonneg() {
		return bigZero, m
	}
	return new(big.Int).Not(m), m
}

func shlInterval(a, b *expr) (lo, hi *big.Int) {
	k := uint(maxShift)
	if b.hi.IsUint64() && b.hi.Uint64() < maxShift {
		k = uint(b.hi.Uint64())
	}
	least := uint(0)
	if b.op == opConst {
		least = k
	}
	lo, hi = minMax(new(big.Int).Lsh(a.lo, k), new(big.Int).Lsh(a.lo, least),
		new(big.Int).Lsh(a.hi, k), new(big.Int).Lsh(a.hi, least))
	return lo, hi
}

// low64 is n modulo 2^64.
func low64(n *big.Int) uint64 {
	if n.Sign() >= 0 {
		return new(big.Int).And(n, maxUint64).Uint64()
	}
	return -new(big.Int).And(new(big.Int).Neg(n), maxUint64).Uint64()
}

// rsh is n>>k, rounding down.
func rsh(n *big.Int, k int) *big.Int { return new(big.Int).Rsh(n, uint(k)) }
