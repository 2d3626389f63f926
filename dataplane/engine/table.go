package engine

import (
	"encoding/binary"
	"encoding/json"
	"math/big"
	"time"

	"github.com/weft-sdn/weft/dataplane/ir"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/bmv2json"
	"github.com/weft-sdn/weft/dataplane/extern"
	"github.com/weft-sdn/weft/dataplane/table"
)

// matchTable is a compiled match-action table.
type matchTable struct {
	// What a packet needs is together.
	idx     int
	key     table.Key
	loads   []keyLoad // of the key
	counter bool
	timeout bool
	meter   int // direct meter, or -1

	name    string
	label   string      // "table" and its name, for errors
	reads   []*ir.Field // by field of the key
	actions []int
	size    int

	profile int // -1: entries hold actions
	color   func(*Context, uint64)
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

// keyLoad reports how to read a part of a key: as a window, as 0 while its header is invalid, or by
// get.
type keyLoad struct {
	mask      uint64
	valid     uint64 // the header's bit; 0: always
	get       u64Fn
	off       int32
	validWord int16
	word      uint8 // of the key
	more      bool  // not the first part of its word
	shift     uint8
	l, r      uint8
	validity  bool // of a header
}

func (l *loader) table(jt *bmv2json.Table, pipeline string) *matchTable {
	if jt.MaxSize < 0 {
		l.bad(jt.Source, "size %d", jt.MaxSize)
	}
	t := &matchTable{idx: len(l.prog.tables), name: jt.Name, label: "table " + jt.Name,
		size: jt.MaxSize, timeout: jt.SupportTimeout,
		profile: -1, meter: -1, counter: jt.WithCounters, next: map[int]int{}, baseNext: -1}
	l.tableKey(t, jt)
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

// tableKey compiles the key of a table.
func (l *loader) tableKey(t *matchTable, jt *bmv2json.Table) {
	var fields []table.Field
	var masks []*big.Int // what is read of each field
	for i := range jt.Key {
		jk := &jt.Key[i]
		kind, ok := matchKinds[jk.MatchType]
		if !ok {
			l.unsupported(jt.Source, "match kind %q", jk.MatchType)
		}
		f := l.keyField(jt, jk)
		name := jk.Name
		if name == "" {
			name = f.Name()
		}
		mask := new(big.Int).Sub(ir.Pow2(f.Width), ir.One)
		if jk.Mask != nil {
			m, ok := bmv2json.ParseHex(*jk.Mask)
			if !ok || m.Sign() < 0 || m.BitLen() > f.Width {
				l.bad(jt.Source, "key mask %q", *jk.Mask)
			}
			mask = m
		}
		fields = append(fields, table.Field{Name: name, Width: f.Width, Kind: kind})
		t.reads, masks = append(t.reads, f), append(masks, mask)
	}
	key, err := table.NewKey(jt.Name, fields)
	if err != nil {
		l.unsupported(jt.Source, "%v", err)
	}
	t.key = key
	for w := range key.Words {
		for i := range key.Fields {
			for _, p := range key.Fields[i].Parts {
				if p.Word == w {
					k := loadOf(t.reads[i], p, ir.Low64(ir.Rsh(masks[i], p.Low))&bitfield.Mask(p.Bits))
					n := len(t.loads)
					k.more = n > 0 && int(t.loads[n-1].word) == w
					t.loads = append(t.loads, k)
				}
			}
		}
	}
}

// matchKinds are the kinds of match by their names in BMv2 JSON.
var matchKinds = map[string]MatchKind{"exact": Exact, "valid": Exact, "lpm": LPM,
	"ternary": Ternary, "range": Range}

// keyField resolves the field that a key reads.
func (l *loader) keyField(jt *bmv2json.Table, jk *bmv2json.Key) *ir.Field {
	if jk.MatchType == "valid" {
		return &ir.Field{Header: l.headerNamed(jt.Source, jk.Target), Width: 1, Valid: true}
	}
	var ref []string
	if json.Unmarshal(jk.Target, &ref) != nil || len(ref) != 2 {
		l.bad(jt.Source, "key target %s: want [header, field]", jk.Target)
	}
	f := l.lookupField(jt.Source, ref[0], ref[1])
	if f.VL {
		l.unsupported(jt.Source, "varbit key %s", f.Name())
	}
	return f
}

// loadOf compiles the read of a part of a field. In a key, all of a header reads as 0 while the
// header is invalid.
func loadOf(f *ir.Field, p table.Part, mask uint64) keyLoad {
	bit := f.Bit + f.Width - p.Low - p.Bits
	k := keyLoad{mask: mask, word: uint8(p.Word), shift: uint8(p.Shift), off: int32(bit / 8),
		l: uint8(bit % 8), r: uint8(64 - p.Bits)}
	switch {
	case f.Valid:
		k.get, k.validity = fieldGetter(f), true
	case f.Header.Meta && f.Width <= 64 && f.Width > 0: // load the very word that was stored
		k.off, k.l = int32(f.Slot()), uint8(64-p.Bits)
	case bit%8+p.Bits > 64 || p.Bits == 0:
		k.get = getter(bit, p.Bits)
	}
	if !f.Valid && !f.Header.Meta {
		k.validWord, k.valid = int16(f.Header.Word), f.Header.Mask
	}
	return k
}

// load reads a part of a key from the packet.
func (c *Context) load(k *keyLoad) uint64 {
	switch {
	case k.valid != 0 && c.valid[k.validWord]&k.valid == 0:
		return 0
	case k.get != nil:
		return k.get(c) & k.mask
	}
	return binary.BigEndian.Uint64(c.data[k.off:]) << (k.l & 63) >> (k.r & 63) & k.mask
}

// tableState is a table's entries in one switch.
type tableState struct {
	entries     table.Table[hit]
	def         target
	missCounter CounterValue
	changes     uint64 // insertions, modifications, deletions
	defChanged  bool
	missMeter   extern.DirectMeter
	fixed       bool // a path may depend on the entries as they are
}

// entry is an installed table entry.
type entry = table.Entry[hit]

// hit holds the effect of a hit on an entry, and the entry's counter.
type hit struct {
	arg     [2]uint64 // room for arguments
	target  target
	counter CounterValue
	more    *entryMore // nil where the table has no use for any of it
}

// set gives an entry its target. Arguments for which the entry has room are in the cache lines of
// the entry: fetching them from elsewhere takes a packet longer than its lookup.
func (h *hit) set(g target) {
	h.target = g
	if n := len(g.args); n <= len(h.arg) {
		h.target.args = h.arg[:n:n]
		copy(h.arg[:], g.args)
	}
}

// entryMore holds the fields that few entries have.
type entryMore struct {
	meter    extern.DirectMeter
	metadata []byte
	timeout  time.Duration
	lastHit  time.Duration
	reported time.Duration
}

// apply matches the packet against a table and executes the action found. hit reports whether an
// entry matched; place is the executed action's place among the actions of the table, -1 for none.
func (c *Context) apply(t *matchTable) (hit bool, place int) {
	g, hit := c.match(t)
	return hit, c.do(t, g)
}

// match finds what a table has for the packet and counts that.
func (c *Context) match(t *matchTable) (g *target, hit bool) {
	ts := &c.st.tables[t.idx]
	var e *entry
	if ts.entries.Len() > 0 || c.ID != 0 { // the trace wants the key
		key := c.key[:t.key.Words]
		for i := range t.loads {
			k := &t.loads[i]
			v := c.load(k) << (k.shift & 63)
			if k.more {
				v |= key[k.word]
			}
			key[k.word] = v
		}
		e = ts.entries.Lookup(key, c.key2[:t.key.Words])
	}
	return c.found(t, ts, e)
}

// found counts what a lookup has found.
func (c *Context) found(t *matchTable, ts *tableState, e *entry) (g *target, hit bool) {
	if e == nil {
		if t.counter {
			ts.missCounter.Packets++
			ts.missCounter.Bytes += uint64(c.IngressLen)
		}
		if ts.missMeter.Configured() {
			t.color(c, ts.missMeter.Execute(c.st.now, c.st.prog.info.meters[t.meter].Unit, c.IngressLen))
		}
		if c.ID != 0 {
			c.traceLookup(t, nil)
		}
		return &ts.def, false
	}
	if t.counter {
		e.Value.counter.Packets++
		e.Value.counter.Bytes += uint64(c.IngressLen)
	}
	if t.timeout {
		e.Value.more.lastHit, e.Value.more.reported = c.st.now, 0
	}
	if t.meter >= 0 {
		c.directMeter(t, e)
	}
	if c.ID != 0 {
		c.traceLookup(t, e)
	}
	return &e.Value.target, true
}

// do executes a target and returns the place of the action that has run, -1 for
// none.
func (c *Context) do(t *matchTable, g *target) int {
	a := g.action
	switch {
	case a == nil && g.kind == TargetAction:
		return -1
	case a == nil:
		m := g.pick(c, t)
		if m == nil { // an empty group
			return -1
		}
		a = m.action
		a.run(c, m.args)
	case a.straight != nil && c.ID == 0: // as run does
		c.args = g.args
		c.exec(a.straight)
	default:
		a.run(c, g.args)
	}
	return int(t.place[a.index])
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

func (c *Context) directMeter(t *matchTable, e *entry) {
	t.color(c, e.Value.more.meter.Execute(c.st.now, c.st.prog.info.meters[t.meter].Unit, c.IngressLen))
}
