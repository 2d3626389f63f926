package dataplane

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/weft-sdn/weft/dataplane/bmv2json"
)

// matchTable is a compiled match-action table.
type matchTable struct {
	// What a packet needs is together.
	idx     int
	words   int
	loads   []keyLoad // of the key
	kind    MatchKind // of the whole table, the most general of its keys
	counter bool
	timeout bool
	meter   int // direct meter, or -1

	name    string
	label   string // "table" and its name, for errors
	keys    []tableKey
	masks   []uint64 // all ones where the key has bits
	prefix0 int      // bits of the key's words before a prefix of no bits, in an lpm table
	actions []int
	size    int

	profile int // -1: entries hold actions
	color   func(*ctx, uint64)
	colorOf u64Fn

	next     map[int]int // action index to node
	places   []*action   // the actions of next, in order of their index
	place    []int16     // action index to its place among them
	effects  []effect    // of a lookup
	hit      *int        // __HIT__
	miss     *int        // __MISS__
	baseNext int

	constDefault bool
	constEntries bool
	def          target // nil action: none
	entries      []Entry
}

type tableKey struct {
	name  string
	width int
	kind  MatchKind
	parts []keyPart
	valid bool
}

// keyPart is a run of a key field's bits inside a word of the key.
type keyPart struct {
	word, shift int
	bits        int
	low         int // of the field: bits low..low+bits-1; a multiple of 64
	load        keyLoad
}

// keyLoad is how a part of a key is read: as a window, as 0 while its header is
// not valid, or by get.
type keyLoad struct {
	mask      uint64
	valid     uint64 // the header's bit; 0: always
	get       u64Fn
	off       int32
	validWord int16
	word      uint8 // of the key
	shift     uint8
	l, r      uint8
}

func (l *loader) table(jt *bmv2json.Table, pipeline string) *matchTable {
	if jt.MaxSize < 0 {
		l.bad(jt.Source, "size %d", jt.MaxSize)
	}
	t := &matchTable{idx: len(l.prog.tables), name: jt.Name, label: "table " + jt.Name, size: jt.MaxSize, timeout: jt.SupportTimeout,
		profile: -1, meter: -1, counter: jt.WithCounters, next: map[int]int{}, baseNext: -1}
	for i := range jt.Key {
		t.keys = append(t.keys, l.tableKey(jt, &jt.Key[i]))
		t.kind = max(t.kind, t.keys[i].kind)
	}
	lpm := 0
	for _, k := range t.keys {
		if k.kind == LPM {
			lpm++
		}
	}
	if lpm > 1 {
		l.unsupported(jt.Source, "several lpm keys (BMv2 takes one)")
	}
	l.packKey(t, jt)
	for _, id := range jt.ActionIDs {
		t.actions = append(t.actions, l.actionIndex(jt.Source, id))
	}
	if len(jt.ActionIDs) == 0 {
		for _, name := range jt.Actions {
			t.actions = append(t.actions, l.actionNamed(jt.Source, name))
		}
	}
	return t
}

func (l *loader) actionIndex(src *bmv2json.Source, id int) int {
	i, ok := l.actionByID[id]
	if !ok {
		l.bad(src, "unknown action %d", id)
	}
	return i
}

func (l *loader) actionNamed(src *bmv2json.Source, name string) int {
	for i, a := range l.prog.actions {
		if a.name == name {
			return i
		}
	}
	l.bad(src, "unknown action %q", name)
	return 0
}

func (l *loader) tableKey(jt *bmv2json.Table, jk *bmv2json.Key) tableKey {
	k := tableKey{name: jk.Name}
	switch jk.MatchType {
	case "exact", "valid":
		k.kind = Exact
	case "lpm":
		k.kind = LPM
	case "ternary":
		k.kind = Ternary
	case "range":
		k.kind = Range
	default:
		l.unsupported(jt.Source, "match kind %q", jk.MatchType)
	}
	var f *field
	var ref []string
	if jk.MatchType == "valid" {
		f = &field{hdr: l.headerNamed(jt.Source, jk.Target), width: 1, valid: true}
	} else {
		if json.Unmarshal(jk.Target, &ref) != nil || len(ref) != 2 {
			l.bad(jt.Source, "key target %s: want [header, field]", jk.Target)
		}
		f = l.lookupField(jt.Source, ref[0], ref[1])
	}
	if f.vl {
		l.unsupported(jt.Source, "varbit key %s", f.name())
	}
	if k.name == "" {
		k.name = f.name()
	}
	k.width, k.valid = f.width, f.valid
	static := pow2(f.width)
	static.Sub(static, bigOne)
	if jk.Mask != nil {
		m, ok := bmv2json.ParseHex(*jk.Mask)
		if !ok || m.Sign() < 0 || m.BitLen() > f.width {
			l.bad(jt.Source, "key mask %q", *jk.Mask)
		}
		static = m
	}
	for low := 0; low < f.width; {
		n := min(64, f.width-low)
		p := keyPart{bits: n, low: low, load: keyLoad{mask: low64(rsh(static, low)) & widthMask(n)}}
		p.read(f)
		k.parts = append(k.parts, p)
		low += n
	}
	return k
}

// read compiles how a part of a field is read: like all of a header, it is 0 in a
// key while the header is not valid.
func (p *keyPart) read(f *field) {
	bit, k := f.bit+f.width-p.low-p.bits, &p.load
	k.off, k.l, k.r = int32(bit/8), uint8(bit%8), uint8(64-p.bits)
	switch {
	case f.valid:
		k.get = f.get()
	case f.hdr.meta && f.width <= 64 && f.width > 0: // load the very word that was stored
		k.off, k.l = int32(f.slot()), uint8(64-p.bits)
	case bit%8+p.bits > 64 || p.bits == 0:
		k.get = getter(bit, p.bits)
	}
	if !f.valid && !f.hdr.meta {
		k.validWord, k.valid = int16(f.hdr.word), f.hdr.mask
	}
}

// load reads a part of a key from the packet.
func (c *ctx) load(k *keyLoad) uint64 {
	switch {
	case k.valid != 0 && c.valid[k.validWord]&k.valid == 0:
		return 0
	case k.get != nil:
		return k.get(c) & k.mask
	}
	return binary.BigEndian.Uint64(c.data[k.off:]) << (k.l & 63) >> (k.r & 63) & k.mask
}

// packKey places the parts of the key fields in as few words as it can, large
// parts first.
func (l *loader) packKey(t *matchTable, jt *bmv2json.Table) {
	type ref struct{ key, part int }
	var refs []ref
	for i := range t.keys {
		for j := range t.keys[i].parts {
			refs = append(refs, ref{i, j})
		}
	}
	slices.SortStableFunc(refs, func(a, b ref) int {
		return cmp.Compare(t.keys[b.key].parts[b.part].bits, t.keys[a.key].parts[a.part].bits)
	})
	var used []int
	place := func(p *keyPart, w int) {
		if w == len(used) {
			used = append(used, 0)
			t.masks = append(t.masks, 0)
		}
		p.word, p.shift = w, used[w]
		used[w] += p.bits
		t.masks[w] |= widthMask(p.bits) << p.shift
	}
	for _, r := range refs {
		if t.kind == LPM && t.keys[r.key].kind == LPM {
			continue
		}
		p := &t.keys[r.key].parts[r.part]
		w := 0
		for w < len(used) && used[w]+p.bits > 64 {
			w++
		}
		place(p, w)
	}
	// The prefix comes last, its first bits first.
	for i := range t.keys {
		if k := &t.keys[i]; t.kind == LPM && k.kind == LPM {
			for j := len(k.parts) - 1; j >= 0; j-- {
				place(&k.parts[j], len(used))
			}
			t.prefix0 = 64*len(used) - k.width
		}
	}
	for w := range used {
		for i := range t.keys {
			for _, p := range t.keys[i].parts {
				if p.word == w {
					p.load.word, p.load.shift = uint8(p.word), uint8(p.shift)
					t.loads = append(t.loads, p.load)
				}
			}
		}
	}
	if t.words = len(used); t.words > maxKeyWords {
		l.unsupported(jt.Source, "key of more than %d words", maxKeyWords)
	}
}

// maxKeyWords bounds the key of a table.
const maxKeyWords = 64

// tableState is a table's entries in one switch.
type tableState struct {
	index       index // all of them; what an exact table matches by
	def         target
	missCounter CounterValue
	prefixes    trie // of an lpm table
	ternary     classifier
	seq         uint64
	changes     uint64 // insertions, modifications, deletions
	first, last *entry
	defChanged  bool
	missMeter   directMeter
}

// lookup finds the entry that wins for a key; scratch has the key's size.
func (ts *tableState) lookup(t *matchTable, key, scratch []uint64) *entry {
	switch {
	case ts.index.n == 0:
		return nil
	case t.kind == Exact:
		return ts.index.exact(key)
	case t.kind == LPM:
		return ts.prefixes.lookup(key)
	}
	return ts.ternary.lookup(key, scratch)
}

// apply matches the packet against a table and executes what it finds: hit
// tells whether that was an entry's, place which of the table's actions has run, -1
// for none.
func (c *ctx) apply(t *matchTable) (hit bool, place int) {
	ts := &c.sw.tables[t.idx]
	var e *entry
	if ts.index.n > 0 || c.id != 0 { // the trace wants the key
		key := c.key[:t.words]
		clear(key)
		for i := range t.loads {
			k := &t.loads[i]
			key[k.word] |= c.load(k) << (k.shift & 63)
		}
		e = ts.lookup(t, key, c.key2[:t.words])
	}
	if e == nil {
		if t.counter {
			ts.missCounter.Packets++
			ts.missCounter.Bytes += uint64(c.ingressLen)
		}
		if ts.missMeter.state != nil {
			t.color(c, ts.missMeter.execute(c.sw.now, c.sw.prog.info.meters[t.meter].Unit, c.ingressLen))
		}
		if c.id != 0 {
			c.traceLookup(t, nil)
		}
		return false, c.do(t, &ts.def)
	}
	if t.counter {
		e.counter.Packets++
		e.counter.Bytes += uint64(c.ingressLen)
	}
	if t.timeout {
		e.more.lastHit, e.more.reported = c.sw.now, 0
	}
	if t.meter >= 0 {
		c.directMeter(t, e)
	}
	if c.id != 0 {
		c.traceLookup(t, e)
	}
	return true, c.do(t, &e.target)
}

// do executes a target and returns the place of the action that has run, -1 for
// none.
func (c *ctx) do(t *matchTable, g *target) int {
	if g.kind != TargetAction {
		m := g.pick(c, t)
		if m == nil { // an empty group
			return -1
		}
		m.action.run(c, m.args)
		return int(t.place[m.action.index])
	}
	switch a := g.action; {
	case a == nil:
		return -1
	case a.straight != nil && c.id == 0: // as run does
		c.args = g.args
		c.exec(a.straight)
	default:
		a.run(c, g.args)
	}
	return int(g.place)
}

// follow is the node that an outcome of apply leads to.
func (t *matchTable) follow(hit bool, place int) int {
	switch {
	case hit && t.hit != nil:
		return *t.hit
	case !hit && t.miss != nil:
		return *t.miss
	case place < 0:
		return t.baseNext
	}
	return t.next[t.places[place].index]
}

func (c *ctx) directMeter(t *matchTable, e *entry) {
	t.color(c, e.more.meter.execute(c.sw.now, c.sw.prog.info.meters[t.meter].Unit, c.ingressLen))
}
