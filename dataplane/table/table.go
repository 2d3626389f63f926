package table

import (
	"iter"
)

// Table is the entries of a table in one switch. T is what an entry does on a hit.
type Table[T any] struct {
	key      *Key
	kind     Kind // as of key
	index    index[T]
	prefixes trie[T]       // of an lpm table
	wild     classifier[T] // of a table with ternary or range fields
	seq      uint64        // of the youngest entry

	first, last *Entry[T] // in order of insertion
}

// New returns a table without entries.
func New[T any](key *Key) Table[T] { return Table[T]{key: key, kind: key.Kind} }

// Len returns the number of entries.
func (t *Table[T]) Len() int { return t.index.n }

// Lookup returns the entry that wins for a key of the table's words, nil when none matches: the one
// with the longest prefix in an lpm table, the one of the highest priority, and of those the
// oldest, in a table with ternary or range fields. scratch has the key's size and is overwritten.
func (t *Table[T]) Lookup(key, scratch []uint64) *Entry[T] {
	if t.index.n == 0 {
		return nil
	}
	switch t.kind {
	case Exact:
		return t.index.exact(key)
	case LPM:
		return t.prefixes.lookup(key)
	}
	return t.wild.lookup(key, scratch)
}

// Find returns the entry with exactly this match and priority, nil when there is none.
func (t *Table[T]) Find(p *Packed, priority int32) *Entry[T] {
	return t.index.find(p.hash(t.kind, priority), func(e *Entry[T]) bool {
		return e.is(t.kind, p, priority)
	})
}

// Insert adds an entry that is not there, with a zero Value. room is memory for the key's words,
// which the entry keeps; it is not used for a key of one word.
func (t *Table[T]) Insert(p *Packed, priority int32, room []uint64) *Entry[T] {
	t.seq++
	e := &Entry[T]{hash: p.hash(t.kind, priority), priority: priority, prefix: int32(p.prefix),
		seq: t.seq}
	e.hold(p.key, room)
	t.index.insert(e.hash, e)
	switch {
	case t.kind == LPM:
		t.prefixes.insert(e)
	case t.kind > LPM:
		e.wild = &wild[T]{ranges: p.ranges}
		t.wild.insert(t.key.masks, e, p.mask)
	}
	e.before = t.last
	if t.last != nil {
		t.last.after = e
	} else {
		t.first = e
	}
	t.last = e
	return e
}

// Remove takes an entry of the table out.
func (t *Table[T]) Remove(e *Entry[T]) {
	t.index.remove(e.hash, e)
	switch {
	case t.kind == LPM:
		t.prefixes.remove(e)
	case t.kind > LPM:
		t.wild.remove(t.key.masks, e)
	}
	if e.before != nil {
		e.before.after = e.after
	} else {
		t.first = e.after
	}
	if e.after != nil {
		e.after.before = e.before
	} else {
		t.last = e.before
	}
}

// All yields the entries in order of insertion. The table must not change meanwhile.
func (t *Table[T]) All() iter.Seq[*Entry[T]] {
	return func(yield func(*Entry[T]) bool) {
		for e := t.first; e != nil; e = e.after {
			if !yield(e) {
				return
			}
		}
	}
}

// Match returns the match of an entry of the table.
func (t *Table[T]) Match(e *Entry[T]) []Match {
	ms := make([]Match, 0, len(t.key.Fields))
	var ranges []keyRange
	if e.wild != nil {
		ranges = e.wild.ranges
	}
	for i := range t.key.Fields {
		f := &t.key.Fields[i]
		var m Match
		switch f.Kind {
		case Range:
			if f.Width > 0 {
				m.Value, m.High = ranges[0].bounds((f.Width + 7) / 8)
				ranges = ranges[1:]
			}
		default:
			m.Value = f.Value(e.key)
			switch f.Kind {
			case LPM:
				m.PrefixLen = int(e.prefix) - t.key.prefix0
			case Ternary:
				m.Mask = f.Value(e.wild.place.group.mask)
			}
		}
		ms = append(ms, m)
	}
	return ms
}
