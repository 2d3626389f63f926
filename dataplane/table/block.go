package table

import (
	"math/bits"
	"slices"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// block holds at most 64 entries.
type block[T any] struct {
	used    uint64 // its places that are taken
	maxPrio int32  // no entry has a higher priority
	built   int    // entries when looks was chosen
	looks   []look
	entries [64]*Entry[T]
}

// look tests four bits of the key: can[v] has the bits of the entries that may match the value v.
type look struct {
	word, shift int
	can         [16]uint64
}

// maxLooks bounds the looks of a block.
const maxLooks = 10

func (b *block[T]) lookup(key []uint64, best *Entry[T]) *Entry[T] {
	left := b.used
	for i := range b.looks {
		l := &b.looks[i]
		if left &= l.can[key[l.word]>>(l.shift&63)&15]; left == 0 {
			return best // one entry more to compare would cost more than all looks
		}
	}
	for left != 0 {
		var i int
		i, left = bitfield.Next(left)
		if e := b.entries[i]; e.matches(key) && e.beats(best) {
			best = e
		}
	}
	return best
}

func (b *block[T]) insert(masks []uint64, e *Entry[T]) {
	i := bits.TrailingZeros64(^b.used)
	e.wild.place.block, e.wild.place.bit = b, i
	if b.used == 0 {
		b.maxPrio = e.priority
	}
	b.used |= 1 << i
	b.maxPrio = max(b.maxPrio, e.priority)
	b.entries[i] = e
	if n := bits.OnesCount64(b.used); n >= 2*b.built {
		b.choose(masks)
		b.built = n
		return
	}
	for j := range b.looks {
		l := &b.looks[j]
		l.add(i, e.can(l.word, l.shift))
	}
}

func (b *block[T]) remove(i int) {
	b.used &^= 1 << i
	b.entries[i] = nil
	for j := range b.looks {
		for v := range b.looks[j].can {
			b.looks[j].can[v] &^= 1 << i
		}
	}
}

// add notes the values that entry i may match, a bit each.
func (l *look) add(i int, can uint64) {
	for v := range l.can {
		l.can[v] |= can >> v & 1 << i
	}
}

// choose picks the looks that leave the fewest entries to compare, counted over keys that match an
// entry (four fifths of the weight) and over all keys.
func (b *block[T]) choose(masks []uint64) {
	type option struct {
		look
		left float64 // of the entries
	}
	var best []option
	n := float64(bits.OnesCount64(b.used))
	for word, m := range masks {
		for shift := 0; shift < 64; shift += 4 {
			if m>>shift&15 == 0 {
				continue
			}
			o := option{look: look{word: word, shift: shift}}
			own, all := 0, 0
			for used := b.used; used != 0; {
				var i int
				i, used = bitfield.Next(used)
				o.add(i, b.entries[i].can(word, shift))
			}
			for used := b.used; used != 0; {
				var i int
				i, used = bitfield.Next(used)
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
