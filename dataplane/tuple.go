package dataplane

import (
	"math/bits"
	"slices"
)

// tuple holds the entries of a table with one mask: a hash table with linear
// probing over the masked key.
type tuple struct {
	mask    []uint64
	maxPrio int32 // no entry has a higher priority
	n       int   // keys
	slots   []slot

	// Most keys meet no entry, and most of these are known by one word of them:
	// bits of its hash that no entry has are not set.
	filter []uint64
	word   int   // of the key
	shift  uint8 // of the hash
	noted  int   // entries since the filter was made, also those that have gone
}

// filterBits is how many bits a filter has for a slot.
const filterBits = 8

// may tells that a key can meet an entry, of which it says nothing else.
func (t *tuple) may(key []uint64) bool {
	h := t.bit(key)
	return t.filter[h/64]>>(h%64)&1 != 0
}

func (t *tuple) bit(key []uint64) uint64 {
	return (key[t.word] & t.mask[t.word]) * 0xd6e8feb86659fd93 >> (t.shift & 63)
}

func (t *tuple) note(e *entry) {
	h := t.bit(e.key)
	t.filter[h/64] |= 1 << (h % 64)
	t.noted++
}

// sift makes the filter of all entries, by the word of which they have the most
// values.
func (t *tuple) sift() {
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

// find returns the first entry of a masked key, nil when there is none.
func (t *tuple) find(hash uint64, key []uint64) *entry {
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
func (t *tuple) insert(e *entry) {
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
		t.maxPrio = max(t.maxPrio, e.prio)
		return
	}
	t.slots[i] = slot{hash, e}
	t.maxPrio = max(t.maxPrio, e.prio)
	t.n++
}

func (t *tuple) grow() {
	old := t.slots
	t.slots = make([]slot, max(4, 2*len(old)))
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

// remove takes an entry out.
func (t *tuple) remove(e *entry) {
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

// closeGap moves later entries of the probe sequence back into an emptied
// slot.
func (t *tuple) closeGap(gap uint64) {
	m := uint64(len(t.slots) - 1)
	for i := (gap + 1) & m; t.slots[i].e != nil; i = (i + 1) & m {
		home := t.slots[i].hash & m
		if (i-home)&m >= (i-gap)&m {
			t.slots[gap], t.slots[i] = t.slots[i], slot{}
			gap = i
		}
	}
}
