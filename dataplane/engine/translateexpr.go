package engine

import (
	"fmt"
	"math/big"

	"github.com/weft-sdn/weft/dataplane/ir"
)

// value is an expression of at most 64 bits, modulo 2^64; false where it needs a closure.
func (w *translator) value(e *ir.Expr) (string, bool) {
	if e.Op != ir.OpConst {
		if win, ok := windowOf(e); ok {
			return "(" + w.window(win.off, win.l, win.r) + ")", true
		}
	}
	switch e.Op {
	case ir.OpConst:
		return fmt.Sprintf("%#x", ir.Low64(e.N)), true
	case ir.OpLookahead:
		off, n := e.Off, e.Bits
		if n > 64 {
			off, n = off+n-64, 64
		}
		return fmt.Sprintf("engine.Ahead(in, cur, %d, %d)", off, n), w.parsing
	case ir.OpLocal:
		return fmt.Sprintf("a[%d]", e.Index), true
	case ir.OpField:
		if e.Field.Valid && !e.Field.Header.Meta {
			return w.truth(w.valid(e.Field.Header)), true
		}
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpAnd, ir.OpOr, ir.OpXor:
		sign := map[ir.Op]string{ir.OpAdd: "+", ir.OpSub: "-", ir.OpMul: "*", ir.OpAnd: "&", ir.OpOr: "|",
			ir.OpXor: "^"}[e.Op]
		a, ok1 := w.value(e.A)
		b, ok2 := w.value(e.B)
		if e.A.Op == ir.OpConst && e.B.Op == ir.OpConst {
			return "", false
		}
		if e.Op == ir.OpOr && a == "0x0" {
			return b, ok2
		}
		if e.Op == ir.OpOr && b == "0x0" {
			return a, ok1
		}
		return "(" + a + sign + b + ")", ok1 && ok2
	case ir.OpNot:
		a, ok := w.value(e.A)
		return "(^" + a + ")", ok && e.A.Op != ir.OpConst
	case ir.OpShl:
		if e.B.Op != ir.OpConst || !e.B.N.IsUint64() || e.B.N.Uint64() >= 64 || e.A.Op == ir.OpConst {
			return "", false
		}
		a, ok := w.value(e.A)
		return fmt.Sprintf("(%s<<%d)", a, e.B.N.Uint64()), ok
	case ir.OpShr:
		if e.B.Op != ir.OpConst || !e.B.N.IsUint64() || e.B.N.Uint64() >= 64 || e.A.Op == ir.OpConst ||
			!e.A.Fits() || !e.A.Nonneg() {
			return "", false
		}
		a, ok := w.value(e.A)
		return fmt.Sprintf("(%s>>%d)", a, e.B.N.Uint64()), ok
	case ir.OpCond:
		q, ok1 := w.condition(e.C)
		a, ok2 := w.value(e.A)
		b, ok3 := w.value(e.B)
		return fmt.Sprintf("engine.Either(%s, %s, %s)", q, a, b), ok1 && ok2 && ok3
	case ir.OpB2D:
		q, ok := w.condition(e.A)
		return w.truth(q), ok
	}
	return "", false
}

func (w *translator) truth(q string) string { return "engine.Either(" + q + ", 1, 0)" }

func (w *translator) valid(h *ir.Header) string {
	if h.Meta {
		return "true"
	}
	return fmt.Sprintf("v[%d]&%#x != 0", h.Word, h.Mask)
}

// condition is a condition; false where it needs a closure.
func (w *translator) condition(e *ir.Expr) (string, bool) {
	switch e.Op {
	case ir.OpBool:
		return fmt.Sprint(e.Index != 0), true
	case ir.OpLAnd, ir.OpLOr:
		a, ok1 := w.condition(e.A)
		b, ok2 := w.condition(e.B)
		sign := map[ir.Op]string{ir.OpLAnd: "&&", ir.OpLOr: "||"}[e.Op]
		return "(" + a + sign + b + ")", ok1 && ok2
	case ir.OpLNot:
		a, ok := w.condition(e.A)
		return "!(" + a + ")", ok
	case ir.OpD2B:
		if e.A.Op == ir.OpField && e.A.Field.Valid {
			return "(" + w.valid(e.A.Field.Header) + ")", true
		}
		a, ok := w.value(e.A)
		return "(" + a + " != 0)", ok && e.A.Fits() && e.A.Op != ir.OpConst
	case ir.OpValid:
		if e.A.Op == ir.OpHeader {
			return "(" + w.valid(e.A.Header) + ")", true
		}
	case ir.OpEq, ir.OpNe, ir.OpLt, ir.OpLe, ir.OpGt, ir.OpGe:
		return w.compare(e)
	}
	return "", false
}

// compare is the comparison of two values.
func (w *translator) compare(e *ir.Expr) (string, bool) {
	a, b, op := e.A, e.B, e.Op
	if a.Kind != ir.KindData || a.Varbit() || b.Varbit() {
		return "", false
	}
	if a.Op == ir.OpConst {
		a, b, op = b, a, mirror(op)
	}
	if a.Op == ir.OpConst {
		return "", false
	}
	if op == ir.OpEq || op == ir.OpNe {
		if text, ok := w.same(a, b); ok {
			if op == ir.OpNe {
				text = "!" + text
			}
			return text, true
		}
	}
	unsigned := a.Nonneg() && b.Nonneg() && a.Fits() && b.Fits()
	if !unsigned && !(a.FitsSigned() && b.FitsSigned()) {
		return "", false
	}
	x, ok1 := w.value(a)
	y, ok2 := w.value(b)
	sign := map[ir.Op]string{ir.OpEq: "==", ir.OpNe: "!=", ir.OpLt: "<", ir.OpLe: "<=", ir.OpGt: ">",
		ir.OpGe: ">="}[op]
	if !unsigned && op != ir.OpEq && op != ir.OpNe {
		if b.Op == ir.OpConst {
			return "", false
		}
		x, y = "int64("+x+")", "int64("+y+")"
	}
	return "(" + x + sign + y + ")", ok1 && ok2
}

// same compares fields of 128 bits with what has two words too.
func (w *translator) same(a, b *ir.Expr) (string, bool) {
	if !wholeOctets(a, 128) {
		return "", false
	}
	high, low := w.bits(a.Field.Bit, 64), w.bits(a.Field.Bit+64, 64)
	switch {
	case b.Op == ir.OpConst && b.N.Sign() >= 0 && b.N.BitLen() <= 128:
		return fmt.Sprintf("(%s == %#x && %s == %#x)", high, ir.Low64(new(big.Int).Rsh(b.N, 64)), low,
			ir.Low64(b.N)), true
	case wholeOctets(b, 128):
		return fmt.Sprintf("(%s == %s && %s == %s)", low, w.bits(b.Field.Bit+64, 64), high,
			w.bits(b.Field.Bit, 64)), true
	}
	return "", false
}

// wholeOctets reports whether an expression is a field of whole octets, of n bits.
func wholeOctets(e *ir.Expr, n int) bool {
	return e.Op == ir.OpField && !e.Field.Valid && !e.Field.VL && !e.Field.Signed &&
		e.Field.Width == n &&
		e.Field.Bit%8 == 0
}
