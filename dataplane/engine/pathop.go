package engine

import (
	"encoding/binary"
	"math/bits"
)

// maxSlots bounds the values that a pass computes; a power of two.
const maxSlots = 1024

// slots holds the values that the passes of a packet compute, each in a separate slot. Values are
// modulo 2^64: the reader of a slot masks the value.
type slots [maxSlots]uint64

type opcode uint8

// What an operation does: x and y are its operands.
const (
	opLoad  opcode = iota // octets of the received frame: 8 from k on, of which it takes x
	opRead                // element x or k of register b
	opSum                 // sum k of the path
	opArg                 // an argument of an action that opTable has found
	opTable               // lookup k of the path, whose action gets its arguments from slot to on
	opGiven               // element k of what is given to the pass, of which it takes x
	opSwap                // x with its octets in the opposite order
	opMove
	opAdd
	opSub
	opMul
	opAnd
	opOr
	opXor
	opShl
	opShr
	opChoose // x where slot k is odd, else y
	// 1 or 0:
	opIsEq
	opIsNe
	opIsLt
	opIsGe
	opIsGt
	opIsLe

	// From here on: ask. Packets go on where the answer is yes, and on another path otherwise.
	opEq
	opNe
	opLt
	opGe
	opGt
	opLe
)

func (o opcode) asks() bool { return o >= opEq }

// contrary is the question with the opposite answer.
var contrary = [...]opcode{opEq: opNe, opNe: opEq, opLt: opGe, opGe: opLt, opGt: opLe, opLe: opGt}

// mirrored is the question with its operands exchanged.
var mirrored = [...]opcode{opEq: opEq, opNe: opNe, opLt: opGt, opGe: opLe, opGt: opLt, opLe: opGe}

// takes is the part of a slot that an operation takes: (slot >> shift) & mask.
type takes struct {
	slot  uint16
	shift uint8
	mask  uint64
}

// pathOp computes a value into a slot, or tests a condition. Its operands are x, the selected bits
// of a, y, the selected bits of b, and k.
type pathOp struct {
	code opcode
	to   uint16
	a, b takes
	k    uint64
}

// parting is where a packet goes on whose answer to an operation is no: a path with the same
// operations before this one.
type parting struct {
	asks  *asking // the condition; nil: none
	other *Path
	cases map[uint64]*Path // of opEq with a constant, by the constants
}

func (t *takes) of(s *slots) uint64 { return s[t.slot&(maxSlots-1)] >> (t.shift & 63) & t.mask }

// run computes the slot of an operation that needs nothing but slots and the received frame.
func (o *pathOp) run(s *slots, f *Frame) {
	switch o.code {
	case opLoad:
		s[o.to&(maxSlots-1)] = binary.BigEndian.Uint64(f.b[o.k:]) >> (o.a.shift & 63) & o.a.mask
	case opChoose:
		y := o.b.of(s)
		s[o.to&(maxSlots-1)] = y ^ (o.a.of(s)^y)&-(s[o.k&(maxSlots-1)]&1)
	default:
		s[o.to&(maxSlots-1)] = o.compute(o.a.of(s), o.b.of(s)|o.k)
	}
}

// compute returns the value of an operation that asks nothing and reads no register.
func (o *pathOp) compute(x, y uint64) uint64 {
	switch o.code {
	case opSwap:
		return bits.ReverseBytes64(x)
	case opAdd:
		return x + y
	case opSub:
		return x - y
	case opMul:
		return x * y
	case opAnd:
		return x & y
	case opOr:
		return x | y
	case opXor:
		return x ^ y
	case opShl:
		return x << y
	case opShr:
		return x >> y
	case opIsEq, opIsNe, opIsLt, opIsGe, opIsGt, opIsLe:
		if (o.code - opIsEq + opEq).answer(x, y) {
			return 1
		}
		return 0
	}
	return x | y
}

// answer answers what an operation asks.
func (o opcode) answer(x, y uint64) bool {
	switch o {
	case opEq:
		return x == y
	case opNe:
		return x != y
	case opLt:
		return x < y
	case opGe:
		return x >= y
	case opGt:
		return x > y
	}
	return x <= y
}

// walk follows a path for a frame, computes the values of the pass, and returns the path with the
// frame's answers; nil if no such path has been recorded. It only changes slots.
func (c *Context) walk(p *Path, f *Frame) *Path {
	s := c.paths.slots
	ops := p.ops
	for i := 0; i < len(ops); i++ {
		o := &ops[i]
		var ok bool
		switch o.code {
		case opLoad:
			s[o.to&(maxSlots-1)] = binary.BigEndian.Uint64(f.b[o.k:]) >> (o.a.shift & 63) & o.a.mask
			continue
		case opRead:
			s[o.to&(maxSlots-1)] = c.st.regs[o.b.slot].Get(o.a.of(s) | o.k)
			continue
		case opGiven:
			s[o.to&(maxSlots-1)] = c.paths.given[o.k] & o.a.mask
			continue
		case opTable:
			l := p.lookups[o.k]
			e, g := c.look(l)
			for !l.is(e, g) {
				if p = p.parts[i].other; p == nil {
					return nil
				}
				ops = p.ops
				o = &ops[i]
				l = p.lookups[o.k]
			}
			c.paths.hits[o.k] = e
			if l.action != nil {
				for k, w := range g.args {
					s[(int(o.to)+k)&(maxSlots-1)] = w
				}
			}
			continue
		case opSum:
			var crc uint32
			crc, c.paths.buf = p.sums[o.k].of(f, s[:], c.paths.buf)
			s[o.to&(maxSlots-1)] = uint64(crc)
			continue
		case opEq:
			ok = o.a.of(s) == o.b.of(s)|o.k
		case opNe:
			ok = o.a.of(s) != o.b.of(s)|o.k
		case opLt, opGe, opGt, opLe:
			ok = o.code.answer(o.a.of(s), o.b.of(s)|o.k)
		case opAdd:
			s[o.to&(maxSlots-1)] = o.a.of(s) + (o.b.of(s) | o.k)
			continue
		case opSub:
			s[o.to&(maxSlots-1)] = o.a.of(s) - (o.b.of(s) | o.k)
			continue
		case opMove, opOr:
			s[o.to&(maxSlots-1)] = o.a.of(s) | o.b.of(s) | o.k
			continue
		case opShl:
			s[o.to&(maxSlots-1)] = o.a.of(s) << (o.b.of(s) | o.k)
			continue
		default:
			o.run(s, f)
			continue
		}
		if !ok {
			at := &p.parts[i]
			next := at.other
			if at.cases != nil {
				if q := at.cases[o.a.of(s)]; q != nil {
					next = q
				}
			}
			if next == nil {
				c.paths.missed(at.asks)
				return nil
			}
			p = next
			ops = p.ops
			i-- // it asks something else here
		}
	}
	return p
}

// store is a register write of a pass, carried out once the path of the packet is known.
type store struct {
	register     int
	index, value takes
	at, k        uint64 // a constant index, a constant value
}

// commit does what the pass does to registers, counters and entries.
func (c *Context) commit(p *Path) {
	for i := range p.stores {
		w := &p.stores[i]
		s := c.paths.slots
		c.st.regs[w.register].Set(w.index.of(s)|w.at, w.value.of(s)|w.k)
	}
	c.count(p)
}

// maxForks bounds how many answers of a path may differ from the answers of the first path.
const maxForks = 64

// fork puts a path beside another path with the same needs: a packet goes to the second path when
// an answer differs. It returns the path that gives way, and false where that is p.
func (p *Path) fork(with *Path) (old *Path, ok bool) {
	var place func() // with instead of p
	defer func() {
		if !ok && place != nil {
			place()
			old, ok = p, true
		}
	}()
	forks := 0
	for i := 0; i < min(len(p.ops), len(with.ops)); i++ {
		o, n, at := &p.ops[i], &with.ops[i], &p.parts[i]
		switch {
		case o.to != n.to || o.a != n.a || o.b != n.b:
			return nil, false
		case o.code == n.code && o.k == n.k:
			if o.code == opSum && !p.sums[o.k].same(with.sums[n.k]) {
				return nil, false
			}
			if o.code == opTable {
				l, m := p.lookups[o.k], with.lookups[n.k]
				if !l.asks(m) {
					return nil, false
				}
				if l.hit != m.hit || l.action != m.action {
					break
				}
			}
			continue
		case o.code == opEq && n.code == opEq && o.b.mask == 0:
			if at.cases == nil {
				at.cases = map[uint64]*Path{}
			}
			q := at.cases[n.k]
			if q == nil {
				at.cases[n.k] = with
				return nil, true
			}
			p, place = q, func() { at.cases[n.k] = with }
			i-- // it asks for this constant
			continue
		case !o.code.asks() || !n.code.asks():
			return nil, false
		}
		if at.other == nil {
			at.other = with
			return nil, true
		}
		if forks++; forks == maxForks {
			return nil, false
		}
		p, place = at.other, func() { at.other = with }
		i-- // it asks something else here
	}
	return nil, false
}
