package dataplane

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// bitOf is one bit of b, the most significant one of its first octet being bit 0.
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
			if got := load64(b, bit, n); got != want {
				t.Fatalf("%d bits at %d: %x, want %x", n, bit, got, want)
			}
			after, v := slices.Clone(b), rng.Uint64()
			store64(after, bit, n, v)
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
