package table

import (
	"math/bits"
	"slices"
)

// tuple holds entries of one mask in a hash table with linear probing over the masked key.
type tuple[T any] struct {
	mask    []uint64
	maxPrio int32 // no entry has a higher priority
	n       int   // keys
	slots   []slot[T]

	// Most keys match no entry. The filter rejects most of these keys by one word of the key: the
	// filter has a bit set for the word's hash in every entry.
	filter []uint64
	word   int   // of the key
	shift  uint8 // of the hash
	noted  int   // entries since the filter was made, those removed included
}

// filterBits is how many bits a filter has for a slot.
const filterBits = 8

// may reports whether a key can match an entry; false is certain.
func (t *tuple[T]) may(key []uint64) bool {
	h := t.bit(key)
	return t.filter[h/64]>>(h%64)&1 != 0
}

func (t *tuple[T]) bit(key []uint64) uint64 {
	return (key[t.word] & t.mask[t.word]) * 0xd6e8feb86659fd93 >> (t.shift & 63)
}

func (t *tuple[T]) note(e *Entry[T]) {
	h := t.bit(e.key)
	t.filter[h/64] |= 1 << (h % 64)
	t.noted++
}

// sift makes the filter anew, over the word in which the entries have the most values.
func (t *tuple[T]) sift() {
	most := -1
	for w := range t.mask {
		values := map[uint64]bool{}
		for _, s := range t.slots {
			if s.e != nil {
				values[s.e.key[w]] = true
			}
		}
		if len(values) > most {
			most, t.word = len(values), w
		}
	}
	size := max(64, filterBits*len(t.slots))
	t.filter, t.shift, t.noted = make([]uint64, size/64), uint8(64-bits.TrailingZeros(uint(size))), 0
	for _, s := range t.slots {
		if s.e != nil {
			t.note(s.e)
		}
	}
}

// find returns the first entry of a masked key, or nil if there is no entry.
func (t *tuple[T]) find(hash uint64, key []uint64) *Entry[T] {
	m := uint64(len(t.slots) - 1)
	for i := hash & m; ; i = (i + 1) & m {
		s := &t.slots[i]
		if s.e == nil {
			return nil
		}
		if s.hash == hash && slices.Equal(s.e.key, key) {
			return s.e
		}
	}
}

// insert adds an entry to its key's chain, ordered by priority and then age.
func (t *tuple[T]) insert(e *Entry[T]) {
	if 4*(t.n+1) > 3*len(t.slots) {
		t.grow()
	}
	if t.noted > len(t.slots) {
		t.sift()
	}
	t.note(e)
	m, hash := uint64(len(t.slots)-1), hashWords(e.key)
	i := hash & m
	for ; t.slots[i].e != nil; i = (i + 1) & m {
		if t.slots[i].hash != hash || !slices.Equal(t.slots[i].e.key, e.key) {
			continue
		}
		at := &t.slots[i].e
		for *at != nil && (*at).beats(e) {
			at = &(*at).chain
		}
		e.chain, *at = *at, e
		t.maxPrio = max(t.maxPrio, e.priority)
		return
	}
	t.slots[i] = slot[T]{hash, e}
	t.maxPrio = max(t.maxPrio, e.priority)
	t.n++
}

func (t *tuple[T]) grow() {
	old := t.slots
	t.slots = make([]slot[T], max(4, 2*len(old)))
	m := uint64(len(t.slots) - 1)
	for _, s := range old {
		if s.e == nil {
			continue
		}
		i := s.hash & m
		for t.slots[i].e != nil {
			i = (i + 1) & m
		}
		t.slots[i] = s
	}
	t.sift()
}

// remove takes an entry of the tuple out.
func (t *tuple[T]) remove(e *Entry[T]) {
	m, hash := uint64(len(t.slots)-1), hashWords(e.key)
	i := hash & m
	for ; t.slots[i].e != nil; i = (i + 1) & m {
		if t.slots[i].hash != hash || !slices.Equal(t.slots[i].e.key, e.key) {
			continue
		}
		at := &t.slots[i].e
		for *at != nil && *at != e {
			at = &(*at).chain
		}
		if *at == nil {
			return
		}
		*at, e.chain = e.chain, nil
		if t.slots[i].e == nil {
			t.n--
			t.closeGap(i)
		}
		return
	}
}

// closeGap moves later entries of the probe sequence back into an emptied slot.
func (t *tuple[T]) closeGap(gap uint64) {
	m := uint64(len(t.slots) - 1)
	for i := (gap + 1) & m; t.slots[i].e != nil; i = (i + 1) & m {
		home := t.slots[i].hash & m
		if (i-home)&m >= (i-gap)&m {
			t.slots[gap], t.slots[i] = t.slots[i], slot[T]{}
			gap = i
		}
	}
}
