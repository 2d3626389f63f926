package engine

import (
	"bytes"
	"slices"

	"github.com/weft-sdn/weft/dataplane/ir"
)

// If the answer to a condition differs from packet to packet in no learnable order, the paths part
// each time. A condition that only chooses values of some metadata needs no parting: the recorder
// records both ways, and each packet computes which of two values to take.

// asking is the knowledge about a condition on a value that differs from packet to packet.
type asking struct {
	missed  int // packets that had no path, since their answer was another
	meeting int // the node where the two ways meet; -1: there is none
	known   bool
}

// askingOf returns what is known of a condition.
func (x *paths) askingOf(n *node) *asking {
	a := x.asking[n]
	if a == nil {
		if x.asking == nil {
			x.asking = map[*node]*asking{}
		}
		a = &asking{}
		x.asking[n] = a
	}
	return a
}

// missed notes that a packet had another answer than any path.
func (x *paths) missed(a *asking) {
	if a == nil {
		return
	}
	if a.missed++; a.missed == manyMissed {
		x.learned()
	}
}

// parts reports whether paths part at a condition in no order that could be learned.
func (x *paths) parts(a *asking) bool {
	return a.missed >= manyMissed || x.mode == PathsAlways && a.missed >= fewMissed
}

// maxEither bounds the nodes between a condition and where its two ways meet.
const maxEither = 24

// meeting is the node where the two ways from a condition meet, -1 where something else is done on
// them than to assign metadata, by conditions and values that have no effect.
func (p *pipeline) meeting(i int) int {
	n := &p.nodes[i]
	yes, no := p.ahead(n.next, nil), p.ahead(n.nextNot, nil)
	for _, at := range yes {
		if slices.Contains(no, at) && p.meets(n.next, at, maxEither) &&
			p.meets(n.nextNot, at, maxEither) {
			return at
		}
	}
	return -1
}

// ahead appends the nodes from i on that plain nodes lead to, at most maxEither.
func (p *pipeline) ahead(i int, seen []int) []int {
	if i < 0 || slices.Contains(seen, i) || len(seen) >= maxEither {
		return seen
	}
	seen = append(seen, i)
	switch n := &p.nodes[i]; {
	case n.kind == nodeCond:
		return p.ahead(n.nextNot, p.ahead(n.next, seen))
	case n.kind == nodeAction && n.action.plain():
		return p.ahead(n.next, seen)
	}
	return seen
}

// meets reports whether all branches from i come to a node, past at most left plain nodes: a
// condition gives half of left to each branch.
func (p *pipeline) meets(i, at, left int) bool {
	if i == at {
		return true
	}
	if i < 0 || left == 0 {
		return false
	}
	switch n := &p.nodes[i]; n.kind {
	case nodeCond:
		return p.meets(n.next, at, left/2) && p.meets(n.nextNot, at, left/2)
	case nodeAction:
		return n.action.plain() && p.meets(n.next, at, left-1)
	}
	return false
}

// plain reports whether an action only assigns metadata of up to 64 bits.
func (a *action) plain() bool {
	for i := range a.prims {
		n := a.notes[i]
		if !n.op.plain {
			return false
		}
		f := n.args[0].Field
		if a.prims[i].jump || n.args[0].Op != ir.OpField || f.Valid || f.VL || !f.Header.Meta ||
			f.Width == 0 || f.Width > 64 {
			return false
		}
	}
	return true
}

// either runs both ways from a condition, in the same order for each packet, and returns where they
// meet; false: the paths have to part.
func (r *recorder) either(p *pipeline, i int, a *asking) (meeting int, ok bool) {
	n := &p.nodes[i]
	if !a.known {
		a.meeting, a.known = p.meeting(i), true
	}
	if meeting = a.meeting; meeting < 0 {
		return 0, false
	}
	cond, ok := r.bitOf(n.asks)
	if !ok || cond.constant() {
		return 0, false
	}
	if r.apart == len(r.sides) {
		r.sides = append(r.sides, new([3]metadata))
	}
	before, yes, no := &r.sides[r.apart][0], &r.sides[r.apart][1], &r.sides[r.apart][2]
	r.snapshot(before)
	r.apart++
	r.side(p, n.next, meeting)
	r.snapshot(yes)
	r.restore(before)
	r.side(p, n.nextNot, meeting)
	r.snapshot(no)
	if cond.now != 0 {
		r.restore(yes)
	}
	if r.merge(cond, yes, no); r.apart > 1 {
		r.apart--
		return meeting, true
	}
	if r.apart = 0; r.spoiled {
		r.spoiled = false
		r.restore(before)
		a.meeting = -1
		return 0, false
	}
	return meeting, true
}

// side runs the nodes from i to where the two ways meet.
func (r *recorder) side(p *pipeline, i, meeting int) {
	for i != meeting && !r.spoiled {
		if n := &p.nodes[i]; n.kind == nodeAction {
			r.action(n.action, n.args)
			i = n.next
			continue
		}
		i = r.branch(p, i)
	}
}

// metadata is the metadata of the packet, and where it comes from.
type metadata struct {
	data []byte
	src  []source
}

// snapshot copies the metadata of the packet in hand to m.
func (r *recorder) snapshot(m *metadata) {
	lay := &r.c.st.prog.layout
	from, to := lay.MetaOff, lay.MetaOff+lay.MetaSize
	m.data = append(m.data[:0], r.c.data[from:to]...)
	m.src = append(m.src[:0], r.src[from:to]...)
}

func (r *recorder) restore(m *metadata) {
	at := r.c.st.prog.layout.MetaOff
	copy(r.c.data[at:], m.data)
	copy(r.src[at:], m.src)
}

// merge makes each word of the metadata that differs between the two branches a choice between two
// values, by the condition. The packet in hand has followed its own branch.
func (r *recorder) merge(cond val, yes, no *metadata) {
	off := r.c.st.prog.layout.MetaOff
	for at := 0; at+8 <= len(yes.data) && !r.spoiled; at += 8 {
		w := at + 8
		if slices.Equal(yes.src[at:w], no.src[at:w]) && bytes.Equal(yes.data[at:w], no.data[at:w]) {
			continue
		}
		a, ok1 := r.gather(yes.src[at:w], yes.data[at:w])
		b, ok2 := r.gather(no.src[at:w], no.data[at:w])
		if !ok1 || !ok2 {
			r.spoiled = true
			return
		}
		r.put(off+at, 8, r.choose(cond, a, b))
	}
}

// choose is one value where a condition holds, and another where not.
func (r *recorder) choose(cond, yes, no val) val {
	if cond.constant() {
		if cond.now != 0 {
			return yes
		}
		return no
	}
	width := max(yes.width(), no.width())
	for _, v := range []*val{&yes, &no} {
		if v.constant() {
			*v = r.slot(pathOp{code: opMove, k: v.now}, v.now)
		}
	}
	now := no.now
	if cond.now != 0 {
		now = yes.now
	}
	if cond.shift != 0 || cond.mask != 1 { // it is one bit, but for what is above it in its slot
		cond = r.slot(pathOp{code: opMove, a: cond.takes}, cond.now)
	}
	o := pathOp{code: opChoose, a: yes.takes, b: no.takes, k: uint64(cond.slot)}
	return r.cut(r.slot(o, now), width)
}

// bitOf is a question as a value, 1 or 0; false: it is not to be had.
func (r *recorder) bitOf(q *question) (val, bool) {
	switch q.op {
	case ir.OpLAnd, ir.OpLOr:
		a, ok1 := r.bitOf(q.a)
		b, ok2 := r.bitOf(q.b)
		return r.both(q.op, a, b), ok1 && ok2
	case ir.OpLNot:
		a, ok := r.bitOf(q.a)
		return r.not(a), ok
	}
	if v, ok := r.bit(q.e); ok || r.lively(q.e) {
		return v, ok
	}
	r.need(q.e)
	if q.test(r.c) {
		return val{now: 1}, true
	}
	return val{}, true
}

// both joins two conditions.
func (r *recorder) both(op ir.Op, a, b val) val {
	code := opAnd
	if op == ir.OpLOr {
		code = opOr
	}
	return r.cut(r.join(code, a, b), 1)
}

func (r *recorder) not(a val) val { return r.cut(r.join(opXor, a, val{now: 1}), 1) }

// decided returns the answer to a condition that is the same for all packets of the path; ok is
// false if the answer may differ, or if bit has another condition.
func (r *recorder) decided(e *ir.Expr) (answer, ok bool) {
	v, ok := r.bit(e)
	return v.now != 0, ok && v.constant()
}

// bit is a condition that compares values, as 1 or 0; false: it is another.
func (r *recorder) bit(e *ir.Expr) (val, bool) {
	switch e.Op {
	case ir.OpLAnd, ir.OpLOr:
		a, ok1 := r.bit(e.A)
		b, ok2 := r.bit(e.B)
		if !ok1 || !ok2 {
			return val{}, false
		}
		return r.both(e.Op, a, b), true
	case ir.OpLNot:
		a, ok := r.bit(e.A)
		return r.not(a), ok
	}
	if e.Op == ir.OpValid && e.A.Op == ir.OpHeader {
		if r.c.isValid(e.A.Header) {
			return val{now: 1}, true
		}
		return val{}, true
	}
	code, a, b, ok := r.compared(e)
	if !ok {
		return val{}, false
	}
	return r.cut(r.join(code-opEq+opIsEq, a, b), 1), true
}
