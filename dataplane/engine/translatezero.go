package engine

import (
	"slices"

	"github.com/weft-sdn/weft/dataplane/ir"
)

// A program has hundreds of metadata fields. Nearly all hold values that p4c keeps between two
// statements: every packet writes the field before reading it. Such a field need neither be zero in
// a new packet nor go with a copy of the packet. The code below finds these fields: it follows the
// steps of the parser and of the controls, and notes each read that may come before the first
// write.

// words is a set of words of the metadata.
type words []uint64

func (s words) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }
func (s words) add(i int)      { s[i/64] |= 1 << (i % 64) }

// keepOnly removes what is not in t, and reports whether there was any.
func (s words) keepOnly(t words) bool {
	changed := false
	for i := range s {
		if s[i]&^t[i] != 0 {
			s[i] &= t[i]
			changed = true
		}
	}
	return changed
}

// flow follows packets through the program.
type flow struct {
	w    *translator
	n    int   // words of the metadata
	need words // read before they are certain to be written
	now  words // written on every way to the place that is looked at
}

// needs returns the octets of the metadata, as runs [from, to), that must be zero in a new packet,
// and the octets that egress needs from a packet copied for egress.
func (w *translator) needs() (zero, carried [][2]int) {
	f := &flow{w: w, n: w.p.layout.MetaSize/8 + 1}
	f.need = f.none()
	if len(w.p.deparser.prims) > 0 || len(w.p.deparser.updates) > 0 || len(w.p.parser.verify) > 0 {
		all := [][2]int{{w.p.layout.MetaOff, w.p.layout.MetaOff + w.p.layout.MetaSize}}
		return all, all
	}
	f.always()
	f.graph(&w.p.egress.graph)
	carried = f.runs()
	f.graph(&w.p.ingress.graph)
	f.parser(&w.p.parser)
	return f.runs(), carried
}

func (f *flow) none() words { return make(words, f.n/64+1) }

// always needs what the switch reads and what goes with packets that pass again.
func (f *flow) always() {
	f.now = f.none()
	for _, s := range f.w.l.standard {
		if s.field != nil {
			f.field(s.field)
		}
	}
	for _, list := range f.w.l.fieldLists {
		for _, field := range list.fields {
			f.field(field)
		}
	}
	for i := range f.w.l.in.LearnLists {
		for _, e := range f.w.l.in.LearnLists[i].Elements {
			f.expr(f.w.l.value(nil, e))
		}
	}
}

// runs returns the needed words so far, as runs of octets. A run includes small gaps: one long run
// costs less than two.
func (f *flow) runs() [][2]int {
	gap := 1 // words
	if f.n > 64 {
		gap = 4
	}
	var out [][2]int
	last := -1
	for i := range f.n {
		if !f.need.has(i) {
			continue
		}
		from := f.w.p.layout.MetaOff + 8*i
		if last >= 0 && i-last <= gap {
			out[len(out)-1][1] = from + 8
		} else {
			out = append(out, [2]int{from, from + 8})
		}
		last = i
	}
	return out
}

// read reads n bits of the packet state.
func (f *flow) read(bit, n int) {
	from := 8 * f.w.p.layout.MetaOff
	if bit < from || n <= 0 {
		return
	}
	for i := (bit - from) / 64; i <= (bit-from+n-1)/64; i++ {
		if !f.now.has(i) {
			f.need.add(i)
		}
	}
}

func (f *flow) field(x *ir.Field) {
	if !x.Valid && !x.VL {
		f.read(x.Bit, x.Width)
	}
}

// expr reads all that an expression does.
func (f *flow) expr(e *ir.Expr) {
	if e == nil {
		return
	}
	switch e.Op {
	case ir.OpField:
		f.field(e.Field)
	case ir.OpHeader:
		if e.Header.Meta {
			for i := range e.Header.Fields {
				f.field(&e.Header.Fields[i])
			}
		}
	case ir.OpObject:
		if k := f.w.l.calcs[e.Str]; k != nil {
			for i := range k.items {
				f.input(&k.items[i])
			}
		}
	}
	for _, x := range append([]*ir.Expr{e.A, e.B, e.C}, e.List...) {
		f.expr(x)
	}
}

// input reads an input of a calculation.
func (f *flow) input(it *calcItem) {
	if it.f != nil {
		f.field(it.f)
	}
	if it.whole {
		f.expr(&ir.Expr{Op: ir.OpHeader, Header: it.hdr})
	}
	f.expr(it.e)
}

// primitive notes the fields that a primitive reads. It takes no write of a primitive for certain.
func (f *flow) primitive(n *note) {
	if n.action != nil {
		f.body(n.action)
	}
	for i, e := range n.args {
		if n.op != nil && n.op.stores(i) && e.Op == ir.OpField {
			continue
		}
		f.expr(e)
	}
	f.expr(n.value)
}

// body reads what an action with jumps, or with arguments of its own, does.
func (f *flow) body(a *action) {
	for i := range a.notes {
		f.primitive(a.notes[i])
	}
}

// code reads and writes what instructions do.
func (f *flow) code(code []instr) {
	for i := range code {
		o := &code[i]
		switch {
		case o.kind == doCall:
			f.primitive(f.w.l.notes[o.id])
			continue
		case o.t.kind == termCall:
			f.expr(f.w.l.notes[o.id].value)
		case o.t.kind >= termWindow:
			f.read(8*int(o.t.off)+int(o.t.l), 64-int(o.t.r))
		}
		if at := int(o.off) - f.w.p.layout.MetaOff; o.dirty < 0 && at >= 0 && o.kind == doWord {
			f.now.add(at / 8)
		}
	}
}

// action is the code of an action that a table has found.
func (f *flow) action(a *action) {
	if a.straight == nil {
		f.body(a)
		return
	}
	f.code(a.straight)
}

// graph follows packets through a control.
func (f *flow) graph(g *graph) {
	in := make([]words, len(g.steps))
	var todo []int32
	reach := func(at int32, with words) {
		switch {
		case at < 0:
		case in[at] == nil:
			in[at] = slices.Clone(with)
			todo = append(todo, at)
		case in[at].keepOnly(with):
			todo = append(todo, at)
		}
	}
	reach(g.start, f.none())
	reach(g.fresh, f.none())
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		s := &g.steps[at]
		f.now = slices.Clone(in[at])
		switch s.kind {
		case stepCode:
			f.code(g.code[s.off : s.off+int32(s.n)])
			reach(s.yes, f.now)
			continue
		case stepTable:
			f.table(&g.tables[s.off], reach)
			continue
		case stepEqual, stepLess:
			f.read(8*int(s.off)+int(s.l), 64-int(s.r))
		case stepTest:
			f.expr(f.w.l.notes[g.ids[s.off]].value)
		}
		reach(s.yes, f.now)
		reach(s.no, f.now)
	}
}

// table follows packets through a table.
func (f *flow) table(t *tableStep, reach func(int32, words)) {
	for _, x := range t.t.reads {
		f.field(x)
	}
	before := f.now
	after := func(with words, next int32) {
		if t.edges {
			reach(t.hit, with)
			reach(t.miss, with)
			return
		}
		reach(next, with)
	}
	after(before, t.none)
	for i, a := range t.t.places {
		f.now = slices.Clone(before)
		f.action(a)
		after(f.now, t.next[i])
	}
}

// parser follows packets through the parser. A packet may leave the parser in any state, so later
// steps cannot rely on any write of the parser.
func (f *flow) parser(p *parser) {
	if p.start < 0 {
		return
	}
	in := make([]words, len(p.states))
	in[p.start] = f.none()
	todo := []int{p.start}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		s := &p.states[at]
		f.now = slices.Clone(in[at])
		for i := range s.does {
			switch o := &s.does[i]; {
			case o.mask != 0:
			case o.call == nil:
				f.code(o.code)
			default:
				f.primitive(f.w.l.notes[o.id])
			}
		}
		for _, k := range s.keys {
			f.expr(k)
		}
		for _, to := range s.successors() {
			switch {
			case to < 0:
			case in[to] == nil:
				in[to] = slices.Clone(f.now)
				todo = append(todo, to)
			case in[to].keepOnly(f.now):
				todo = append(todo, to)
			}
		}
	}
}
