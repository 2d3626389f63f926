package dataplane

import (
	"math/bits"
	"slices"
	"time"
)

// entry is an installed table entry. Keys and masks are in the words the table
// packs its key into.
type entry struct {
	key    []uint64
	ranges []keyRange
	hash   uint64
	prio   int32
	prefix int
	seq    uint64
	tuple  *tuple
	chain  *entry // next entry of the tuple with the same key, less preferred

	target   target
	counter  CounterValue
	meter    *meterState
	lastHit  time.Duration
	reported time.Duration
	timeout  time.Duration
	metadata []byte

	before, after *entry // in order of insertion
}

// keyRange is the allowed interval of a range key.
type keyRange struct {
	part   keyPart
	lo, hi uint64
	// wide is the interval of a key of more than 64 bits instead.
	wide *wideRange
}

// wideRange is an interval in words, the least significant first.
type wideRange struct {
	parts  []keyPart
	lo, hi []uint64
}

func (r *keyRange) holds(key []uint64) bool {
	if r.wide != nil {
		return r.wide.holds(key)
	}
	v := r.part.of(key)
	return r.lo <= v && v <= r.hi
}

func (r *wideRange) holds(key []uint64) bool {
	// Until a word differs from a bound's, the words below decide.
	low, high := true, true
	for i := len(r.parts) - 1; i >= 0 && (low || high); i-- {
		v := r.parts[i].of(key)
		if low && v < r.lo[i] || high && v > r.hi[i] {
			return false
		}
		low, high = low && v == r.lo[i], high && v == r.hi[i]
	}
	return true
}

func (r *keyRange) equal(o *keyRange) bool {
	if r.wide != nil && o.wide != nil {
		return slices.Equal(r.wide.lo, o.wide.lo) && slices.Equal(r.wide.hi, o.wide.hi)
	}
	return r.lo == o.lo && r.hi == o.hi
}

// of is the bits of the part in a key.
func (p *keyPart) of(key []uint64) uint64 { return key[p.word] >> p.shift & widthMask(p.bits) }

// tuple holds the entries of a table with one mask: a hash table with linear
// probing over the masked key.
type tuple struct {
	mask    []uint64 // nil: all ones
	prefix  int
	maxPrio int32 // no entry has a higher priority
	n       int   // keys
	slots   []tupleSlot
}

type tupleSlot struct {
	hash uint64
	e    *entry
}

const hashSeed = 0x9e3779b97f4a7c15

func hashWords(key []uint64) uint64 {
	h := uint64(hashSeed)
	for _, w := range key {
		hi, lo := bits.Mul64(h^w, 0xd6e8feb86659fd93)
		h = hi ^ lo
	}
	return h
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
	m := uint64(len(t.slots) - 1)
	i := e.hash & m
	for ; t.slots[i].e != nil; i = (i + 1) & m {
		if t.slots[i].hash != e.hash || !slices.Equal(t.slots[i].e.key, e.key) {
			continue
		}
		at := &t.slots[i].e
		for *at != nil && ((*at).prio > e.prio || (*at).prio == e.prio && (*at).seq < e.seq) {
			at = &(*at).chain
		}
		e.chain, *at = *at, e
		t.maxPrio = max(t.maxPrio, e.prio)
		return
	}
	t.slots[i] = tupleSlot{e.hash, e}
	t.maxPrio = max(t.maxPrio, e.prio)
	t.n++
}

func (t *tuple) grow() {
	old := t.slots
	t.slots = make([]tupleSlot, max(4, 2*len(old)))
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
}

// remove takes an entry out.
func (t *tuple) remove(e *entry) {
	m := uint64(len(t.slots) - 1)
	i := e.hash & m
	for ; t.slots[i].e != nil; i = (i + 1) & m {
		if t.slots[i].hash != e.hash || !slices.Equal(t.slots[i].e.key, e.key) {
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
			t.slots[gap], t.slots[i] = t.slots[i], tupleSlot{}
			gap = i
		}
	}
}

// lookup finds the entry that wins for a key; scratch has the key's size.
func (ts *tableState) lookup(t *matchTable, key, scratch []uint64) *entry {
	if t.kind == Exact {
		if len(ts.tuples) == 0 {
			return nil
		}
		return ts.tuples[0].find(hashWords(key), key)
	}
	var best *entry
	for _, u := range ts.tuples {
		if best != nil && best.prio > u.maxPrio {
			break
		}
		for i, m := range u.mask {
			scratch[i] = key[i] & m
		}
		e := u.find(hashWords(scratch), scratch)
		if t.kind == LPM {
			if e != nil {
				return e
			}
			continue
		}
		for ; e != nil && !e.inRanges(key); e = e.chain {
		}
		if e != nil && (best == nil || e.prio > best.prio || e.prio == best.prio && e.seq < best.seq) {
			best = e
		}
	}
	return best
}

func (e *entry) inRanges(key []uint64) bool {
	for i := range e.ranges {
		if !e.ranges[i].holds(key) {
			return false
		}
	}
	return true
}
