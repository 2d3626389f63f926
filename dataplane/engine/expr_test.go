package engine

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/weft-sdn/weft/dataplane/ir"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// exprBench is a packet state with fields of many widths to compute with.
type exprBench struct {
	l      *loader
	c      *Context
	fields []*ir.Field
	rng    *rand.Rand
}

func newExprBench(seed uint64) *exprBench {
	b := &exprBench{l: &loader{prog: &Program{}}, rng: rand.New(rand.NewPCG(seed, 1))}
	ht := &ir.HeaderType{Name: "h", Index: map[string]int{}, VL: -1}
	mt := &ir.HeaderType{Name: "m", Index: map[string]int{}, VL: -1}
	for _, w := range []int{1, 3, 4, 8, 9, 16, 23, 32, 33, 48, 63, 64, 65, 100, 128, 129, 200} {
		for _, signed := range []bool{false, true} {
			if signed && w < 2 {
				continue
			}
			for _, t := range []*ir.HeaderType{ht, mt} {
				t.Fields = append(t.Fields, ir.FieldType{Name: fmt.Sprint(len(t.Fields)), Width: w,
					Signed: signed, Bit: t.Bits})
				t.Bits += w
			}
		}
	}
	pad := (8 - ht.Bits%8) % 8
	ht.Fields = append(ht.Fields, ir.FieldType{Name: "pad", Width: pad, Bit: ht.Bits})
	ht.Bits += pad
	h, m := &ir.Header{Name: "h", Type: ht, VL: -1, Union: -1}, &ir.Header{Name: "m", Type: mt,
		Meta: true, VL: -1, Union: -1}
	b.l.prog.layout.Headers = []*ir.Header{h, m}
	h.Mask, m.Mask = 1, 2
	b.l.prog.layout.ValidWords = 1
	b.l.placeHeaders([]*ir.Header{h, m}, nil)
	for i := range ht.Fields[:len(ht.Fields)-1] {
		b.fields = append(b.fields, &h.Fields[i], &m.Fields[i])
	}
	b.c = &Context{PHV: *newPHV(&b.l.prog.layout)}
	b.c.valid[0] = 3
	return b
}

// value is a field's value as the format defines it.
func (b *exprBench) value(f *ir.Field) *big.Int {
	v := make([]uint64, bitfield.Words(f.Width))
	bitfield.Load(b.c.data, f.Bit, f.Width, v)
	n := new(big.Int)
	for i := len(v) - 1; i >= 0; i-- {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(v[i]))
	}
	if f.Signed && n.Bit(f.Width-1) == 1 {
		n.Sub(n, ir.Pow2(f.Width))
	}
	return n
}

// fill gives every field a random value, often an extreme one.
func (b *exprBench) fill() {
	for _, f := range b.fields {
		v := make([]uint64, bitfield.Words(f.Width))
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
		if kind == 3 && f.Width > 1 { // the sign bit alone
			clear(v)
			v[(f.Width-1)/64] = 1 << ((f.Width - 1) % 64)
		}
		bitfield.Store(b.c.data, f.Bit, f.Width, v)
	}
}

// gen makes a random data expression.
func (b *exprBench) gen(depth int) *ir.Expr {
	if depth == 0 || b.rng.IntN(8) == 0 {
		if b.rng.IntN(3) == 0 {
			n := new(big.Int).SetUint64(b.rng.Uint64() >> b.rng.IntN(64))
			if b.rng.IntN(4) == 0 {
				n.Lsh(n, uint(b.rng.IntN(80)))
			}
			if b.rng.IntN(4) == 0 {
				n.Neg(n)
			}
			return ir.Constant(n)
		}
		return ir.FieldValue(b.fields[b.rng.IntN(len(b.fields))])
	}
	sub := func() *ir.Expr { return b.gen(depth - 1) }
	nonneg := func() *ir.Expr {
		e := sub()
		if e.Nonneg() {
			return e
		}
		return b.masked(e)
	}
	switch op := []ir.Op{ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpAnd, ir.OpOr, ir.OpXor, ir.OpNot, ir.OpShl,
		ir.OpShr, ir.OpTwoComp, ir.OpSat, ir.OpUSat, ir.OpCond, ir.OpB2D, ir.OpDiv,
		ir.OpMod}[b.rng.IntN(16)]; op {
	case ir.OpNot:
		return ir.WithInterval(&ir.Expr{Op: op, A: sub()})
	case ir.OpShl, ir.OpShr:
		k := ir.Constant(big.NewInt(int64(b.rng.IntN(140))))
		if b.rng.IntN(2) == 0 {
			k = ir.FieldValue(b.fields[b.rng.IntN(12)])
			if !k.Nonneg() || k.Hi.BitLen() > 8 {
				k = ir.Constant(big.NewInt(int64(b.rng.IntN(70))))
			}
		}
		return ir.WithInterval(&ir.Expr{Op: op, A: sub(), B: k})
	case ir.OpTwoComp, ir.OpSat, ir.OpUSat:
		return ir.WithInterval(&ir.Expr{Op: op, A: sub(), Bits: 2 + b.rng.IntN(140)})
	case ir.OpCond:
		return ir.WithInterval(&ir.Expr{Op: op, A: sub(), B: sub(), C: b.cond(depth - 1)})
	case ir.OpB2D:
		return ir.WithInterval(&ir.Expr{Op: op, A: b.cond(depth - 1)})
	case ir.OpDiv, ir.OpMod:
		return ir.WithInterval(&ir.Expr{Op: op, A: nonneg(), B: nonneg()})
	default:
		return ir.WithInterval(&ir.Expr{Op: op, A: sub(), B: sub()})
	}
}

// masked cuts an expression to a random width, as p4c does after arithmetic.
func (b *exprBench) masked(e *ir.Expr) *ir.Expr {
	m := new(big.Int).Sub(ir.Pow2(1+b.rng.IntN(130)), ir.One)
	return ir.WithInterval(&ir.Expr{Op: ir.OpAnd, A: e, B: ir.Constant(m)})
}

func (b *exprBench) cond(depth int) *ir.Expr {
	switch b.rng.IntN(7) {
	case 5: // a comparison of sequence numbers
		if depth > 0 {
			return b.serial(depth - 1)
		}
	case 6: // a test of bits
		k, w := uint(b.rng.IntN(70)), 1+b.rng.IntN(3)
		m := new(big.Int).Sub(ir.Pow2(w), ir.One)
		x := ir.WithInterval(&ir.Expr{Op: ir.OpShr, A: b.gen(depth),
			B: ir.Constant(big.NewInt(int64(k)))})
		return &ir.Expr{Op: []ir.Op{ir.OpEq, ir.OpNe}[b.rng.IntN(2)], Kind: ir.KindBool,
			A: ir.WithInterval(&ir.Expr{Op: ir.OpAnd, A: x, B: ir.Constant(m)}),
			B: ir.Constant(big.NewInt(int64(b.rng.IntN(1 << w))))}
	case 0:
		if depth > 0 {
			return &ir.Expr{Op: []ir.Op{ir.OpLAnd, ir.OpLOr}[b.rng.IntN(2)], Kind: ir.KindBool,
				A: b.cond(depth - 1), B: b.cond(depth - 1)}
		}
	case 1:
		return &ir.Expr{Op: ir.OpD2B, Kind: ir.KindBool, A: b.gen(depth)}
	case 2:
		if depth > 0 {
			return &ir.Expr{Op: ir.OpLNot, Kind: ir.KindBool, A: b.cond(depth - 1)}
		}
	}
	op := []ir.Op{ir.OpEq, ir.OpNe, ir.OpLt, ir.OpLe, ir.OpGt, ir.OpGe}[b.rng.IntN(6)]
	x := b.gen(depth)
	y := b.gen(depth)
	if b.rng.IntN(4) == 0 {
		y = x
	}
	return &ir.Expr{Op: op, Kind: ir.KindBool, A: x, B: y}
}

// serial makes (x - y) & m != 0 && (x - y) & bit == 0.
func (b *exprBench) serial(depth int) *ir.Expr {
	d := ir.WithInterval(&ir.Expr{Op: ir.OpSub, A: b.gen(depth), B: b.gen(depth)})
	w := 1 + b.rng.IntN(64)
	m := new(big.Int).Sub(ir.Pow2(w), ir.One)
	masked := ir.WithInterval(&ir.Expr{Op: ir.OpAnd, A: d, B: ir.Constant(m)})
	top := ir.WithInterval(&ir.Expr{Op: ir.OpShr, A: masked, B: ir.Constant(big.NewInt(int64(w - 1)))})
	return &ir.Expr{Op: ir.OpLAnd, Kind: ir.KindBool,
		A: &ir.Expr{Op: ir.OpNe, Kind: ir.KindBool, A: masked, B: ir.Constant(new(big.Int))},
		B: &ir.Expr{Op: ir.OpEq, Kind: ir.KindBool,
			A: ir.WithInterval(&ir.Expr{Op: ir.OpAnd, A: top, B: ir.Constant(ir.One)}),
			B: ir.Constant(new(big.Int))}}
}

// slow evaluates in unbounded precision, the way BMv2 does.
func (b *exprBench) slow(e *ir.Expr) *big.Int {
	bin := func(f func(z, x, y *big.Int) *big.Int) *big.Int {
		return f(new(big.Int), b.slow(e.A), b.slow(e.B))
	}
	switch e.Op {
	case ir.OpConst:
		return e.N
	case ir.OpField:
		return b.value(e.Field)
	case ir.OpAdd:
		return bin((*big.Int).Add)
	case ir.OpSub:
		return bin((*big.Int).Sub)
	case ir.OpMul:
		return bin((*big.Int).Mul)
	case ir.OpAnd:
		return bin((*big.Int).And)
	case ir.OpOr:
		return bin((*big.Int).Or)
	case ir.OpXor:
		return bin((*big.Int).Xor)
	case ir.OpNot:
		return new(big.Int).Not(b.slow(e.A))
	case ir.OpShl:
		return new(big.Int).Lsh(b.slow(e.A), uint(b.slow(e.B).Uint64()))
	case ir.OpShr:
		return new(big.Int).Rsh(b.slow(e.A), uint(b.slow(e.B).Uint64()))
	case ir.OpDiv, ir.OpMod:
		if x, y := b.slow(e.A), b.slow(e.B); y.Sign() == 0 {
			return new(big.Int)
		} else if e.Op == ir.OpDiv {
			return new(big.Int).Quo(x, y)
		} else {
			return new(big.Int).Rem(x, y)
		}
	case ir.OpTwoComp:
		n := new(big.Int).And(b.slow(e.A), new(big.Int).Sub(ir.Pow2(e.Bits), ir.One))
		if n.Bit(e.Bits-1) == 1 {
			n.Sub(n, ir.Pow2(e.Bits))
		}
		return n
	case ir.OpSat, ir.OpUSat:
		lo, hi := new(big.Int), new(big.Int).Sub(ir.Pow2(e.Bits), ir.One)
		if e.Op == ir.OpSat {
			hi = new(big.Int).Sub(ir.Pow2(e.Bits-1), ir.One)
			lo = new(big.Int).Neg(ir.Pow2(e.Bits - 1))
		}
		n := b.slow(e.A)
		if n.Cmp(lo) < 0 {
			return lo
		}
		if n.Cmp(hi) > 0 {
			return hi
		}
		return n
	case ir.OpCond:
		if b.slowBool(e.C) {
			return b.slow(e.A)
		}
		return b.slow(e.B)
	case ir.OpB2D:
		if b.slowBool(e.A) {
			return ir.One
		}
		return new(big.Int)
	}
	panic(fmt.Sprint("operation ", e.Op))
}

func (b *exprBench) slowBool(e *ir.Expr) bool {
	switch e.Op {
	case ir.OpLAnd:
		return b.slowBool(e.A) && b.slowBool(e.B)
	case ir.OpLOr:
		return b.slowBool(e.A) || b.slowBool(e.B)
	case ir.OpLNot:
		return !b.slowBool(e.A)
	case ir.OpD2B:
		return b.slow(e.A).Sign() != 0
	}
	r := b.slow(e.A).Cmp(b.slow(e.B))
	switch e.Op {
	case ir.OpEq:
		return r == 0
	case ir.OpNe:
		return r != 0
	case ir.OpLt:
		return r < 0
	case ir.OpLe:
		return r <= 0
	case ir.OpGt:
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
		n := e.ExactLimbs()
		wide := b.l.wide(e, n)
		short, shortBool := b.l.u64(simplifyAll(e)), b.l.boolean(simplifyAll(q))
		for range 4 {
			b.fill()
			want := b.slow(e)
			if want.Cmp(e.Lo) < 0 || want.Cmp(e.Hi) > 0 {
				t.Fatalf("case %d: %v outside [%v, %v]", i, want, e.Lo, e.Hi)
			}
			if got := fast(b.c); got != ir.Low64(want) {
				t.Fatalf("case %d (operation %d): %#x, want %#x", i, e.Op, got, ir.Low64(want))
			}
			if got := short(b.c); got != ir.Low64(want) {
				t.Fatalf("case %d (operation %d), simplified: %#x, want %#x", i, e.Op, got, ir.Low64(want))
			}
			if got, want := shortBool(b.c), b.slowBool(q); got != want {
				t.Fatalf("case %d (comparison %d), simplified: %v, want %v", i, q.Op, got, want)
			}
			v := make([]uint64, n)
			wide(b.c, v)
			for k := range v {
				if w := ir.Low64(ir.Rsh(want, 64*k)); v[k] != w {
					t.Fatalf("case %d (operation %d): word %d of %d is %#x, want %#x", i, e.Op, k, n, v[k], w)
				}
			}
			if got, want := bools(b.c), b.slowBool(q); got != want {
				t.Fatalf("case %d (comparison %d): %v, want %v", i, q.Op, got, want)
			}
			if b.c.sp != 0 {
				t.Fatalf("case %d: %d words of scratch left over", i, b.c.sp)
			}
			// An assignment cuts the value to the field, and touches nothing else.
			before := map[*ir.Field]*big.Int{}
			for _, f := range b.fields {
				before[f] = b.value(f)
			}
			b.l.assign(nil, ir.FieldValue(dst), e)(b.c)
			before[dst] = cut(want, dst)
			for _, f := range b.fields {
				if got := b.value(f); got.Cmp(before[f]) != 0 {
					t.Fatalf("case %d: %s of %d bits is %v, want %v (assigned to %s)", i, f.Name(), f.Width, got,
						before[f], dst.Name())
				}
			}
		}
	}
}

// simplifyAll simplifies an expression from its leaves up, as the loader does.
func simplifyAll(e *ir.Expr) *ir.Expr {
	if e == nil || e.Op == ir.OpConst || e.Op == ir.OpField {
		return e
	}
	n := *e
	n.A, n.B, n.C = simplifyAll(e.A), simplifyAll(e.B), simplifyAll(e.C)
	return ir.Simplify(ir.WithInterval(&n))
}

// cut returns the value that a field keeps of n.
func cut(n *big.Int, f *ir.Field) *big.Int {
	n = new(big.Int).And(n, new(big.Int).Sub(ir.Pow2(f.Width), ir.One))
	if f.Signed && n.Bit(f.Width-1) == 1 {
		n.Sub(n, ir.Pow2(f.Width))
	}
	return n
}
