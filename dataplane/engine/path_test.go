package engine

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/dataplane/extern"
	"github.com/weft-sdn/weft/dataplane/ir"
	"github.com/weft-sdn/weft/test/seeds"
)

// TestCRCShift has the CRC-32 of two pieces follow from the CRC-32 of each.
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

// TestOutline puts frames together from fixed octets and from runs of received frames, of all
// lengths.
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

// TestCombine joins two octets where the result is one operand or a constant, and refuses other
// pairs.
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

// TestPathsBounded: paths of ever new flows, and paths next to another path, make room for new
// paths.
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
		p := &Path{before: last, key: pathKey{priority: i}}
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

// TestCredit bounds how many paths are recorded, both for packets without a path and for packets
// that follow one.
func TestCredit(t *testing.T) {
	const packets = 1 << 18
	for _, follows := range []bool{false, true} {
		x := &paths{credit: creditFirst}
		recorded := 0
		for range packets {
			if !x.asks(1) {
				continue
			}
			if follows {
				x.found(1)
			}
			if x.arm(nil, &pathKey{}, nil); x.armed {
				recorded++
			}
			x.armed = false
		}
		const first = creditFirst / creditCost
		from, to := first, first+packets/creditCost
		if follows {
			from, to = first+packets*creditFound/creditCost/2, first+packets*(creditFound+1)/creditCost
		}
		if recorded < from || recorded > to {
			t.Errorf("packets follow others: %v: %d recorded, want %d to %d", follows, recorded, from, to)
		}
	}
}

// TestRest: few packets look for a path while no packet finds one, and all packets do afterwards.
func TestRest(t *testing.T) {
	x := &paths{}
	l := &x.lots[1]
	ask := func(n, of int) (asked int) {
		for i := range n {
			if x.asks(1) {
				if asked++; i%of == of-1 {
					x.found(1)
				}
			}
		}
		return asked
	}
	const packets = 1 << 20
	for range pathWindow {
		if x.asks(2) {
			x.found(2)
		}
	}
	if got := ask(packets, packets+1); got > packets/32 || got < packets/128 {
		t.Errorf("%d of %d packets look for a path that none has", got, packets)
	}
	for i := range packets { // the crowd rests, those of another port do not
		if x.asks(1); !x.asks(2) {
			t.Fatalf("packet %d beside a crowd does not ask", i)
		}
		x.found(2)
	}
	ask(maxRest+2*pathWindow, 4)
	if got := ask(packets, 4); got != packets {
		t.Errorf("%d of %d packets look for a path that a quarter has", got, packets)
	}
	if ask(10*pathWindow, packets); l.rests > 16*pathRest || l.rest == 0 && l.rests == 0 {
		t.Errorf("a rest of %d packets", l.rests)
	}
	x = &paths{}
	for i := range 8 { // what teaches something does not rest
		if x.learned(); ask(pathWindow, packets) != pathWindow {
			t.Errorf("window %d: packets rest, though something was learned", i)
		}
	}
}

func pathOf(ops []pathOp) *Path { return &Path{ops: ops, parts: make([]parting, len(ops))} }

// TestFork: paths part where one of their answers differs, and nowhere else.
func TestFork(t *testing.T) {
	load := pathOp{code: opLoad, to: 1, k: 8}
	add := pathOp{code: opAdd, to: 2, a: takes{1, 0, 255}, k: 1}
	ask := func(code opcode, k uint64) pathOp { return pathOp{code: code, a: takes{2, 0, 255}, k: k} }
	crc := pathOp{code: opSum, to: 3}
	with := func(o pathOp, change func(*pathOp)) pathOp { change(&o); return o }
	for i, c := range []struct {
		a, b []pathOp
		at   int // -1: they do not part
	}{
		{[]pathOp{load, add, ask(opEq, 7)}, []pathOp{load, add, ask(opNe, 7), load}, 2},
		{[]pathOp{load, add, ask(opEq, 7)}, []pathOp{load, add, ask(opEq, 8)}, 2},
		{[]pathOp{ask(opLt, 7), add, ask(opGe, 2)}, []pathOp{ask(opLt, 7), add, ask(opLt, 2)}, 2},
		{[]pathOp{load, add, ask(opEq, 7)}, []pathOp{load, add, ask(opEq, 7)}, -1},
		{[]pathOp{load, add, ask(opEq, 7)}, []pathOp{load, add}, -1},
		{[]pathOp{load, add, ask(opEq, 7)},
			[]pathOp{load, add, with(ask(opNe, 7), func(o *pathOp) { o.a.shift = 8 })}, -1},
		{[]pathOp{load, add, ask(opEq, 7)},
			[]pathOp{load, add, with(ask(opNe, 7), func(o *pathOp) { o.b.mask = 1 })}, -1},
		{[]pathOp{load, ask(opEq, 7)},
			[]pathOp{with(load, func(o *pathOp) { o.k = 9 }), ask(opNe, 7)}, -1},
		{[]pathOp{load, ask(opEq, 7)},
			[]pathOp{with(load, func(o *pathOp) { o.to = 9 }), ask(opNe, 7)}, -1},
		{[]pathOp{{code: opGiven}}, []pathOp{{code: opEq}}, -1},
		{[]pathOp{{code: opEq}}, []pathOp{{code: opGiven}}, -1},
		{[]pathOp{crc, ask(opEq, 7)}, []pathOp{crc, ask(opNe, 7)}, -1}, // of other octets
	} {
		a, b := pathOf(slices.Clone(c.a)), pathOf(slices.Clone(c.b))
		a.sums, b.sums = []*sum{{fixed: []byte{1}}}, []*sum{{fixed: []byte{2}}}
		old, got := a.fork(b)
		if got != (c.at >= 0) || old != nil {
			t.Errorf("case %d: %v, want to part at %d", i, got, c.at)
		}
		if !got {
			continue
		}
		next := a.parts[c.at].other
		if k := a.parts[c.at].cases; k != nil {
			next = k[b.ops[c.at].k]
		}
		if next != b {
			t.Errorf("case %d: does not part at %d", i, c.at)
		}
		// What differs elsewhere takes the place of one of the two alone.
		b2 := pathOf(append(slices.Clone(b.ops[:c.at+1]), pathOp{code: opMul}))
		b.ops = append(b.ops[:c.at+1:c.at+1], pathOp{code: opXor})
		b.parts = make([]parting, len(b.ops))
		if old, ok := a.fork(b2); !ok || old != b {
			t.Errorf("case %d: %v %v gives way, want the second path", i, old, ok)
		}
	}
	for _, code := range []opcode{opLt, opEq} { // those of one constant each are without bound
		first := pathOf([]pathOp{ask(code, 0)})
		n := 0
		for n < 2*maxForks {
			if old, _ := first.fork(pathOf([]pathOp{ask(code, uint64(n+1))})); old != nil {
				break
			}
			n++
		}
		want := map[opcode]int{opLt: maxForks, opEq: 2 * maxForks}[code]
		if got := first.all(); n != want || code == opEq && got != n+1 {
			t.Errorf("%d paths part at one question, and count for %d; want %d", n, got, want)
		}
	}
	if got := pathOf(make([]pathOp, 640)).all(); got != 11 {
		t.Errorf("a path of 640 operations counts for %d, want 11", got)
	}
}

// TestVary: if a packet without a path differs in few octets, these octets count as differing.
func TestVary(t *testing.T) {
	for n := range 2 * fewVaried {
		b := make([]byte, 64)
		x := &paths{last: &Path{}}
		for at := 0; at < 64; at += 8 {
			x.last.needs = append(x.last.needs, need{off: at, mask: ^uint64(0)})
		}
		x.last.needs[7].mask = 0xff // of the last octets the path has looked at one
		for i := range n {
			b[2*i] = 1
		}
		b[63] = 1
		if news := x.vary(b); news != (n > 0 && n <= fewVaried) {
			t.Errorf("%d octets differ: news %v", n, news)
		}
		for i := range b {
			if want := n <= fewVaried && i%2 == 0 && i < 2*n; x.varied[i] != want {
				t.Errorf("%d octets differ: octet %d differs: %v", n, i, x.varied[i])
			}
		}
		if x.vary(b) {
			t.Errorf("%d octets differ, and it is news again", n)
		}
	}
}

// TestVerdictNeeds has the path depend on what says whether the packet goes to a group, to a port
// or nowhere, and on its priority, but neither on the group nor on the port.
func TestVerdictNeeds(t *testing.T) {
	for _, k := range []struct {
		group, port byte
		want        outcome
		dest        uint64
		asks        []opcode
	}{
		{5, 9, pathGroup, 5, []opcode{opNe}},
		{0, 9, pathUnicast, 9, []opcode{opEq, opNe}},
		{0, 7, pathDrop, 0, []opcode{opEq, opEq}},
	} {
		p := &Program{layout: ir.Layout{Size: 32}}
		p.std.mcastGroup.off, p.std.egressSpec.off, p.std.priority.off = 0, 8, 16
		p.std.ingressTime.off = -1
		c := &Context{st: &State{prog: p, dropPort: 7}, paths: &paths{slots: new(slots)},
			PHV: *newPHV(&p.layout), clone: -1, digest: -1}
		f := &Frame{b: []byte{0, k.group, 0, k.port, 0, 0, 0, 0}}
		c.Trunc, c.frame, c.recalled = Whole, f, f
		c.payload.end = 8
		c.data[7], c.data[15] = k.group, k.port
		r := &recorder{c: c, on: true, path: &Path{}, root: f.b, mask: make([]byte, 8),
			held: make([]byte, 8), src: make([]source, 32), carried: map[int]int{}}
		r.src[7], r.src[15], r.src[23] = 2, 4, 6
		r.computed.reset()
		for i := range f.b {
			c.paths.varied[i] = true
		}
		r.afterIngress()
		if want := []byte{0, 0, 0, 0, 0, 0xff, 0, 0}; !bytes.Equal(r.mask, want) {
			t.Errorf("%+v: mask %x; want %x", k, r.mask, want)
		}
		if c.walk(r.path, f) != r.path {
			t.Fatalf("%+v: the packet does not follow its own path", k)
		}
		if got := r.path.to.of(c.paths.slots) | r.path.dest; r.path.outcome != k.want || got != k.dest {
			t.Errorf("%+v: outcome %d, to %d", k, r.path.outcome, got)
		}
		var asks []opcode
		for _, o := range r.path.ops {
			if o.code.asks() {
				asks = append(asks, o.code)
			}
		}
		if !slices.Equal(asks, k.asks) {
			t.Errorf("%+v: it asks %v", k, asks)
		}
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

// TestCountNeeds has each packet on a path count in the packet's own element, if the element
// exists.
func TestCountNeeds(t *testing.T) {
	for _, k := range []struct{ size, asks int }{{16, 0}, {10, 1}} {
		p := &Program{layout: ir.Layout{Size: 24}}
		c := &Context{st: &State{prog: p, counters: []extern.Counter{extern.NewCounter(k.size)}},
			paths: &paths{slots: new(slots)}}
		c.data, c.IngressLen = make([]byte, 24), 100
		root := []byte{0, 0, 3, 0, 0, 0, 0, 0}
		c.data[7] = 3
		r := &recorder{c: c, on: true, path: &Path{}, root: root, mask: make([]byte, 8),
			held: make([]byte, 8), src: make([]source, 24)}
		r.src[7] = 3
		r.computed.reset()
		c.paths.varied[2] = true
		f := &ir.Field{Header: &ir.Header{Meta: true}, Width: 4, Bit: 60}
		e := &ir.Expr{Op: ir.OpField, Field: f, Kind: ir.KindData, Bits: 4, Lo: new(big.Int),
			Hi: big.NewInt(15)}
		n := note{op: operations["count"], args: []*ir.Expr{{Op: ir.OpObject}, e}, index: bitsTerm(60, 4)}
		r.primitive(&n, func() {})
		if !r.on || !bytes.Equal(r.mask, make([]byte, 8)) || len(r.path.ops) != 1+k.asks {
			t.Fatalf("%d elements: mask %x, %d operations", k.size, r.mask, len(r.path.ops))
		}
		for i := range byte(16) {
			other := &Frame{b: []byte{0, 0, i, 0, 0, 0, 0, 0}}
			follows := c.walk(r.path, other) != nil
			if follows != (int(i) < k.size) {
				t.Fatalf("%d elements: element %d: follows %v", k.size, i, follows)
			}
			if !follows {
				continue
			}
			c.count(r.path)
			if got := *c.st.counters[0].At(uint64(i)); got.Packets != 1 || got.Bytes != 100 {
				t.Errorf("%d elements: element %d counts %+v", k.size, i, got)
			}
		}
	}
}

// TestControlsEndPaths: a control method that sets something ends all paths. This also holds for
// methods added later, except for settings that packets make too: passes that read such a setting
// read it anew, or have no path. A method that changes entries ends the paths that depend on the
// entries: a path that looks entries up goes on.
func TestControlsEndPaths(t *testing.T) {
	byPackets := []string{"SetCounter", "SetMeter", "SetMeterCounts", "SetRegister"}
	s := New(Config{}).State()
	s.prog = &Program{tables: []*matchTable{{constEntries: true, constDefault: true}}}
	s.tables = make([]tableState, 1)
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
		s.tables[0].fixed = true
		v.Method(i).Call(args)
		if n++; s.gen == before {
			t.Errorf("%s ends no path", name)
		}
		before = s.gen
		s.tables[0].fixed = false
		v.Method(i).Call(args)
		if ends := s.gen != before; ends == strings.Contains(name, "Entry") {
			t.Errorf("%s ends paths that look entries up: %v", name, ends)
		}
	}
	if n < 12 {
		t.Errorf("%d methods set something, want those of entries, members, groups and more", n)
	}
}
