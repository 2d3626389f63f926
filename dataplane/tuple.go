package dataplane

import "slices"

// tuple holds the entries of a table with one mask: a hash table with linear
// probing over the masked key.
type tuple struct {
	mask    []uint64
	maxPrio int32 // no entry has a higher priority
	n       int   // keys
	slots   []slot
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
