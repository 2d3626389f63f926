package engine

import (
	"encoding/binary"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// window is a run of at most 64 bits of the packet state that one 8-octet load
// covers. Most operands are windows; the closures below read them in line
// rather than through another closure.
type window struct {
	off  int
	l, r uint8 // shifts that cut the run out
}

// win reads a window.
func (c *Context) win(w window) uint64 {
	return binary.BigEndian.Uint64(c.data[w.off:]) << (w.l & 63) >> (w.r & 63)
}

// windowOf tells whether an expression is a run of bits of an unsigned field:
// the field, a right shift of it, or the low bits of either.
func windowOf(e *expr) (w window, ok bool) {
	n := -1
	if e.op == opAnd && e.b.op == opConst && e.b.n.Sign() > 0 && isOnes(e.b.n) {
		n = e.b.n.BitLen()
		e = e.a
	}
	low := 0
	if e.op == opShr && e.b.op == opConst && e.b.n.IsInt64() && e.b.n.Int64() >= 0 && e.b.n.Int64() < 8*maxStateBytes {
		low = int(e.b.n.Int64())
		e = e.a
	}
	if e.op != opField || e.f.signed || e.f.valid || e.f.vl {
		return w, false
	}
	f := e.f
	rest := f.width - low
	if n < 0 || n > rest {
		n = rest
	}
	if n < 1 || n > 64 {
		return w, false
	}
	bit := f.bit + rest - n
	w.off = bit / 8
	if f.hdr.meta { // load the very word that was stored
		w.off = f.slot() + (bit-8*f.slot())/64*8
	}
	l := bit - 8*w.off
	if l+n > 64 {
		return w, false
	}
	w.l, w.r = uint8(l), uint8(64-n)
	return w, true
}

// windowArith compiles the operations on windows; nil when there is none.
func (l *loader) windowArith(op exprOp, a, b *expr) u64Fn {
	wa, ok := windowOf(a)
	if !ok {
		wb, ok := windowOf(b)
		if !ok {
			return nil
		}
		x := l.u64(a)
		switch op {
		case opAdd:
			return func(c *Context) uint64 { return x(c) + c.win(wb) }
		case opSub:
			return func(c *Context) uint64 { return x(c) - c.win(wb) }
		case opAnd:
			return func(c *Context) uint64 { return x(c) & c.win(wb) }
		case opOr:
			return func(c *Context) uint64 { return x(c) | c.win(wb) }
		case opXor:
			return func(c *Context) uint64 { return x(c) ^ c.win(wb) }
		}
		return nil
	}
	if b.op == opConst {
		k := low64(b.n)
		switch op {
		case opAdd:
			return func(c *Context) uint64 { return c.win(wa) + k }
		case opSub:
			return func(c *Context) uint64 { return c.win(wa) - k }
		case opAnd:
			return func(c *Context) uint64 { return c.win(wa) & k }
		case opOr:
			return func(c *Context) uint64 { return c.win(wa) | k }
		case opXor:
			return func(c *Context) uint64 { return c.win(wa) ^ k }
		case opShl:
			if k < 64 {
				return func(c *Context) uint64 { return c.win(wa) << (k & 63) }
			}
		}
		return nil
	}
	if wb, ok := windowOf(b); ok {
		switch op {
		case opAdd:
			return func(c *Context) uint64 { return c.win(wa) + c.win(wb) }
		case opSub:
			return func(c *Context) uint64 { return c.win(wa) - c.win(wb) }
		case opAnd:
			return func(c *Context) uint64 { return c.win(wa) & c.win(wb) }
		case opOr:
			return func(c *Context) uint64 { return c.win(wa) | c.win(wb) }
		case opXor:
			return func(c *Context) uint64 { return c.win(wa) ^ c.win(wb) }
		}
		return nil
	}
	y := l.u64(b)
	switch op {
	case opAdd:
		return func(c *Context) uint64 { return c.win(wa) + y(c) }
	case opSub:
		return func(c *Context) uint64 { return c.win(wa) - y(c) }
	case opAnd:
		return func(c *Context) uint64 { return c.win(wa) & y(c) }
	case opOr:
		return func(c *Context) uint64 { return c.win(wa) | y(c) }
	case opXor:
		return func(c *Context) uint64 { return c.win(wa) ^ y(c) }
	}
	return nil
}

// windowMasked compiles (window op window) & k, what remains of an addition or
// a subtraction at its width.
func windowMasked(e *expr, k uint64) u64Fn {
	if e.op != opAdd && e.op != opSub {
		return nil
	}
	wa, ok := windowOf(e.a)
	if !ok {
		return nil
	}
	if e.b.op == opConst {
		n := low64(e.b.n)
		if e.op == opSub {
			n = -n
		}
		return func(c *Context) uint64 { return (c.win(wa) + n) & k }
	}
	wb, ok := windowOf(e.b)
	if !ok {
		return nil
	}
	if e.op == opAdd {
		return func(c *Context) uint64 { return (c.win(wa) + c.win(wb)) & k }
	}
	return func(c *Context) uint64 { return (c.win(wa) - c.win(wb)) & k }
}

// windowCompare compiles comparisons of a window that need no sign; nil when
// there is none.
func windowCompare(op exprOp, a, b *expr) boolFn {
	wa, ok := windowOf(a)
	if !ok {
		return nil
	}
	if b.op == opConst {
		if !b.n.IsUint64() {
			return nil
		}
		k := b.n.Uint64()
		switch op {
		case opEq:
			return func(c *Context) bool { return c.win(wa) == k }
		case opNe:
			return func(c *Context) bool { return c.win(wa) != k }
		case opLt:
			return func(c *Context) bool { return c.win(wa) < k }
		case opLe:
			return func(c *Context) bool { return c.win(wa) <= k }
		case opGt:
			return func(c *Context) bool { return c.win(wa) > k }
		default:
			return func(c *Context) bool { return c.win(wa) >= k }
		}
	}
	wb, ok := windowOf(b)
	if !ok {
		return nil
	}
	switch op {
	case opEq:
		return func(c *Context) bool { return c.win(wa) == c.win(wb) }
	case opNe:
		return func(c *Context) bool { return c.win(wa) != c.win(wb) }
	case opLt:
		return func(c *Context) bool { return c.win(wa) < c.win(wb) }
	case opLe:
		return func(c *Context) bool { return c.win(wa) <= c.win(wb) }
	case opGt:
		return func(c *Context) bool { return c.win(wa) > c.win(wb) }
	default:
		return func(c *Context) bool { return c.win(wa) >= c.win(wb) }
	}
}

// isZero tells x == 0 (or x != 0 when op is opNe), and gives x.
func isZero(e *expr, op exprOp) (*expr, bool) {
	if e.op == op && e.a.kind == kindData && e.b.op == opConst && e.b.n.Sign() == 0 {
		return e.a, true
	}
	return nil, false
}

// before compiles x & m != 0 && x & bit == 0, which is how modular sequence
// numbers are compared, evaluating x once; nil when e is not that.
func (l *loader) before(e *expr) boolFn {
	p, ok1 := isZero(e.a, opNe)
	q, ok2 := isZero(e.b, opEq)
	if !ok1 || !ok2 {
		return nil
	}
	split := func(x *expr) (*expr, uint64) {
		if x.op == opAnd && x.b.op == opConst && x.b.n.IsUint64() {
			return x.a, x.b.n.Uint64()
		}
		return x, ^uint64(0)
	}
	x, m := split(p)
	y, bit := split(q)
	if !same(x, y) || m == ^uint64(0) && !x.fits() || bit == ^uint64(0) {
		return nil
	}
	if x.op == opSub {
		if wa, ok := windowOf(x.a); ok {
			if wb, ok := windowOf(x.b); ok {
				return func(c *Context) bool {
					v := c.win(wa) - c.win(wb)
					return v&m != 0 && v&bit == 0
				}
			}
		}
	}
	f := l.u64(x)
	return func(c *Context) bool {
		v := f(c)
		return v&m != 0 && v&bit == 0
	}
}

// assignMeta compiles the assignment of a value to a metadata field of at most
// 64 bits; the value's other bits are cut off.
func (l *loader) assignMeta(f *field, v *expr) func(*Context) {
	off, m := f.slot(), bitfield.Mask(f.width)
	if v.op == opConst {
		k := low64(v.n) & m
		return func(c *Context) { binary.BigEndian.PutUint64(c.data[off:], k) }
	}
	if w, ok := windowOf(v); ok {
		return func(c *Context) { binary.BigEndian.PutUint64(c.data[off:], c.win(w)&m) }
	}
	get := l.u64(v)
	if v.nonneg() && v.hi.BitLen() <= f.width {
		return func(c *Context) { binary.BigEndian.PutUint64(c.data[off:], get(c)) }
	}
	return func(c *Context) { binary.BigEndian.PutUint64(c.data[off:], get(c)&m) }
}
