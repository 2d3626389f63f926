package engine

import (
	"maps"
	"math/big"
	"slices"

	"github.com/weft-sdn/weft/dataplane/ir"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/bmv2json"
)

// pipeline is a compiled control: a graph of nodes, -1 ends it.
type pipeline struct {
	name  string
	nodes []node
	start int
	graph graph // what untraced packets run, where it is not translated
	// translated is the control as code of a Translation.
	translated func(*Context, bool)
}

type nodeKind uint8

const (
	nodeTable nodeKind = iota
	nodeCond
	nodeAction
)

type node struct {
	kind    nodeKind
	name    string
	cond    boolFn
	expr    *ir.Expr  // that cond evaluates; nil once the program is loaded
	asks    *question // as cond
	table   *matchTable
	action  *action
	args    []uint64
	next    int // nodeCond: when true
	nextNot int

	told *nodeTrace
}

// run executes the pipeline until it ends or the packet exits it. fresh says
// that only the parser has touched the packet's metadata.
func (c *Context) run(p *pipeline, fresh bool) {
	c.exit = false // an assertion of the deparser may have set it
	if c.ID != 0 {
		c.runTraced(p)
		return
	}
	if p.translated != nil {
		p.translated(c, fresh)
		c.exit = false
		return
	}
	at := p.graph.start
	if fresh {
		at = p.graph.fresh
	}
	p.graph.run(c, at)
}

func (l *loader) loadPipelines() {
	l.prog.keyWords = 1
	l.prog.ingress = pipeline{name: "ingress", start: -1}
	l.prog.egress = pipeline{name: "egress", start: -1}
	for i := range l.in.Pipelines {
		jp := &l.in.Pipelines[i]
		l.loadProfiles(jp)
	}
	for i := range l.in.Pipelines {
		jp := &l.in.Pipelines[i]
		for _, other := range l.in.Pipelines[:i] {
			if other.Name == jp.Name {
				l.bad(nil, "two pipelines %q", jp.Name)
			}
		}
		switch jp.Name {
		case "ingress":
			l.prog.ingress = l.pipeline(jp)
		case "egress":
			l.prog.egress = l.pipeline(jp)
		default:
			l.unsupported(nil, "pipeline %q", jp.Name)
		}
	}
	l.bindDirect()
	l.control(&l.prog.ingress, l.zeroFields())
	l.control(&l.prog.egress, nil)
	if t := l.translated; t != nil {
		l.prog.translated = t
		l.prog.ingress.translated, l.prog.egress.translated = t.Ingress, t.Egress
	}
	for _, p := range []*pipeline{&l.prog.ingress, &l.prog.egress} {
		for i := range p.nodes {
			p.nodes[i].expr = nil
		}
	}
}

// control makes the code that untraced packets run for a control. A translation brings its own
// graph and only needs the lowering, which numbers the closures.
func (l *loader) control(p *pipeline, zero func(*ir.Field) bool) {
	lo := &lowering{l: l, p: p, at: map[int]int{}}
	start := lo.lower(p.start)
	if l.translated == nil {
		p.graph = l.specialise(lo, start, zero)
	}
}

// zeroFields returns a function that reports whether a metadata field is 0 after the parser in a
// packet that has just been received: it is the program's own and no parser state writes it.
func (l *loader) zeroFields() func(*ir.Field) bool {
	written := map[*ir.Field]bool{}
	for _, e := range l.parserEffects {
		if e.kind == loseAll {
			return nil
		}
		written[e.f] = true
	}
	return func(f *ir.Field) bool {
		switch f.Header.Name {
		case "standard_metadata", "intrinsic_metadata", "queueing_metadata":
			return false
		}
		return f.Header.Meta && !written[f]
	}
}

func (l *loader) pipeline(jp *bmv2json.Pipeline) pipeline {
	p := pipeline{name: jp.Name, start: -1}
	index := map[string]int{}
	add := func(name string) {
		if _, dup := index[name]; dup {
			l.bad(nil, "two nodes %q in pipeline %q", name, jp.Name)
		}
		index[name] = len(index)
	}
	for _, t := range jp.Tables {
		add(t.Name)
	}
	for _, c := range jp.Conditionals {
		add(c.Name)
	}
	for _, a := range jp.ActionCalls {
		add(a.Name)
	}
	node := func(name *string) int {
		if name == nil || *name == "" {
			return -1
		}
		i, ok := index[*name]
		if !ok {
			l.bad(nil, "unknown node %q in pipeline %q", *name, jp.Name)
		}
		return i
	}
	for i := range jp.Tables {
		p.nodes = append(p.nodes, l.tableNode(&jp.Tables[i], jp.Name, node))
	}
	for i := range jp.Conditionals {
		jc := &jp.Conditionals[i]
		l.fn, l.at = "condition "+jc.Name, jc.Source
		p.nodes = append(p.nodes, l.condNode(jc, node))
		l.fn, l.at = "", nil
	}
	for i := range jp.ActionCalls {
		ja := &jp.ActionCalls[i]
		a := l.prog.actions[l.actionIndex(ja.Source, ja.ActionID)]
		if len(a.params) > 0 {
			l.bad(ja.Source, "call of action %q without its parameters", a.name)
		}
		p.nodes = append(p.nodes, nodeCall(ja.Name, a, node(ja.NextNode)))
		p.nodes[len(p.nodes)-1].told = &nodeTrace{at: sourceOf(ja.Source), made: true}
	}
	p.start = node(jp.InitTable)
	l.checkAcyclic(&p)
	return p
}

func (l *loader) condNode(jc *bmv2json.Conditional, at func(*string) int) node {
	e := l.boolExpr(jc.Source, l.raw(jc.Source, jc.Expression))
	return node{kind: nodeCond, name: jc.Name, expr: e, cond: l.boolean(e),
		asks: l.question(e), next: at(jc.TrueNext),
		nextNot: at(jc.FalseNext),
		told:    &nodeTrace{at: sourceOf(jc.Source), reads: l.operands(e)}}
}

func nodeCall(name string, a *action, next int) node {
	return node{kind: nodeAction, name: name, action: a, next: next}
}

// successors lists where a node can lead.
func (n *node) successors() []int {
	switch n.kind {
	case nodeCond:
		return []int{n.next, n.nextNot}
	case nodeAction:
		return []int{n.next}
	}
	t := n.table
	s := []int{t.baseNext}
	for _, i := range t.next {
		s = append(s, i)
	}
	for _, p := range []*int{t.hit, t.miss} {
		if p != nil {
			s = append(s, *p)
		}
	}
	return s
}

// checkAcyclic refuses a pipeline that could run for ever.
func (l *loader) checkAcyclic(p *pipeline) {
	const (
		unseen = iota
		open
		done
	)
	state := make([]int, len(p.nodes))
	type frame struct {
		node int
		next []int
	}
	if p.start < 0 {
		return
	}
	state[p.start] = open
	todo := []frame{{p.start, p.nodes[p.start].successors()}}
	for len(todo) > 0 {
		f := &todo[len(todo)-1]
		if len(f.next) == 0 {
			state[f.node] = done
			todo = todo[:len(todo)-1]
			continue
		}
		n := f.next[0]
		f.next = f.next[1:]
		switch {
		case n < 0 || state[n] == done:
		case state[n] == open:
			l.bad(nil, "pipeline %q has a cycle through %q", p.name, p.nodes[n].name)
		default:
			state[n] = open
			todo = append(todo, frame{n, p.nodes[n].successors()})
		}
	}
}

// tableNode compiles a table into a node: a plain action call where the table
// has no key and its action can never change.
func (l *loader) tableNode(jt *bmv2json.Table, pipe string, at func(*string) int) node {
	l.fn, l.at = "table "+jt.Name, jt.Source
	defer func() { l.fn, l.at = "", nil }()
	t := l.table(jt, pipe)
	t.baseNext = at(jt.DefaultNext)
	for name, next := range jt.NextTables {
		n := at(next)
		switch name {
		case "__HIT__":
			t.hit = &n
		case "__MISS__":
			t.miss = &n
		default:
			t.next[l.tableAction(jt.Source, t, name)] = n
		}
	}
	if (t.hit == nil) != (t.miss == nil) {
		l.bad(jt.Source, "table %q with one of __HIT__ and __MISS__: want both or none", jt.Name)
	}
	for _, a := range t.actions {
		if _, ok := t.next[a]; !ok {
			t.next[a] = t.baseNext
		}
		// A member of a shared profile may hold another table's copy.
		for i, o := range l.prog.actions {
			if _, ok := t.next[i]; !ok && o.name == l.prog.actions[a].name {
				t.next[i] = t.next[a]
			}
		}
	}
	info := TableInfo{Name: jt.Name, Actions: t.actions, Size: t.size, IdleTimeout: t.timeout,
		Profile: -1, DirectCounter: -1, DirectMeter: -1}
	for _, f := range t.key.Fields {
		info.Keys = append(info.Keys, KeyInfo{Name: f.Name, Match: f.Kind, Width: f.Width})
	}
	l.tableProfile(t, jt, &info)
	l.tableDefault(t, jt, &info)
	l.tableEntries(t, jt, &info)
	// p4c gives the tables it makes up a constant default action, no key and
	// no @name of the program's: they are named tbl_* or after the control.
	info.Hidden = len(t.key.Fields) == 0 && info.ConstDefault && len(t.actions) == 1 &&
		jt.Source == nil ||
		hiddenName(jt.Name)
	t.places, t.place = nil, make([]int16, len(l.prog.actions))
	for _, i := range slices.Sorted(maps.Keys(t.next)) {
		t.place[i] = int16(len(t.places))
		t.places = append(t.places, l.prog.actions[i])
	}
	l.prog.tables = append(l.prog.tables, t)
	l.prog.keyWords = max(l.prog.keyWords, t.key.Words)
	l.prog.info.tables = append(l.prog.info.tables, info)
	if len(t.key.Fields) == 0 && info.ConstDefault && t.profile < 0 && t.def.action != nil &&
		!t.counter {
		n := node{kind: nodeAction, name: t.name, action: t.def.action, args: t.def.args,
			next: t.next[t.def.action.index],
			told: &nodeTrace{at: sourceOf(jt.Source), made: info.Hidden}}
		if t.miss != nil {
			n.next = *t.miss
		}
		return n
	}
	return node{kind: nodeTable, name: t.name, table: t, told: &nodeTrace{at: sourceOf(jt.Source)}}
}

// tableAction finds an action of a table by name; copies of the action for other tables share the
// name.
func (l *loader) tableAction(src *bmv2json.Source, t *matchTable, name string) int {
	for _, a := range t.actions {
		if l.prog.actions[a].name == name {
			return a
		}
	}
	return l.actionNamed(src, name)
}

// hiddenName reports whether p4c made a table's name up ("tbl_act_3", "tbl_fabric42").
func hiddenName(name string) bool {
	return len(name) > 4 && name[:4] == "tbl_"
}

func (l *loader) tableDefault(t *matchTable, jt *bmv2json.Table, info *TableInfo) {
	d := jt.DefaultEntry
	if d == nil {
		t.def = target{kind: TargetAction}
		return
	}
	if t.profile >= 0 {
		l.unsupported(jt.Source, "default action of a table with an action profile")
	}
	i := l.actionIndex(jt.Source, d.ActionID)
	t.def = l.jsonTarget(t, jt.Source, i, d.ActionData)
	info.ConstDefault = d.ActionConst || d.EntryConst
	t.constDefault = info.ConstDefault
}

// jsonTarget makes a target of an action and hexstr arguments.
func (l *loader) jsonTarget(t *matchTable, src *bmv2json.Source, index int, data []string) target {
	a := l.prog.actions[index]
	if len(data) != len(a.params) {
		l.bad(src, "action %q with %d arguments: want %d", a.name, len(data), len(a.params))
	}
	if _, ok := t.next[index]; !ok {
		t.next[index] = t.baseNext
	}
	g := target{kind: TargetAction, action: a, args: make([]uint64, a.words)}
	for i, s := range data {
		n, ok := bmv2json.ParseHex(s)
		if w := a.params[i].Width; !ok || n.BitLen() > w || n.Sign() < 0 &&
			n.Cmp(new(big.Int).Neg(ir.Pow2(max(w-1, 0)))) < 0 {
			l.bad(src, "argument %q of action %q: want %d bits", s, a.name, w)
		}
		for w := range max(1, bitfield.Words(a.params[i].Width)) {
			g.args[a.params[i].Off+w] = ir.Low64(ir.Rsh(n, 64*w))
		}
		if !a.params[i].Signed {
			maskTop(g.args[a.params[i].Off:], a.params[i].Width)
		}
	}
	return g
}

// maskTop cuts the words of a value to its width.
func maskTop(v []uint64, width int) {
	n := max(1, bitfield.Words(width))
	if r := width - 64*(n-1); r < 64 {
		v[n-1] &= bitfield.Mask(r)
	}
}

// bindDirect connects direct counters and meters to their tables.
func (l *loader) bindDirect() {
	info := &l.prog.info
	byName := map[string]int{}
	for i, t := range info.tables {
		byName[t.Name] = i
	}
	for i, jc := range l.in.CounterArrays {
		if !jc.IsDirect {
			continue
		}
		t, ok := byName[jc.Binding]
		if !ok {
			l.bad(jc.Source, "direct counter %q of unknown table %q", jc.Name, jc.Binding)
		}
		info.counters[i].Table = t
		info.tables[t].DirectCounter = i
		l.prog.tables[t].counter = true
	}
	for i, jm := range l.in.MeterArrays {
		if !jm.IsDirect {
			continue
		}
		t, ok := byName[jm.Binding]
		if !ok || len(jm.ResultTarget) != 2 {
			l.bad(jm.Source, "direct meter %q of unknown table %q or without a result", jm.Name, jm.Binding)
		}
		info.meters[i].Table = t
		info.tables[t].DirectMeter = i
		l.prog.tables[t].meter = i
		f := l.lookupField(jm.Source, jm.ResultTarget[0], jm.ResultTarget[1])
		if f.Valid || f.VL || f.Width > 64 {
			l.bad(jm.Source, "direct meter %q into %s", jm.Name, f.Name())
		}
		l.prog.tables[t].color, l.prog.tables[t].colorOf = fieldSetter(f), fieldGetter(f)
		l.prog.tables[t].effects = []effect{{kind: loseField, f: f}}
	}
}
