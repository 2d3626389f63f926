package ring

import (
	"slices"
	"testing"
)

// TestTurn: whichever value has its turn, wherever the first one is, it is last afterwards, and the
// others stay in their order. The first may be where the slice ends, which is where it begins.
func TestTurn(t *testing.T) {
	order := func(s []int, first int) (out []int) {
		for k := range s {
			out = append(out, s[Place(len(s), first, k)])
		}
		return out
	}
	for n := 1; n <= 5; n++ {
		for first := range n + 1 {
			for k := range n {
				s := make([]int, n)
				for i := range s {
					s[i] = i
				}
				want := order(s, first)
				want = append(slices.Delete(slices.Clone(want), k, k+1), want[k])
				if got := order(s, Turn(s, first, k)); !slices.Equal(got, want) {
					t.Errorf("%d values from %d on, the %d-th has its turn: %v, want %v", n, first, k, got, want)
				}
			}
		}
	}
}
