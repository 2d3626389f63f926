package engine

import (
	"github.com/weft-sdn/weft/dataplane/extern"
	"github.com/weft-sdn/weft/dataplane/ir"
	"github.com/weft-sdn/weft/dataplane/trace"
)

// primTrace is what the trace knows of a primitive.
type primTrace struct {
	at    *trace.Source
	run   func(*Context) // as the primitive's, and told
	reads []operand      // of the condition of a jump
}

// runTraced is run for a packet that is traced.
func (a *action) runTraced(c *Context) {
	spec := &c.st.prog.std.egressSpec
	for pc, steps := 0, 0; pc < len(a.prims); steps++ {
		p := &a.prims[pc]
		pc++
		switch {
		case !p.jump:
			c.told.at = p.told.at
			p.told.run(c)
			if v := c.std(spec); v != c.told.spec {
				c.told.spec, c.told.specAction, c.told.specAt = v, a.name, p.told.at
				if c.told.made {
					c.told.specAction = ""
				}
			}
		case p.cond == nil:
			pc = p.target
		default:
			ok := p.cond(c)
			c.Tell(trace.Step{Condition: &trace.Condition{Result: ok, Reads: c.read(p.told.reads)},
				At: p.told.at})
			if !ok {
				pc = p.target
			}
		}
		if steps == maxActionSteps {
			c.st.runaway++
			c.Tell(trace.Step{Note: &trace.Note{Text: "the action ran for too long and is cut short"}})
			return
		}
	}
}

// tracedPrimitive compiles a primitive with its trace step. run does the primitive.
func (l *loader) tracedPrimitive(n *note, run func(*Context)) func(*Context) {
	if n.op.traced != nil {
		return n.op.traced(l, n, run)
	}
	at := sourceOf(n.source)
	return func(c *Context) {
		run(c)
		c.Tell(trace.Step{Primitive: &trace.Primitive{Op: n.op.name}, At: at})
	}
}

// tracedItself returns run: the primitive has nothing to say, or says it itself.
func (*loader) tracedItself(_ *note, run func(*Context)) func(*Context) { return run }

// request compiles a primitive that asks the switch for something, with its trace step.
func (n *note) request(what string, run func(*Context),
	fill func(*Context, *trace.Request)) func(*Context) {
	at := sourceOf(n.source)
	return func(c *Context) {
		r := &trace.Request{What: what}
		fill(c, r)
		run(c)
		c.Tell(trace.Step{Request: r, At: at})
	}
}

// tracedRequest traces a request that has a name and nothing else.
func tracedRequest(what string) func(*loader, *note, func(*Context)) func(*Context) {
	return func(_ *loader, n *note, run func(*Context)) func(*Context) {
		return n.request(what, run, func(*Context, *trace.Request) {})
	}
}

func (l *loader) tracedTruncate(n *note, run func(*Context)) func(*Context) {
	size := l.u64(l.dataExpr(n.source, n.args[0]))
	return n.request(n.op.name, run, func(c *Context, r *trace.Request) {
		v := size(c)
		r.Octets = &v
	})
}

func (l *loader) tracedClone(n *note, run func(*Context)) func(*Context) {
	session, keeps := l.u64(l.dataExpr(n.source, n.args[0])), l.fieldListOf(n, 1).names()
	return n.request("clone", run, func(c *Context, r *trace.Request) {
		v := session(c) & MaxCloneSession
		r.Session, r.Keeps = &v, keeps
	})
}

// tracedAgain traces resubmit and recirculate.
func (l *loader) tracedAgain(n *note, run func(*Context)) func(*Context) {
	keeps := l.fieldListOf(n, 0).names()
	return n.request(n.op.name, run, func(_ *Context, r *trace.Request) { r.Keeps = keeps })
}

func (l *loader) tracedStack(n *note, run func(*Context)) func(*Context) {
	at, name, count := sourceOf(n.source), "", l.u64(l.dataExpr(n.source, n.args[1]))
	if e := n.args[0]; e.Stack != nil {
		name = e.Stack.Name
	} else {
		name = e.UnionStack.Name
	}
	return func(c *Context) {
		s := &trace.Stack{Name: name, Op: n.op.name, Count: count(c)}
		run(c)
		c.Tell(trace.Step{Stack: s, At: at})
	}
}

func (l *loader) tracedAssertion(n *note, run func(*Context)) func(*Context) {
	at, ok := sourceOf(n.source), l.boolean(l.boolExpr(n.source, n.args[0]))
	return func(c *Context) {
		c.Tell(trace.Step{Assert: &trace.Assert{Op: n.op.name, OK: ok(c)}, At: at})
		run(c)
	}
}

func (l *loader) tracedRead(n *note, run func(*Context)) func(*Context) {
	at, r, into := sourceOf(n.source), n.args[1].Index, l.destination(n.args[0])
	name, idx := l.prog.info.registers[r].Name, l.u64(l.dataExpr(n.source, n.args[2]))
	return func(c *Context) {
		t := &trace.RegisterRead{Name: name, Index: idx(c)}
		v, ok := c.registerValue(r, t.Index)
		t.Value, t.OutOfRange = v, !ok
		if f := into(c); f != nil {
			t.Into = f.Name()
		}
		run(c)
		c.Tell(trace.Step{RegisterRead: t, At: at})
	}
}

func (l *loader) tracedCount(n *note, run func(*Context)) func(*Context) {
	at, k, idx := sourceOf(n.source), n.args[0].Index, l.u64(l.dataExpr(n.source, n.args[1]))
	name := l.prog.info.counters[k].Name
	return func(c *Context) {
		i := idx(c)
		run(c)
		t := &trace.Counter{Name: name, Index: &i}
		if counter := &c.st.counters[k]; i < uint64(counter.Size) {
			v := counter.Read(i)
			t.Packets, t.Octets = v.Packets, v.Bytes
		} else {
			t.OutOfRange = true
		}
		c.Tell(trace.Step{Counter: t, At: at})
	}
}

func (l *loader) tracedMeter(n *note, run func(*Context)) func(*Context) {
	at, m, idx := sourceOf(n.source), n.args[0].Index, l.u64(l.dataExpr(n.source, n.args[1]))
	name, color := l.prog.info.meters[m].Name, l.u64(l.dataExpr(n.source, n.args[2]))
	return func(c *Context) {
		i := idx(c)
		run(c)
		meters := &c.st.meters[m]
		t := &trace.Meter{Name: name, Index: &i, OutOfRange: i >= uint64(meters.Size)}
		if !t.OutOfRange {
			_, configured := meters.At(i).Configuration()
			t.Color, t.Unconfigured = extern.ColorName(color(c)), !configured
		}
		c.Tell(trace.Step{Meter: t, At: at})
	}
}

func (l *loader) tracedHash(n *note, run func(*Context)) func(*Context) {
	at, into, name := sourceOf(n.source), l.destination(n.args[0]), n.args[2].Str
	algorithm := ""
	if jc := l.calcByName[name]; jc != nil {
		algorithm = jc.Algo
	}
	return func(c *Context) {
		f := into(c)
		run(c)
		t := &trace.Hash{Name: name, Algorithm: algorithm}
		if f != nil {
			t.Into = f.Name()
			t.Value, _ = c.value(f)
		}
		c.Tell(trace.Step{Hash: t, At: at})
	}
}

// destination compiles the choice of the field something is stored in; nil is
// none.
func (l *loader) destination(dst *ir.Expr) func(*Context) *ir.Field {
	switch dst.Op {
	case ir.OpField:
		f := dst.Field
		return func(*Context) *ir.Field { return f }
	case ir.OpStackField, ir.OpDynField, ir.OpUnionField:
		return l.fieldRef(dst)
	}
	return func(*Context) *ir.Field { return nil }
}

func (l *loader) tracedWrite(n *note, run func(*Context)) func(*Context) {
	return l.tracedElement(n, n.args[0].Index, n.args[1], run)
}

// tracedElement compiles a write of a register with its trace step. run does the write.
func (l *loader) tracedElement(n *note, r int, index *ir.Expr, run func(*Context)) func(*Context) {
	at, idx := sourceOf(n.source), l.u64(l.dataExpr(n.source, index))
	name := l.prog.info.registers[r].Name
	return func(c *Context) {
		t := &trace.RegisterWrite{Name: name, Index: idx(c)}
		old, ok := c.registerValue(r, t.Index)
		run(c)
		t.Old, t.OutOfRange = old, !ok
		t.Value, _ = c.registerValue(r, t.Index)
		c.Tell(trace.Step{RegisterWrite: t, At: at})
	}
}

// tracedAssign compiles an assignment with its trace step. run does the assignment.
func (l *loader) tracedAssign(n *note, run func(*Context)) func(*Context) {
	dst, at := n.args[0], sourceOf(n.source)
	if dst.Op == ir.OpRegister {
		return l.tracedElement(n, dst.Index, dst.A, run)
	}
	pick := l.destination(dst)
	return func(c *Context) {
		f := pick(c)
		if f == nil {
			run(c)
			c.Tell(trace.Step{Note: &trace.Note{Text: "an assignment to an element that is not there has " +
				"no effect"}, At: at})
			return
		}
		t := &trace.Assign{Field: f.Name()}
		t.Temporary = temporary(t.Field)
		t.Old, _ = c.value(f)
		run(c)
		t.Value, t.Octets = c.value(f)
		c.Tell(trace.Step{Assign: t, At: at})
	}
}

// tracedHeader compiles a change of a header with its trace step. run does the change: a change of
// validity, or the copy of another header.
func (l *loader) tracedHeader(n *note, run func(*Context)) func(*Context) {
	at, to := sourceOf(n.source), l.headerRef(n.args[0])
	copied := func(*Context) *ir.Header { return nil }
	if len(n.args) == 2 {
		copied = l.headerRef(n.args[1])
	}
	return func(c *Context) {
		h, o := to(c), copied(c)
		run(c)
		if h == nil {
			c.Tell(trace.Step{Note: &trace.Note{Text: "a change of an element that is not there has no " +
				"effect"}, At: at})
			return
		}
		t := &trace.Header{Name: h.Name, Valid: h.Meta || c.isValid(h)}
		if o != nil {
			t.From = o.Name
		}
		c.Tell(trace.Step{Header: t, At: at})
	}
}

// names lists the fields of a list.
func (fl *fieldList) names() []string {
	var names []string
	for _, f := range fl.fields {
		names = append(names, f.Name())
	}
	return names
}
