package table

import (
	"math/rand/v2"
	"testing"
)

// TestManyEntries compares a large exact table with a map, while it grows and
// shrinks, and bounds how much moves at once.
func TestManyEntries(t *testing.T) {
	const seed = 4
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, words := range []int{1, 2} {
		var x index[int]
		want := map[uint64]*Entry[int]{}
		keyOf := func(n uint64) []uint64 { return []uint64{n, n * 7}[:words] }
		for step := range 60_000 {
			n := uint64(rng.IntN(40_000))
			e := want[n]
			switch grow := step%40_000 < 30_000; {
			case e == nil && grow:
				e = &Entry[int]{key: keyOf(n)}
				want[n] = e
				x.insert(hashWords(e.key), e)
			case e != nil && !grow:
				x.remove(hashWords(e.key), e)
				delete(want, n)
			}
			n = uint64(rng.IntN(40_000))
			if got := x.exact(keyOf(n)); got != want[n] {
				t.Fatalf("step %d: key %d: found %v, want %v", step, n, got != nil, want[n] != nil)
			}
			if x.n != len(want) {
				t.Fatalf("step %d: %d entries, want %d", step, x.n, len(want))
			}
		}
		if len(x.segments) < 4 {
			t.Errorf("%d segments", len(x.segments))
		}
		for _, s := range x.segments {
			if len(s.slots) > maxSlots {
				t.Errorf("a segment of %d slots", len(s.slots))
			}
		}
	}
}
