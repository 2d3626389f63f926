package engine

import (
	"fmt"
	"strings"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/extern"
	"github.com/weft-sdn/weft/dataplane/table"
	"github.com/weft-sdn/weft/dataplane/trace"
)

// programTrace is what the trace knows of a program as a whole.
type programTrace struct {
	errors map[uint64]string // names by code
}

// nodeTrace is what the trace knows of a node of a control.
type nodeTrace struct {
	at    *trace.Source
	reads []operand // of a condition
	made  bool      // an action the compiler made
}

// runTraced is run for a packet that is traced.
func (c *Context) runTraced(p *pipeline) {
	c.traceStage(p.name)
	for i := p.start; i >= 0 && !c.exit; {
		n := &p.nodes[i]
		c.told.at = n.told.at
		switch n.kind {
		case nodeCond:
			reads := c.read(n.told.reads)
			ok := n.cond(c)
			c.Tell(trace.Step{Condition: &trace.Condition{Name: n.name, Result: ok, Reads: reads},
				At: n.told.at})
			if i = n.nextNot; ok {
				i = n.next
			}
		case nodeAction:
			c.Tell(trace.Step{Action: n.action.told(n.args, n.told.made), At: n.told.at})
			c.told.made = n.told.made
			n.action.run(c, n.args)
			i = n.next
		default:
			i = n.table.follow(c.apply(n.table))
		}
	}
	c.exit = false
}

// told is the action with its arguments, for the trace.
func (a *action) told(args []uint64, made bool) *trace.Action {
	t := &trace.Action{Name: a.name, Made: made}
	for _, p := range a.params {
		t.Args = append(t.Args, trace.Field{Name: p.Name,
			Value: wordsValue(args[p.Off:p.Off+max(1, bitfield.Words(p.Width))], p.Width)})
	}
	return t
}

// traceLookup adds the step of a lookup and of what follows from it. e is the entry found, nil for
// a miss. The key is in the context.
func (c *Context) traceLookup(t *matchTable, e *entry) {
	ts := &c.st.tables[t.idx]
	target, step := &ts.def, &trace.Table{Name: t.name, Hit: e != nil}
	var found Entry
	if e != nil {
		target, found = &e.Value.target, c.st.export(t, e)
		step.Priority, step.Const = e.Priority(), t.constEntries
	}
	for i := range t.key.Fields {
		k := &t.key.Fields[i]
		tk := trace.Key{Name: k.Name, Match: k.Kind.String(), Value: trace.NewValue(k.Value(c.key),
			k.Width)}
		if e != nil {
			tk.Entry = toldMatch(k, &found.Match[i])
		}
		step.Key = append(step.Key, tk)
	}
	act, args := target.action, target.args
	if target.kind != TargetAction {
		if target.kind == TargetGroup {
			step.Group = &target.group.id
		}
		act = nil
		if m := target.pick(c, t); m != nil {
			act, args = m.action, m.args
			if target.kind != TargetActionSet {
				step.Member = &m.id
			}
		}
	}
	step.NoAction = act == nil
	c.Tell(trace.Step{Table: step, At: c.told.at})
	if t.counter {
		n := ts.missCounter
		if e != nil {
			n = e.Value.counter
		}
		c.Tell(trace.Step{Counter: &trace.Counter{Name: t.name, Packets: n.Packets, Octets: n.Bytes}})
	}
	if t.meter >= 0 && e != nil {
		c.Tell(trace.Step{Meter: &trace.Meter{Name: c.st.prog.info.meters[t.meter].Name,
			Color: extern.ColorName(t.colorOf(c)), Unconfigured: !e.Value.more.meter.Configured()}})
	}
	if act != nil {
		c.Tell(trace.Step{Action: act.told(args, false)})
		c.told.made = false
	}
}

// toldMatch gives a match field its form in the trace.
func toldMatch(k *table.Field, m *Match) *trace.Match {
	t := &trace.Match{Value: trace.NewValue(m.Value, k.Width)}
	switch k.Kind {
	case LPM:
		t.Prefix = &m.PrefixLen
	case Ternary:
		mask := trace.NewValue(m.Mask, k.Width)
		t.Mask = &mask
	case Range:
		high := trace.NewValue(m.High, k.Width)
		t.High = &high
	}
	return t
}

// traceLog adds the step of a log message. Each {} of the format is an argument.
func (c *Context) traceLog(format string, args []u64Fn) {
	for _, a := range args {
		format = strings.Replace(format, "{}", fmt.Sprint(a(c)), 1)
	}
	c.Tell(trace.Step{Log: &trace.Log{Message: format}, At: c.told.at})
}

// traceUpdate adds the step of a checksum that is updated.
func (k *checksum) traceUpdate(c *Context) {
	old, _ := c.value(k.f)
	c.Tell(trace.Step{Checksum: &trace.Checksum{Name: k.name, Field: k.f.Name(), Update: true,
		OK:    true,
		Value: intValue(k.calc.compute(c), k.f.Width), Old: old}})
}
