package dataplane

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"sort"
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

// pack writes a field's value, of any length, into the key words.
func (k *tableKey) pack(v []byte, dst []uint64) {
	for i := range k.parts {
		p := &k.parts[i]
		dst[p.word] |= low64Of(v, p.low/8) & widthMask(p.bits) << p.shift
	}
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

// parsedKey is a match in the form the lookup uses.
type parsedKey struct {
	key, mask []uint64
	ranges    []keyRange
	prefix    int
}

// parseMatch checks a match and packs it.
func (t *matchTable) parseMatch(match []Match) (parsedKey, error) {
	var pk parsedKey
	if len(match) != len(t.keys) {
		return pk, fmt.Errorf("table %s: %d match fields, want %d: %w", t.name, len(match), len(t.keys), ErrBadValue)
	}
	if t.words == 0 {
		return pk, fmt.Errorf("table %s has no key: %w", t.name, ErrBadValue)
	}
	pk.key = make([]uint64, t.words)
	if t.kind == Exact {
		pk.mask = t.masks
	} else {
		pk.mask = make([]uint64, t.words)
	}
	for i := range t.keys {
		k, m := &t.keys[i], &match[i]
		var err error
		if t.kind == Exact {
			if err = fit(m.Value, k.width); err == nil {
				k.pack(m.Value, pk.key)
			}
		} else {
			err = pk.add(k, m)
		}
		if err != nil {
			return pk, fmt.Errorf("table %s, key %s: %w", t.name, k.name, err)
		}
	}
	return pk, nil
}

func (pk *parsedKey) add(k *tableKey, m *Match) error {
	if err := fit(m.Value, k.width); err != nil {
		return err
	}
	n := (k.width + 7) / 8
	var mask []byte
	switch k.kind {
	case Exact:
		mask = lowMask(k.width)
	case LPM:
		if m.PrefixLen < 0 || m.PrefixLen > k.width {
			return fmt.Errorf("prefix length %d of %d bits: %w", m.PrefixLen, k.width, ErrBadValue)
		}
		mask = prefixMask(k.width, m.PrefixLen)
		pk.prefix = m.PrefixLen
	case Ternary:
		if err := fit(m.Mask, k.width); err != nil {
			return err
		}
		mask = right(m.Mask, n)
	case Range:
		return pk.addRange(k, m)
	}
	v := right(m.Value, n)
	for i := range v {
		if v[i]&^mask[i] != 0 {
			return fmt.Errorf("%#x has bits outside the mask %#x: %w", m.Value, mask, ErrBadValue)
		}
	}
	k.pack(v, pk.key)
	k.pack(mask, pk.mask)
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

func lowMask(width int) []byte { return prefixMask(width, width) }

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

// findTuple returns the tuple of a mask, nil when there is none.
func (ts *tableState) findTuple(pk *parsedKey) *tuple {
	for _, u := range ts.tuples {
		if slices.Equal(u.mask, pk.mask) {
			return u
		}
	}
	return nil
}

// find returns the entry with exactly this match and priority.
func (ts *tableState) find(t *matchTable, match []Match, prio int32) (*entry, error) {
	pk, err := t.parseMatch(match)
	if err != nil {
		return nil, err
	}
	if err := t.checkPriority(prio); err != nil {
		return nil, err
	}
	if e := ts.findParsed(&pk, prio); e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("table %s: entry: %w", t.name, ErrNotFound)
}

func (ts *tableState) findParsed(pk *parsedKey, prio int32) *entry {
	u := ts.findTuple(pk)
	if u == nil {
		return nil
	}
	for e := u.find(hashWords(pk.key), pk.key); e != nil; e = e.chain {
		if e.prio == prio && slices.EqualFunc(e.ranges, pk.ranges, func(a, b keyRange) bool { return a.equal(&b) }) {
			return e
		}
	}
	return nil
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
	ts := &s.tables[t.idx]
	pk, err := t.parseMatch(e.Match)
	if err != nil {
		return err
	}
	if err := t.checkPriority(e.Priority); err != nil {
		return err
	}
	if e.IdleTimeout != 0 && !t.timeout || e.IdleTimeout < 0 {
		return fmt.Errorf("table %s: idle timeout %v: %w", t.name, e.IdleTimeout, ErrBadValue)
	}
	if ts.findParsed(&pk, e.Priority) != nil {
		return fmt.Errorf("table %s: entry: %w", t.name, ErrExists)
	}
	if ts.n >= limit {
		return fmt.Errorf("table %s of %d entries: %w", t.name, limit, ErrFull)
	}
	g, err := s.resolve(t, &e.Target)
	if err != nil {
		return err
	}
	s.retain(t, &g)
	ts.seq++
	n := &entry{key: pk.key, ranges: pk.ranges, hash: hashWords(pk.key), prio: e.Priority, prefix: pk.prefix,
		seq: ts.seq, target: g, lastHit: s.now, timeout: e.IdleTimeout, metadata: slices.Clone(e.Metadata)}
	u := ts.findTuple(&pk)
	if u == nil {
		u = &tuple{mask: pk.mask, prefix: pk.prefix, maxPrio: e.Priority}
		ts.tuples = append(ts.tuples, u)
	}
	n.tuple = u
	u.insert(n)
	ts.order(t)
	n.before = ts.last
	if ts.last != nil {
		ts.last.after = n
	} else {
		ts.first = n
	}
	ts.last = n
	ts.n++
	return nil
}

// order puts the tuples into the order the lookup relies on: longest prefix
// or highest priority first. It is cheap when nothing changed.
func (ts *tableState) order(t *matchTable) {
	less := func(i, j int) bool { return ts.tuples[i].maxPrio > ts.tuples[j].maxPrio }
	if t.kind == LPM {
		less = func(i, j int) bool { return ts.tuples[i].prefix > ts.tuples[j].prefix }
	}
	if !sort.SliceIsSorted(ts.tuples, less) {
		sort.SliceStable(ts.tuples, less)
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
	old, err := ts.find(t, e.Match, e.Priority)
	if err != nil {
		return err
	}
	if e.IdleTimeout != 0 && !t.timeout || e.IdleTimeout < 0 {
		return fmt.Errorf("table %s: idle timeout %v: %w", t.name, e.IdleTimeout, ErrBadValue)
	}
	g, err := s.resolve(t, &e.Target)
	if err != nil {
		return err
	}
	s.retain(t, &g)
	s.release(t, &old.target)
	old.target, old.timeout, old.metadata = g, e.IdleTimeout, slices.Clone(e.Metadata)
	old.lastHit, old.reported = s.now, 0
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
	e, err := ts.find(t, match, priority)
	if err != nil {
		return err
	}
	e.tuple.remove(e)
	if e.tuple.n == 0 {
		ts.tuples = slices.DeleteFunc(ts.tuples, func(u *tuple) bool { return u == e.tuple })
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
	ts.n--
	s.release(t, &e.target)
	return nil
}

// Entry reads an entry; see Controls.
func (s *Switch) Entry(table int, match []Match, priority int32) (Entry, error) {
	t, ts, err := s.tableAt(table)
	if err != nil {
		return Entry{}, err
	}
	e, err := ts.find(t, match, priority)
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
	return ts.n
}

// export gives an entry its public form.
func (s *Switch) export(t *matchTable, e *entry) Entry {
	out := Entry{Priority: e.prio, Target: s.exportTarget(&e.target), IdleTimeout: e.timeout, Metadata: slices.Clone(e.metadata)}
	ranges := e.ranges
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
			m.PrefixLen = e.prefix
		case Ternary:
			m.Mask = k.unpack(e.tuple.mask)
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
