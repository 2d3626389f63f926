package engine

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/extern"
	"github.com/weft-sdn/weft/dataplane/ir"
	"github.com/weft-sdn/weft/test/seeds"
)

// TestCRCShift has the CRC-32 of two pieces follow from that of each.
func TestCRCShift(t *testing.T) {
	rng := rand.New(rand.NewPCG(seeds.One(t, 1), 0))
	for _, n := range []int{0, 1, 2, 3, 7, 8, 63, 64, 1024, 4096, 9001, 1 << 20} {
		a, b := make([]byte, 1+rng.IntN(100)), make([]byte, n)
		for _, x := range [][]byte{a, b} {
			for i := range x {
				x[i] = byte(rng.Uint32())
			}
		}
		got := newCRCShift(n).by(crc32.ChecksumIEEE(a)) ^ crc32.ChecksumIEEE(b)
		if want := crc32.ChecksumIEEE(append(a, b...)); got != want {
			t.Errorf("%d octets: %#x, want %#x", n, got, want)
		}
	}
}

// TestOutline has frames put together from fixed octets and from runs of others, of all lengths.
func TestOutline(t *testing.T) {
	rng := rand.New(rand.NewPCG(seeds.One(t, 1), 0))
	for range 2000 {
		old, now := &Frame{b: make([]byte, 400)}, &Frame{b: make([]byte, 400)}
		for i := range old.b {
			old.b[i], now.b[i] = byte(rng.Uint32()), byte(rng.Uint32())
		}
		var src []source
		var before, want []byte
		for range rng.IntN(6) {
			n := rng.IntN(2*longRun) + 1
			if rng.IntN(3) == 0 {
				n = rng.IntN(20)
			}
			from := rng.IntN(len(old.b) - n)
			for i := range n {
				if x := byte(rng.Uint32()); rng.IntN(3*longRun) == 0 {
					src, before, want = append(src, fixed), append(before, x), append(want, x)
					continue
				}
				src = append(src, source(from+i+1))
				before, want = append(before, old.b[from+i]), append(want, now.b[from+i])
			}
		}
		o := outlineOf(src, before)
		got := o.append(nil, now, nil)
		if !bytes.Equal(got, want) || o.octets != len(want) {
			t.Fatalf("%v:\n got %x\nwant %x", src, got, want)
		}
		if again := o.sources(nil); len(again) != len(src) {
			t.Fatalf("%v: sources %v", src, again)
		} else {
			for i := range src {
				if again[i] != src[i] {
					t.Fatalf("%v: sources %v", src, again)
				}
			}
		}
	}
}

// TestCombine has octets joined to what is one of them, or the same whatever the other is.
func TestCombine(t *testing.T) {
	moved := octet{from: 7, val: 0x5a}
	for _, c := range []struct {
		and        bool
		a, b, want octet
		ok         bool
	}{
		{true, moved, octet{val: 0xff}, moved, true},
		{true, octet{val: 0xff}, moved, moved, true},
		{true, moved, octet{val: 0}, octet{}, true},
		{true, moved, octet{val: 0x0f}, octet{}, false},
		{true, octet{val: 0x3c}, octet{val: 0x0f}, octet{val: 0x0c}, true},
		{true, moved, moved, octet{}, false},
		{false, moved, octet{}, moved, true},
		{false, octet{}, moved, moved, true},
		{false, moved, octet{val: 0xff}, octet{val: 0xff}, true},
		{false, moved, octet{val: 1}, octet{}, false},
		{false, octet{val: 0x30}, octet{val: 0x0f}, octet{val: 0x3f}, true},
	} {
		if got, ok := combine(c.and, c.a, c.b); got != c.want || ok != c.ok {
			t.Errorf("%+v: got %v %v", c, got, ok)
		}
	}
}

// TestPathsBounded has paths of ever new flows, and those next to one, end for others.
func TestPathsBounded(t *testing.T) {
	x := &paths{}
	b := make([]byte, 64)
	reach := func() (n int) {
		for _, s := range x.shapes {
			for _, p := range s.slots {
				n += p.all()
			}
		}
		return n
	}
	most := 0
	var last *Path
	for i := range 3 * maxPaths {
		binary.LittleEndian.PutUint32(b, uint32(i))
		p := &Path{before: last, key: pathKey{port: uint32(i)}}
		if i%100 == 0 {
			mask := uint64(0xffffffff) << (i / 100 % 20)
			p.needs = []need{{mask: mask, want: binary.LittleEndian.Uint64(b) & mask}}
			p.before, last = nil, p
		}
		if x.add(p, b); i%64 == 0 {
			most = max(most, reach())
		}
		if len(x.shapes) > maxShapes {
			t.Fatalf("%d shapes", len(x.shapes))
		}
	}
	if most > maxPaths || most < maxPaths/8 {
		t.Errorf("%d paths at most, want up to %d", most, maxPaths)
	}
}

// TestCredit bounds the paths that are recorded of packets that find none, and of such that do.
func TestCredit(t *testing.T) {
	const packets = 1 << 18
	for _, follows := range []bool{false, true} {
		x := &paths{credit: creditFirst}
		recorded := 0
		for range packets {
			if !x.asks() {
				continue
			}
			if follows {
				x.found()
			}
			if x.arm(nil, &pathKey{}, nil); x.armed {
				recorded++
			}
			x.armed = false
		}
		from, to := 5, 5+packets/(creditCost<<4)
		if follows {
			from, to = 32+packets*creditFound/creditCost/2, 32+packets*(creditFound+1)/creditCost
		}
		if recorded < from || recorded > to {
			t.Errorf("packets follow others: %v: %d recorded, want %d to %d", follows, recorded, from, to)
		}
	}
}

// TestRest has few packets look for their path where none has one, and all once they have.
func TestRest(t *testing.T) {
	x := &paths{}
	ask := func(n, of int) (asked int) {
		for i := range n {
			if x.asks() {
				if asked++; i%of == of-1 {
					x.found()
				}
			}
		}
		return asked
	}
	const packets = 1 << 20
	if got := ask(packets, packets+1); got > packets/32 || got < packets/128 {
		t.Errorf("%d of %d packets look for a path that none has", got, packets)
	}
	ask(maxRest+2*pathWindow, 4)
	if got := ask(packets, 4); got != packets {
		t.Errorf("%d of %d packets look for a path that a quarter has", got, packets)
	}
	if ask(10*pathWindow, packets); x.rests > 16*pathRest || x.rest == 0 && x.rests == 0 {
		t.Errorf("a rest of %d packets", x.rests)
	}
}

// pathBench records what expressions do, of fields whose octets come from anywhere.
type pathBench struct {
	*exprBench
	r      *recorder
	meta   []*ir.Field
	fixed  []byte
	src    []source
	frames [2]*Frame
	kept   [2][]uint64
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
	b.r.computed.reset(b.kept[0])
}

// follow walks the path with the second packet; false: it has none.
func (b *pathBench) follow() bool {
	b.packet(1)
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

// question asks a condition: a packet with the same answer goes on, one with another does not.
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
	if *asks++; followed != (yes == b.slowBool(q)) {
		t.Fatalf("case %d: the answer was %v, now it is %v; the packet follows: %v", i, yes,
			b.slowBool(q), followed)
	}
	if !followed {
		*other++
	}
}

// TestPathValues has packets that follow others compute expressions, conditions and fields that are
// assigned, as unbounded arithmetic does.
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
			b.r.compute(takes{uint16(s.slot), 0, 1})
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
				a.notes = append(a.notes, note{op: "assign", args: []*ir.Expr{dst, e}})
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

// TestEither has both ways of conditions recorded, where that is possible: the packet in hand has
// what it has without a recorder, and so has the next one, if it follows.
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
			b.r.compute(takes{uint16(s.slot), 0, 1})
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

// TestVerdictNeeds has the path depend on what says where the packet goes.
func TestVerdictNeeds(t *testing.T) {
	p := &Program{layout: ir.Layout{Size: 32}}
	p.std.mcastGroup.off, p.std.egressSpec.off, p.std.priority.off = 0, 8, 16
	c := &Context{st: &State{prog: p}, paths: &paths{}, PHV: *newPHV(&p.layout), clone: -1, digest: -1}
	f := &Frame{b: make([]byte, 8)}
	c.Trunc, c.frame = Whole, f
	c.data[7] = 5
	c.recalled = f
	r := &recorder{c: c, on: true, path: &Path{}, root: f.b, mask: make([]byte, 8),
		held: make([]byte, 8), src: make([]source, 32)}
	r.src[7], r.src[15], r.src[23] = 2, 4, 6
	r.afterIngress()
	if want := []byte{0, 0xff, 0, 0xff, 0, 0xff, 0, 0}; !bytes.Equal(r.mask, want) ||
		r.path.group != 5 {
		t.Errorf("group %d, mask %x; want 5, %x", r.path.group, r.mask, want)
	}
}

// TestUnsettled has a pass without a path where it looks at the time, or moves it.
func TestUnsettled(t *testing.T) {
	for _, use := range []func(*recorder){func(r *recorder) { r.look(3, 1) },
		func(r *recorder) { r.write(1, r.src[0]) }, func(r *recorder) { r.write(0, fixed) }} {
		r := &recorder{on: true, src: []source{unsettled, fixed}}
		if use(r); r.on {
			t.Error("the pass has a path")
		}
	}
}

// TestCountNeeds has the path depend on what says which counter it is.
func TestCountNeeds(t *testing.T) {
	p := &Program{layout: ir.Layout{Size: 24}}
	c := &Context{st: &State{prog: p, counters: []extern.Counter{extern.NewCounter(256)}}}
	c.data = make([]byte, 24)
	r := &recorder{c: c, on: true, path: &Path{}, mask: make([]byte, 8), src: make([]source, 24)}
	r.src[7] = 3
	f := &ir.Field{Header: &ir.Header{Meta: true}, Width: 4, Bit: 60}
	n := note{op: "count", args: []*ir.Expr{{Op: ir.OpObject}, {Op: ir.OpField, Field: f}},
		index: bitsTerm(60, 4)}
	r.primitive(&n, func() {})
	if want := []byte{0, 0, 0x0f, 0, 0, 0, 0, 0}; !r.on || !bytes.Equal(r.mask, want) {
		t.Errorf("mask %x, want %x", r.mask, want)
	}
}

// TestControlsEndPaths: a control method that sets something ends all paths, also one that is added
// later, unless packets set the same: passes that read that read it anew, or have no path.
func TestControlsEndPaths(t *testing.T) {
	byPackets := []string{"SetCounter", "SetMeter", "SetMeterCounts", "SetRegister"}
	s := New(Config{}).State()
	v, n := reflect.ValueOf(s), 0
	for i := range v.NumMethod() {
		name := v.Type().Method(i).Name
		sets := slices.ContainsFunc([]string{"Set", "Insert", "Modify", "Delete", "Reset"},
			func(verb string) bool { return strings.HasPrefix(name, verb) })
		if !sets || slices.Contains(byPackets, name) {
			continue
		}
		var args []reflect.Value
		for a := range v.Method(i).Type().NumIn() {
			args = append(args, reflect.Zero(v.Method(i).Type().In(a)))
		}
		before := s.gen
		v.Method(i).Call(args)
		if n++; s.gen == before {
			t.Errorf("%s ends no path", name)
		}
	}
	if n < 12 {
		t.Errorf("%d methods set something, want those of entries, members, groups and more", n)
	}
}
