package engine

import (
	"strings"

	"github.com/weft-sdn/weft/dataplane/ir"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/bmv2json"
)

// action is a compiled action.
type action struct {
	words int // of arguments
	// straight is the code of an action without jumps.
	straight []instr
	exits    bool // it may end the pipeline
	name     string
	index    int // in Program.actions
	params   []ir.Param
	prims    []prim
	effects  []effect
	notes    []*note // of prims
}

// prim is one primitive: code, or a jump.
type prim struct {
	run    func(*Context)
	cond   boolFn // jump when false; nil with jump: always
	jump   bool
	target int
	told   *primTrace
}

// run executes the action with arguments args.
func (a *action) run(c *Context, args []uint64) {
	if a.words > 0 {
		c.args = args
	}
	if c.ID != 0 {
		a.runTraced(c)
		return
	}
	if a.straight != nil {
		c.exec(a.straight)
		return
	}
	for pc, steps := 0, 0; pc < len(a.prims); steps++ {
		p := &a.prims[pc]
		pc++
		switch {
		case !p.jump:
			p.run(c)
		case p.cond == nil || !p.cond(c):
			pc = p.target
		}
		if steps == maxActionSteps {
			c.st.runaway++
			return
		}
	}
}

// maxActionSteps bounds the primitives one action executes: p4c compiles
// loops to backward jumps.
const maxActionSteps = 1 << 20

func (l *loader) loadActions() {
	l.actionByID = map[int]int{}
	negative := l.negativeArgs()
	info := &l.prog.info
	for i := range l.in.Actions {
		ja := &l.in.Actions[i]
		if _, dup := l.actionByID[ja.ID]; dup {
			l.bad(ja.Source, "two actions with id %d", ja.ID)
		}
		a := &action{name: ja.Name, index: len(l.prog.actions)}
		ai := ActionInfo{Name: ja.Name}
		l.rt = nil
		for i, p := range ja.RuntimeData {
			if p.Bitwidth < 0 || p.Bitwidth > ir.MaxFieldBits {
				l.bad(ja.Source, "parameter %q of %d bits", p.Name, p.Bitwidth)
			}
			l.rt = append(l.rt, ir.Param{Name: p.Name, Width: p.Bitwidth, Off: a.words,
				Signed: negative[argument{ja.ID, i}] && p.Bitwidth < 64})
			ai.Params = append(ai.Params, ParamInfo{Name: p.Name, Width: p.Bitwidth})
			a.words += max(1, bitfield.Words(p.Bitwidth))
		}
		a.params = l.rt
		l.fn, l.at = "action "+ja.Name, ja.Source
		l.compileBody(a, ja.Primitives)
		l.fn, l.at = "", nil
		l.actionByID[ja.ID] = len(l.prog.actions)
		l.prog.actions = append(l.prog.actions, a)
		info.actions = append(info.actions, ai)
	}
	l.rt = nil
}

// argument is a parameter of an action by the action's id.
type argument struct{ action, index int }

// negativeArgs finds the parameters to which the program's own entries and
// defaults give negative values.
func (l *loader) negativeArgs() map[argument]bool {
	found := map[argument]bool{}
	scan := func(action int, data []string) {
		for i, s := range data {
			if strings.HasPrefix(s, "-") {
				found[argument{action, i}] = true
			}
		}
	}
	for i := range l.in.Pipelines {
		for k := range l.in.Pipelines[i].Tables {
			t := &l.in.Pipelines[i].Tables[k]
			if t.DefaultEntry != nil {
				scan(t.DefaultEntry.ActionID, t.DefaultEntry.ActionData)
			}
			for _, e := range t.Entries {
				scan(e.ActionEntry.ActionID, e.ActionEntry.ActionData)
			}
		}
	}
	return found
}

func (l *loader) compileBody(a *action, prims []bmv2json.Primitive) {
	jumps := false
	straight := []instr{}
	for i := range prims {
		p := &prims[i]
		if l.folded[p] {
			l.fold(p)
			continue
		}
		n := l.noteOf(p)
		a.exits = a.exits || n.op.exits
		switch n.op.jumps {
		case jumpAlways:
			a.prims = append(a.prims, prim{jump: true, target: l.target(n, 0, len(prims))})
		case jumpIfZero:
			cond := l.boolExpr(p.Source, n.args[0])
			a.prims = append(a.prims, prim{jump: true, cond: l.boolean(cond),
				target: l.target(n, 1, len(prims)),
				told:   &primTrace{at: sourceOf(p.Source), reads: l.operands(cond)}})
		default:
			run := l.primitive(n)
			straight = append(straight, l.instrs(n, run)...)
			a.prims = append(a.prims, prim{run: run, told: &primTrace{at: sourceOf(p.Source),
				run: l.tracedPrimitive(n, run)}})
		}
		jumps = jumps || n.op.jumps != jumpNever
		a.effects = append(a.effects, l.effectsOf(n)...)
		a.notes = append(a.notes, n)
		clear(l.subst)
	}
	if jumps {
		a.effects = unordered(a.effects)
		return
	}
	a.straight = straight
}

func (l *loader) target(n *note, i, size int) int {
	e := n.args[i]
	if e.Op != ir.OpConst || !e.N.IsInt64() || e.N.Int64() < 0 || e.N.Int64() > int64(size) {
		l.bad(n.source, "%s to a bad place", n.op.name)
	}
	return int(e.N.Int64())
}
