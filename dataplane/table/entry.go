package table

import (
	"slices"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// Entry is an entry of a table. Value holds the effect of a hit and belongs to the table's user;
// all else belongs to the table.
type Entry[T any] struct {
	// What a packet needs is together: the first cache line holds all of it when the key is a word
	// and Value begins with what a hit needs.
	priority int32
	prefix   int32     // bits: of the key's words in an lpm table, of the field elsewhere
	first    [1]uint64 // the first word of the key
	Value    T

	key   []uint64  // first, when it is one word
	hash  uint64    // of all that identifies the entry
	seq   uint64    // younger entries have a larger one
	wild  *wild[T]  // of a table with ternary or range keys
	chain *Entry[T] // another one of the same place

	before, after *Entry[T] // in order of insertion
}

// wild is what only entries with masks and ranges have.
type wild[T any] struct {
	ranges []keyRange
	place  place[T]
}

// Priority returns the priority of the entry, 0 where entries have none.
func (e *Entry[T]) Priority() int32 { return e.priority }

// hold gives the entry its key, in room unless the key is one word.
func (e *Entry[T]) hold(key, room []uint64) {
	e.first[0] = key[0]
	if e.key = e.first[:]; len(key) > 1 {
		e.key = room[:len(key):len(key)]
		copy(e.key, key)
	}
}

// is reports whether an entry, in a table of the given kind, matches p and priority.
func (e *Entry[T]) is(kind Kind, p *Packed, priority int32) bool {
	if e.priority != priority || !slices.Equal(e.key, p.key) {
		return false
	}
	if kind <= LPM {
		return kind == Exact || int(e.prefix) == p.prefix
	}
	return slices.Equal(e.wild.place.group.mask, p.mask) &&
		slices.EqualFunc(e.wild.ranges, p.ranges, func(a, b keyRange) bool { return a.equal(&b) })
}

// beats reports whether the entry wins against another matching entry, which may be nil.
func (e *Entry[T]) beats(o *Entry[T]) bool {
	return o == nil || e.priority > o.priority || e.priority == o.priority && e.seq < o.seq
}

// ranged reports whether a range of the entry leaves values out.
func (e *Entry[T]) ranged() bool {
	return slices.ContainsFunc(e.wild.ranges, func(r keyRange) bool {
		return r.wide != nil || r.lo != 0 || r.hi != bitfield.Mask(r.part.Bits)
	})
}

// matches reports whether a key matches the mask and the ranges of the entry.
func (e *Entry[T]) matches(key []uint64) bool {
	for i, m := range e.wild.place.group.mask {
		if key[i]&m != e.key[i] {
			return false
		}
	}
	for i := range e.wild.ranges {
		if !e.wild.ranges[i].holds(key) {
			return false
		}
	}
	return true
}

// can returns the values of four key bits that the entry may match, as a set with a bit for each
// value.
func (e *Entry[T]) can(word, shift int) (set uint64) {
	mask := e.wild.place.group.mask[word] >> shift & 15
	want := e.key[word] >> shift & 15
	for v := range uint64(16) {
		if v&mask == want {
			set |= 1 << v
		}
	}
	for i := range e.wild.ranges {
		if r := &e.wild.ranges[i]; r.wide == nil && r.part.Word == word {
			set &= r.can(shift)
		}
	}
	return set
}
