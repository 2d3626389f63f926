package bitfield

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// bitOf returns one bit of b; bit 0 is the most significant bit of the first octet.
func bitOf(b []byte, i int) uint64 { return uint64(b[i/8] >> (7 - i%8) & 1) }

// TestBitsAnywhere loads and stores every width at every offset of a short
// piece of memory, near its end too, beside a twin that goes bit by bit.
func TestBitsAnywhere(t *testing.T) {
	const seed = 20260109
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, 20)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	for n := range 65 {
		for bit := range 8*len(b) - n + 1 {
			var want uint64
			for i := range n {
				want = want<<1 | bitOf(b, bit+i)
			}
			if got := Load64(b, bit, n); got != want {
				t.Fatalf("%d bits at %d: %x, want %x", n, bit, got, want)
			}
			after, v := slices.Clone(b), rng.Uint64()
			Store64(after, bit, n, v)
			for i := range 8 * len(b) {
				want := bitOf(b, i)
				if i >= bit && i < bit+n {
					want = v >> (bit + n - 1 - i) & 1
				}
				if bitOf(after, i) != want {
					t.Fatalf("%x stored in %d bits at %d: bit %d is not %d", v, n, bit, i, want)
				}
			}
		}
	}
}

// TestOctets checks the functions on big-endian values of any length.
func TestOctets(t *testing.T) {
	v := []byte{0, 0, 0x12, 0x34, 5, 6, 7, 8, 9, 10, 11}
	for _, c := range []struct {
		name      string
		got, want uint64
	}{
		{"Width", uint64(Width(v)), 69},
		{"Width of zeroes", uint64(Width(v[:2])), 0},
		{"Word 0", Word(v, 0), 0x3405060708090a0b},
		{"Word 8", Word(v, 8), 0x12},
		{"Word beyond", Word(v, 16), 0},
		{"Words of 64", uint64(Words(64)), 1},
		{"Words of 65", uint64(Words(65)), 2},
		{"Mask of 64", Mask(64), ^uint64(0)},
		{"Mask of 3", Mask(3), 7},
	} {
		if c.got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, c.got, c.want)
		}
	}
	for _, c := range []struct {
		name      string
		got, want []byte
	}{
		{"Right cuts", Right(v, 2), []byte{10, 11}},
		{"Right adds", Right(v[2:4], 3), []byte{0, 0x12, 0x34}},
		{"Prefix", Prefix(12, 5), []byte{0x0f, 0x80}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %x, want %x", c.name, c.got, c.want)
		}
	}
	if b, rest := Next(0b10100); b != 2 || rest != 0b10000 {
		t.Errorf("Next: %d, %b", b, rest)
	}
}
