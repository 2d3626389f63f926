package dataplane

import (
	"slices"
	"time"
)

// entry is an installed table entry. Keys and masks are in the words the table
// packs its key into.
type entry struct {
	// What a packet needs is together: one cache line where the key and the
	// arguments are a word each.
	prio   int32
	prefix int32     // bits: of the key's words in an lpm table, of the field elsewhere
	inline [2]uint64 // the first word of the key, and room for an argument
	target target
	key    []uint64

	hash    uint64 // of all that identifies it
	seq     uint64 // younger entries have a larger one
	counter CounterValue
	more    *entryMore // nil where the table has no use for any of it
	chain   *entry     // another one of the same place

	before, after *entry // in order of insertion
}

// entryMore is what few entries have.
type entryMore struct {
	ranges   []keyRange
	place    place // in a classifier
	meter    directMeter
	metadata []byte
	timeout  time.Duration
	lastHit  time.Duration
	reported time.Duration
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
