package table

import (
	"math/bits"
	"slices"
)

// index finds an entry by what identifies it; exact tables are matched by it. It is a hash table
// with linear probing, in segments of bounded size: the upper bits of a hash choose the segment,
// the lower ones the slot. When it grows, at most one segment moves.
type index[T any] struct {
	depth    int           // upper bits of a hash that choose the segment
	segments []*segment[T] // 1<<depth; several places may share one
	n        int
}

type segment[T any] struct {
	depth int // upper bits that all hashes of the segment share
	n     int
	slots []slot[T] // a power of two, never full
}

type slot[T any] struct {
	hash uint64
	e    *Entry[T]
}

const (
	firstSlots = 4
	maxSlots   = 4096
	splitDepth = 24 // a segment of this depth grows instead of being split
)

// hashWords hashes a key. Different keys of one word have different hashes.
func hashWords(key []uint64) uint64 {
	if len(key) == 1 {
		h := (key[0] ^ 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93
		h = (h ^ h>>32) * 0xd6e8feb86659fd93
		return h ^ h>>32
	}
	h := uint64(0x9e3779b97f4a7c15)
	for _, w := range key {
		h = mix(h, w)
	}
	return h
}

func mix(h, w uint64) uint64 {
	hi, lo := bits.Mul64(h^w, 0xd6e8feb86659fd93)
	return hi ^ lo
}

// exact returns the entry of an exact table by its key, or nil if there is no entry.
func (x *index[T]) exact(key []uint64) *Entry[T] {
	hash := hashWords(key)
	s := x.segments[hash>>(64-x.depth)].slots
	m := uint64(len(s) - 1)
	for i := hash & m; ; i = (i + 1) & m {
		e := s[i].e
		if e == nil || s[i].hash == hash && (len(key) == 1 || slices.Equal(e.key, key)) {
			return e
		}
	}
}

// find returns the entry with a hash that same accepts, or nil without a match.
func (x *index[T]) find(hash uint64, same func(*Entry[T]) bool) *Entry[T] {
	if x.n == 0 {
		return nil
	}
	s := x.segments[hash>>(64-x.depth)].slots
	m := uint64(len(s) - 1)
	for i := hash & m; s[i].e != nil; i = (i + 1) & m {
		if s[i].hash == hash && same(s[i].e) {
			return s[i].e
		}
	}
	return nil
}

// insert adds an entry that is not in the index.
func (x *index[T]) insert(hash uint64, e *Entry[T]) {
	if x.segments == nil {
		x.segments = []*segment[T]{{slots: make([]slot[T], firstSlots)}}
	}
	s := x.segments[hash>>(64-x.depth)]
	for 4*(s.n+1) > 3*len(s.slots) {
		if len(s.slots) < maxSlots || s.depth == splitDepth {
			s.resize(2 * len(s.slots))
			break
		}
		x.split(hash)
		s = x.segments[hash>>(64-x.depth)]
	}
	s.put(hash, e)
	x.n++
}

func (s *segment[T]) put(hash uint64, e *Entry[T]) {
	m := uint64(len(s.slots) - 1)
	i := hash & m
	for s.slots[i].e != nil {
		i = (i + 1) & m
	}
	s.slots[i] = slot[T]{hash, e}
	s.n++
}

func (s *segment[T]) resize(n int) {
	old := s.slots
	s.slots, s.n = make([]slot[T], n), 0
	for _, o := range old {
		if o.e != nil {
			s.put(o.hash, o.e)
		}
	}
}

// split replaces the segment of a hash by two.
func (x *index[T]) split(hash uint64) {
	s := x.segments[hash>>(64-x.depth)]
	if s.depth == x.depth {
		wide := make([]*segment[T], 2*len(x.segments))
		for i, s := range x.segments {
			wide[2*i], wide[2*i+1] = s, s
		}
		x.segments, x.depth = wide, x.depth+1
	}
	var half [2]*segment[T]
	for b := range half {
		half[b] = &segment[T]{depth: s.depth + 1, slots: make([]slot[T], len(s.slots))}
	}
	for _, o := range s.slots {
		if o.e != nil {
			half[o.hash>>(63-s.depth)&1].put(o.hash, o.e)
		}
	}
	// The places of s are next to each other.
	span := 1 << (x.depth - s.depth)
	first := int(hash>>(64-x.depth)) &^ (span - 1)
	for i := range span {
		x.segments[first+i] = half[2*i/span]
	}
}

// remove takes an entry of the index out.
func (x *index[T]) remove(hash uint64, e *Entry[T]) {
	s := x.segments[hash>>(64-x.depth)]
	m := uint64(len(s.slots) - 1)
	gap := hash & m
	for s.slots[gap].e != e {
		gap = (gap + 1) & m
	}
	s.slots[gap] = slot[T]{}
	s.n--
	x.n--
	// Later slots of the probe sequence move back.
	for i := (gap + 1) & m; s.slots[i].e != nil; i = (i + 1) & m {
		if home := s.slots[i].hash & m; (i-home)&m >= (i-gap)&m {
			s.slots[gap], s.slots[i] = s.slots[i], slot[T]{}
			gap = i
		}
	}
}
