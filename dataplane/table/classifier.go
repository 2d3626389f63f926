package table

import "slices"

// classifier matches a key against entries with masks and ranges: the one of the highest priority
// wins, and of those the oldest. Entries whose mask many share are in a tuple, a hash table over
// the masked key. The others are in blocks of 64: one word has a bit for each that can still match,
// and a few looks into small tables leave hardly any entry to compare.
type classifier[T any] struct {
	masks  map[string]*maskGroup[T]
	tuples []*tuple[T] // the highest priority first
	blocks []*block[T] // likewise
}

// maskGroup holds the entries of one mask.
type maskGroup[T any] struct {
	mask  []uint64
	n     int
	plain int       // those without a range that narrows them, which may be in a tuple
	tuple *tuple[T] // nil: all entries are in blocks
	first *Entry[T] // the entries in blocks, by Entry.chain
}

// A mask of tupleMin entries gets a tuple, and loses it when fewer than tupleKeep are left.
const (
	tupleMin  = 48
	tupleKeep = 16
)

// place is where a classifier keeps an entry.
type place[T any] struct {
	group *maskGroup[T]
	block *block[T] // nil: in the group's tuple
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

func (k *classifier[T]) insert(masks []uint64, e *Entry[T], mask []uint64) {
	g := k.masks[maskKey(mask)]
	if g == nil {
		if k.masks == nil {
			k.masks = map[string]*maskGroup[T]{}
		}
		g = &maskGroup[T]{mask: slices.Clone(mask)}
		k.masks[maskKey(mask)] = g
	}
	e.wild.place.group = g
	g.n++
	switch {
	case e.ranged():
		k.toBlock(masks, e)
	case g.tuple != nil:
		g.plain++
		g.tuple.insert(e)
	default:
		g.plain++
		k.toBlock(masks, e)
		e.chain, g.first = g.first, e
		if g.plain >= tupleMin {
			k.toTuple(g)
		}
	}
	k.order()
}

func (k *classifier[T]) toBlock(masks []uint64, e *Entry[T]) {
	var b *block[T]
	for i := len(k.blocks) - 1; i >= 0 && b == nil; i-- {
		if ^k.blocks[i].used != 0 {
			b = k.blocks[i]
		}
	}
	if b == nil {
		b = &block[T]{}
		k.blocks = append(k.blocks, b)
	}
	b.insert(masks, e)
}

// toTuple moves the entries of a mask from blocks to a tuple.
func (k *classifier[T]) toTuple(g *maskGroup[T]) {
	g.tuple = &tuple[T]{mask: g.mask}
	k.tuples = append(k.tuples, g.tuple)
	// The oldest first, so that chains are short to build.
	var es []*Entry[T]
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

func (k *classifier[T]) fromBlock(e *Entry[T]) {
	p := &e.wild.place
	b := p.block
	b.remove(p.bit)
	p.block = nil
	if b.used == 0 {
		k.blocks = slices.DeleteFunc(k.blocks, func(o *block[T]) bool { return o == b })
	}
}

func (k *classifier[T]) remove(masks []uint64, e *Entry[T]) {
	g := e.wild.place.group
	if g.n--; g.n == 0 {
		delete(k.masks, maskKey(g.mask))
	}
	if e.wild.place.block != nil {
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
			k.toBlock(masks, o)
			o.chain, g.first = g.first, o
			o = next
		}
	}
	k.tuples = slices.DeleteFunc(k.tuples, func(u *tuple[T]) bool { return u == g.tuple })
	g.tuple = nil
	k.order()
}

// order sorts tuples and blocks by their priorities. It is cheap when nothing changed.
func (k *classifier[T]) order() {
	byPrio := func(a, b int32) int { return int(b) - int(a) }
	tuples := func(a, b *tuple[T]) int { return byPrio(a.maxPrio, b.maxPrio) }
	if !slices.IsSortedFunc(k.tuples, tuples) {
		slices.SortStableFunc(k.tuples, tuples)
	}
	blocks := func(a, b *block[T]) int { return byPrio(a.maxPrio, b.maxPrio) }
	if !slices.IsSortedFunc(k.blocks, blocks) {
		slices.SortStableFunc(k.blocks, blocks)
	}
}

// lookup returns the entry that wins, nil when none matches; scratch has the key's size.
func (k *classifier[T]) lookup(key, scratch []uint64) *Entry[T] {
	var best *Entry[T]
	for _, u := range k.tuples {
		if best != nil && best.priority > u.maxPrio {
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
		if best != nil && best.priority > b.maxPrio {
			break
		}
		best = b.lookup(key, best)
	}
	return best
}
