package engine

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// exprBench is a packet state with fields of many widths to compute with.
type exprBench struct {
	l      *loader
	c      *Context
	fields []*field
	rng    *rand.Rand
}

func newExprBench(seed uint64) *exprBench {
	b := &exprBench{l: &loader{prog: &Program{}}, rng: rand.New(rand.NewPCG(seed, 1))}
	ht := &headerType{name: "h", index: map[string]int{}, vl: -1}
	mt := &headerType{name: "m", index: map[string]int{}, vl: -1}
	for _, w := range []int{1, 3, 4, 8, 9, 16, 23, 32, 33, 48, 63, 64, 65, 100, 128, 129, 200} {
		for _, signed := range []bool{false, true} {
			if signed && w < 2 {
				continue
			}
			for _, t := range []*headerType{ht, mt} {
				t.fields = append(t.fields, fieldType{name: fmt.Sprint(len(t.fields)), width: w, signed: signed, bit: t.bits})
				t.bits += w
			}
		}
	}
	pad := (8 - ht.bits%8) % 8
	ht.fields = append(ht.fields, fieldType{name: "pad", width: pad, bit: ht.bits})
	ht.bits += pad
	h, m := &header{name: "h", typ: ht, vl: -1, union: -1}, &header{name: "m", typ: mt, meta: true, vl: -1, union: -1}
	b.l.prog.layout.headers = []*header{h, m}
	h.mask, m.mask = 1, 2
	b.l.prog.layout.validWords = 1
	b.l.placeHeaders([]*header{h, m}, nil)
	for i := range ht.fields[:len(ht.fields)-1] {
		b.fields = append(b.fields, &h.fields[i], &m.fields[i])
	}
	b.c = &Context{PHV: *newPHV(&b.l.prog.layout)}
	b.c.valid[0] = 3
	return b
}

// value is a field's value as the format defines it.
func (b *exprBench) value(f *field) *big.Int {
	v := make([]uint64, bitfield.Words(f.width))
	bitfield.Load(b.c.data, f.bit, f.width, v)
	n := new(big.Int)
	for i := len(v) - 1; i >= 0; i-- {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(v[i]))
	}
	if f.signed && n.Bit(f.width-1) == 1 {
		n.Sub(n, pow2(f.width))
	}
	return n
}

// fill gives every field a random value, often an extreme one.
func (b *exprBench) fill() {
	for _, f := range b.fields {
		v := make([]uint64, bitfield.Words(f.width))
		kind := b.rng.IntN(4)
		for i := range v {
			switch kind {
			case 0:
				v[i] = 0
			case 1:
				v[i] = ^uint64(0)
			default:
				v[i] = b.rng.Uint64()
			}
		}
		if kind == 3 && f.width > 1 { // the sign bit alone
			clear(v)
			v[(f.width-1)/64] = 1 << ((f.width - 1) % 64)
		}
		bitfield.Store(b.c.data, f.bit, f.width, v)
	}
}

// gen makes a random data expression.
func (b *exprBench) gen(depth int) *expr {
	if depth == 0 || b.rng.IntN(8) == 0 {
		if b.rng.IntN(3) == 0 {
			n := new(big.Int).SetUint64(b.rng.Uint64() >> b.rng.IntN(64))
			if b.rng.IntN(4) == 0 {
				n.Lsh(n, uint(b.rng.IntN(80)))
			}
			if b.rng.IntN(4) == 0 {
				n.Neg(n)
			}
			return constExpr(n)
		}
		return fieldExpr(b.fields[b.rng.IntN(len(b.fields))])
	}
	sub := func() *expr { return b.gen(depth - 1) }
	nonneg := func() *expr {
		e := sub()
		if e.nonneg() {
			return e
		}
		return b.masked(e)
	}
	switch op := []exprOp{opAdd, opSub, opMul, opAnd, opOr, opXor, opNot, opShl, opShr, opTwoComp, opSat, opUSat, opCond, opB2D, opDiv, opMod}[b.rng.IntN(16)]; op {
	case opNot:
		return withInterval(&expr{op: op, a: sub()})
	case opShl, opShr:
		k := constExpr(big.NewInt(int64(b.rng.IntN(140))))
		if b.rng.IntN(2) == 0 {
			k = fieldExpr(b.fields[b.rng.IntN(12)])
			if !k.nonneg() || k.hi.BitLen() > 8 {
				k = constExpr(big.NewInt(int64(b.rng.IntN(70))))
			}
		}
		return withInterval(&expr{op: op, a: sub(), b: k})
	case opTwoComp, opSat, opUSat:
		return withInterval(&expr{op: op, a: sub(), bits: 2 + b.rng.IntN(140)})
	case opCond:
		return withInterval(&expr{op: op, a: sub(), b: sub(), c: b.cond(depth - 1)})
	case opB2D:
		return withInterval(&expr{op: op, a: b.cond(depth - 1)})
	case opDiv, opMod:
		return withInterval(&expr{op: op, a: nonneg(), b: nonneg()})
	default:
		return withInterval(&expr{op: op, a: sub(), b: sub()})
	}
}

// masked cuts an expression to a random width, as p4c does after arithmetic.
func (b *exprBench) masked(e *expr) *expr {
	m := new(big.Int).Sub(pow2(1+b.rng.IntN(130)), bigOne)
	return withInterval(&expr{op: opAnd, a: e, b: constExpr(m)})
}

func (b *exprBench) cond(depth int) *expr {
	switch b.rng.IntN(7) {
	case 5: // a comparison of sequence numbers
		if depth > 0 {
			return b.serial(depth - 1)
		}
	case 6: // a test of bits
		k, w := uint(b.rng.IntN(70)), 1+b.rng.IntN(3)
		m := new(big.Int).Sub(pow2(w), bigOne)
		x := withInterval(&expr{op: opShr, a: b.gen(depth), b: constExpr(big.NewInt(int64(k)))})
		return &expr{op: []exprOp{opEq, opNe}[b.rng.IntN(2)], kind: kindBool,
			a: withInterval(&expr{op: opAnd, a: x, b: constExpr(m)}), b: constExpr(big.NewInt(int64(b.rng.IntN(1 << w))))}
	case 0:
		if depth > 0 {
			return &expr{op: []exprOp{opLAnd, opLOr}[b.rng.IntN(2)], kind: kindBool, a: b.cond(depth - 1), b: b.cond(depth - 1)}
		}
	case 1:
		return &expr{op: opD2B, kind: kindBool, a: b.gen(depth)}
	case 2:
		if depth > 0 {
			return &expr{op: opLNot, kind: kindBool, a: b.cond(depth - 1)}
		}
	}
	op := []exprOp{opEq, opNe, opLt, opLe, opGt, opGe}[b.rng.IntN(6)]
	x := b.gen(depth)
	y := b.gen(depth)
	if b.rng.IntN(4) == 0 {
		y = x
	}
	return &expr{op: op, kind: kindBool, a: x, b: y}
}

// serial makes (x - y) & m != 0 && (x - y) & bit == 0.
func (b *exprBench) serial(depth int) *expr {
	d := withInterval(&expr{op: opSub, a: b.gen(depth), b: b.gen(depth)})
	w := 1 + b.rng.IntN(64)
	m := new(big.Int).Sub(pow2(w), bigOne)
	masked := withInterval(&expr{op: opAnd, a: d, b: constExpr(m)})
	top := withInterval(&expr{op: opShr, a: masked, b: constExpr(big.NewInt(int64(w - 1)))})
	return &expr{op: opLAnd, kind: kindBool,
		a: &expr{op: opNe, kind: kindBool, a: masked, b: constExpr(new(big.Int))},
		b: &expr{op: opEq, kind: kindBool, a: withInterval(&expr{op: opAnd, a: top, b: constExpr(bigOne)}), b: constExpr(new(big.Int))}}
}

// slow evaluates in unbounded precision, the way BMv2 does.
func (b *exprBench) slow(e *expr) *big.Int {
	bin := func(f func(z, x, y *big.Int) *big.Int) *big.Int { return f(new(big.Int), b.slow(e.a), b.slow(e.b)) }
	switch e.op {
	case opConst:
		return e.n
	case opField:
		return b.value(e.f)
	case opAdd:
		return bin((*big.Int).Add)
	case opSub:
		return bin((*big.Int).Sub)
	case opMul:
		return bin((*big.Int).Mul)
	case opAnd:
		return bin((*big.Int).And)
	case opOr:
		return bin((*big.Int).Or)
	case opXor:
		return bin((*big.Int).Xor)
	case opNot:
		return new(big.Int).Not(b.slow(e.a))
	case opShl:
		return new(big.Int).Lsh(b.slow(e.a), uint(b.slow(e.b).Uint64()))
	case opShr:
		return new(big.Int).Rsh(b.slow(e.a), uint(b.slow(e.b).Uint64()))
	case opDiv, opMod:
		if x, y := b.slow(e.a), b.slow(e.b); y.Sign() == 0 {
			return new(big.Int)
		} else if e.op == opDiv {
			return new(big.Int).Quo(x, y)
		} else {
			return new(big.Int).Rem(x, y)
		}
	case opTwoComp:
		n := new(big.Int).And(b.slow(e.a), new(big.Int).Sub(pow2(e.bits), bigOne))
		if n.Bit(e.bits-1) == 1 {
			n.Sub(n, pow2(e.bits))
		}
		return n
	case opSat, opUSat:
		lo, hi := new(big.Int), new(big.Int).Sub(pow2(e.bits), bigOne)
		if e.op == opSat {
			hi = new(big.Int).Sub(pow2(e.bits-1), bigOne)
			lo = new(big.Int).Neg(pow2(e.bits - 1))
		}
		n := b.slow(e.a)
		if n.Cmp(lo) < 0 {
			return lo
		}
		if n.Cmp(hi) > 0 {
			return hi
		}
		return n
	case opCond:
		if b.slowBool(e.c) {
			return b.slow(e.a)
		}
		return b.slow(e.b)
	case opB2D:
		if b.slowBool(e.a) {
			return bigOne
		}
		return new(big.Int)
	}
	panic(fmt.Sprint("operation ", e.op))
}

func (b *exprBench) slowBool(e *expr) bool {
	switch e.op {
	case opLAnd:
		return b.slowBool(e.a) && b.slowBool(e.b)
	case opLOr:
		return b.slowBool(e.a) || b.slowBool(e.b)
	case opLNot:
		return !b.slowBool(e.a)
	case opD2B:
		return b.slow(e.a).Sign() != 0
	}
	r := b.slow(e.a).Cmp(b.slow(e.b))
	switch e.op {
	case opEq:
		return r == 0
	case opNe:
		return r != 0
	case opLt:
		return r < 0
	case opLe:
		return r <= 0
	case opGt:
		return r > 0
	}
	return r >= 0
}

// TestExpressionsAgainstBigIntegers compiles random expressions in each of the
// three ways and compares them with unbounded arithmetic.
func TestExpressionsAgainstBigIntegers(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	b := newExprBench(seed)
	for i := range 4000 {
		e := b.gen(1 + b.rng.IntN(4))
		q := b.cond(b.rng.IntN(3))
		dst := b.fields[b.rng.IntN(len(b.fields))]
		fast, bools := b.l.u64(e), b.l.boolean(q)
		n := e.exactLimbs()
		wide := b.l.wide(e, n)
		short, shortBool := b.l.u64(simplifyAll(e)), b.l.boolean(simplifyAll(q))
		for range 4 {
			b.fill()
			want := b.slow(e)
			if want.Cmp(e.lo) < 0 || want.Cmp(e.hi) > 0 {
				t.Fatalf("case %d: %v outside [%v, %v]", i, want, e.lo, e.hi)
			}
			if got := fast(b.c); got != low64(want) {
				t.Fatalf("case %d (operation %d): %#x, want %#x", i, e.op, got, low64(want))
			}
			if got := short(b.c); got != low64(want) {
				t.Fatalf("case %d (operation %d), simplified: %#x, want %#x", i, e.op, got, low64(want))
			}
			if got, want := shortBool(b.c), b.slowBool(q); got != want {
				t.Fatalf("case %d (comparison %d), simplified: %v, want %v", i, q.op, got, want)
			}
			v := make([]uint64, n)
			wide(b.c, v)
			for k := range v {
				if w := low64(rsh(want, 64*k)); v[k] != w {
					t.Fatalf("case %d (operation %d): word %d of %d is %#x, want %#x", i, e.op, k, n, v[k], w)
				}
			}
			if got, want := bools(b.c), b.slowBool(q); got != want {
				t.Fatalf("case %d (comparison %d): %v, want %v", i, q.op, got, want)
			}
			if b.c.sp != 0 {
				t.Fatalf("case %d: %d words of scratch left over", i, b.c.sp)
			}
			// An assignment cuts the value to the field, and touches nothing else.
			before := map[*field]*big.Int{}
			for _, f := range b.fields {
				before[f] = b.value(f)
			}
			b.l.assign(nil, fieldExpr(dst), e)(b.c)
			before[dst] = cut(want, dst)
			for _, f := range b.fields {
				if got := b.value(f); got.Cmp(before[f]) != 0 {
					t.Fatalf("case %d: %s of %d bits is %v, want %v (assigned to %s)", i, f.name(), f.width, got, before[f], dst.name())
				}
			}
		}
	}
}

// simplifyAll simplifies an expression from its leaves up, as the loader does.
func simplifyAll(e *expr) *expr {
	if e == nil || e.op == opConst || e.op == opField {
		return e
	}
	n := *e
	n.a, n.b, n.c = simplifyAll(e.a), simplifyAll(e.b), simplifyAll(e.c)
	return simplify(withInterval(&n))
}

// cut is what a field makes of a value.
func cut(n *big.Int, f *field) *big.Int {
	n = new(big.Int).And(n, new(big.Int).Sub(pow2(f.width), bigOne))
	if f.signed && n.Bit(f.width-1) == 1 {
		n.Sub(n, pow2(f.width))
	}
	return n
}
