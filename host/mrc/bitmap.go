package mrc

// bitmap is a set of PSNs of a window: one bit a PSN modulo its size. The caller that moves the
// window clears the bits that leave the window.
type bitmap struct {
	words []uint64
	mask  uint32 // size - 1; the size is a power of two, at least 64
}

func newBitmap(size int) bitmap {
	n := 64
	for n < size {
		n *= 2
	}
	return bitmap{words: make([]uint64, n/64), mask: uint32(n - 1)}
}

func (b *bitmap) get(psn uint32) bool { return b.words[psn&b.mask>>6]>>(psn&63)&1 != 0 }
func (b *bitmap) set(psn uint32)      { b.words[psn&b.mask>>6] |= 1 << (psn & 63) }

// take clears a bit and returns what it was.
func (b *bitmap) take(psn uint32) bool {
	word, bit := &b.words[psn&b.mask>>6], uint64(1)<<(psn&63)
	was := *word&bit != 0
	*word &^= bit
	return was
}

// from is the 64 bits from psn on, that of psn being the least significant.
func (b *bitmap) from(psn uint32) uint64 {
	i, shift := psn&b.mask>>6, psn&63
	low := b.words[i] >> shift
	if shift == 0 {
		return low
	}
	return low | b.words[(i+1)&(b.mask>>6)]<<(64-shift)
}
