package engine

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/ir"
)

// recorder runs a pass of the packet in hand by the nodes of the program. It notes what the pass
// depends on, and the source of each octet that the pass moves. A pass without a path still runs to
// its end.
type recorder struct {
	c     *Context
	on    bool // the pass has a path, as far as it has come
	from  *Path
	src   []source // of the packet state
	in    []source // of the frame that is parsed; nil: it is the received one
	root  []byte   // the received frame
	mask  []byte   // the bits of it that have to be what they were
	held  []byte   // those that hold already
	path  *Path
	ops   []pathOp // room for those of paths, as parts
	parts []parting
	args  []val // of the running action; nil: they are constant
	last  int   // octets that calculations have looked at

	computed computed
	carried  map[int]int // slots, by their numbers in the next pass

	at      *asking        // the condition that is asked for
	long    bool           // the path has more operations than are worth it
	apart   int            // how many conditions have both of their ways recorded
	spoiled bool           // that is not to be had
	sides   []*[3]metadata // of these, by apart: before, on one way, on the other
}

// maxLooked bounds the octets of a calculation that a path depends on.
const maxLooked = 256

// lose notes that the pass has no path. If one of two alternatives loses its path, they separate.
func (r *recorder) lose() {
	if r.apart > 0 {
		r.spoiled = true
		return
	}
	r.on = false
}

// begin starts the recording of a pass.
func (r *recorder) begin(x *paths, root []byte) {
	lay := &r.c.st.prog.layout
	r.on, r.from, r.root, r.in = true, x.from, root, nil
	r.src = slices.Grow(r.src[:0], lay.Size)[:lay.Size]
	r.mask = slices.Grow(r.mask[:0], len(root))[:len(root)]
	r.held = slices.Grow(r.held[:0], len(root))[:len(root)]
	clear(r.src)
	clear(r.mask)
	clear(r.held)
	r.path = &Path{gen: x.gen, key: x.key, before: x.from, ops: r.ops[:0], parts: r.parts[:0]}
	if x.armed, x.from = false, nil; x.slots == nil {
		x.slots = new(slots)
	}
	for p := r.from; p != nil; p = p.before {
		for i := range p.needs {
			g := &p.needs[i]
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], g.mask)
			for k := range b {
				r.held[g.off+k] |= b[k]
			}
		}
	}
	if r.carried == nil {
		r.carried = map[int]int{}
	}
	clear(r.carried)
	r.computed.reset()
	if p := r.from; p != nil {
		unpatch(r.src, p.state.frame, p.state.slots)
		r.inherit(p)
	}
	r.last, r.at, r.args, r.long = 0, nil, nil, false
}

// unsettle notes that fields of the switch differ between packets of a path.
func (r *recorder) unsettle(fields ...*stdField) {
	for _, f := range fields {
		if f.off >= 0 {
			for i := range r.src[f.off : f.off+8] {
				r.src[int(f.off)+i] = unsettled
			}
		}
	}
}

// settle notes that they are.
func (r *recorder) settle(fields ...*stdField) {
	for _, f := range fields {
		if f.off >= 0 {
			clear(r.src[f.off : f.off+8])
		}
	}
}

// ingress runs parser and ingress.
func (r *recorder) ingress() {
	c := r.c
	std := &c.st.prog.std
	root := c.frame.b
	if from := c.paths.from; from != nil {
		root = c.recalled.b
	}
	r.begin(c.paths, root)
	if r.from != nil {
		r.in = make([]source, 0, len(c.frame.b))
		r.in = r.from.out.sources(r.in)
	} else {
		r.give(&std.ingressTime, givenTime)
		r.give(&std.ingressPort, givenPort)
	}
	c.cur, c.failed, c.perr, c.checksumBad = 0, false, c.st.prog.errors.none, false
	r.parse(&c.st.prog.parser)
	c.payload = span{uint32(c.cur), uint32(len(c.frame.b))}
	c.setStd(&std.parserError, c.perr)
	c.setStd(&std.checksumError, 0)
	r.control(&c.st.prog.ingress)
	r.afterIngress()
}

// give makes a field of the switch what is given to the pass.
func (r *recorder) give(f *stdField, which uint64) {
	if f.off >= 0 {
		width := 64 - int(f.cut)
		o := pathOp{code: opGiven, k: which, a: takes{mask: bitfield.Mask(width)}}
		r.put(int(f.off), 8, r.cut(r.slot(o, r.c.paths.given[which]&o.a.mask), width))
	}
}

// std is the value of a field of the switch.
func (r *recorder) std(f *stdField) val {
	if f.off < 0 {
		return val{}
	}
	v, ok := r.gather(r.src[f.off:f.off+8], r.c.data[f.off:f.off+8])
	if !ok {
		r.lose()
	}
	return v
}

// afterIngress notes what has become of the packet.
func (r *recorder) afterIngress() {
	c, p := r.c, r.path
	std := &c.st.prog.std
	plain := c.clone >= 0 || c.digest >= 0 || c.aborted || c.resubmit != nil || c.Trunc != Whole ||
		c.recirculate != nil
	if std.priority.off >= 0 {
		r.look(8*int(std.priority.off), 64)
	}
	to, outcome := r.std(&std.mcastGroup), pathGroup
	r.ask(opEq, to, val{}, to.now == 0)
	if to.now == 0 {
		to, outcome = r.std(&std.egressSpec), pathUnicast
		if r.ask(opEq, to, val{now: c.st.dropPort}, c.Drops()); c.Drops() {
			to, outcome = val{}, pathDrop
		}
	}
	to = r.cut(to, 64)
	if r.compute(to.takes); r.on && !plain {
		if p.outcome, p.to = outcome, to.takes; to.constant() {
			p.dest = to.now
		}
	}
	p.priority = int(c.std(&std.priority))
	if p.outcome == pathUnicast || p.outcome == pathGroup {
		p.state = r.state()
		p.state.instance = instanceNormal
		if p.outcome == pathGroup {
			p.state.instance = instanceReplication
		}
	}
	r.end()
}

// state is the packet in hand between two passes.
func (r *recorder) state() *pathState {
	c := r.c
	s := &pathState{phv: PHV{data: bytes.Clone(c.data), valid: slices.Clone(c.valid),
		vl: make([]span, len(c.vl)), next: slices.Clone(c.next), payload: r.inRoot(c.payload)}}
	for w, v := range c.dirty {
		for v &^= c.valid[w]; v != 0; {
			var b int
			b, v = bitfield.Next(v)
			h := c.st.prog.layout.Headers[w*64+b]
			clear(s.phv.data[h.Off : h.Off+h.Size])
			clear(r.src[h.Off : h.Off+h.Size])
		}
	}
	for i, h := range c.st.prog.layout.Headers {
		if h.VL >= 0 && c.valid[i/64]>>(i%64)&1 != 0 {
			s.phv.vl[h.VL] = r.inRoot(c.vl[h.VL])
		}
	}
	s.frame, s.slots = patches(r.src)
	r.keep(s.slots)
	r.path.length, r.path.octets = c.Length, c.IngressLen
	return s
}

// inRoot maps a span of the parsed frame to the span of the received frame with the same octets.
func (r *recorder) inRoot(s span) span {
	switch {
	case s.len() == 0:
		return span{}
	case s.off&shifted != 0:
		r.lose()
		return span{}
	}
	from := r.inAt(int(s.off))
	for i := range s.len() {
		if at := r.inAt(int(s.off) + i); at <= 0 || at.ofSlot() || at != from+source(i) {
			r.lose()
			return span{}
		}
	}
	return span{uint32(from - 1), uint32(from-1) + uint32(s.len())}
}

// egress runs egress.
func (r *recorder) egress() {
	c := r.c
	std := &c.st.prog.std
	r.begin(c.paths, c.frame.b)
	r.settle(&std.qid, &std.egressSpec, &std.packetLength, &std.instanceType)
	r.give(&std.egressPort, givenPort)
	if r.path.key.copied {
		r.give(&std.egressRid, givenInstance)
	}
	r.unsettle(&std.egressTime, &std.enqTime, &std.enqDepth, &std.deqDelta, &std.deqDepth)
	r.control(&c.st.prog.egress)
	r.afterEgress()
}

// afterEgress notes what leaves.
func (r *recorder) afterEgress() {
	c, p := r.c, r.path
	std := &c.st.prog.std
	r.ask(opEq, r.std(&std.egressSpec), val{now: c.st.dropPort}, c.Drops())
	if r.on && c.clone < 0 && c.digest < 0 && !c.aborted && c.resubmit == nil && !c.Drops() &&
		c.Trunc == Whole {
		src, b := r.deparse()
		if c.recirculate != nil {
			r.again(c.recirculate, len(b))
		}
		p.out = outlineOf(src, b)
		for i := range p.out.pieces {
			if slots := p.out.pieces[i].slots; c.recirculate != nil {
				r.keep(slots)
			} else {
				for _, s := range slots {
					r.computeSlot(s.slot)
				}
			}
		}
		if r.on {
			p.outcome = pathTransmit
			if c.recirculate != nil {
				p.outcome = pathAgain
			}
		}
	}
	r.end()
}

// deparse returns the frame that leaves, as Deparse builds it, and the source of each octet.
func (r *recorder) deparse() (src []source, b []byte) {
	c, lay := r.c, &r.c.st.prog.layout
	run := func(s span) {
		if s.off&shifted != 0 {
			r.lose()
			return
		}
		src, b = slices.Grow(src, s.len()), append(b, c.frame.b[s.off:s.end]...)
		for i := s.off; i < s.end; i++ {
			src = append(src, r.inAt(int(i)))
		}
	}
	fixedPart := func(from, to int) {
		for i := from; i < to; i++ {
			if src, b = append(src, r.src[i]), append(b, c.data[i]); r.src[i] == unsettled {
				r.lose()
			}
		}
	}
	for i, h := range lay.Headers[:lay.Deparsed] {
		if c.valid[i/64]>>(i%64)&1 == 0 {
			continue
		}
		if h.VL < 0 {
			fixedPart(h.Off, h.Off+h.Size)
			continue
		}
		if h.VLBit%8 != 0 {
			r.lose()
		}
		fixedPart(h.Off, h.Off+h.VLBit/8)
		run(c.vl[h.VL])
		fixedPart(h.Off+h.VLBit/8, h.Off+h.Size)
	}
	run(c.payload)
	return src, b
}

// again notes what goes with a frame that goes through ingress once more.
func (r *recorder) again(list *fieldList, length int) {
	c := r.c
	std := &c.st.prog.std
	p := newPHV(&c.st.prog.layout)
	src := make([]source, len(r.src))
	list.keep(p, &c.PHV)
	for _, f := range list.fields {
		if !f.Header.Meta {
			r.lose()
			return
		}
		if f.Width > 0 {
			at, n := f.Slot(), ir.SlotSize(f.Width)
			copy(src[at:at+n], r.src[at:at+n])
		}
	}
	p.setStd(&std.instanceType, instanceRecirc)
	p.setStd(&std.packetLength, uint64(length))
	for _, f := range []*stdField{&std.instanceType, &std.packetLength} {
		if f.off >= 0 {
			clear(src[f.off : f.off+8])
		}
	}
	if slices.Contains(src, unsettled) {
		r.lose()
	}
	s := &pathState{phv: *p}
	s.frame, s.slots = patches(src)
	r.keep(s.slots)
	r.path.state, r.path.length, r.path.octets = s, length, length
}

// keep takes slots along with the packet into the next pass, and renumbers them for that pass.
func (r *recorder) keep(patches []slotPatch) {
	for i := range patches {
		patches[i].slot = r.carry(patches[i].slot)
	}
}

// carry returns the number that a slot has in the next pass. The packet keeps what only this pass
// knows (registers, arguments of actions, sums); all else is computed of that by whom needs it.
func (r *recorder) carry(n int) int {
	if at, ok := r.carried[n]; ok {
		return at
	}
	p, s := r.path, &r.computed
	o := s.defs[n]
	var at int
	switch {
	case o.code == opLoad:
	case s.done[n], o.code == opRead, o.code == opGiven, o.code == opSum:
		r.computeSlot(n)
		if at = len(p.keeps); at == maxKept {
			r.lose()
			return 0
		}
		p.keeps = append(p.keeps, uint16(n))
		r.carried[n] = at
		return at
	default:
		for _, t := range []*takes{&o.a, &o.b} {
			if t.mask != 0 {
				t.slot = uint16(r.carry(int(t.slot)))
			}
		}
		if o.code == opChoose {
			o.k = uint64(r.carry(int(o.k)))
		}
	}
	if at = maxKept + len(p.late); at == maxSlots {
		r.lose()
		return 0
	}
	o.to = uint16(at)
	p.late, r.carried[n] = append(p.late, o), at
	return at
}

// inherit defines the slots that the pass before has left.
func (r *recorder) inherit(p *Path) {
	s := &r.computed
	copy(s.now[:], r.c.kept[:maxKept+len(p.late)])
	for range maxKept {
		s.define(pathOp{code: opArg, a: takes{mask: ^uint64(0)}}, true, false)
	}
	for _, o := range p.late {
		n := len(s.defs)
		*s.slots.place(s.defs, &o) = uint16(n + 1)
		s.define(o, false, r.isPure(&o))
	}
}

// end keeps the path.
func (r *recorder) end() {
	p, x := r.path, r.c.paths
	for i := 0; i < len(p.stores) && r.on; i++ {
		r.compute(p.stores[i].index)
		r.compute(p.stores[i].value)
	}
	if !r.on {
		p.outcome = pathPlain
	}
	if r.long {
		p.outcome, p.ops, p.parts = pathPlain, p.ops[:longOps], p.parts[:longOps]
	}
	if p.outcome == pathPlain {
		p.state, p.out, p.counts, p.stores = nil, nil, nil, nil
		p.keeps, p.late = nil, nil
	}
	for at := 0; at < len(r.root); at += 8 {
		off := min(at, len(r.root)-8)
		g := need{off: off}
		for k := at - off; k < 8; k++ {
			g.mask |= uint64(r.mask[off+k]&^r.held[off+k]) << (8 * k)
		}
		if g.mask != 0 {
			g.want = binary.LittleEndian.Uint64(r.root[off:]) & g.mask
			p.needs = append(p.needs, g)
		}
	}
	r.ops, r.parts = p.ops, p.parts
	p.ops, p.parts = slices.Clone(p.ops), slices.Clone(p.parts)
	x.add(p, r.root)
}

// inAt returns the source of an octet of the parsed frame.
func (r *recorder) inAt(at int) source {
	if r.in != nil {
		return r.in[at]
	}
	return source(at + 1)
}

// sources appends the sources of the frame's octets.
func (o *outline) sources(to []source) []source {
	for i := range o.pieces {
		k, at := &o.pieces[i], len(to)
		to = append(to, make([]source, len(k.fixed))...)
		unpatch(to[at:], k.frame, k.slots)
		for n := k.from; n < k.to; n++ {
			to = append(to, source(n+1))
		}
	}
	return to
}
