package engine

import (
	"math/bits"

	"github.com/weft-sdn/weft/dataplane/ir"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// wide compiles an expression to n words: its value modulo 2^(64n), in two's
// complement. With n = e.exactLimbs() that is its exact value.
func (l *loader) wide(e *ir.Expr, n int) wideFn {
	switch e.Op {
	case ir.OpConst:
		v := make([]uint64, n)
		x := e.N
		for i := range v {
			v[i] = ir.Low64(x)
			x = ir.Rsh(x, 64)
		}
		return func(_ *Context, dst []uint64) { copy(dst, v) }
	case ir.OpField:
		if !e.Field.Valid && e.Field.Width > 64 {
			return wideField(e.Field, n)
		}
	case ir.OpLocal:
		if e.Bits > 64 {
			i, k := e.Index, min(n, bitfield.Words(e.Bits))
			return func(c *Context, dst []uint64) {
				copy(dst, c.args[i:i+k])
				clear(dst[k:])
			}
		}
	case ir.OpStackField, ir.OpDynField, ir.OpUnionField:
		if !e.Fits() {
			return l.wideDynField(e, n)
		}
	case ir.OpRegister:
		if !e.Width64() {
			r, idx := e.Index, l.u64(e.A)
			return func(c *Context, dst []uint64) {
				clear(dst)
				copy(dst, c.st.regs[r].Words(idx(c)))
			}
		}
	case ir.OpLookahead:
		if e.Bits > 64 {
			off, w := e.Off, e.Bits
			return func(c *Context, dst []uint64) { c.lookaheadWide(off, w, dst) }
		}
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpAnd, ir.OpOr, ir.OpXor:
		if n > 1 {
			return l.wideArith(e, n)
		}
	case ir.OpNot:
		if n > 1 {
			a := l.wide(e.A, n)
			return func(c *Context, dst []uint64) {
				a(c, dst)
				for i := range dst {
					dst[i] = ^dst[i]
				}
			}
		}
	case ir.OpShl:
		if n > 1 {
			a, k := l.wide(e.A, n), l.shiftAmount(e.B)
			return func(c *Context, dst []uint64) {
				a(c, dst)
				shiftLeft(dst, k(c))
			}
		}
	case ir.OpShr:
		if !e.A.Fits() {
			return l.wideShr(e, n)
		}
	case ir.OpTwoComp:
		if e.Bits > 64 {
			return l.wideTwoComp(e, n)
		}
	case ir.OpSat, ir.OpUSat:
		if !e.A.Fits() || !e.Fits() {
			return l.wideSaturate(e, n)
		}
	case ir.OpDiv, ir.OpMod:
		if !(e.A.Fits() && e.A.Nonneg() && e.B.Fits() && e.B.Nonneg()) {
			return l.wideDivide(e, n)
		}
	case ir.OpCond:
		if n > 1 {
			q, a, b := l.boolean(e.C), l.wide(e.A, n), l.wide(e.B, n)
			return func(c *Context, dst []uint64) {
				if q(c) {
					a(c, dst)
				} else {
					b(c, dst)
				}
			}
		}
	}
	// Any other expression fits in one word, or the caller wants only one word.
	v, signed := l.u64(e), !e.Nonneg()
	return func(c *Context, dst []uint64) {
		x := v(c)
		dst[0] = x
		ext := uint64(0)
		if signed {
			ext = uint64(int64(x) >> 63)
		}
		for i := range dst[1:] {
			dst[1+i] = ext
		}
	}
}

func wideField(f *ir.Field, n int) wideFn {
	bit, w := f.Bit, f.Width
	if f.Signed {
		return func(c *Context, dst []uint64) {
			bitfield.Load(c.data, bit, w, dst)
			signExtend(dst, w)
		}
	}
	if bit%8 == 0 && w == 128 && n >= 2 {
		hi, lo := getter(bit, 64), getter(bit+64, 64)
		return func(c *Context, dst []uint64) {
			dst[0], dst[1] = lo(c), hi(c)
			clear(dst[2:])
		}
	}
	if skip := w - 64*n; skip > 0 {
		bit, w = bit+skip, w-skip
	}
	return func(c *Context, dst []uint64) { bitfield.Load(c.data, bit, w, dst) }
}

func (l *loader) wideArith(e *ir.Expr, n int) wideFn {
	a, b, op := l.wide(e.A, n), l.wide(e.B, n), e.Op
	return func(c *Context, dst []uint64) {
		a(c, dst)
		t := c.push(n)
		b(c, t)
		var carry uint64
		switch op {
		case ir.OpAdd:
			for i := range dst {
				dst[i], carry = bits.Add64(dst[i], t[i], carry)
			}
		case ir.OpSub:
			for i := range dst {
				dst[i], carry = bits.Sub64(dst[i], t[i], carry)
			}
		case ir.OpAnd:
			for i := range dst {
				dst[i] &= t[i]
			}
		case ir.OpOr:
			for i := range dst {
				dst[i] |= t[i]
			}
		case ir.OpXor:
			for i := range dst {
				dst[i] ^= t[i]
			}
		case ir.OpMul:
			p := c.push(n)
			clear(p)
			multiply(p, dst, t)
			copy(dst, p)
			c.pop(n)
		}
		c.pop(n)
	}
}

// multiply adds a*b modulo 2^(64n) to dst, all of n words.
func multiply(dst, a, b []uint64) {
	for i, x := range a {
		var carry uint64
		for j := 0; i+j < len(dst); j++ {
			hi, lo := bits.Mul64(x, b[j])
			var c1, c2 uint64
			lo, c1 = bits.Add64(lo, carry, 0)
			dst[i+j], c2 = bits.Add64(dst[i+j], lo, 0)
			carry = hi + c1 + c2
		}
	}
}

func shiftLeft(v []uint64, k uint64) {
	if k >= uint64(64*len(v)) {
		clear(v)
		return
	}
	w, s := int(k/64), k%64
	for i := len(v) - 1; i >= 0; i-- {
		var x uint64
		if i >= w {
			x = v[i-w] << s
			if s > 0 && i > w {
				x |= v[i-w-1] >> (64 - s)
			}
		}
		v[i] = x
	}
}

// shiftRight is an arithmetic shift.
func shiftRight(v []uint64, k uint64) {
	ext := uint64(int64(v[len(v)-1]) >> 63)
	if k >= uint64(64*len(v)) {
		for i := range v {
			v[i] = ext
		}
		return
	}
	w, s := int(k/64), k%64
	at := func(i int) uint64 {
		if i < len(v) {
			return v[i]
		}
		return ext
	}
	for i := range v {
		x := at(i+w) >> s
		if s > 0 {
			x |= at(i+w+1) << (64 - s)
		}
		v[i] = x
	}
}

func (l *loader) wideShr(e *ir.Expr, n int) wideFn {
	m := max(e.A.ExactLimbs(), n)
	a, k := l.wide(e.A, m), l.shiftAmount(e.B)
	return func(c *Context, dst []uint64) {
		t := c.push(m)
		a(c, t)
		shiftRight(t, k(c))
		copy(dst, t)
		c.pop(m)
	}
}

// signExtend makes a w-bit two's complement value fill its words.
func signExtend(v []uint64, w int) {
	top := bitfield.Words(w)
	if top > len(v) || w == 0 {
		return
	}
	r := 64*top - w
	v[top-1] = uint64(int64(v[top-1]<<r) >> r)
	ext := uint64(int64(v[top-1]) >> 63)
	for i := top; i < len(v); i++ {
		v[i] = ext
	}
}

func (l *loader) wideTwoComp(e *ir.Expr, n int) wideFn {
	m, w := max(n, bitfield.Words(e.Bits)), e.Bits
	a := l.wide(e.A, m)
	return func(c *Context, dst []uint64) {
		t := c.push(m)
		a(c, t)
		signExtend(t, w)
		copy(dst, t)
		c.pop(m)
	}
}

func (l *loader) wideSaturate(e *ir.Expr, n int) wideFn {
	m := max(n, e.A.ExactLimbs(), e.ExactLimbs())
	a, lo, hi := l.wide(e.A, m), l.wide(ir.Constant(e.Lo), m), l.wide(ir.Constant(e.Hi), m)
	return func(c *Context, dst []uint64) {
		t, k := c.push(m), c.push(m)
		a(c, t)
		hi(c, k)
		if cmpWords(t, k) > 0 {
			copy(t, k)
		}
		lo(c, k)
		if cmpWords(t, k) < 0 {
			copy(t, k)
		}
		copy(dst, t)
		c.pop(2 * m)
	}
}

// cmpWords compares two's complement values of the same number of words.
func cmpWords(a, b []uint64) int {
	top := len(a) - 1
	if x, y := int64(a[top]), int64(b[top]); x != y {
		if x < y {
			return -1
		}
		return 1
	}
	for i := top - 1; i >= 0; i-- {
		if a[i] != b[i] {
			if a[i] < b[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}

// wideDivide divides bit by bit; division by zero and of negative values,
// where BMv2 stops the process, give 0.
func (l *loader) wideDivide(e *ir.Expr, n int) wideFn {
	m := max(n, e.A.ExactLimbs(), e.B.ExactLimbs())
	a, b, mod := l.wide(e.A, m), l.wide(e.B, m), e.Op == ir.OpMod
	return func(c *Context, dst []uint64) {
		x, y, rem := c.push(m), c.push(m), c.push(m)
		a(c, x)
		b(c, y)
		clear(rem)
		var or uint64
		for _, v := range y {
			or |= v
		}
		if or == 0 || int64(x[m-1]) < 0 || int64(y[m-1]) < 0 {
			clear(dst)
		} else {
			for i := 64*m - 1; i >= 0; i-- {
				shiftLeft(rem, 1)
				rem[0] |= x[i/64] >> (i % 64) & 1
				x[i/64] &^= 1 << (i % 64)
				if cmpWords(rem, y) >= 0 {
					var borrow uint64
					for j := range rem {
						rem[j], borrow = bits.Sub64(rem[j], y[j], borrow)
					}
					x[i/64] |= 1 << (i % 64)
				}
			}
			if mod {
				copy(dst, rem)
			} else {
				copy(dst, x)
			}
		}
		c.pop(3 * m)
	}
}

func (l *loader) compareWide(op ir.Op, a, b *ir.Expr) boolFn {
	n := max(a.ExactLimbs(), b.ExactLimbs())
	x, y := l.wide(a, n), l.wide(b, n)
	return func(c *Context) bool {
		s, t := c.push(n), c.push(n)
		x(c, s)
		y(c, t)
		r := cmpWords(s, t)
		c.pop(2 * n)
		switch op {
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
}
