package engine

import (
	"bytes"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/extern"
	"github.com/weft-sdn/weft/dataplane/ir"
	"github.com/weft-sdn/weft/test/seeds"
)

// pathBench records what expressions do, of fields whose octets come from anywhere.
type pathBench struct {
	*exprBench
	r      *recorder
	meta   []*ir.Field
	fixed  []byte
	src    []source
	frames [2]*Frame
	kept   [2][]uint64
	pure   bool // the frames are taken to differ in nothing
}

// packet makes a packet the one in hand: of two, which agree in what is fixed.
func (b *pathBench) packet(i int) {
	b.c.recalled = b.frames[i]
	for at, s := range b.src {
		switch {
		case s == fixed:
			b.c.data[at] = b.fixed[at]
		case s.ofSlot():
			n, shift := s.slot()
			b.c.data[at] = byte(b.kept[i][n] >> shift)
		default:
			b.c.data[at] = b.frames[i].b[s-1]
		}
	}
}

func newPathBench(t *testing.T, seed uint64) *pathBench {
	b := &pathBench{exprBench: newExprBench(seed)}
	b.fields = slices.DeleteFunc(b.fields, func(f *ir.Field) bool { return f.Signed || f.Width > 64 })
	b.c.st, b.c.paths = &State{prog: b.l.prog}, &paths{slots: new(slots)}
	b.r = &recorder{c: b.c}
	size := len(b.c.data)
	b.src, b.r.src = make([]source, size), make([]source, size)
	return b
}

// begin gives every octet a source and begins the recording of the first packet.
func (b *pathBench) begin() {
	b.fill()
	b.fixed = append(b.fixed[:0], b.c.data...)
	for i := range b.frames {
		b.fill()
		b.frames[i] = &Frame{b: append([]byte(nil), b.c.data...)}
		b.kept[i] = make([]uint64, 4)
		for k := range b.kept[i] {
			b.kept[i][k] = b.rng.Uint64() >> b.rng.IntN(64) << b.rng.IntN(64)
		}
	}
	for at := 0; at < len(b.src)-8; {
		n := min(1+b.rng.IntN(12), len(b.src)-8-at)
		from, up := source(1+b.rng.IntN(len(b.src)-n)), source(1)
		switch b.rng.IntN(4) {
		case 0:
			from, up = fixed, 0
		case 1:
			n = min(n, 8)
			slot := 8 * source(b.rng.IntN(4))
			if from = slotSource + slot + source(b.rng.IntN(9-n)); b.rng.IntN(2) == 0 {
				from, up = from+source(n-1), -1
			}
		}
		for k := range n {
			b.src[at+k] = from + up*source(k)
		}
		at += n
	}
	for _, f := range b.fields { // what metadata has above a field is zero
		if f.Header.Meta && f.Width <= 64 {
			for at := f.Slot(); at < f.Bit/8; at++ {
				b.src[at], b.fixed[at] = fixed, 0
			}
			if f.Width%8 != 0 {
				b.src[f.Bit/8] = fixed
				b.fixed[f.Bit/8] &= byte(bitfield.Mask(f.Width % 8))
			}
		}
	}
	b.packet(0)
	b.r.on, b.r.path, b.r.root = true, &Path{}, b.frames[0].b
	b.r.mask = make([]byte, len(b.r.root))
	copy(b.r.src, b.src)
	b.pure = b.rng.IntN(2) == 0
	for i := range b.c.paths.varied {
		b.c.paths.varied[i] = !b.pure
	}
	b.r.computed.reset()
	b.c.kept = new(slots)
	copy(b.c.kept[:], b.kept[0])
	b.r.inherit(&Path{})
}

// follow walks the path with the second packet; false: it has none.
func (b *pathBench) follow() bool {
	b.packet(1)
	for at, bits := range b.r.mask {
		if (b.frames[0].b[at]^b.frames[1].b[at])&bits != 0 {
			return false
		}
	}
	copy(b.c.paths.slots[:], b.kept[1])
	return b.c.walk(b.r.path, b.frames[1]) != nil
}

// of is a value of the packet that has followed.
func (b *pathBench) of(v val) uint64 {
	if v.constant() {
		return v.now
	}
	return v.takes.of(b.c.paths.slots)
}

// question asks a condition: a packet with the same answer goes on, one with another does not. A
// pure packet goes on only where it agrees in all that the answer is made of.
func (b *pathBench) question(t *testing.T, i int, q *ir.Expr, asks, other *int) {
	b.begin()
	yes, ok := b.r.answer(q)
	if !ok {
		return
	}
	if yes != b.slowBool(q) {
		t.Fatalf("case %d: the answer is %v", i, yes)
	}
	followed := b.follow()
	if *asks++; followed != (yes == b.slowBool(q)) && (followed || !b.pure) {
		t.Fatalf("case %d: the answer was %v, now it is %v; the packet follows: %v", i, yes,
			b.slowBool(q), followed)
	}
	if !followed {
		*other++
	}
}

// TestPathValues: packets that follow a path compute the same expressions, conditions and assigned
// fields as unbounded arithmetic.
func TestPathValues(t *testing.T) {
	b := newPathBench(t, seeds.One(t, 1))
	values, conditions, assigned, asks, other := 0, 0, 0, 0, 0
	for i := range 6000 {
		e := simplifyAll(b.masked(b.gen(1 + b.rng.IntN(4))))
		q := simplifyAll(b.cond(b.rng.IntN(3)))
		b.begin()
		v, ok := b.r.value(e)
		if ok {
			if values++; v.now != ir.Low64(b.slow(e)) {
				t.Fatalf("case %d: %#x, want %#x", i, v.now, b.slow(e))
			}
			b.r.compute(v.takes)
		}
		cond, isCond := b.r.bit(q)
		if isCond {
			if conditions++; cond.now != 0 != b.slowBool(q) {
				t.Fatalf("case %d: condition %v, want %v", i, cond.now != 0, b.slowBool(q))
			}
			b.r.compute(cond.takes)
		}
		if !b.r.on || !b.follow() {
			t.Fatalf("case %d: no path, though nothing was asked", i)
		}
		if want := ir.Low64(b.slow(e)); ok && b.of(v) != want {
			t.Fatalf("case %d: the next packet has %#x, want %#x", i, b.of(v), want)
		}
		if want := b.slowBool(q); isCond && b.of(cond) != 0 != want {
			t.Fatalf("case %d: the condition of the next packet is %v, want %v", i, !want, want)
		}

		b.question(t, i, q, &asks, &other)

		dst := b.fields[b.rng.IntN(len(b.fields))]
		if !ok || dst.Signed || dst.Width > 57 {
			continue
		}
		b.begin()
		run := b.l.assign(nil, ir.FieldValue(dst), e)
		if v, ok = b.r.value(e); ok {
			b.r.set(dst, v, func() { run(b.c) })
		}
		if !ok || !b.r.on {
			t.Fatalf("case %d: %s of %d bits is not assigned", i, dst.Name(), dst.Width)
		}
		frame, slots := patches(b.r.src)
		for _, s := range slots {
			b.r.computeSlot(s.slot)
		}
		got := append([]byte(nil), b.c.data...)
		b.follow()
		fill(got, frame, slots, b.frames[1], b.c.paths.slots[:])
		if run(b.c); !bytes.Equal(got, b.c.data) {
			t.Fatalf("case %d: %s of %d bits at %d is assigned:\n got %x\nwant %x", i, dst.Name(),
				dst.Width, dst.Bit, got, b.c.data)
		}
		assigned++
	}

	if values < 2000 || conditions < 500 || assigned < 500 || asks < 100 || other < 20 {
		t.Errorf("%d values, %d conditions, %d assigned, %d questions, %d with another answer", values,
			conditions, assigned, asks, other)
	}
}

// block appends nodes that assign metadata and ask conditions, in random order, and lead to next;
// it returns the first.
func (b *pathBench) block(p *pipeline, depth, next int) int {
	for range 1 + b.rng.IntN(3) {
		if depth > 0 && b.rng.IntN(2) == 0 {
			q := simplifyAll(b.cond(b.rng.IntN(2)))
			yes, no := b.block(p, depth-1, next), next
			if b.rng.IntN(2) == 0 {
				no = b.block(p, depth-1, next)
			}
			p.nodes = append(p.nodes, node{kind: nodeCond, cond: b.l.boolean(q), asks: b.l.question(q),
				next: yes, nextNot: no})
		} else {
			a := &action{}
			for range 1 + b.rng.IntN(2) {
				e := simplifyAll(b.masked(b.gen(b.rng.IntN(3))))
				dst := ir.FieldValue(b.fields[b.rng.IntN(len(b.fields))])
				if b.rng.IntN(8) > 0 {
					dst = ir.FieldValue(b.meta[b.rng.IntN(len(b.meta))])
				}
				a.prims = append(a.prims, prim{run: b.l.assign(nil, dst, e)})
				a.notes = append(a.notes, &note{op: operations["assign"], args: []*ir.Expr{dst, e}})
			}
			p.nodes = append(p.nodes, node{kind: nodeAction, action: a, next: next})
		}
		next = len(p.nodes) - 1
	}
	return next
}

// run runs nodes without a recorder.
func (b *pathBench) run(p *pipeline) {
	for i := p.start; i >= 0; {
		n := &p.nodes[i]
		if n.kind == nodeAction {
			for _, prim := range n.action.prims {
				prim.run(b.c)
			}
			i = n.next
		} else if i = n.nextNot; n.cond(b.c) {
			i = n.next
		}
	}
}

// TestEither records both ways of conditions where possible. The recorded packet must end in the
// same state as without a recorder, and so must the next packet, if it follows the path.
func TestEither(t *testing.T) {
	b := newPathBench(t, seeds.One(t, 1))
	for _, f := range b.fields {
		if f.Header.Meta {
			b.meta = append(b.meta, f)
		}
	}
	const count = 4000
	both, parted, followed := 0, 0, 0
	for i := range count {
		p := &pipeline{}
		p.start = b.block(p, 3, -1)
		b.begin()
		b.run(p)
		want := append([]byte(nil), b.c.data...)
		b.packet(0)
		b.c.paths.asking = map[*node]*asking{}
		for k := range p.nodes {
			b.c.paths.asking[&p.nodes[k]] = &asking{missed: manyMissed}
		}
		b.r.control(p)
		if !bytes.Equal(b.c.data, want) {
			t.Fatalf("case %d: the packet that is recorded has\n     %x\nwant %x", i, b.c.data, want)
		}
		for _, a := range b.c.paths.asking {
			if a.known && a.meeting >= 0 {
				both++
			} else if a.known {
				parted++
			}
		}
		frame, slots := patches(b.r.src)
		for _, s := range slots {
			b.r.computeSlot(s.slot)
		}
		got := append([]byte(nil), b.c.data...)
		holds := b.follow()
		for k, mask := range b.r.mask {
			holds = holds && (b.frames[0].b[k]^b.frames[1].b[k])&mask == 0
		}
		if !b.r.on || !holds {
			continue
		}
		followed++
		fill(got, frame, slots, b.frames[1], b.c.paths.slots[:])
		if b.run(p); !bytes.Equal(got, b.c.data) {
			t.Fatalf("case %d: the packet that follows has\n     %x\nwant %x", i, got, b.c.data)
		}
	}
	t.Logf("%d conditions have both ways recorded, %d part; %d of %d packets follow", both, parted,
		followed, count)
	if both < count*3/4 || parted < count/8 || followed < count/16 {
		t.Errorf("%d conditions have both ways recorded, %d part; %d of %d packets follow", both, parted,
			followed, count)
	}
}

// TestPlain: the recorder runs an action on both branches of a condition only if the action changes
// nothing but metadata of up to 64 bits.
func TestPlain(t *testing.T) {
	meta, header := &ir.Header{Meta: true}, &ir.Header{}
	field := func(h *ir.Header, width int) *ir.Expr {
		return &ir.Expr{Op: ir.OpField, Field: &ir.Field{Header: h, Width: width}}
	}
	valid := &ir.Expr{Op: ir.OpField, Field: &ir.Field{Header: meta, Width: 1, Valid: true}}
	for _, c := range []struct {
		op   string
		dst  *ir.Expr
		jump bool
		want bool
	}{
		{"assign", field(meta, 64), false, true},
		{"modify_field", field(meta, 1), false, true},
		{"register_read", field(meta, 32), false, true},
		{"assign", field(meta, 65), false, false},
		{"assign", field(header, 32), false, false},
		{"assign", valid, false, false},
		{"assign", &ir.Expr{Op: ir.OpStackField}, false, false},
		{"assign", field(meta, 64), true, false},
		{"modify_field_rng_uniform", field(meta, 32), false, false},
		{"modify_field_with_hash_based_offset", field(meta, 32), false, false},
		{"register_write", &ir.Expr{Op: ir.OpObject}, false, false},
		{"count", &ir.Expr{Op: ir.OpObject}, false, false},
		{"mark_to_drop", field(meta, 32), false, false},
	} {
		a := &action{prims: []prim{{jump: c.jump}},
			notes: []*note{{op: operations[c.op], args: []*ir.Expr{c.dst}}}}
		if a.plain() != c.want {
			t.Errorf("%s of %+v, jump %v: %v, want %v", c.op, c.dst.Field, c.jump, !c.want, c.want)
		}
	}
}

// TestEitherRegister has no register beyond its end read, nor counted, on a way that a packet does
// not go.
func TestEitherRegister(t *testing.T) {
	b := newPathBench(t, 1)
	b.c.st.regs = []extern.Register{extern.NewRegister(1, 32)}
	b.c.st.prog.info.registers = nil
	f := b.fields[slices.IndexFunc(b.fields, func(f *ir.Field) bool {
		return f.Header.Meta && f.Width == 32
	})]
	index := ir.Constant(big.NewInt(5))
	reads := 0
	read := &action{prims: []prim{{run: func(*Context) { reads++ }}},
		notes: []*note{{op: operations["register_read"], index: b.l.term(index),
			args: []*ir.Expr{ir.FieldValue(f), {Op: ir.OpObject}, index}}}}
	for _, goes := range []bool{false, true} {
		b.begin()
		for i := range 8 {
			b.r.src[f.Slot()+i] = source(i + 1)
		}
		b.c.paths.varied[4], reads = true, 0
		now := b.c.meta64(f)
		if goes {
			now++
		}
		q := &ir.Expr{Op: ir.OpNe, Kind: ir.KindBool, A: ir.FieldValue(f),
			B: ir.Constant(new(big.Int).SetUint64(now))}
		p := &pipeline{nodes: []node{{kind: nodeCond, asks: b.l.question(q), next: 1, nextNot: 2},
			{kind: nodeAction, action: read, next: 2}, {kind: nodeAction, action: &action{}, next: -1}}}
		b.c.paths.asking = map[*node]*asking{&p.nodes[0]: {missed: manyMissed}}
		b.r.control(p)
		if want := map[bool]int{true: 1}[goes]; reads != want {
			t.Errorf("the packet goes that way: %v; %d reads, want %d", goes, reads, want)
		}
	}
}

// TestShiftByUnknown has no path shift by what may be negative.
func TestShiftByUnknown(t *testing.T) {
	b := newPathBench(t, 1)
	b.begin()
	x := ir.FieldValue(b.fields[0])
	below := ir.WithInterval(&ir.Expr{Op: ir.OpSub, A: x, B: ir.FieldValue(b.fields[1])})
	for _, op := range []ir.Op{ir.OpShl, ir.OpShr} {
		if _, ok := b.r.value(&ir.Expr{Op: op, A: x, B: below}); ok {
			t.Errorf("operation %d by %v to %v has a value", op, below.Lo, below.Hi)
		}
		if _, ok := b.r.value(&ir.Expr{Op: op, A: x, B: x}); !ok {
			t.Errorf("operation %d by a field has no value", op)
		}
	}
}

// TestCell: a path may use registers of up to 64 bits, at an existing index.
func TestCell(t *testing.T) {
	b := newPathBench(t, 1)
	b.c.st.regs = []extern.Register{extern.NewRegister(4, 64), extern.NewRegister(4, 65)}
	for _, c := range []struct {
		register, index int
		want            bool
	}{{0, 0, true}, {0, 3, true}, {0, 4, false}, {1, 0, false}} {
		b.begin()
		index := ir.Constant(big.NewInt(int64(c.index)))
		register := &ir.Expr{Op: ir.OpObject, Index: c.register}
		k, ok := b.r.cell(&note{index: b.l.term(index)}, register, index)
		if ok != c.want || k != (cell{c.register, val{now: uint64(c.index)}}) {
			t.Errorf("register %d, index %d: %+v %v", c.register, c.index, k, ok)
		}
	}
}

// TestOpIndex: an index finds each operation of a list again, and no other operation, whatever the
// operations differ in.
func TestOpIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(seeds.One(t, 1), 0))
	for which := range 4 {
		var x opIndex
		var list []pathOp
		want := map[pathOp]uint16{}
		for range 4 * maxSlots {
			v, o := rng.Uint64N(maxSlots), pathOp{}
			switch which {
			case 0:
				o.code = opcode(v)
			case 1:
				o.k = v
			case 2:
				o.a.mask = v
			case 3:
				o.b.mask = v
			}
			at := x.place(list, &o)
			if *at != want[o] {
				t.Fatalf("%+v is operation %d, want %d", o, *at, want[o])
			}
			if *at == 0 {
				list = append(list, o)
				*at, want[o] = uint16(len(list)), uint16(len(list))
			}
		}
	}
}

// TestCells: packets that follow a path read and write the elements of a register that their own
// indices name, in the order of the program, whether or not two indices are equal.
func TestCells(t *testing.T) {
	b := newPathBench(t, seeds.One(t, 1))
	var indices []*ir.Expr
	var dst *ir.Field
	for _, f := range b.fields {
		switch {
		case f.Width <= 4:
			indices = append(indices, ir.FieldValue(f))
		case f.Header.Meta && f.Width == 32:
			dst = f
		}
	}
	register, value := &ir.Expr{Op: ir.OpObject}, ir.FieldValue(b.fields[slices.IndexFunc(b.fields,
		func(f *ir.Field) bool { return !f.Header.Meta && f.Width == 32 })])
	type step struct {
		write bool
		n     *note
	}
	// run is what the program does, and returns what it reads.
	run := func(reg *extern.Register, s step) uint64 {
		i := b.c.eval(&s.n.index)
		if s.write {
			reg.Set(i, ir.Low64(b.slow(value)))
		} else if i < uint64(reg.Size) {
			b.c.setMeta64(dst, reg.Get(i))
		}
		return b.c.meta64(dst)
	}
	const size = 8
	fresh := func() *extern.Register {
		reg := extern.NewRegister(size, 32)
		for i := range uint64(size) {
			reg.Set(i, 100+i)
		}
		return &reg
	}
	followed, moved := 0, 0
	for i := range 6000 {
		b.begin()
		b.c.st.regs = []extern.Register{*fresh()}
		var steps []step
		var read []val
		first := make([]uint64, 0, 4)
		for range 4 {
			index := indices[b.rng.IntN(len(indices))]
			s := step{b.rng.IntN(2) == 0, &note{index: b.l.term(index)}}
			do := func() { run(&b.c.st.regs[0], s) }
			if s.write {
				s.n.args = []*ir.Expr{register, index, value}
				b.r.writeRegister(s.n, do)
			} else {
				s.n.args = []*ir.Expr{ir.FieldValue(dst), register, index}
				b.r.readRegister(s.n, do)
			}
			v, ok := b.r.fieldValue(dst)
			if !ok {
				b.r.lose()
			}
			b.r.compute(v.takes)
			first = append(first, b.c.eval(&s.n.index))
			steps, read = append(steps, s), append(read, v)
		}
		for _, w := range b.r.path.stores {
			b.r.compute(w.index)
			b.r.compute(w.value)
		}
		b.c.st.regs[0] = *fresh()
		if !b.r.on || !b.follow() {
			continue
		}
		followed++
		b.c.commit(b.r.path)
		twin, other := fresh(), false
		for k, s := range steps {
			other = other || b.c.eval(&s.n.index) != first[k]
			if want := run(twin, s); b.of(read[k]) != want {
				t.Fatalf("case %d, step %d: %d is read, want %d", i, k, b.of(read[k]), want)
			}
		}
		for k := range uint64(size) {
			if got, want := b.c.st.regs[0].Get(k), twin.Get(k); got != want {
				t.Fatalf("case %d: element %d is %d, want %d", i, k, got, want)
			}
		}
		if other {
			moved++
		}
	}
	if followed < 500 || moved < 100 {
		t.Errorf("%d packets follow, %d of them with other indices", followed, moved)
	}
}
