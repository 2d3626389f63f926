package engine

import (
	"github.com/weft-sdn/weft/dataplane/bmv2json"
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
func (l *loader) tracedPrimitive(p *bmv2json.Primitive, run func(*Context)) func(*Context) {
	at := sourceOf(p.Source)
	arg := func(i int) *ir.Expr { return l.value(p.Source, p.Parameters[i]) }
	data := func(i int) u64Fn { return l.u64(l.dataExpr(p.Source, arg(i))) }
	request := func(what string, fill func(*Context, *trace.Request)) func(*Context) {
		return func(c *Context) {
			r := &trace.Request{What: what}
			if fill != nil {
				fill(c, r)
			}
			run(c)
			c.Tell(trace.Step{Request: r, At: at})
		}
	}
	switch p.Op {
	case "no_op", "log_msg": // nothing to say; says it itself
		return run
	case "assign", "modify_field", "assign_VL", "add", "subtract", "bit_xor", "bit_or", "bit_and",
		"shift_left",
		"shift_right", "add_to_field", "subtract_from_field", "modify_field_rng_uniform":
		return l.tracedAssign(arg(0), at, run)
	case "add_header", "remove_header":
		return l.tracedHeader(arg(0), nil, at, run)
	case "assign_header", "copy_header":
		return l.tracedHeader(arg(0), arg(1), at, run)
	case "push", "pop":
		name, count := "", data(1)
		if e := arg(0); e.Stack != nil {
			name = e.Stack.Name
		} else {
			name = e.UnionStack.Name
		}
		return func(c *Context) {
			s := &trace.Stack{Name: name, Op: p.Op, Count: count(c)}
			run(c)
			c.Tell(trace.Step{Stack: s, At: at})
		}
	case "assert", "assume":
		ok := l.boolean(l.boolExpr(p.Source, arg(0)))
		return func(c *Context) {
			c.Tell(trace.Step{Assert: &trace.Assert{Op: p.Op, OK: ok(c)}, At: at})
			run(c)
		}
	case "mark_to_drop", "drop":
		return request("drop", nil)
	case "exit":
		return request("exit", nil)
	case "truncate":
		n := data(0)
		return request("truncate", func(c *Context, r *trace.Request) {
			v := n(c)
			r.Octets = &v
		})
	case "clone_ingress_pkt_to_egress", "clone_egress_pkt_to_egress":
		session, keeps := data(0), l.fieldListOf(p, arg(1)).names()
		return request("clone", func(c *Context, r *trace.Request) {
			v := session(c) & MaxCloneSession
			r.Session, r.Keeps = &v, keeps
		})
	case "resubmit", "recirculate":
		keeps := l.fieldListOf(p, arg(0)).names()
		return request(p.Op, func(_ *Context, r *trace.Request) { r.Keeps = keeps })
	case "generate_digest":
		return request("digest", nil)
	case "register_read", "register_write", "count", "execute_meter",
		"modify_field_with_hash_based_offset":
		return l.tracedStateful(p, at, run)
	}
	return func(c *Context) {
		run(c)
		c.Tell(trace.Step{Primitive: &trace.Primitive{Op: p.Op}, At: at})
	}
}

// tracedStateful compiles the primitives that touch state, and hashes.
func (l *loader) tracedStateful(p *bmv2json.Primitive, at *trace.Source,
	run func(*Context)) func(*Context) {
	arg := func(i int) *ir.Expr { return l.value(p.Source, p.Parameters[i]) }
	index := func(i int) u64Fn { return l.u64(l.dataExpr(p.Source, arg(i))) }
	switch p.Op {
	case "register_read":
		r, idx, into := arg(1).Index, index(2), l.destination(arg(0))
		name := l.prog.info.registers[r].Name
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
	case "register_write":
		return l.tracedWrite(arg(0).Index, index(1), at, run)
	case "count":
		k, idx := arg(0).Index, index(1)
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
	case "execute_meter":
		m, idx, color := arg(0).Index, index(1), index(2)
		name := l.prog.info.meters[m].Name
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
	// A hash.
	into, name := l.destination(arg(0)), arg(2).Str
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

// tracedWrite compiles a write of a register with its trace step. run does the write.
func (l *loader) tracedWrite(r int, idx u64Fn, at *trace.Source,
	run func(*Context)) func(*Context) {
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
func (l *loader) tracedAssign(dst *ir.Expr, at *trace.Source, run func(*Context)) func(*Context) {
	if dst.Op == ir.OpRegister {
		return l.tracedWrite(dst.Index, l.u64(dst.A), at, run)
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

// tracedHeader compiles a change of a header with its trace step. run does the change. from is the
// header to copy, or nil for a change of validity.
func (l *loader) tracedHeader(dst, from *ir.Expr, at *trace.Source,
	run func(*Context)) func(*Context) {
	to := l.headerRef(dst)
	copied := func(*Context) *ir.Header { return nil }
	if from != nil {
		copied = l.headerRef(from)
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
