package bitfield

import (
	"encoding/binary"
	"math/bits"
)

// Load reads n bits at a bit offset of b into words; words beyond n bits become 0.
func Load(b []byte, bit, n int, dst []uint64) {
	for i := range dst {
		take := min(64, n)
		if take <= 0 {
			dst[i] = 0
			continue
		}
		n -= take
		dst[i] = Load64(b, bit+n, take)
	}
}

// Load64 reads n bits, at most 64, at a bit offset of b.
func Load64(b []byte, bit, n int) uint64 {
	if off, sh := bit/8, bit%8; sh+n <= 64 && off+8 <= len(b) {
		return binary.BigEndian.Uint64(b[off:]) << sh >> (64 - n)
	}
	var v uint64
	for n > 0 {
		sh := bit % 8
		take := min(8-sh, n)
		v = v<<take | uint64(b[bit/8]>>(8-sh-take))&Mask(take)
		bit += take
		n -= take
	}
	return v
}

// Store writes the n low bits of words at a bit offset of b.
func Store(b []byte, bit, n int, src []uint64) {
	for i := range src {
		take := min(64, n)
		if take <= 0 {
			return
		}
		n -= take
		Store64(b, bit+n, take, src[i])
	}
}

// Store64 writes the n low bits of v, at most 64, at a bit offset of b.
func Store64(b []byte, bit, n int, v uint64) {
	if off, sh := bit/8, bit%8; sh+n <= 64 && off+8 <= len(b) {
		l := 64 - sh - n
		m := Mask(n) << l
		binary.BigEndian.PutUint64(b[off:], binary.BigEndian.Uint64(b[off:])&^m|v<<l&m)
		return
	}
	for n > 0 {
		sh := bit % 8
		take := min(8-sh, n)
		l := 8 - sh - take
		m := byte(Mask(take)) << l
		b[bit/8] = b[bit/8]&^m | byte(v>>(n-take)<<l)&m
		bit += take
		n -= take
	}
}

// Copy copies n bits from a bit offset of one slice to a bit offset of another. The runs must not
// overlap.
func Copy(to []byte, at int, from []byte, bit, n int) {
	for n > 0 {
		k := min(64, n)
		Store64(to, at, k, Load64(from, bit, k))
		at, bit, n = at+k, bit+k, n-k
	}
}

// Words returns how many 64-bit words hold n bits.
func Words(n int) int { return (n + 63) / 64 }

// Mask returns a mask of the n low bits, n at most 64.
func Mask(n int) uint64 {
	if n >= 64 {
		return ^uint64(0)
	}
	return 1<<n - 1
}

// Next returns the number of the lowest set bit of w, and w without that bit.
func Next(w uint64) (int, uint64) {
	return bits.TrailingZeros64(w), w & (w - 1)
}

// Right returns a big-endian value in exactly n octets: octets are added or cut off on the left.
func Right(v []byte, n int) []byte {
	b := make([]byte, n)
	if len(v) > n {
		v = v[len(v)-n:]
	}
	copy(b[n-len(v):], v)
	return b
}

// Word returns the 64 bits of a big-endian value that at octets follow. Bits beyond its first octet
// are 0.
func Word(v []byte, at int) uint64 {
	end := len(v) - at
	if end >= 8 {
		return binary.BigEndian.Uint64(v[end-8:])
	}
	var x uint64
	for i := 0; i < end; i++ {
		x = x<<8 | uint64(v[i])
	}
	return x
}

// Width returns how many bits a big-endian value has without its leading zeroes.
func Width(v []byte) int {
	for len(v) > 0 && v[0] == 0 {
		v = v[1:]
	}
	if len(v) == 0 {
		return 0
	}
	return 8*(len(v)-1) + bits.Len8(v[0])
}

// Prefix returns the mask of a prefix of a value of width bits, right-aligned in octets.
func Prefix(width, prefix int) []byte {
	b := make([]byte, (width+7)/8)
	pad := 8*len(b) - width
	for i := range prefix {
		b[(pad+i)/8] |= 0x80 >> ((pad + i) % 8)
	}
	return b
}
