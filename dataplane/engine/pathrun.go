package engine

import (
	"bytes"

	"github.com/weft-sdn/weft/dataplane/ir"
)

// question is a condition, taken apart as far as its parts are asked for one after the other.
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

func (r *recorder) ask(q *question) bool {
	switch q.op {
	case ir.OpLAnd:
		return r.ask(q.a) && r.ask(q.b)
	case ir.OpLOr:
		return r.ask(q.a) || r.ask(q.b)
	case ir.OpLNot:
		return !r.ask(q.a)
	}
	ok := q.test(r.c)
	if r.on && !r.compare(q.e, ok) {
		r.need(q.e)
	}
	return ok
}

// compare notes that two values with octets of a sum are equal, or not; false where they are none.
func (r *recorder) compare(e *ir.Expr, ok bool) bool {
	if e.Op != ir.OpEq && e.Op != ir.OpNe || e.A.Kind != ir.KindData || !e.A.Nonneg() ||
		!e.B.Nonneg() || e.A.Hi == nil || e.B.Hi == nil {
		return false
	}
	n := (max(e.A.Hi.BitLen(), e.B.Hi.BitLen()) + 7) / 8
	if n == 0 || n > 8 {
		return false
	}
	a, ok1 := r.octets(e.A, n)
	b, ok2 := r.octets(e.B, n)
	if !ok1 || !ok2 {
		return false
	}
	sums := false
	for i := range a {
		sums = sums || a[i].from.ofSum() || b[i].from.ofSum()
		if a[i].from == unsettled || b[i].from == unsettled {
			return false
		}
	}
	if sums {
		r.path.tests = append(r.path.tests, equality{a, b, ok == (e.Op == ir.OpEq)})
	}
	return sums
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
			if !r.parserOp(&st.notes[i], st.ops[i]) {
				r.lose()
				return
			}
		}
		if len(st.cases) > 0 {
			for _, k := range st.keys {
				r.need(k)
			}
		}
		if s = st.pick(c); c.failed {
			break
		}
	}
	if c.failed {
		r.lose()
	}
}

// parserOp runs an operation of the parser.
func (r *recorder) parserOp(n *note, run func(*Context) bool) (ok bool) {
	c, from := r.c, r.c.cur
	switch n.op {
	case "extract", "extract_VL":
		r.needAll(n.args)
		h := n.header
		if n.stack != nil && int(c.next[n.stack.Index]) < len(n.stack.Headers) {
			h = n.stack.Headers[c.next[n.stack.Index]]
		}
		if ok = run(c); !ok {
			return false
		}
		if h == nil || h.Union >= 0 || h.VL >= 0 && h.VLBit%8 != 0 {
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
	case "set":
		r.assign(n.args[0], n.args[1], func() { ok = run(c) })
		return ok
	case "shift", "advance", "verify":
		r.needAll(n.args)
		return run(c)
	}
	r.primitive(n, func() { ok = run(c) })
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
			if i = n.nextNot; r.ask(n.asks) {
				i = n.next
			}
		case nodeAction:
			r.action(n.action, n.args)
			i = n.next
		default:
			i = n.table.follow(r.apply(n.table))
		}
	}
	c.exit = false
}

// apply is Context.apply.
func (r *recorder) apply(t *matchTable) (hit bool, place int) {
	c := r.c
	ts := &c.st.tables[t.idx]
	if ts.entries.Len() > 0 {
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
		return hit, int(g.place)
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

// action is action.run.
func (r *recorder) action(a *action, args []uint64) {
	c := r.c
	if a.words > 0 {
		c.args = args
	}
	for pc, steps := 0, 0; pc < len(a.prims); steps++ {
		p, n := &a.prims[pc], &a.notes[pc]
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
	c := r.c
	if !r.on {
		run()
		return
	}
	switch n.op {
	case "no_op", "log_msg", "recirculate", "assign_VL":
		run()
	case "assign", "modify_field":
		r.assign(n.args[0], n.args[1], run)
	case "mark_to_drop", "drop":
		run()
		std := &c.st.prog.std
		r.settle(&std.egressSpec, &std.mcastGroup)
	case "add_header":
		if n.args[0].Op != ir.OpHeader || n.args[0].Header.Union >= 0 {
			r.lose()
		} else if h := n.args[0].Header; !h.Meta && !c.isValid(h) {
			clear(r.src[h.Off : h.Off+h.Size])
		}
		run()
	case "remove_header":
		if n.args[0].Op != ir.OpHeader {
			r.lose()
		}
		run()
	case "assign_header", "copy_header":
		if n.args[0].Op != ir.OpHeader || n.args[1].Op != ir.OpHeader {
			r.lose()
		} else {
			r.copyHeader(n.args[0].Header, n.args[1].Header)
		}
		run()
	case "pop":
		r.pop(n)
		run()
	case "count":
		r.need(n.args[1])
		k := &c.st.counters[n.args[0].Index]
		if i := c.eval(&n.index); i < uint64(k.Size) {
			r.tell(tally{counter: k.At(i), octets: uint64(c.IngressLen)})
		} else {
			r.lose()
		}
		run()
	case "modify_field_with_hash_based_offset":
		r.hash(n, run)
	default:
		r.lose()
		run()
	}
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
func (r *recorder) pop(n *note) {
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

// hash runs the computation of a hash. One over much of the frame is computed again for each
// packet, all others depend on what they are computed of.
func (r *recorder) hash(n *note, run func()) {
	dst, k := n.args[0], n.calc
	if dst.Op != ir.OpField || dst.Field.Valid || dst.Field.VL || dst.Field.Width > 64 ||
		!dst.Field.Header.Meta || k == nil {
		r.lose()
		run()
		return
	}
	slot := dst.Field.Slot()
	s := r.sumOf(n, k)
	if s == nil {
		r.need(n.args[1])
		r.need(n.args[3])
		r.inputs(k)
	}
	run()
	for i := range ir.SlotSize(dst.Field.Width) {
		r.write(slot+i, fixed)
	}
	if s == nil || !r.on {
		return
	}
	s.fixed = bytes.Clone(r.c.buf[:k.size])
	r.path.sums, r.pins = append(r.path.sums, s), append(r.pins, false)
	v := r.c.recalled.of(r.c.recalled.f)
	if uint64(v.sum(s)) != r.c.meta64(dst.Field) {
		r.lose()
		return
	}
	for i := range 4 {
		r.write(slot+4+i, sumSource+source(4*(len(r.path.sums)-1)+i))
	}
}

// sumOf is a CRC-32 over headers and then a run of the received frame, before it is computed; nil
// where it is another calculation.
func (r *recorder) sumOf(n *note, k *calculation) *sum {
	c := r.c
	base, size := n.args[1], n.args[3]
	if k.slow || !k.crc32 || n.args[0].Field.Width != 32 || base.Op != ir.OpConst ||
		base.N.Sign() != 0 || size.Op != ir.OpConst || size.N.Sign() < 0 || size.N.BitLen() <= 32 ||
		!size.N.IsUint64() {
		return nil
	}
	for w, need := range k.need {
		if c.valid[w]&need != need {
			return nil
		}
	}
	last := len(k.items) - 1
	if last < 0 {
		return nil
	}
	run := c.payload
	switch it := &k.items[last]; {
	case it.payload:
	case it.f != nil && it.f.VL:
		run = c.vl[it.f.Header.VL]
	default:
		return nil
	}
	if run.len() < longRun || run.off&shifted != 0 {
		return nil
	}
	src, ok := r.head(k.items[:last])
	if !ok || len(src) != k.size {
		return nil
	}
	in := r.inRoot(run)
	if !r.on {
		return nil
	}
	s := &sum{from: int(in.off), to: int(in.end), shift: newCRCShift(run.len())}
	var sums []sumPatch
	if s.frame, sums = patches(src); len(sums) > 0 {
		return nil
	}
	return s
}

// head is where the octets come from that a calculation makes of its first items. What it takes of
// less than an octet has to be what it was.
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
			r.need(it.e)
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

// inputs has a calculation depend on all that it is computed of.
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
	case s.ofSum():
		n, _ := s.sum()
		r.pins[n] = true
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
