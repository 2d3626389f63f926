package engine

import (
	"bytes"
	"slices"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/ir"
)

// question is a condition, split into the parts that the program evaluates one after the other.
type question struct {
	op   ir.Op // OpLAnd, OpLOr, OpLNot; else test and e
	a, b *question
	test boolFn
	e    *ir.Expr
}

func (l *loader) question(e *ir.Expr) *question {
	switch e.Op {
	case ir.OpLAnd, ir.OpLOr:
		return &question{op: e.Op, a: l.question(e.A), b: l.question(e.B)}
	case ir.OpLNot:
		return &question{op: e.Op, a: l.question(e.A)}
	}
	return &question{e: e, test: l.boolean(e)}
}

func (r *recorder) question(q *question) bool {
	switch q.op {
	case ir.OpLAnd:
		return r.question(q.a) && r.question(q.b)
	case ir.OpLOr:
		return r.question(q.a) || r.question(q.b)
	case ir.OpLNot:
		return !r.question(q.a)
	}
	ok := q.test(r.c)
	if r.on && r.lively(q.e) {
		if answer, asked := r.answer(q.e); asked {
			if answer != ok {
				r.lose()
			}
			return ok
		}
	}
	r.need(q.e)
	return ok
}

// parse runs the parser.
func (r *recorder) parse(p *parser) {
	c := r.c
	for s, steps := p.start, 0; s >= 0; steps++ {
		st := &p.states[s]
		if steps == maxParserSteps {
			c.parseError(c.st.prog.errors.timeout)
			break
		}
		for i := range st.ops {
			if n := st.notes[i]; !n.parser.record(r, n, st.ops[i]) {
				r.lose()
				return
			}
		}
		if len(st.cases) > 0 {
			r.choice(st)
		}
		if s = st.pick(c); c.failed {
			break
		}
	}
	if c.failed {
		r.lose()
	}
}

// choice has the path depend on the transition of a state: on the keys but, where a key differs
// from packet to packet, only on whether the key is of the cases that come in question.
func (r *recorder) choice(st *parseState) {
	vals := make([]val, len(st.keys))
	isSet := func(k parseCase) bool { return k.set >= 0 }
	sets := st.wideKey != nil || slices.ContainsFunc(st.cases, isSet)
	for i, e := range st.keys {
		if !sets && r.on && r.lively(e) && exact(e) {
			if v, ok := r.value(e); ok {
				vals[i] = v
				continue
			}
		}
		r.need(e)
		if !sets {
			vals[i].now = r.c.eval(&st.key[i])
		}
	}
	for i := range st.cases {
		if sets || r.isCase(st, &st.cases[i], vals) {
			return
		}
	}
}

// isCase reports whether the keys match a case, and reads only the keys needed for the answer.
func (r *recorder) isCase(st *parseState, k *parseCase, keys []val) bool {
	shift := 0
	for i := len(keys) - 1; i >= 0; i-- {
		width := bitfield.Mask(st.keyBits[i])
		v, want := r.join(opAnd, keys[i], val{now: k.mask >> shift & width}), k.value>>shift&width
		shift += st.keyBits[i]
		is := v.now == want
		if r.ask(opEq, v, val{now: want}, is); !is {
			return false
		}
	}
	return true
}

// extract runs the extraction of a header.
func (r *recorder) extract(n *note, run func(*Context) bool) bool {
	c, from, h := r.c, r.c.cur, n.into.next(r.c)
	r.needAll(n.args)
	if !run(c) {
		return false
	}
	if h.Union >= 0 || h.VL >= 0 && h.VLBit%8 != 0 {
		r.lose()
		return true
	}
	cut, size := h.Size, 0
	if h.VL >= 0 {
		cut, size = h.VLBit/8, c.vl[h.VL].len()
	}
	for i := range h.Size {
		at := from + i
		if i >= cut {
			at += size
		}
		r.write(h.Off+i, r.inAt(at))
	}
	return true
}

// parserAssign runs an assignment of the parser.
func (r *recorder) parserAssign(n *note, run func(*Context) bool) (ok bool) {
	r.assign(n.args[0], n.args[1], func() { ok = run(r.c) })
	return ok
}

// knowing runs an operation of the parser whose parameters must have their present values.
func (r *recorder) knowing(n *note, run func(*Context) bool) bool {
	r.needAll(n.args)
	return run(r.c)
}

// parserPrimitive runs a primitive in the parser.
func (r *recorder) parserPrimitive(n *note, run func(*Context) bool) (ok bool) {
	r.primitive(n, func() { ok = run(r.c) })
	return ok
}

// control runs the nodes of a control.
func (r *recorder) control(p *pipeline) {
	c := r.c
	c.exit = false
	for i := p.start; i >= 0 && !c.exit; {
		n := &p.nodes[i]
		switch n.kind {
		case nodeCond:
			i = r.branch(p, i)
		case nodeAction:
			r.action(n.action, n.args)
			i = n.next
		default:
			i = n.table.follow(r.apply(n.table))
		}
	}
	c.exit = false
}

// branch asks the condition of a node, and returns the next one.
func (r *recorder) branch(p *pipeline, i int) int {
	n := &p.nodes[i]
	if r.on {
		a := r.c.paths.askingOf(n)
		if r.apart > 0 || r.c.paths.parts(a) {
			if meeting, ok := r.either(p, i, a); ok {
				return meeting
			}
		}
		r.at = a
	}
	yes := r.question(n.asks)
	if r.at = nil; yes {
		return n.next
	}
	return n.nextNot
}

// apply is Context.apply.
func (r *recorder) apply(t *matchTable) (hit bool, place int) {
	c := r.c
	ts := &c.st.tables[t.idx]
	l := r.lookup(t)
	if l == nil {
		ts.fixed = ts.fixed || r.on
	}
	if l == nil && ts.entries.Len() > 0 {
		for _, f := range t.reads {
			if f.Valid || !f.Header.Meta && !c.isValid(f.Header) {
				continue
			}
			r.look(f.Bit, f.Width)
		}
	}
	if t.meter >= 0 {
		r.lose()
	}
	var e *entry
	g, hit := c.match(t)
	if hit {
		e = ts.entries.Lookup(c.key[:t.key.Words], c.key2[:t.key.Words]) // by the key that match has made
	}
	if l != nil {
		args := r.follow(l, e, g)
		if g.action == nil {
			return hit, -1
		}
		r.actionOf(g.action, g.args, args)
		return hit, int(t.place[g.action.index])
	}
	n := tally{octets: uint64(c.IngressLen)}
	switch {
	case t.counter && e != nil:
		n.counter = &e.Value.counter
	case t.counter:
		n.counter = &ts.missCounter
	}
	if t.timeout && e != nil {
		n.touched = e.Value.more
	}
	r.tell(n)
	if g.kind == TargetAction {
		if g.action == nil {
			return hit, -1
		}
		r.action(g.action, g.args)
		return hit, int(t.place[g.action.index])
	}
	if g.kind != TargetMember && len(g.group.live) > 1 {
		switch k := c.st.prog.profiles[t.profile].hash; {
		case g.group.random:
			r.lose()
		case k != nil:
			r.inputs(k)
		}
	}
	m := g.pick(c, t)
	if m == nil {
		return hit, -1
	}
	r.action(m.action, m.args)
	return hit, int(t.place[m.action.index])
}

// tell notes what the pass counts.
func (r *recorder) tell(n tally) {
	if r.on && (n.counter != nil || n.touched != nil) {
		r.path.counts = append(r.path.counts, n)
	}
}

// countIn notes that the pass counts in an element of a counter.
func (r *recorder) countIn(n *note, run func()) {
	defer run()
	k := &r.c.st.counters[n.args[0].Index]
	i := r.c.eval(&n.index)
	if i >= uint64(k.Size) {
		r.lose()
		return
	}
	t := tally{octets: uint64(r.c.IngressLen)}
	v, ok := val{}, r.lively(n.args[1]) && exact(n.args[1])
	if ok {
		v, ok = r.value(n.args[1])
	}
	if v = r.cut(v, 32); !ok || v.constant() || v.now != i {
		r.need(n.args[1])
		t.counter = k.At(i)
		r.tell(t)
		return
	}
	if v.mask >= uint64(k.Size) {
		r.ask(opLt, v, val{now: uint64(k.Size)}, true)
	}
	if r.compute(v.takes); r.on {
		t.array, t.index = k, v.takes
		r.path.counts = append(r.path.counts, t)
	}
}

// action is action.run.
func (r *recorder) action(a *action, args []uint64) { r.actionOf(a, args, nil) }

// actionOf is action with arguments that are values; nil: they are constant.
func (r *recorder) actionOf(a *action, args []uint64, values []val) {
	c := r.c
	r.args = values
	if a.words > 0 {
		c.args = args
	}
	for pc, steps := 0, 0; pc < len(a.prims); steps++ {
		p, n := &a.prims[pc], a.notes[pc]
		pc++
		switch {
		case !p.jump:
			r.primitive(n, func() { p.run(c) })
		case p.cond == nil:
			pc = p.target
		default:
			r.needAll(n.args[:1])
			if !p.cond(c) {
				pc = p.target
			}
		}
		if steps == maxActionSteps {
			c.st.runaway++
			r.lose()
			return
		}
	}
}

// primitive runs a primitive.
func (r *recorder) primitive(n *note, run func()) {
	switch {
	case !r.on:
		run()
	case n.op.record != nil:
		n.op.record(r, n, run)
	default:
		r.lose()
		run()
	}
}

// runs runs a primitive that the values of a path do not depend on.
func (r *recorder) runs(_ *note, run func()) { run() }

func (r *recorder) drop(_ *note, run func()) {
	run()
	std := &r.c.st.prog.std
	r.settle(&std.egressSpec, &std.mcastGroup)
}

func (r *recorder) addHeader(n *note, run func()) {
	if n.args[0].Op != ir.OpHeader || n.args[0].Header.Union >= 0 {
		r.lose()
	} else if h := n.args[0].Header; !h.Meta && !r.c.isValid(h) {
		clear(r.src[h.Off : h.Off+h.Size])
	}
	run()
}

func (r *recorder) removeHeader(n *note, run func()) {
	if n.args[0].Op != ir.OpHeader {
		r.lose()
	}
	run()
}

func (r *recorder) assignHeader(n *note, run func()) {
	if n.args[0].Op != ir.OpHeader || n.args[1].Op != ir.OpHeader {
		r.lose()
	} else {
		r.copyHeader(n.args[0].Header, n.args[1].Header)
	}
	run()
}

// cell returns the element of a register that a primitive reads or writes. false: the register has
// no such element, or elements of more than 64 bits.
func (r *recorder) cell(n *note, register, index *ir.Expr) (cell, bool) {
	k := cell{register.Index, val{now: r.c.eval(&n.index)}}
	reg := &r.c.st.regs[k.register]
	if r.lively(index) && exact(index) && k.index.now < uint64(reg.Size) {
		if v, ok := r.value(index); ok && v.now == k.index.now {
			if k.index = v; v.mask >= uint64(reg.Size) {
				r.ask(opLt, v, val{now: uint64(reg.Size)}, true)
			}
		}
	}
	if k.index.constant() {
		r.need(index)
	}
	return k, r.on && reg.Width <= 64 && k.index.now < uint64(reg.Size)
}

// written returns what the pass has written to an element of a register; false: nothing.
func (r *recorder) written(k cell) (val, bool) {
	for _, w := range slices.Backward(r.computed.cells) {
		if w.cell == k {
			return w.value, true
		}
		if w.register != k.register {
			continue
		}
		same := w.index.now == k.index.now
		if r.ask(opEq, w.index, k.index, same); same {
			return w.value, true
		}
	}
	return val{}, false
}

// readRegister runs a register_read.
func (r *recorder) readRegister(n *note, run func()) {
	k, ok := r.cell(n, n.args[1], n.args[2])
	dst := n.args[0]
	if !ok || dst.Op != ir.OpField {
		if r.lose(); r.apart == 0 { // what is out of range is counted
			run()
		}
		return
	}
	v, written := r.written(k)
	if !written {
		reg := &r.c.st.regs[k.register]
		o := pathOp{code: opRead, a: k.index.takes, b: takes{slot: uint16(k.register)}}
		if k.index.constant() {
			o.k = k.index.now
		}
		v = r.cut(r.slot(o, reg.Get(k.index.now)), reg.Width)
	}
	r.set(dst.Field, v, run)
}

// writeRegister runs a register_write.
func (r *recorder) writeRegister(n *note, run func()) {
	k, ok := r.cell(n, n.args[0], n.args[1])
	if !ok {
		r.lose()
		run()
		return
	}
	reg := &r.c.st.regs[k.register]
	v, ok := r.value(n.args[2])
	if !ok {
		r.need(n.args[2])
	}
	run()
	if now := reg.Get(k.index.now); !ok {
		v = val{now: now}
	} else if v = r.cut(v, reg.Width); v.now != now {
		r.lose()
	}
	r.computed.cells = append(r.computed.cells, written{k, v})
	w := store{register: k.register, index: k.index.takes, value: v.takes}
	if k.index.constant() {
		w.at = k.index.now
	}
	if v.constant() {
		w.k = v.now
	}
	r.path.stores = append(r.path.stores, w)
}

// copyHeader notes the assignment of a header.
func (r *recorder) copyHeader(to, from *ir.Header) {
	if to.Meta || from.Meta || to.Union >= 0 || from.Union >= 0 {
		r.lose()
		return
	}
	if to != from && r.c.isValid(from) {
		copy(r.src[to.Off:to.Off+to.Size], r.src[from.Off:from.Off+from.Size])
	}
}

// pop notes that the elements of a stack move.
func (r *recorder) pop(n *note, run func()) {
	defer run()
	if n.args[0].Op != ir.OpStack || n.args[1].Op != ir.OpConst || !n.args[1].N.IsInt64() {
		r.lose()
		return
	}
	hs := n.args[0].Stack.Headers
	k := int(min(n.args[1].N.Int64(), int64(len(hs))))
	if k < 0 {
		r.lose()
		return
	}
	for i := 0; i+k < len(hs); i++ {
		r.copyHeader(hs[i], hs[i+k])
	}
}

// hash runs the computation of a hash. For a CRC-32 by sumOf, each packet of the path computes the
// hash again. For any other hash, the path depends on all inputs of the hash.
func (r *recorder) hash(n *note, run func()) {
	dst, k := n.args[0], n.calc
	if dst.Op != ir.OpField || dst.Field.Valid || dst.Field.VL || dst.Field.Width > 64 ||
		!dst.Field.Header.Meta || k == nil {
		r.lose()
		run()
		return
	}
	s, src := r.sumOf(n, k)
	if s == nil {
		r.need(n.args[1])
		r.need(n.args[3])
		r.inputs(k)
	}
	run()
	v := val{now: r.c.meta64(dst.Field)}
	if s != nil && r.on {
		s.fixed = append(bytes.Clone(r.c.buf[:k.size]), s.fixed...)
		for i := range src {
			if src[i] != fixed {
				s.fixed[i] = 0
			}
		}
		var crc uint32
		crc, r.c.paths.buf = s.of(r.c.recalled, r.computed.now[:], r.c.paths.buf)
		if uint64(crc) != v.now {
			r.lose()
		}
		r.path.sums = append(r.path.sums, s)
		v = r.cut(r.slot(pathOp{code: opSum, k: uint64(len(r.path.sums) - 1)}, uint64(crc)), 32)
	}
	r.put(dst.Field.Slot(), ir.SlotSize(dst.Field.Width), v)
}

// sumOf returns a CRC-32 over headers and then a run of the received frame, before the CRC is
// computed, and the sources of the octets outside the run. It returns nil for any other
// calculation, and for a CRC better kept constant for all packets of the path.
func (r *recorder) sumOf(n *note, k *calculation) (*sum, []source) {
	c := r.c
	base, size := n.args[1], n.args[3]
	if k.slow || !k.crc32 || n.args[0].Field.Width != 32 || base.Op != ir.OpConst ||
		base.N.Sign() != 0 || size.Op != ir.OpConst || size.N.Sign() < 0 || size.N.BitLen() <= 32 ||
		!size.N.IsUint64() || len(k.items) == 0 {
		return nil, nil
	}
	for w, need := range k.need {
		if c.valid[w]&need != need {
			return nil, nil
		}
	}
	items, run := k.items, span{}
	switch it := &items[len(items)-1]; {
	case it.payload:
		items, run = items[:len(items)-1], c.payload
	case it.f != nil && it.f.VL:
		items, run = items[:len(items)-1], c.vl[it.f.Header.VL]
	}
	if run.off&shifted != 0 {
		return nil, nil
	}
	src, ok := r.head(items)
	if !ok || len(src) != k.size {
		return nil, nil
	}
	s := &sum{}
	if run.len() >= longRun {
		in := r.inRoot(run)
		s.from, s.to, s.shift = int(in.off), int(in.end), newCRCShift(run.len())
	} else {
		for i := run.off; i < run.end; i++ {
			src, s.fixed = append(src, r.inAt(int(i))), append(s.fixed, c.frame.b[i])
		}
		if !r.varies(src) {
			return nil, nil
		}
	}
	if slices.Contains(src, unsettled) || !r.on {
		return nil, nil
	}
	s.frame, s.slots = patches(src)
	return s, src
}

// head returns the source of each octet that a calculation builds from its first items. Where an
// item covers only part of an octet, the path depends on its recorded value.
func (r *recorder) head(items []calcItem) (src []source, ok bool) {
	bit := 0
	for i := range items {
		it := &items[i]
		switch {
		case it.payload, it.f != nil && (it.f.VL || it.f.Valid), it.whole && it.hdr.VL >= 0:
			return nil, false
		}
		n := it.bits
		if it.whole {
			n = 8 * it.hdr.Size
		}
		for len(src) < (bit+n+7)/8 {
			src = append(src, fixed)
		}
		from := 0
		switch {
		case it.whole:
			from = 8 * it.hdr.Off
		case it.e != nil:
			moved, ok := []octet(nil), false
			if bit%8 == 0 && n%8 == 0 {
				moved, ok = r.octets(it.e, n/8)
			}
			if !ok {
				r.need(it.e)
			}
			for k := range moved {
				src[bit/8+k] = moved[k].from
			}
		case it.f != nil:
			from = it.f.Bit
		}
		if it.whole || it.f != nil {
			if from%8 == 0 && bit%8 == 0 && n%8 == 0 {
				copy(src[bit/8:], r.src[from/8:(from+n)/8])
			} else {
				r.look(from, n)
			}
		}
		bit += n
	}
	return src, bit%8 == 0
}

// inputs has a calculation depend on all of its inputs.
func (r *recorder) inputs(k *calculation) {
	for i := range k.items {
		it := &k.items[i]
		switch {
		case it.payload:
			r.lookAt(r.c.payload)
		case it.hdr != nil && !it.hdr.Meta && !r.c.isValid(it.hdr):
		case it.whole:
			r.look(8*it.hdr.Off, 8*it.hdr.Size)
			if it.hdr.VL >= 0 {
				r.lookAt(r.c.vl[it.hdr.VL])
			}
		case it.e != nil:
			r.need(it.e)
		case it.f == nil || it.f.Valid:
		case it.f.VL:
			r.lookAt(r.c.vl[it.f.Header.VL])
		default:
			r.look(it.f.Bit, it.f.Width)
		}
	}
}

// lookAt has the path depend on a run of the frame.
func (r *recorder) lookAt(s span) {
	if r.last += s.len(); s.off&shifted != 0 || r.last > maxLooked {
		r.lose()
		return
	}
	for i := s.off; i < s.end; i++ {
		r.lookSource(r.inAt(int(i)), 0xff)
	}
}

// look has the path depend on n bits of the packet state.
func (r *recorder) look(bit, n int) {
	for n > 0 && r.on {
		k := min(n, 8-bit%8)
		r.lookSource(r.src[bit/8], byte(0xff>>(bit%8))&^byte(0xff>>(bit%8+k)))
		bit, n = bit+k, n-k
	}
}

// lookSource has it depend on bits of an octet.
func (r *recorder) lookSource(s source, bits byte) {
	switch {
	case !r.on, s == fixed:
	case s == unsettled:
		r.lose()
	case s.ofSlot():
		r.pin(s, bits)
	default:
		r.mask[s-1] |= bits
	}
}

// write notes where an octet of the packet state comes from.
func (r *recorder) write(at int, s source) {
	if r.src[at] == unsettled || s == unsettled {
		r.lose()
	}
	r.src[at] = s
}
