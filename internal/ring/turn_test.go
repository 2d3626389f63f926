package ring

import (
	"slices"
	"testing"
)

// TestTurn: after the turn of any value, wherever the first value is, the value is last, and the
// others keep their order. The first value may stand at the end of the slice, which is also the
// begin.
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
