package dataplane

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/big"
	"slices"
)

// tableAt returns a table and its entries in this switch.
func (s *Switch) tableAt(i int) (*matchTable, *tableState, error) {
	if s.prog == nil {
		return nil, nil, ErrNoProgram
	}
	if i < 0 || i >= len(s.prog.tables) {
		return nil, nil, fmt.Errorf("table %d: %w", i, ErrNotFound)
	}
	return s.prog.tables[i], &s.tables[i], nil
}

// fit checks that a big-endian value has at most width bits.
func fit(v []byte, width int) error {
	for len(v) > 0 && v[0] == 0 {
		v = v[1:]
	}
	if len(v) == 0 {
		return nil
	}
	n := 8 * (len(v) - 1)
	for b := v[0]; b != 0; b >>= 1 {
		n++
	}
	if n > width {
		return fmt.Errorf("%#x does not fit %d bits: %w", v, width, ErrBadValue)
	}
	return nil
}

// right makes v exactly n octets long.
func right(v []byte, n int) []byte {
	b := make([]byte, n)
	if len(v) > n {
		v = v[len(v)-n:]
	}
	copy(b[n-len(v):], v)
	return b
}

// low64Of returns the 64 bits of a big-endian value that have at octets after
// them; what is beyond its length is 0.
func low64Of(v []byte, at int) uint64 {
	end := len(v) - at
	if end >= 8 {
		return binary.BigEndian.Uint64(v[end-8:])
	}
	var x uint64
	for i := 0; i < end; i++ {
		x = x<<8 | uint64(v[i])
	}
	return x
}

// unpack reads a field's value from key words.
func (k *tableKey) unpack(src []uint64) []byte {
	n := (k.width + 7) / 8
	b := make([]byte, n)
	for _, p := range k.parts {
		store64(b, 8*n-p.low-p.bits, p.bits, src[p.word]>>p.shift)
	}
	return b
}

// parsedKey is a match in the form the lookup uses. It is made to be used again.
type parsedKey struct {
	key, mask []uint64
	ranges    []keyRange
	prefix    int // as of an entry
}

// parse checks a match and packs it.
func (pk *parsedKey) parse(t *matchTable, match []Match) error {
	if len(match) != len(t.keys) {
		return fmt.Errorf("table %s: %d match fields, want %d: %w", t.name, len(match), len(t.keys), ErrBadValue)
	}
	if t.words == 0 {
		return fmt.Errorf("table %s has no key: %w", t.name, ErrBadValue)
	}
	pk.key = append(pk.key[:0], make([]uint64, t.words)...)
	pk.mask = append(pk.mask[:0], make([]uint64, t.words)...)
	pk.ranges, pk.prefix = nil, 0
	for i := range t.keys {
		k, m := &t.keys[i], &match[i]
		if err := pk.add(t, k, m); err != nil {
			return fmt.Errorf("table %s, key %s: %w", t.name, k.name, err)
		}
	}
	return nil
}

func (pk *parsedKey) add(t *matchTable, k *tableKey, m *Match) error {
	if err := fit(m.Value, k.width); err != nil {
		return err
	}
	switch k.kind {
	case Exact:
		for i := range k.parts {
			p := &k.parts[i]
			pk.key[p.word] |= low64Of(m.Value, p.low/8) & widthMask(p.bits) << p.shift
			pk.mask[p.word] |= widthMask(p.bits) << p.shift
		}
		return nil
	case LPM:
		if m.PrefixLen < 0 || m.PrefixLen > k.width {
			return fmt.Errorf("prefix length %d of %d bits: %w", m.PrefixLen, k.width, ErrBadValue)
		}
		pk.prefix = t.prefix0 + m.PrefixLen
		return pk.masked(k, m.Value, prefixMask(k.width, m.PrefixLen))
	case Ternary:
		if err := fit(m.Mask, k.width); err != nil {
			return err
		}
		return pk.masked(k, m.Value, m.Mask)
	}
	return pk.addRange(k, m)
}

// masked packs a value with a mask, which must cover it.
func (pk *parsedKey) masked(k *tableKey, value, mask []byte) error {
	for i := range k.parts {
		p := &k.parts[i]
		v, m := low64Of(value, p.low/8), low64Of(mask, p.low/8)
		if v&^m&widthMask(p.bits) != 0 {
			return fmt.Errorf("%#x has bits outside the mask %#x: %w", value, right(mask, (k.width+7)/8), ErrBadValue)
		}
		pk.key[p.word] |= v & widthMask(p.bits) << p.shift
		pk.mask[p.word] |= m & widthMask(p.bits) << p.shift
	}
	return nil
}

func (pk *parsedKey) addRange(k *tableKey, m *Match) error {
	if err := fit(m.High, k.width); err != nil {
		return err
	}
	if k.width == 0 {
		return nil
	}
	lo, hi := new(big.Int), new(big.Int).Sub(pow2(k.width), bigOne)
	if len(m.Value) > 0 || len(m.High) > 0 {
		lo.SetBytes(m.Value)
		hi.SetBytes(m.High)
	}
	if lo.Cmp(hi) > 0 {
		return fmt.Errorf("range %#x..%#x is empty: %w", lo, hi, ErrBadValue)
	}
	r := keyRange{part: k.parts[0], lo: low64(lo), hi: low64(hi)}
	if len(k.parts) > 1 {
		r.wide = &wideRange{parts: k.parts}
		for i := range k.parts {
			r.wide.lo = append(r.wide.lo, low64(rsh(lo, 64*i)))
			r.wide.hi = append(r.wide.hi, low64(rsh(hi, 64*i)))
		}
	}
	pk.ranges = append(pk.ranges, r)
	return nil
}

// prefixMask is the mask of a prefix of a field of width bits.
func prefixMask(width, prefix int) []byte {
	b := make([]byte, (width+7)/8)
	pad := 8*len(b) - width
	for i := range prefix {
		b[(pad+i)/8] |= 0x80 >> ((pad + i) % 8)
	}
	return b
}

// needsPriority tells whether entries of the table carry a priority.
func (t *matchTable) needsPriority() bool { return t.kind >= Ternary }

func (t *matchTable) checkPriority(prio int32) error {
	switch {
	case t.needsPriority() && prio <= 0:
		return fmt.Errorf("table %s: priority %d, want a positive one: %w", t.name, prio, ErrBadValue)
	case !t.needsPriority() && prio != 0:
		return fmt.Errorf("table %s: priority %d in a table without: %w", t.name, prio, ErrBadValue)
	}
	return nil
}

// hash is of all that identifies an entry of a table.
func (pk *parsedKey) hash(t *matchTable, prio int32) uint64 {
	h := hashWords(pk.key)
	switch {
	case t.kind == Exact:
		return h
	case t.kind == LPM:
		return mix(h, uint64(pk.prefix))
	}
	h = mix(mix(h, hashWords(pk.mask)), uint64(prio))
	for i := range pk.ranges {
		h = mix(mix(h, pk.ranges[i].lo), pk.ranges[i].hi)
	}
	return h
}

// is tells that an entry has this match and priority.
func (e *entry) is(t *matchTable, pk *parsedKey, prio int32) bool {
	if e.prio != prio || !slices.Equal(e.key, pk.key) {
		return false
	}
	if t.kind <= LPM {
		return t.kind == Exact || int(e.prefix) == pk.prefix
	}
	return slices.Equal(e.more.place.group.mask, pk.mask) &&
		slices.EqualFunc(e.more.ranges, pk.ranges, func(a, b keyRange) bool { return a.equal(&b) })
}

// find returns the entry with exactly this match and priority. pk is for its
// use.
func (ts *tableState) find(t *matchTable, pk *parsedKey, match []Match, prio int32) (*entry, error) {
	if err := pk.parse(t, match); err != nil {
		return nil, err
	}
	if err := t.checkPriority(prio); err != nil {
		return nil, err
	}
	if e := ts.findParsed(t, pk, prio); e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("table %s: entry: %w", t.name, ErrNotFound)
}

func (ts *tableState) findParsed(t *matchTable, pk *parsedKey, prio int32) *entry {
	return ts.index.find(pk.hash(t, prio), func(e *entry) bool { return e.is(t, pk, prio) })
}

// InsertEntry adds an entry; see Controls.
func (s *Switch) InsertEntry(table int, e Entry) error {
	t, _, err := s.tableAt(table)
	if err != nil {
		return err
	}
	if t.constEntries {
		return fmt.Errorf("table %s: entries: %w", t.name, ErrConst)
	}
	return s.insert(t, e, t.size)
}

// insert adds an entry to a table of at most limit entries.
func (s *Switch) insert(t *matchTable, e Entry, limit int) error {
	ts, pk := &s.tables[t.idx], &s.parsed
	if err := pk.parse(t, e.Match); err != nil {
		return err
	}
	if err := t.checkPriority(e.Priority); err != nil {
		return err
	}
	if e.IdleTimeout != 0 && !t.timeout || e.IdleTimeout < 0 {
		return fmt.Errorf("table %s: idle timeout %v: %w", t.name, e.IdleTimeout, ErrBadValue)
	}
	if ts.findParsed(t, pk, e.Priority) != nil {
		return fmt.Errorf("table %s: entry: %w", t.name, ErrExists)
	}
	if ts.index.n >= limit {
		return fmt.Errorf("table %s of %d entries: %w", t.name, limit, ErrFull)
	}
	// One piece of memory holds the key and the arguments.
	g, words, err := s.resolve(t, &e.Target, t.words)
	if err != nil {
		return err
	}
	s.retain(t, &g)
	ts.seq++
	ts.changes++
	n := &entry{key: words, hash: pk.hash(t, e.Priority), prio: e.Priority, prefix: int32(pk.prefix), seq: ts.seq, target: g}
	n.hold(pk.key)
	if t.kind >= Ternary || t.timeout || t.meter >= 0 || len(e.Metadata) > 0 {
		n.more = &entryMore{ranges: pk.ranges, lastHit: s.now, timeout: e.IdleTimeout, metadata: slices.Clone(e.Metadata)}
	}
	ts.index.insert(n.hash, n)
	switch {
	case t.kind == LPM:
		ts.prefixes.insert(n)
	case t.kind > LPM:
		ts.ternary.insert(t, n, pk.mask)
	}
	n.before = ts.last
	if ts.last != nil {
		ts.last.after = n
	} else {
		ts.first = n
	}
	ts.last = n
	return nil
}

// hold gives an entry its key, and moves key and arguments in when they are a
// word each.
func (e *entry) hold(key []uint64) {
	copy(e.key, key)
	e.inline[0] = key[0]
	if args := e.target.args; len(key) == 1 && len(args) <= 1 {
		copy(e.inline[1:], args)
		e.key, e.target.args = e.inline[:1:1], e.inline[1:1+len(args):1+len(args)]
	}
}

// ModifyEntry changes what an entry does; see Controls.
func (s *Switch) ModifyEntry(table int, e Entry) error {
	t, ts, err := s.tableAt(table)
	if err != nil {
		return err
	}
	if t.constEntries {
		return fmt.Errorf("table %s: entries: %w", t.name, ErrConst)
	}
	old, err := ts.find(t, &s.parsed, e.Match, e.Priority)
	if err != nil {
		return err
	}
	if e.IdleTimeout != 0 && !t.timeout || e.IdleTimeout < 0 {
		return fmt.Errorf("table %s: idle timeout %v: %w", t.name, e.IdleTimeout, ErrBadValue)
	}
	g, _, err := s.resolve(t, &e.Target, 0)
	if err != nil {
		return err
	}
	s.retain(t, &g)
	s.release(t, &old.target)
	old.target = g
	ts.changes++
	if old.more == nil && len(e.Metadata) > 0 {
		old.more = &entryMore{}
	}
	if m := old.more; m != nil {
		m.timeout, m.metadata = e.IdleTimeout, slices.Clone(e.Metadata)
		m.lastHit, m.reported = s.now, 0
	}
	return nil
}

// DeleteEntry removes an entry; see Controls.
func (s *Switch) DeleteEntry(table int, match []Match, priority int32) error {
	t, ts, err := s.tableAt(table)
	if err != nil {
		return err
	}
	if t.constEntries {
		return fmt.Errorf("table %s: entries: %w", t.name, ErrConst)
	}
	e, err := ts.find(t, &s.parsed, match, priority)
	if err != nil {
		return err
	}
	ts.changes++
	ts.index.remove(e.hash, e)
	switch {
	case t.kind == LPM:
		ts.prefixes.remove(e)
	case t.kind > LPM:
		ts.ternary.remove(t, e)
	}
	if e.before != nil {
		e.before.after = e.after
	} else {
		ts.first = e.after
	}
	if e.after != nil {
		e.after.before = e.before
	} else {
		ts.last = e.before
	}
	s.release(t, &e.target)
	return nil
}

// Entry reads an entry; see Controls.
func (s *Switch) Entry(table int, match []Match, priority int32) (Entry, error) {
	t, ts, err := s.tableAt(table)
	if err != nil {
		return Entry{}, err
	}
	e, err := ts.find(t, &s.parsed, match, priority)
	if err != nil {
		return Entry{}, err
	}
	return s.export(t, e), nil
}

// Entries yields the entries of a table; see Controls.
func (s *Switch) Entries(table int) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		t, ts, err := s.tableAt(table)
		if err != nil {
			return
		}
		for e := ts.first; e != nil; e = e.after {
			if !yield(s.export(t, e)) {
				return
			}
		}
	}
}

// EntryCount returns the number of entries of a table.
func (s *Switch) EntryCount(table int) int {
	_, ts, err := s.tableAt(table)
	if err != nil {
		return 0
	}
	return ts.index.n
}

// export gives an entry its public form.
func (s *Switch) export(t *matchTable, e *entry) Entry {
	out := Entry{Match: make([]Match, 0, len(t.keys)), Priority: e.prio, Target: s.exportTarget(&e.target)}
	var ranges []keyRange
	var mask []uint64
	if m := e.more; m != nil {
		out.IdleTimeout, out.Metadata, ranges = m.timeout, slices.Clone(m.metadata), m.ranges
		if t.kind >= Ternary {
			mask = m.place.group.mask
		}
	}
	for i := range t.keys {
		k := &t.keys[i]
		if k.kind == Range {
			n := (k.width + 7) / 8
			var m Match
			if k.width > 0 {
				lo, hi := ranges[0].bounds()
				m = Match{Value: right(lo.Bytes(), n), High: right(hi.Bytes(), n)}
				ranges = ranges[1:]
			}
			out.Match = append(out.Match, m)
			continue
		}
		m := Match{Value: k.unpack(e.key)}
		switch k.kind {
		case LPM:
			m.PrefixLen = int(e.prefix) - t.prefix0
		case Ternary:
			m.Mask = k.unpack(mask)
		}
		out.Match = append(out.Match, m)
	}
	return out
}

// bounds are the ends of a range.
func (r *keyRange) bounds() (lo, hi *big.Int) {
	if r.wide == nil {
		return new(big.Int).SetUint64(r.lo), new(big.Int).SetUint64(r.hi)
	}
	lo, hi = new(big.Int), new(big.Int)
	for i := len(r.wide.lo) - 1; i >= 0; i-- {
		lo.Or(lo.Lsh(lo, 64), new(big.Int).SetUint64(r.wide.lo[i]))
		hi.Or(hi.Lsh(hi, 64), new(big.Int).SetUint64(r.wide.hi[i]))
	}
	return lo, hi
}
