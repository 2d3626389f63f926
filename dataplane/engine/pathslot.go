package engine

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/ir"
)

// val is a value while a pass is recorded: a part of a slot or, if the mask is 0, a constant for
// all packets of the path. now is the value for the packet in hand.
type val struct {
	takes
	now uint64
}

func (v val) constant() bool { return v.mask == 0 }

// width is how many of its lower bits may be set.
func (v val) width() int {
	if v.constant() {
		return bits.Len64(v.now)
	}
	return bits.Len64(v.mask)
}

// computed is a recorder's knowledge of slots: how to compute each slot, which slots are computed
// before the last question, and their values for the packet in hand. Recordings of packets that
// agree up to a question share the operations up to this question.
type computed struct {
	defs  []pathOp
	done  []bool
	now   *slots
	slots *opIndex // of defs
	asks  []pathOp
	asked *opIndex  // of asks
	known []takes   // by questions, to be the same in all packets of the path
	cells []written // registers that the pass has written, in this order

	pure    []bool // by slot: nothing makes it but octets in which packets that are alike agree
	settled []bool // by slot: it is the same in all packets of the path
	partly  []bool // by slot: known has a part of it
}

// opIndex finds operations in a list of at most maxSlots: it has their numbers in the list, plus
// one, by their hashes.
type opIndex [2 * maxSlots]uint16

// place returns where the index has the number of an operation, or is to have that number, if the
// list has no such operation: 0. The slot that an operation computes does not count.
func (x *opIndex) place(list []pathOp, o *pathOp) *uint16 {
	h := mixPath(uint64(o.code), o.k)
	for _, t := range []*takes{&o.a, &o.b} {
		h = mixPath(h, t.mask<<16^uint64(t.slot)<<8^uint64(t.shift))
	}
	for {
		n := &x[h%uint64(len(x))]
		if *n == 0 {
			return n
		}
		if at := &list[*n-1]; at.code == o.code && at.k == o.k && at.a == o.a && at.b == o.b {
			return n
		}
		h++
	}
}

// cell is an element of a register.
type cell struct {
	register int
	index    val
}

// written is an element of a register, and what a pass has written there.
type written struct {
	cell
	value val
}

// reset begins a pass.
func (s *computed) reset() {
	s.defs, s.done, s.pure, s.settled = s.defs[:0], s.done[:0], s.pure[:0], s.settled[:0]
	s.asks, s.known, s.partly, s.cells = s.asks[:0], s.known[:0], s.partly[:0], s.cells[:0]
	if s.now == nil {
		s.now = new(slots)
		s.slots, s.asked = new(opIndex), new(opIndex)
	}
	clear(s.slots[:])
	clear(s.asked[:])
}

// define adds a slot.
func (s *computed) define(o pathOp, done, pure bool) {
	s.defs, s.done = append(s.defs, o), append(s.done, done)
	s.pure, s.settled = append(s.pure, pure), append(s.settled, false)
	s.partly = append(s.partly, false)
}

// operands calls f for all that an operation takes of slots, until f returns false.
func (o *pathOp) operands(f func(takes) bool) bool {
	return (o.a.mask == 0 || f(o.a)) && (o.b.mask == 0 || f(o.b)) &&
		(o.code != opChoose || f(takes{uint16(o.k), 0, 1}))
}

// width is how many lower bits of the slot of an operation may be set.
func (o *pathOp) width() int {
	switch o.code {
	case opLoad, opGiven, opArg:
		return bits.Len64(o.a.mask)
	case opIsEq, opIsNe, opIsLt, opIsGe, opIsGt, opIsLe:
		return 1
	case opMove:
		return max(bits.Len64(o.a.mask), bits.Len64(o.k))
	}
	return 64
}

// isPure reports whether an operation computes with nothing but octets of the frame that do not
// differ between packets that are alike otherwise.
func (r *recorder) isPure(o *pathOp) bool {
	switch o.code {
	case opRead, opGiven, opSum, opTable, opArg:
		return false
	case opLoad:
		pure := true
		o.loaded(takes{mask: ^uint64(0)}, func(at int, bits byte) {
			pure = pure && !(at < maxVaried && r.c.paths.varied[at])
		})
		return pure
	}
	return o.operands(func(t takes) bool { return r.computed.pure[t.slot] })
}

// loaded calls f for the frame's octets below a part of an opLoad.
func (o *pathOp) loaded(t takes, f func(at int, bits byte)) {
	all := t.mask << t.shift & o.a.mask << o.a.shift
	for i := range 8 {
		if b := byte(all >> (56 - 8*i)); b != 0 {
			f(int(o.k)+i, b)
		}
	}
}

// isSettled reports whether all packets on the path have the same bits in the used part of a slot.
func (s *computed) isSettled(t takes) bool {
	n := t.slot
	if s.partly[n] && slices.Contains(s.known, t) {
		return true
	}
	switch s.defs[n].code {
	case opRead, opGiven, opSum, opTable, opArg, opLoad:
	default:
		s.settled[n] = s.settled[n] || s.defs[n].operands(s.isSettled)
	}
	return s.settled[n]
}

// know notes that all packets on the path have the same bits in a part of a slot.
func (s *computed) know(t takes) { s.known, s.partly[t.slot] = append(s.known, t), true }

// settleTo restricts the path to packets with the current octets of all that makes a pure value.
func (r *recorder) settleTo(t takes) bool {
	s := &r.computed
	switch o := &s.defs[t.slot]; {
	case s.isSettled(t):
	case o.code == opLoad:
		s.know(t)
		o.loaded(t, func(at int, bits byte) { r.mask[at] |= bits })
	default:
		o.operands(r.settleTo)
	}
	return true
}

// slot is what an operation computes, now for the packet in hand.
func (r *recorder) slot(o pathOp, now uint64) val {
	s := &r.computed
	at := s.slots.place(s.defs, &o)
	if *at == 0 {
		n := len(s.defs)
		if n == maxSlots {
			r.lose()
			return val{now: now}
		}
		*at, o.to, s.now[n] = uint16(n+1), uint16(n), now
		s.define(o, false, r.isPure(&o))
	}
	n := *at - 1
	return val{takes{n, 0, ^uint64(0)}, s.now[n]}
}

// compute makes the path compute the taken part of a slot before the path goes on.
func (r *recorder) compute(t takes) {
	if t.mask != 0 {
		r.computeSlot(int(t.slot))
	}
}

func (r *recorder) computeSlot(n int) {
	s := &r.computed
	if s.done[n] {
		return
	}
	s.done[n] = true
	o := s.defs[n]
	switch o.code {
	case opLoad, opGiven:
	case opRead:
		r.compute(o.a)
	case opSum:
		for _, p := range r.path.sums[o.k].slots {
			r.computeSlot(p.slot)
		}
	default:
		r.compute(o.a)
		r.compute(o.b)
		if o.code == opChoose {
			r.computeSlot(int(o.k))
		}
	}
	r.add(o)
}

// add adds an operation to the path.
func (r *recorder) add(o pathOp) {
	if len(r.path.ops) == maxOps {
		r.long = true
		r.lose()
		return
	}
	r.path.ops, r.path.parts = append(r.path.ops, o), append(r.path.parts, parting{asks: r.at})
}

// cut is the lower n bits of a value.
func (r *recorder) cut(v val, n int) val {
	v.mask &= bitfield.Mask(n)
	v.now &= bitfield.Mask(n)
	if v.mask == 0 || r.computed.isSettled(v.takes) {
		return val{now: v.now}
	}
	return v
}

// down shifts a value right.
func (r *recorder) down(v val, n uint64) val {
	if n >= 64 {
		return val{}
	}
	return r.cut(val{takes{v.slot, v.shift + uint8(n), v.mask >> n}, v.now >> n}, 64)
}

// join is what an operation makes of two values.
func (r *recorder) join(code opcode, a, b val) val {
	o := pathOp{code: code}
	now := o.compute(a.now, b.now)
	if a.constant() && b.constant() {
		return val{now: now}
	}
	if a.constant() {
		switch code {
		case opAdd, opMul, opAnd, opOr, opXor:
			a, b = b, a
		default:
			a = r.slot(pathOp{code: opMove, k: a.now}, a.now)
		}
	}
	if k := b.now; b.constant() {
		switch {
		case k == 0 && (code == opAdd || code == opSub || code == opOr || code == opXor ||
			code == opShl):
			return a
		case code == opAnd && k&(k+1) == 0:
			return r.cut(a, bits.Len64(k))
		case code == opShr:
			return r.down(a, k)
		case code == opShl && k >= 64:
			return val{}
		}
		o.k = k
	}
	o.a, o.b = a.takes, b.takes
	return r.slot(o, now)
}

// gather returns a value of up to 8 octets with the sources src and the current content b; false:
// the recorder cannot make such a value.
func (r *recorder) gather(src []source, b []byte) (val, bool) {
	var out val
	for i, s := range src {
		switch s {
		case fixed:
			out.now |= uint64(b[i]) << (8 * (len(src) - 1 - i))
		case unsettled:
			return val{}, false
		}
	}
	for i := 0; i < len(src); {
		if src[i] == fixed {
			i++
			continue
		}
		// Octets of one slot in their order, or in the opposite one, or of the frame.
		step := source(1)
		beside := func(k int) bool {
			return src[k]-src[k-1] == step && src[k].ofSlot() == src[i].ofSlot() &&
				(!src[i].ofSlot() || (src[k]-slotSource)/8 == (src[i]-slotSource)/8)
		}
		j := i + 1
		if j < len(src) && src[i].ofSlot() && src[j] == src[i]-1 {
			step = -1
		}
		for j < len(src) && beside(j) {
			j++
		}
		part := r.run(src[i:j], step < 0)
		out = r.join(opOr, r.join(opShl, part, val{now: uint64(8 * (len(src) - j))}), out)
		i = j
	}
	return out, true
}

// run is the value of octets beside each other.
func (r *recorder) run(src []source, swapped bool) val {
	n := len(src)
	if !src[0].ofSlot() {
		off := int(src[0]) - 1
		at := min(off, len(r.root)-8)
		o := pathOp{code: opLoad, k: uint64(at),
			a: takes{0, uint8(8 * (8 - n - off + at)), bitfield.Mask(8 * n)}}
		return r.cut(r.slot(o, binary.BigEndian.Uint64(r.root[at:])>>o.a.shift&o.a.mask), 8*n)
	}
	slot, shift := src[n-1].slot()
	if swapped {
		now := r.computed.now[slot]
		v := r.slot(pathOp{code: opSwap, a: takes{uint16(slot), 0, ^uint64(0)}}, bits.ReverseBytes64(now))
		slot, shift = int(v.slot), 56-shift
	}
	return r.cut(val{takes{uint16(slot), uint8(shift), ^uint64(0) >> shift},
		r.computed.now[slot] >> shift}, 8*n)
}

// fieldValue is the value of a field.
func (r *recorder) fieldValue(f *ir.Field) (val, bool) {
	from, to := f.Bit/8, (f.Bit+f.Width+7)/8
	if f.Valid || f.VL || f.Signed || to-from > 8 || !f.Header.Meta && !r.c.isValid(f.Header) {
		return val{}, false
	}
	v, ok := r.gather(r.src[from:to], r.c.data[from:to])
	return r.cut(r.down(v, uint64(8*to-f.Bit-f.Width)), f.Width), ok
}

// exact reports whether an expression is what it is modulo 2^64.
func exact(e *ir.Expr) bool {
	return e.Kind == ir.KindData && e.Lo != nil && e.Hi != nil && e.Width64()
}

// arithmetic has the operations that make a value of two.
var arithmetic = map[ir.Op]opcode{ir.OpAdd: opAdd, ir.OpSub: opSub, ir.OpMul: opMul,
	ir.OpAnd: opAnd, ir.OpOr: opOr, ir.OpXor: opXor, ir.OpShl: opShl, ir.OpShr: opShr}

// value is the value of an expression modulo 2^64; false: it is not to be had.
func (r *recorder) value(e *ir.Expr) (val, bool) {
	switch e.Op {
	case ir.OpConst:
		return val{now: ir.Low64(e.N)}, true
	case ir.OpField, ir.OpStackField:
		if f := r.fieldOf(e); f != nil {
			return r.fieldValue(f)
		}
		return val{}, false
	case ir.OpLocal:
		return r.arg(e.Index), e.Bits <= 64 && exact(e)
	case ir.OpNot:
		a, ok := r.value(e.A)
		return r.join(opXor, a, val{now: ^uint64(0)}), ok
	case ir.OpB2D:
		return r.bit(e.A)
	case ir.OpCond:
		a, ok1 := r.value(e.A)
		b, ok2 := r.value(e.B)
		cond, ok3 := r.bit(e.C)
		if !ok1 || !ok2 || !ok3 {
			return val{}, false
		}
		return r.choose(cond, a, b), true
	}
	code, ok := arithmetic[e.Op]
	if !ok || code == opShr && !exact(e.A) || (code == opShr || code == opShl) && !exact(e.B) {
		return val{}, false
	}
	a, ok1 := r.value(e.A)
	b, ok2 := r.value(e.B)
	if !ok1 || !ok2 {
		return val{}, false
	}
	return r.join(code, a, b), true
}

// comparisons are the questions that compare two values.
var comparisons = map[ir.Op]opcode{ir.OpEq: opEq, ir.OpNe: opNe, ir.OpLt: opLt, ir.OpLe: opLe,
	ir.OpGt: opGt, ir.OpGe: opGe}

// answer asks a condition that compares two values, and returns its answer; false: it is another.
func (r *recorder) answer(e *ir.Expr) (answer, ok bool) {
	code, a, b, ok := r.compared(e)
	if !ok {
		return false, false
	}
	answer = code.answer(a.now, b.now)
	r.ask(code, a, b, answer)
	return answer, true
}

// compared returns the comparison that a condition makes, and the two values compared; only the
// second value may be constant alone. false: the condition is no such comparison.
func (r *recorder) compared(e *ir.Expr) (code opcode, a, b val, ok bool) {
	code, ok = comparisons[e.Op]
	if !ok || !exact(e.A) || !exact(e.B) {
		return 0, a, b, false
	}
	a, ok1 := r.value(e.A)
	b, ok2 := r.value(e.B)
	if a.constant() {
		a, b, code = b, a, mirrored[code]
	}
	return code, a, b, ok1 && ok2
}

// ask restricts the path to packets for which a question has the current answer. If a is constant,
// b is constant too.
func (r *recorder) ask(code opcode, a, b val, answer bool) {
	if !answer {
		code = contrary[code]
	}
	if a, b = r.cut(a, 64), r.cut(b, 64); a.constant() {
		a, b, code = b, a, mirrored[code]
	}
	if a.constant() || !r.on {
		return
	}
	if r.apart > 0 {
		r.spoiled = true
		return
	}
	s := &r.computed
	if s.pure[a.slot] && (b.constant() || s.pure[b.slot]) {
		r.settleTo(a.takes)
		if !b.constant() {
			r.settleTo(b.takes)
		}
		return
	}
	o := pathOp{code: code, a: a.takes, b: b.takes}
	if b.constant() {
		o.k = b.now
	}
	at := s.asked.place(s.asks, &o)
	if *at != 0 {
		return
	}
	s.asks = append(s.asks, o)
	*at = uint16(len(s.asks))
	if code == opEq && b.constant() {
		s.know(a.takes)
	}
	r.compute(a.takes)
	r.compute(b.takes)
	r.add(o)
}

// pin restricts the path to packets with the current bits in an octet of a slot.
func (r *recorder) pin(src source, of byte) {
	n, shift := src.slot()
	t := takes{uint16(n), uint8(shift), uint64(of)}
	r.ask(opEq, val{t, 0}, val{now: r.computed.now[n] >> shift & t.mask}, true)
}

// lively reports whether an expression reads slots, or octets of the frame that differ between
// packets that are alike otherwise: those are better computed than looked at.
func (r *recorder) lively(e *ir.Expr) bool {
	if e == nil {
		return false
	}
	if e.Op == ir.OpLocal {
		return !r.arg(e.Index).constant()
	}
	if e.Op != ir.OpField && e.Op != ir.OpStackField {
		return r.lively(e.A) || r.lively(e.B) || r.lively(e.C)
	}
	f := r.fieldOf(e)
	return f != nil && !f.Valid && !f.VL && r.varies(r.src[f.Bit/8:(f.Bit+f.Width+7)/8])
}

// varies is lively of octets.
func (r *recorder) varies(src []source) bool {
	for _, s := range src {
		if s.ofSlot() || s > 0 && int(s) <= len(r.c.paths.varied) && r.c.paths.varied[s-1] {
			return true
		}
	}
	return false
}

// put notes that up to 8 octets of the packet state, from at on, are a value.
func (r *recorder) put(at, n int, v val) {
	if width := bits.Len64(v.mask); !v.constant() && (v.shift%8 != 0 || width%8 != 0) {
		if v.shift%8 != 0 || int(v.shift)+width < r.computed.defs[v.slot].width() {
			v = r.slot(pathOp{code: opMove, a: v.takes}, v.now)
		}
		v.mask = bitfield.Mask((width + 7) / 8 * 8)
	}
	for i := range n {
		s, last := fixed, at+n-1-i
		if v.mask>>(8*i) != 0 {
			s = slotOctet(int(v.slot), int(v.shift)+8*i)
		}
		if r.c.data[last] != byte(v.now>>(8*i)) {
			r.lose()
		}
		r.write(last, s)
	}
}
