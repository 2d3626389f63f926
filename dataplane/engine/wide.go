package engine

import (
	"math/bits"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// wide compiles an expression to n words: its value modulo 2^(64n), in two's
// complement. With n = e.exactLimbs() that is its exact value.
func (l *loader) wide(e *expr, n int) wideFn {
	switch e.op {
	case opConst:
		v := make([]uint64, n)
		x := e.n
		for i := range v {
			v[i] = low64(x)
			x = rsh(x, 64)
		}
		return func(_ *Context, dst []uint64) { copy(dst, v) }
	case opField:
		if !e.f.valid && e.f.width > 64 {
			return wideField(e.f, n)
		}
	case opLocal:
		if e.bits > 64 {
			i, k := e.idx, min(n, bitfield.Words(e.bits))
			return func(c *Context, dst []uint64) {
				copy(dst, c.args[i:i+k])
				clear(dst[k:])
			}
		}
	case opStackField, opDynField, opUnionField:
		if !e.fits() {
			return l.wideDynField(e, n)
		}
	case opRegister:
		if !e.width64() {
			r, idx := e.idx, l.u64(e.a)
			return func(c *Context, dst []uint64) {
				clear(dst)
				copy(dst, c.st.regs[r].Words(idx(c)))
			}
		}
	case opLookahead:
		if e.bits > 64 {
			off, w := e.off, e.bits
			return func(c *Context, dst []uint64) { c.lookaheadWide(off, w, dst) }
		}
	case opAdd, opSub, opMul, opAnd, opOr, opXor:
		if n > 1 {
			return l.wideArith(e, n)
		}
	case opNot:
		if n > 1 {
			a := l.wide(e.a, n)
			return func(c *Context, dst []uint64) {
				a(c, dst)
				for i := range dst {
					dst[i] = ^dst[i]
				}
			}
		}
	case opShl:
		if n > 1 {
			a, k := l.wide(e.a, n), l.shiftAmount(e.b)
			return func(c *Context, dst []uint64) {
				a(c, dst)
				shiftLeft(dst, k(c))
			}
		}
	case opShr:
		if !e.a.fits() {
			return l.wideShr(e, n)
		}
	case opTwoComp:
		if e.bits > 64 {
			return l.wideTwoComp(e, n)
		}
	case opSat, opUSat:
		if !e.a.fits() || !e.fits() {
			return l.wideSaturate(e, n)
		}
	case opDiv, opMod:
		if !(e.a.fits() && e.a.nonneg() && e.b.fits() && e.b.nonneg()) {
			return l.wideDivide(e, n)
		}
	case opCond:
		if n > 1 {
			q, a, b := l.boolean(e.c), l.wide(e.a, n), l.wide(e.b, n)
			return func(c *Context, dst []uint64) {
				if q(c) {
					a(c, dst)
				} else {
					b(c, dst)
				}
			}
		}
	}
	// What is left is exact in one word, or only one word is wanted.
	v, signed := l.u64(e), !e.nonneg()
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

func wideField(f *field, n int) wideFn {
	bit, w := f.bit, f.width
	if f.signed {
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

func (l *loader) wideArith(e *expr, n int) wideFn {
	a, b, op := l.wide(e.a, n), l.wide(e.b, n), e.op
	return func(c *Context, dst []uint64) {
		a(c, dst)
		t := c.push(n)
		b(c, t)
		var carry uint64
		switch op {
		case opAdd:
			for i := range dst {
				dst[i], carry = bits.Add64(dst[i], t[i], carry)
			}
		case opSub:
			for i := range dst {
				dst[i], carry = bits.Sub64(dst[i], t[i], carry)
			}
		case opAnd:
			for i := range dst {
				dst[i] &= t[i]
			}
		case opOr:
			for i := range dst {
				dst[i] |= t[i]
			}
		case opXor:
			for i := range dst {
				dst[i] ^= t[i]
			}
		case opMul:
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

func (l *loader) wideShr(e *expr, n int) wideFn {
	m := max(e.a.exactLimbs(), n)
	a, k := l.wide(e.a, m), l.shiftAmount(e.b)
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

func (l *loader) wideTwoComp(e *expr, n int) wideFn {
	m, w := max(n, bitfield.Words(e.bits)), e.bits
	a := l.wide(e.a, m)
	return func(c *Context, dst []uint64) {
		t := c.push(m)
		a(c, t)
		signExtend(t, w)
		copy(dst, t)
		c.pop(m)
	}
}

func (l *loader) wideSaturate(e *expr, n int) wideFn {
	m := max(n, e.a.exactLimbs(), e.exactLimbs())
	a, lo, hi := l.wide(e.a, m), l.wide(constExpr(e.lo), m), l.wide(constExpr(e.hi), m)
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
func (l *loader) wideDivide(e *expr, n int) wideFn {
	m := max(n, e.a.exactLimbs(), e.b.exactLimbs())
	a, b, mod := l.wide(e.a, m), l.wide(e.b, m), e.op == opMod
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

func (l *loader) compareWide(op exprOp, a, b *expr) boolFn {
	n := max(a.exactLimbs(), b.exactLimbs())
	x, y := l.wide(a, n), l.wide(b, n)
	return func(c *Context) bool {
		s, t := c.push(n), c.push(n)
		x(c, s)
		y(c, t)
		r := cmpWords(s, t)
		c.pop(2 * n)
		switch op {
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
}
