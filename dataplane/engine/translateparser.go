package engine

import (
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/ir"
)

// parser writes the parser: one function, whose labels are the states.
func (w *translator) parser(p *parser) {
	w.parsing = true
	defer func() { w.parsing = false }()
	w.line("func %sParse(c *engine.Context) {", w.prefix)
	defer w.line("}\n")
	order := p.reached()
	if len(order) == 0 {
		return
	}
	w.state("d, v, in, cur := %s, c.Frame(), 0\n_, _, _ = d, v, in")
	cyclic := p.cyclic()
	if cyclic {
		w.line("steps := 0")
	}
	w.line("goto state%d", p.start)
	for _, i := range order {
		s := &p.states[i]
		w.line("state%d: // %s", i, s.name)
		if cyclic {
			w.line("if steps++; steps > %d {", maxParserSteps)
			w.parseError(w.p.errors.timeout)
			w.line("}")
		}
		for k := range s.does {
			w.parseOp(&s.does[k])
		}
		w.transition(i, s)
	}
}

// reached lists the states that a packet can come to, by number.
func (p *parser) reached() []int {
	if p.start < 0 {
		return nil
	}
	order := []int{p.start}
	for i := 0; i < len(order); i++ {
		for _, to := range p.states[order[i]].successors() {
			if to >= 0 && !slices.Contains(order, to) {
				order = append(order, to)
			}
		}
	}
	slices.Sort(order)
	return order
}

func (st *parseState) successors() []int {
	to := []int{st.next}
	for i := range st.cases {
		to = append(to, st.cases[i].next)
	}
	return to
}

// cyclic reports whether a packet can come to a state twice.
func (p *parser) cyclic() bool {
	done := map[int]bool{} // false: on the way
	var visit func(i int) bool
	visit = func(i int) bool {
		if i < 0 || done[i] {
			return false
		}
		if _, open := done[i]; open {
			return true
		}
		done[i] = false
		if slices.ContainsFunc(p.states[i].successors(), visit) {
			return true
		}
		done[i] = true
		return false
	}
	return visit(p.start)
}

// parseError ends parsing with an error.
func (w *translator) parseError(code uint64) { w.line("c.ParserError(cur, %d)\nreturn", code) }

// parseOp writes an operation of a state.
func (w *translator) parseOp(o *parseOp) {
	switch {
	case o.mask != 0:
		w.line("if len(in)-cur < %d {", o.size)
		w.parseError(w.p.errors.tooShort)
		w.line("}")
		w.line("*(*[%d]byte)(d[%d:%d]) = *(*[%d]byte)(in[cur:])", o.size, o.off, o.off+o.size, o.size)
		w.line("v[%d] |= %#x\nc.Mark(%d, %#x)\ncur += %d", o.word, o.mask, o.word, o.mask, o.size)
	case o.call == nil:
		w.parserCode(o.code)
	default:
		if n := w.l.notes[o.id]; n.parser.translate == nil || !n.parser.translate(w, n) {
			w.line("c.SetCursor(cur)\nif !c.ParserCall(%d) {\nreturn\n}\ncur = c.Cursor()", o.id)
		}
	}
}

// parserCode writes assignments. What looks ahead too far assigns zero and ends parsing.
func (w *translator) parserCode(code []instr) {
	for i := range code {
		o := &code[i]
		from, before := w.out.Len(), w.closures
		w.instr(o)
		if w.closures > before {
			text := string(w.out.Bytes()[from:])
			w.out.Truncate(from)
			w.line("c.SetCursor(cur)\n%sif c.Failed() {\nreturn\n}", text)
			continue
		}
		if o.t.kind == termCall {
			if n := ahead(w.l.notes[o.id].value); n > 0 {
				w.line("if 8*(len(in)-cur) < %d {", n)
				w.parseError(w.p.errors.tooShort)
				w.line("}")
			}
		}
	}
}

// ahead is how many bits ahead an expression looks.
func ahead(e *ir.Expr) int {
	if e == nil {
		return 0
	}
	n := max(ahead(e.A), ahead(e.B), ahead(e.C))
	if e.Op == ir.OpLookahead {
		n = max(n, e.Off+e.Bits)
	}
	return n
}

// looksAhead reports whether a parameter does, which needs a closure.
func (n *note) looksAhead() bool {
	return slices.ContainsFunc(n.args, func(e *ir.Expr) bool { return ahead(e) > 0 })
}

func (w *translator) verify(n *note) bool {
	if n.looksAhead() {
		return false
	}
	ok, can1 := w.condition(w.l.boolExpr(nil, n.args[0]))
	code, can2 := w.value(n.args[1])
	if can1 && can2 {
		w.line("if !(%s) {\nc.ParserError(cur, %s)\nreturn\n}", ok, code)
	}
	return can1 && can2
}

func (w *translator) advance(n *note) bool {
	if n.looksAhead() {
		return false
	}
	bits, can := w.value(w.l.dataExpr(nil, n.args[0]))
	if !can {
		return false
	}
	w.line("if n := uint64(%s); n%%8 != 0 {", bits)
	w.parseError(w.p.errors.argument)
	w.line("} else if n/8 > uint64(len(in)-cur) {")
	w.parseError(w.p.errors.tooShort)
	w.line("} else {\ncur += int(n / 8)\n}")
	return true
}

// transition writes the choice of the next state.
func (w *translator) transition(i int, s *parseState) {
	if len(s.cases) == 0 {
		w.next(s.next)
		return
	}
	key, ok := w.parserKey(s)
	if !ok || slices.ContainsFunc(s.cases, func(pc parseCase) bool { return pc.set >= 0 }) {
		w.line("c.SetCursor(cur)\nswitch c.NextState(%d) {", i)
		seen := map[int]bool{}
		for _, to := range s.successors() {
			if !seen[to] {
				seen[to] = true
				w.line("case %d:", to)
				w.next(to)
			}
		}
		w.line("}\nreturn")
		return
	}
	w.line("switch key := %s; {", key)
	for k := range s.cases {
		pc := &s.cases[k]
		if pc.mask == bitfield.Mask(8*s.keyLen) {
			w.line("case key == %#x:", pc.value)
		} else {
			w.line("case key&%#x == %#x:", pc.mask, pc.value)
		}
		w.next(pc.next)
	}
	w.line("}")
	w.next(s.next)
}

func (w *translator) next(state int) {
	if state < 0 {
		w.line("c.SetCursor(cur)\nreturn")
		return
	}
	w.line("goto state%d", state)
}

// parserKey is the key of a state in one word; false where it needs closures.
func (w *translator) parserKey(s *parseState) (string, bool) {
	if s.wideKey != nil || len(s.key) == 0 {
		return "", false
	}
	key := ""
	for i := range s.key {
		e := w.l.notes[s.ids[i]].value
		x, ok := w.value(e)
		if !ok || !e.Nonneg() || ahead(e) > 0 {
			return "", false
		}
		if i == 0 {
			key = "uint64(" + x + ")"
			continue
		}
		key = fmt.Sprintf("(%s)<<%d|(%s)", key, s.keyBits[i], x)
	}
	return key, true
}
