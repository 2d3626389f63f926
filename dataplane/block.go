package dataplane

import (
	"math/bits"
	"slices"
)

// classifier matches a key against entries with masks and ranges: the one of
// the highest priority wins, and of those the oldest. Entries of a mask that
// many have are in a tuple, a hash table over the masked key. The others are in
// blocks of 64, where one word says of each whether it can still match, and a
// few looks into small tables leave hardly any that must be compared.
type classifier struct {
	masks  map[string]*maskGroup
	tuples []*tuple // the highest priority first
	blocks []*block // likewise
}

// maskGroup is the entries of one mask.
type maskGroup struct {
	mask  []uint64
	n     int
	plain int    // those that no range narrows, which may be in a tuple
	tuple *tuple // nil: they are in blocks
	first *entry // else, by entry.chain
}

// A mask of tupleMin entries gets a tuple, and loses it when fewer than
// tupleKeep are left.
const (
	tupleMin  = 48
	tupleKeep = 16
)

// place is where a classifier keeps an entry.
type place struct {
	group *maskGroup
	block *block // nil: in the group's tuple
	bit   int
}

func maskKey(mask []uint64) string {
	b := make([]byte, 0, 64)
	for _, w := range mask {
		for range 8 {
			b = append(b, byte(w))
			w >>= 8
		}
	}
	return string(b)
}

func (k *classifier) insert(t *matchTable, e *entry, mask []uint64) {
	g := k.masks[maskKey(mask)]
	if g == nil {
		if k.masks == nil {
			k.masks = map[string]*maskGroup{}
		}
		g = &maskGroup{mask: slices.Clone(mask)}
		k.masks[maskKey(mask)] = g
	}
	e.more.place.group = g
	g.n++
	switch {
	case e.ranged():
		k.toBlock(t, e)
	case g.tuple != nil:
		g.plain++
		g.tuple.insert(e)
	default:
		g.plain++
		k.toBlock(t, e)
		e.chain, g.first = g.first, e
		if g.plain >= tupleMin {
			k.toTuple(g)
		}
	}
	k.order()
}

// ranged tells that a range leaves values out.
func (e *entry) ranged() bool {
	return slices.ContainsFunc(e.more.ranges, func(r keyRange) bool {
		return r.wide != nil || r.lo != 0 || r.hi != widthMask(r.part.bits)
	})
}

func (k *classifier) toBlock(t *matchTable, e *entry) {
	var b *block
	for i := len(k.blocks) - 1; i >= 0 && b == nil; i-- {
		if ^k.blocks[i].used != 0 {
			b = k.blocks[i]
		}
	}
	if b == nil {
		b = &block{}
		k.blocks = append(k.blocks, b)
	}
	b.insert(t, e)
}

// toTuple moves the entries of a mask from blocks to a tuple.
func (k *classifier) toTuple(g *maskGroup) {
	g.tuple = &tuple{mask: g.mask}
	k.tuples = append(k.tuples, g.tuple)
	// The oldest first, so that chains are short to build.
	var es []*entry
	for e := g.first; e != nil; e = e.chain {
		es = append(es, e)
	}
	g.first = nil
	for _, e := range slices.Backward(es) {
		k.fromBlock(e)
		e.chain = nil
		g.tuple.insert(e)
	}
}

func (k *classifier) fromBlock(e *entry) {
	p := &e.more.place
	b := p.block
	b.remove(p.bit)
	p.block = nil
	if b.used == 0 {
		k.blocks = slices.DeleteFunc(k.blocks, func(o *block) bool { return o == b })
	}
}

func (k *classifier) remove(t *matchTable, e *entry) {
	g := e.more.place.group
	if g.n--; g.n == 0 {
		delete(k.masks, maskKey(g.mask))
	}
	if e.more.place.block != nil {
		k.fromBlock(e)
		if e.ranged() {
			return
		}
		g.plain--
		at := &g.first
		for *at != e {
			at = &(*at).chain
		}
		*at, e.chain = e.chain, nil
		return
	}
	g.tuple.remove(e)
	if g.plain--; g.plain >= tupleKeep {
		return
	}
	for _, s := range g.tuple.slots {
		for o := s.e; o != nil; {
			next := o.chain
			k.toBlock(t, o)
			o.chain, g.first = g.first, o
			o = next
		}
	}
	k.tuples = slices.DeleteFunc(k.tuples, func(u *tuple) bool { return u == g.tuple })
	g.tuple = nil
	k.order()
}

// order puts tuples and blocks into the order of their priorities. It is cheap
// when nothing changed.
func (k *classifier) order() {
	byPrio := func(a, b int32) int { return int(b) - int(a) }
	tuples := func(a, b *tuple) int { return byPrio(a.maxPrio, b.maxPrio) }
	if !slices.IsSortedFunc(k.tuples, tuples) {
		slices.SortStableFunc(k.tuples, tuples)
	}
	blocks := func(a, b *block) int { return byPrio(a.maxPrio, b.maxPrio) }
	if !slices.IsSortedFunc(k.blocks, blocks) {
		slices.SortStableFunc(k.blocks, blocks)
	}
}

// beats tells which of two entries that match wins.
func (e *entry) beats(o *entry) bool {
	return o == nil || e.prio > o.prio || e.prio == o.prio && e.seq < o.seq
}

// lookup finds the entry that wins; scratch has the key's size.
func (k *classifier) lookup(key, scratch []uint64) *entry {
	var best *entry
	for _, u := range k.tuples {
		if best != nil && best.prio > u.maxPrio {
			break
		}
		if !u.may(key) {
			continue
		}
		for i, m := range u.mask {
			scratch[i] = key[i] & m
		}
		if e := u.find(hashWords(scratch), scratch); e != nil && e.beats(best) {
			best = e
		}
	}
	for _, b := range k.blocks {
		if best != nil && best.prio > b.maxPrio {
			break
		}
		best = b.lookup(key, best)
	}
	return best
}

// block is at most 64 entries.
type block struct {
	used    uint64 // its places that are taken
	maxPrio int32  // no entry has a higher priority
	built   int    // entries when looks was chosen
	looks   []look
	entries [64]*entry
}

// look is four bits of the key: can[v] are the entries that match the value v.
type look struct {
	word, shift int
	can         [16]uint64
}

// maxLooks bounds the looks of a block.
const maxLooks = 10

func (b *block) lookup(key []uint64, best *entry) *entry {
	left := b.used
	for i := range b.looks {
		l := &b.looks[i]
		if left &= l.can[key[l.word]>>(l.shift&63)&15]; left == 0 {
			return best // one entry more to compare would cost more than all looks
		}
	}
	for left != 0 {
		var i int
		i, left = nextBit(left)
		if e := b.entries[i]; e.matches(key) && e.beats(best) {
			best = e
		}
	}
	return best
}

// matches compares a key with mask and ranges.
func (e *entry) matches(key []uint64) bool {
	for i, m := range e.more.place.group.mask {
		if key[i]&m != e.key[i] {
			return false
		}
	}
	for i := range e.more.ranges {
		if !e.more.ranges[i].holds(key) {
			return false
		}
	}
	return true
}

func (b *block) insert(t *matchTable, e *entry) {
	i := bits.TrailingZeros64(^b.used)
	e.more.place.block, e.more.place.bit = b, i
	if b.used == 0 {
		b.maxPrio = e.prio
	}
	b.used |= 1 << i
	b.maxPrio = max(b.maxPrio, e.prio)
	b.entries[i] = e
	if n := bits.OnesCount64(b.used); n >= 2*b.built {
		b.choose(t)
		b.built = n
		return
	}
	for j := range b.looks {
		b.looks[j].add(i, e)
	}
}

func (b *block) remove(i int) {
	b.used &^= 1 << i
	b.entries[i] = nil
	for j := range b.looks {
		for v := range b.looks[j].can {
			b.looks[j].can[v] &^= 1 << i
		}
	}
}

// add notes which values entry i matches.
func (l *look) add(i int, e *entry) {
	can := e.can(l.word, l.shift)
	for v := range l.can {
		l.can[v] |= can >> v & 1 << i
	}
}

// can is the set of values of four bits of the key that an entry may match.
func (e *entry) can(word, shift int) (set uint64) {
	mask := e.more.place.group.mask[word] >> shift & 15
	want := e.key[word] >> shift & 15
	for v := range uint64(16) {
		if v&mask == want {
			set |= 1 << v
		}
	}
	for i := range e.more.ranges {
		if r := &e.more.ranges[i]; r.wide == nil && r.part.word == word {
			set &= r.can(shift)
		}
	}
	return set
}

// can is the same of a range: exact in the first four bits in which its ends
// differ.
func (r *keyRange) can(shift int) (set uint64) {
	lo, hi := r.lo<<r.part.shift, r.hi<<r.part.shift
	if lo>>shift>>4 != hi>>shift>>4 {
		return 0xffff
	}
	// Bits of other fields may be among the four: those of this one decide.
	mine := widthMask(r.part.bits) << r.part.shift >> shift & 15
	lo, hi = lo>>shift&15, hi>>shift&15
	for v := range uint64(16) {
		if x := v & mine; lo&mine <= x && x <= hi&mine {
			set |= 1 << v
		}
	}
	return set
}

// choose picks the looks that leave the fewest entries of packets like those
// the entries are made for, and of others.
func (b *block) choose(t *matchTable) {
	type option struct {
		look
		left float64 // of the entries
	}
	var best []option
	n := float64(bits.OnesCount64(b.used))
	for word, m := range t.masks {
		for shift := 0; shift < 64; shift += 4 {
			if m>>shift&15 == 0 {
				continue
			}
			o := option{look: look{word: word, shift: shift}}
			own, all := 0, 0
			for used := b.used; used != 0; {
				var i int
				i, used = nextBit(used)
				o.add(i, b.entries[i])
			}
			for used := b.used; used != 0; {
				var i int
				i, used = nextBit(used)
				own += bits.OnesCount64(o.can[b.entries[i].key[word]>>shift&15])
			}
			for _, c := range o.can {
				all += bits.OnesCount64(c)
			}
			if o.left = 0.8*float64(own)/(n*n) + 0.2*float64(all)/(16*n); o.left < 0.99 {
				best = append(best, o)
			}
		}
	}
	slices.SortStableFunc(best, func(x, y option) int {
		switch {
		case x.left < y.left:
			return -1
		case x.left > y.left:
			return 1
		}
		return 0
	})
	b.looks = b.looks[:0]
	for _, o := range best[:min(len(best), maxLooks)] {
		b.looks = append(b.looks, o.look)
	}
	b.looks = slices.Clip(b.looks)
}
