package table

import (
	"slices"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// keyRange is the interval that an entry allows a range field.
type keyRange struct {
	part   Part
	lo, hi uint64
	// wide is the interval instead when the field has more than 64 bits.
	wide *wideRange
}

// wideRange is an interval in words, the least significant first.
type wideRange struct {
	parts  []Part
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

// can returns the set of values, a bit each, of four bits of the key at shift that the range may
// allow. The set is exact in the first four bits in which the ends of the range differ.
func (r *keyRange) can(shift int) (set uint64) {
	lo, hi := r.lo<<r.part.Shift, r.hi<<r.part.Shift
	if lo>>shift>>4 != hi>>shift>>4 {
		return 0xffff
	}
	// Bits of other fields may be among the four: those of this one decide.
	mine := bitfield.Mask(r.part.Bits) << r.part.Shift >> shift & 15
	lo, hi = lo>>shift&15, hi>>shift&15
	for v := range uint64(16) {
		if x := v & mine; lo&mine <= x && x <= hi&mine {
			set |= 1 << v
		}
	}
	return set
}

// bounds returns the ends of the range, big-endian in octets.
func (r *keyRange) bounds(octets int) (lo, hi []byte) {
	ends := func(narrow uint64, wide func(*wideRange) []uint64) []byte {
		words := []uint64{narrow}
		if r.wide != nil {
			words = wide(r.wide)
		}
		b := make([]byte, octets)
		bitfield.Store(b, 0, 8*octets, words)
		return b
	}
	return ends(r.lo, func(w *wideRange) []uint64 { return w.lo }),
		ends(r.hi, func(w *wideRange) []uint64 { return w.hi })
}
