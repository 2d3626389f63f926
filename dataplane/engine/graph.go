package engine

import (
	"encoding/binary"

	"github.com/weft-sdn/weft/dataplane/ir"
)

// graph is the compiled form of a control, the nodes of a pipeline, for untraced packets.
// Conditions are split into tests that need no call, and nodes are specialised by the facts known
// on the way to them (specialise.go).
type graph struct {
	steps  []step
	code   []instr // of all steps, in their order
	tests  []boolFn
	ids    []uint32 // of tests
	tables []tableStep
	// start is the first step of a packet; fresh is the first step of a packet whose metadata only the
	// parser has touched; -1: nothing to do.
	start, fresh int32
}

// step is a node of a graph: a test, code, or a table. Two steps fill a cache line, because
// fetching steps is the slow part of a graph.
type step struct {
	kind stepKind
	l, r uint8 // of a window
	// exits reports whether the code may end the control.
	exits bool
	// off is that of a window, the word of a validity test, or where in the
	// graph the code, the test or the table is.
	off     int32
	yes, no int32  // where to go; -1 ends. Code goes to yes.
	n       uint64 // to compare with; stepCode: instructions
	mask    uint64
}

type stepKind uint8

const (
	stepValid stepKind = iota // validity bits & mask == n
	stepEqual                 // window == n
	stepLess                  // window < n
	stepTest
	stepCode
	stepTable
)

// tableStep is a table and where its outcomes lead.
type tableStep struct {
	t         *matchTable
	edges     bool // the outcome decides: hit and miss
	hit, miss int32
	none      int32 // no action has run
	// next is by the table's place for the action that has run.
	next []int32
}

// run executes a control until it ends or the packet exits it.
func (g *graph) run(c *Context, at int32) {
	for at >= 0 {
		s := &g.steps[at]
		yes := false
		switch s.kind {
		case stepValid:
			yes = c.valid[s.off]&s.mask == s.n
		case stepEqual:
			yes = binary.BigEndian.Uint64(c.data[s.off:])<<(s.l&63)>>(s.r&63) == s.n
		case stepLess:
			yes = binary.BigEndian.Uint64(c.data[s.off:])<<(s.l&63)>>(s.r&63) < s.n
		case stepTest:
			yes = g.tests[s.off](c)
		case stepCode:
			c.exec(g.code[s.off : s.off+int32(s.n)])
			if s.exits && c.exit {
				at = -1
				continue
			}
			at = s.yes
			continue
		case stepTable:
			t := &g.tables[s.off]
			hit, place := c.apply(t.t)
			switch {
			case c.exit:
				at = -1
			case t.edges && hit:
				at = t.hit
			case t.edges:
				at = t.miss
			case place < 0:
				at = t.none
			default:
				at = t.next[place]
			}
			continue
		}
		if yes {
			at = s.yes
		} else {
			at = s.no
		}
	}
	c.exit = false
}

// eachNext calls do with each reference from a step, or from the step's table, to a next step.
func (g *graph) eachNext(s *step, do func(*int32)) {
	switch s.kind {
	case stepCode:
		do(&s.yes)
	case stepTable:
		t := &g.tables[s.off]
		if t.edges {
			do(&t.hit)
			do(&t.miss)
			return
		}
		for i := range t.next {
			do(&t.next[i])
		}
		do(&t.none)
	default:
		do(&s.yes)
		do(&s.no)
	}
}

// branch is a node on the way from a pipeline to a graph.
type branch struct {
	kind    stepKind
	w       window
	f       *ir.Field  // whose value the window is, if it is one of metadata
	hdr     *ir.Header // stepValid
	n       uint64
	test    boolFn
	id      uint32 // of test
	yes, no int
	code    []instr
	effects []effect
	exits   bool
	table   *matchTable
}

// lowering takes the nodes of a pipeline apart.
type lowering struct {
	l        *loader
	p        *pipeline
	branches []branch
	at       map[int]int // of the nodes done
}

// lower returns the branch a node begins with.
func (lo *lowering) lower(i int) int {
	if i < 0 {
		return -1
	}
	if b, ok := lo.at[i]; ok {
		return b
	}
	n := &lo.p.nodes[i]
	b := -1
	switch n.kind {
	case nodeCond:
		b = lo.test(n.expr, lo.lower(n.next), lo.lower(n.nextNot))
	case nodeAction:
		b = lo.add(branch{kind: stepCode, yes: lo.lower(n.next), code: lo.l.codeOf(n.action, n.args),
			effects: n.action.effects, exits: n.action.exits})
	case nodeTable:
		for _, s := range n.successors() {
			lo.lower(s)
		}
		b = lo.add(branch{kind: stepTable, table: n.table})
	}
	lo.at[i] = b
	return b
}

func (lo *lowering) add(b branch) int {
	lo.branches = append(lo.branches, b)
	return len(lo.branches) - 1
}

// codeOf is an action with its arguments as instructions without.
func (l *loader) codeOf(a *action, args []uint64) []instr {
	if a.straight != nil && a.words == 0 {
		return a.straight
	}
	run := func(c *Context) { a.run(c, args) }
	return []instr{{call: run, id: l.keep(&note{action: a}, closure{call: run})}}
}

// test lowers a condition with two ways on.
func (lo *lowering) test(e *ir.Expr, yes, no int) int {
	if yes == no {
		return yes
	}
	switch e.Op {
	case ir.OpBool:
		if e.Index != 0 {
			return yes
		}
		return no
	case ir.OpLNot:
		return lo.test(e.A, no, yes)
	case ir.OpLAnd:
		if f := lo.l.before(e); f != nil {
			return lo.add(branch{kind: stepTest, test: f, id: lo.l.keep(&note{value: e}, closure{test: f}),
				yes: yes, no: no})
		}
		return lo.test(e.A, lo.test(e.B, yes, no), no)
	case ir.OpLOr:
		return lo.test(e.A, yes, lo.test(e.B, yes, no))
	case ir.OpCond:
		return lo.test(e.C, lo.test(e.A, yes, no), lo.test(e.B, yes, no))
	case ir.OpValid:
		if e.A.Op == ir.OpHeader {
			return lo.valid(e.A.Header, yes, no)
		}
	case ir.OpD2B:
		if e.A.Op == ir.OpField && e.A.Field.Valid {
			return lo.valid(e.A.Field.Header, yes, no)
		}
		if b := lo.compare(ir.OpNe, e.A, ir.Constant(ir.Zero), yes, no); b >= 0 {
			return b
		}
	case ir.OpEq, ir.OpNe, ir.OpLt, ir.OpLe, ir.OpGt, ir.OpGe:
		if e.A.Kind != ir.KindData {
			break
		}
		a, b, op := e.A, e.B, e.Op
		if a.Op == ir.OpConst {
			a, b, op = b, a, mirror(op)
		}
		if b := lo.compare(op, a, b, yes, no); b >= 0 {
			return b
		}
	}
	f := lo.l.boolean(e)
	return lo.add(branch{kind: stepTest, test: f, id: lo.l.keep(&note{value: e}, closure{test: f}),
		yes: yes, no: no})
}

func (lo *lowering) valid(h *ir.Header, yes, no int) int {
	if h.Meta {
		return yes
	}
	return lo.add(branch{kind: stepValid, hdr: h, n: 1, yes: yes, no: no})
}

// compare lowers the comparison of a window with a constant; -1 when it is not
// that, or known beforehand.
func (lo *lowering) compare(op ir.Op, a, k *ir.Expr, yes, no int) int {
	w, ok := windowOf(a)
	if !ok || k.Op != ir.OpConst || !k.N.IsUint64() {
		return -1
	}
	b := branch{kind: stepEqual, w: w, n: ir.Low64(k.N), yes: yes, no: no}
	if a.Op == ir.OpField && a.Field.Header.Meta {
		b.f = a.Field
	}
	switch op {
	case ir.OpNe, ir.OpGe, ir.OpGt: // not equal, not less, not at most
		b.yes, b.no = no, yes
	}
	switch op {
	case ir.OpLt, ir.OpGe:
		b.kind = stepLess
	case ir.OpLe, ir.OpGt:
		if b.n++; b.n == 0 {
			return -1
		}
		b.kind = stepLess
	}
	if b.kind == stepLess && b.n <= 1 { // less than 0 never is, less than 1 is 0
		if b.n == 0 {
			return -1
		}
		b.kind, b.n = stepEqual, 0
	}
	return lo.add(b)
}
