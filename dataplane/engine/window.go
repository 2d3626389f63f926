package engine

import (
	"encoding/binary"

	"github.com/weft-sdn/weft/dataplane/ir"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// window is a run of at most 64 bits of the packet state, covered by one 8-octet load. Most
// operands are windows; the closures below read them in line rather than through another closure.
type window struct {
	off  int
	l, r uint8 // shifts that cut the run out
}

// win reads a window.
func (c *Context) win(w window) uint64 {
	return binary.BigEndian.Uint64(c.data[w.off:]) << (w.l & 63) >> (w.r & 63)
}

// windowOf returns the run of bits of an unsigned field that an expression reads: the whole field,
// a right shift of it, or the low bits of either. ok is false for any other expression.
func windowOf(e *ir.Expr) (w window, ok bool) {
	n := -1
	if e.Op == ir.OpAnd && e.B.Op == ir.OpConst && e.B.N.Sign() > 0 && ir.IsOnes(e.B.N) {
		n = e.B.N.BitLen()
		e = e.A
	}
	low := 0
	if e.Op == ir.OpShr && e.B.Op == ir.OpConst && e.B.N.IsInt64() && e.B.N.Int64() >= 0 &&
		e.B.N.Int64() < 8*ir.MaxStateBytes {
		low = int(e.B.N.Int64())
		e = e.A
	}
	if e.Op != ir.OpField || e.Field.Signed || e.Field.Valid || e.Field.VL {
		return w, false
	}
	f := e.Field
	rest := f.Width - low
	if n < 0 || n > rest {
		n = rest
	}
	if n < 1 || n > 64 {
		return w, false
	}
	bit := f.Bit + rest - n
	w.off = bit / 8
	if f.Header.Meta { // load the very word that was stored
		w.off = f.Slot() + (bit-8*f.Slot())/64*8
	}
	l := bit - 8*w.off
	if l+n > 64 {
		return w, false
	}
	w.l, w.r = uint8(l), uint8(64-n)
	return w, true
}

// windowArith compiles the operations on windows; nil when there is none.
func (l *loader) windowArith(op ir.Op, a, b *ir.Expr) u64Fn {
	wa, ok := windowOf(a)
	if !ok {
		wb, ok := windowOf(b)
		if !ok {
			return nil
		}
		x := l.u64(a)
		switch op {
		case ir.OpAdd:
			return func(c *Context) uint64 { return x(c) + c.win(wb) }
		case ir.OpSub:
			return func(c *Context) uint64 { return x(c) - c.win(wb) }
		case ir.OpAnd:
			return func(c *Context) uint64 { return x(c) & c.win(wb) }
		case ir.OpOr:
			return func(c *Context) uint64 { return x(c) | c.win(wb) }
		case ir.OpXor:
			return func(c *Context) uint64 { return x(c) ^ c.win(wb) }
		}
		return nil
	}
	if b.Op == ir.OpConst {
		k := ir.Low64(b.N)
		switch op {
		case ir.OpAdd:
			return func(c *Context) uint64 { return c.win(wa) + k }
		case ir.OpSub:
			return func(c *Context) uint64 { return c.win(wa) - k }
		case ir.OpAnd:
			return func(c *Context) uint64 { return c.win(wa) & k }
		case ir.OpOr:
			return func(c *Context) uint64 { return c.win(wa) | k }
		case ir.OpXor:
			return func(c *Context) uint64 { return c.win(wa) ^ k }
		case ir.OpShl:
			if k < 64 {
				return func(c *Context) uint64 { return c.win(wa) << (k & 63) }
			}
		}
		return nil
	}
	if wb, ok := windowOf(b); ok {
		switch op {
		case ir.OpAdd:
			return func(c *Context) uint64 { return c.win(wa) + c.win(wb) }
		case ir.OpSub:
			return func(c *Context) uint64 { return c.win(wa) - c.win(wb) }
		case ir.OpAnd:
			return func(c *Context) uint64 { return c.win(wa) & c.win(wb) }
		case ir.OpOr:
			return func(c *Context) uint64 { return c.win(wa) | c.win(wb) }
		case ir.OpXor:
			return func(c *Context) uint64 { return c.win(wa) ^ c.win(wb) }
		}
		return nil
	}
	y := l.u64(b)
	switch op {
	case ir.OpAdd:
		return func(c *Context) uint64 { return c.win(wa) + y(c) }
	case ir.OpSub:
		return func(c *Context) uint64 { return c.win(wa) - y(c) }
	case ir.OpAnd:
		return func(c *Context) uint64 { return c.win(wa) & y(c) }
	case ir.OpOr:
		return func(c *Context) uint64 { return c.win(wa) | y(c) }
	case ir.OpXor:
		return func(c *Context) uint64 { return c.win(wa) ^ y(c) }
	}
	return nil
}

// windowMasked compiles (window op window) & k, what remains of an addition or
// a subtraction at its width.
func windowMasked(e *ir.Expr, k uint64) u64Fn {
	if e.Op != ir.OpAdd && e.Op != ir.OpSub {
		return nil
	}
	wa, ok := windowOf(e.A)
	if !ok {
		return nil
	}
	if e.B.Op == ir.OpConst {
		n := ir.Low64(e.B.N)
		if e.Op == ir.OpSub {
			n = -n
		}
		return func(c *Context) uint64 { return (c.win(wa) + n) & k }
	}
	wb, ok := windowOf(e.B)
	if !ok {
		return nil
	}
	if e.Op == ir.OpAdd {
		return func(c *Context) uint64 { return (c.win(wa) + c.win(wb)) & k }
	}
	return func(c *Context) uint64 { return (c.win(wa) - c.win(wb)) & k }
}

// windowCompare compiles comparisons of a window that need no sign; nil when
// there is none.
func windowCompare(op ir.Op, a, b *ir.Expr) boolFn {
	wa, ok := windowOf(a)
	if !ok {
		return nil
	}
	if b.Op == ir.OpConst {
		if !b.N.IsUint64() {
			return nil
		}
		k := b.N.Uint64()
		switch op {
		case ir.OpEq:
			return func(c *Context) bool { return c.win(wa) == k }
		case ir.OpNe:
			return func(c *Context) bool { return c.win(wa) != k }
		case ir.OpLt:
			return func(c *Context) bool { return c.win(wa) < k }
		case ir.OpLe:
			return func(c *Context) bool { return c.win(wa) <= k }
		case ir.OpGt:
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
	case ir.OpEq:
		return func(c *Context) bool { return c.win(wa) == c.win(wb) }
	case ir.OpNe:
		return func(c *Context) bool { return c.win(wa) != c.win(wb) }
	case ir.OpLt:
		return func(c *Context) bool { return c.win(wa) < c.win(wb) }
	case ir.OpLe:
		return func(c *Context) bool { return c.win(wa) <= c.win(wb) }
	case ir.OpGt:
		return func(c *Context) bool { return c.win(wa) > c.win(wb) }
	default:
		return func(c *Context) bool { return c.win(wa) >= c.win(wb) }
	}
}

// isZero returns the x of x == 0, or of x != 0 when op is ir.OpNe.
func isZero(e *ir.Expr, op ir.Op) (*ir.Expr, bool) {
	if e.Op == op && e.A.Kind == ir.KindData && e.B.Op == ir.OpConst && e.B.N.Sign() == 0 {
		return e.A, true
	}
	return nil, false
}

// before compiles x & m != 0 && x & bit == 0, which is how modular sequence
// numbers are compared, evaluating x once; nil when e is not that.
func (l *loader) before(e *ir.Expr) boolFn {
	p, ok1 := isZero(e.A, ir.OpNe)
	q, ok2 := isZero(e.B, ir.OpEq)
	if !ok1 || !ok2 {
		return nil
	}
	split := func(x *ir.Expr) (*ir.Expr, uint64) {
		if x.Op == ir.OpAnd && x.B.Op == ir.OpConst && x.B.N.IsUint64() {
			return x.A, x.B.N.Uint64()
		}
		return x, ^uint64(0)
	}
	x, m := split(p)
	y, bit := split(q)
	if !ir.Same(x, y) || m == ^uint64(0) && !x.Fits() || bit == ^uint64(0) {
		return nil
	}
	if x.Op == ir.OpSub {
		if wa, ok := windowOf(x.A); ok {
			if wb, ok := windowOf(x.B); ok {
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
func (l *loader) assignMeta(f *ir.Field, v *ir.Expr) func(*Context) {
	off, m := f.Slot(), bitfield.Mask(f.Width)
	if v.Op == ir.OpConst {
		k := ir.Low64(v.N) & m
		return func(c *Context) { binary.BigEndian.PutUint64(c.data[off:], k) }
	}
	if w, ok := windowOf(v); ok {
		return func(c *Context) { binary.BigEndian.PutUint64(c.data[off:], c.win(w)&m) }
	}
	get := l.u64(v)
	if v.Nonneg() && v.Hi.BitLen() <= f.Width {
		return func(c *Context) { binary.BigEndian.PutUint64(c.data[off:], get(c)) }
	}
	return func(c *Context) { binary.BigEndian.PutUint64(c.data[off:], get(c)&m) }
}
