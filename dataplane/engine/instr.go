package engine

import (
	"encoding/binary"
	"math/big"

	"github.com/weft-sdn/weft/dataplane/ir"
)

// A call of a closure costs several times the work inside, because the processor rarely predicts a
// row of such calls. So an instr does the most frequent work of actions: it stores a constant, an
// argument, a field or a field and a constant. One loop executes instrs; closures do the rest.

// instr is a store of at most 64 bits, or a call. The layout is tight: a packet runs hundreds of
// instructions, and fetching them takes most of the time.
type instr struct {
	t     term
	off   int32 // octets into PHV.data
	dirty int16 // number of the header's bit; -1: metadata
	kind  opKind
	shift uint8  // doBits: of the value to its place; else of what is cut off below
	width uint8  // of the value in bits
	id    uint32 // number of the closure that is called, if one is
	call  func(*Context)
}

type opKind uint8

const (
	doCall opKind = iota
	doWord        // 8 octets, the value cut by mask
	do8
	do16
	do32
	doBits // within 8 octets
)

// term is a value of 64 bits.
type term struct {
	n    uint64 // constant
	mask uint64 // of a sum
	get  u64Fn
	off  int32 // of a window; index of an argument
	kind termKind
	l, r uint8 // of a window
}

type termKind uint8

const (
	termConst  termKind = iota
	termArg             // argument
	termWindow          // bits of the packet state
	termSum             // a window and a constant, cut by mask
	termCall
)

// eval computes a term.
func (c *Context) eval(t *term) uint64 {
	switch t.kind {
	case termConst:
		return t.n
	case termArg:
		return c.args[t.off]
	case termWindow:
		return binary.BigEndian.Uint64(c.data[t.off:]) << (t.l & 63) >> (t.r & 63)
	case termSum:
		return (binary.BigEndian.Uint64(c.data[t.off:])<<(t.l&63)>>(t.r&63) + t.n) & t.mask
	}
	return t.get(c)
}

// exec executes instructions.
func (c *Context) exec(code []instr) {
	for i := range code {
		o := &code[i]
		if o.kind == doCall {
			o.call(c)
			continue
		}
		var v uint64
		switch t := &o.t; t.kind {
		case termConst:
			v = t.n
		case termArg:
			v = c.args[t.off]
		case termWindow:
			v = binary.BigEndian.Uint64(c.data[t.off:]) << (t.l & 63) >> (t.r & 63)
		case termSum:
			v = (binary.BigEndian.Uint64(c.data[t.off:])<<(t.l&63)>>(t.r&63) + t.n) & t.mask
		default:
			v = t.get(c)
		}
		if o.dirty >= 0 {
			c.dirty[o.dirty>>6] |= 1 << (o.dirty & 63)
		}
		b := c.data[o.off:]
		switch o.kind {
		case doWord:
			binary.BigEndian.PutUint64(b, v&(^uint64(0)>>((64-o.width)&63)))
		case do8:
			b[0] = byte(v)
		case do16:
			binary.BigEndian.PutUint16(b, uint16(v))
		case do32:
			binary.BigEndian.PutUint32(b, uint32(v>>(o.shift&63)))
		default:
			m := ^uint64(0) >> ((64 - o.width) & 63) << (o.shift & 63)
			binary.BigEndian.PutUint64(b, binary.BigEndian.Uint64(b)&^m|v<<(o.shift&63)&m)
		}
	}
}

// term compiles a value modulo 2^64.
func (l *loader) term(e *ir.Expr) term {
	if e.Op == ir.OpConst {
		return term{kind: termConst, n: ir.Low64(e.N)}
	}
	if e.Op == ir.OpLocal && e.Bits <= 64 {
		return term{kind: termArg, off: int32(e.Index)}
	}
	if w, ok := windowOf(e); ok {
		return w.term()
	}
	sum, mask := e, ^uint64(0)
	if e.Op == ir.OpAnd && e.B.Op == ir.OpConst && e.B.N.Sign() >= 0 {
		sum, mask = e.A, ir.Low64(e.B.N)
	}
	if (sum.Op == ir.OpAdd || sum.Op == ir.OpSub) && sum.B.Op == ir.OpConst {
		if w, ok := windowOf(sum.A); ok {
			t := w.term()
			t.kind, t.mask = termSum, mask
			if t.n = ir.Low64(sum.B.N); sum.Op == ir.OpSub {
				t.n = -t.n
			}
			return t
		}
	}
	return term{kind: termCall, get: l.u64(e)}
}

func (w window) term() term { return term{kind: termWindow, off: int32(w.off), l: w.l, r: w.r} }

// bitsTerm is n bits of the packet state, at most 64.
func bitsTerm(bit, n int) term {
	if n > 0 && bit%8+n <= 64 {
		return window{off: bit / 8, l: uint8(bit % 8), r: uint8(64 - n)}.term()
	}
	return term{kind: termCall, get: getter(bit, n)}
}

// instrs compiles a primitive that run does, too.
func (l *loader) instrs(n *note, run func(*Context)) []instr {
	if n.op.assigns {
		if code := l.stores(n.args[0], n.args[1]); code != nil {
			return code
		}
	}
	return []instr{{kind: doCall, call: run, id: l.keep(n, closure{call: run})}}
}

// stores compiles dst = v; nil when that is nothing for instructions.
func (l *loader) stores(dst, v *ir.Expr) []instr {
	if dst.Op != ir.OpField || dst.Field.Valid || dst.Field.VL || dst.Field.Width == 0 ||
		v.Kind != ir.KindData || v.Varbit() {
		return nil
	}
	f := dst.Field
	if f.Width == 128 && f.Bit%8 == 0 {
		return l.storePair(f, v)
	}
	if f.Width > 64 {
		return nil
	}
	v = stripMask(v, f.Width)
	o := instr{kind: doWord, t: l.term(v), width: uint8(f.Width), dirty: -1}
	if o.t.kind == termCall {
		o.id = l.keep(&note{value: v}, closure{get: o.t.get})
	}
	if f.Header.Meta {
		o.off = int32(f.Slot())
		return []instr{o}
	}
	o.dirty, o.off = f.Header.BitNumber(), int32(f.Bit/8)
	aligned := f.Bit%8 == 0
	switch {
	case aligned && f.Width == 64:
	case aligned && f.Width == 8:
		o.kind = do8
	case aligned && f.Width == 16:
		o.kind = do16
	case aligned && f.Width == 32:
		o.kind = do32
	case aligned && f.Width == 48 && o.t.kind != termCall:
		low := o
		o.kind, o.shift = do32, 16
		low.kind, low.off = do16, o.off+4
		if t := &o.t; t.kind >= termWindow && t.off < low.off+2 && o.off < t.off+8 {
			return nil // the first store would change what the second one takes
		}
		return []instr{o, low}
	case f.Bit%8+f.Width <= 64:
		o.kind, o.shift = doBits, uint8(64-f.Bit%8-f.Width)
	default:
		return nil
	}
	return []instr{o}
}

// storePair compiles the assignment of 128 bits as two of 64.
func (l *loader) storePair(f *ir.Field, v *ir.Expr) []instr {
	high := instr{kind: doWord, off: int32(f.Bit / 8), width: 64, dirty: -1}
	if !f.Header.Meta {
		high.dirty = f.Header.BitNumber()
	}
	low := high
	low.off += 8
	switch {
	case v.Op == ir.OpConst && v.N.Sign() >= 0:
		high.t, low.t = term{n: ir.Low64(new(big.Int).Rsh(v.N, 64))}, term{n: ir.Low64(v.N)}
	case v.Op == ir.OpLocal && v.Bits == 128:
		high.t, low.t = term{kind: termArg, off: int32(v.Index + 1)},
			term{kind: termArg, off: int32(v.Index)}
	case v.Op == ir.OpField && !v.Field.Valid && !v.Field.VL && !v.Field.Signed &&
		v.Field.Width == 128 && v.Field.Bit%8 == 0:
		high.t, low.t = bitsTerm(v.Field.Bit, 64), bitsTerm(v.Field.Bit+64, 64)
	default:
		return nil
	}
	return []instr{high, low}
}
