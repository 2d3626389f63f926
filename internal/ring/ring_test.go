package ring

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRingOrder: items leave as from a slice that they are appended to, or put before, at random.
func TestRingOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var r Ring[int]
	var want []int
	for i := range 1000 {
		switch rng.IntN(5) {
		case 0, 1:
			r.Push(i)
			want = append(want, i)
		case 2, 3:
			r.PushFront(i)
			want = slices.Insert(want, 0, i)
		default:
			if len(want) > 0 {
				v := 0
				if i%2 == 0 {
					v = r.Pop()
				} else {
					v = *r.Take()
				}
				if v != want[0] {
					t.Fatalf("step %d: got %d, want %d", i, v, want[0])
				}
				want = want[1:]
			}
		}
		for j, v := range want {
			if r.Len() != len(want) || *r.At(j) != v {
				t.Fatalf("step %d: item %d of %d is %d, want %d of %d", i, j, r.Len(), *r.At(j), v, len(want))
			}
		}
	}
}

// TestRingForgets: what was taken from a queue is not kept alive by it.
func TestRingForgets(t *testing.T) {
	var r Ring[*int]
	for i := range 40 {
		r.Push(&i)
		r.Push(&i)
		if v := r.Pop(); *v != i/2 {
			t.Fatalf("got %d, want %d", *v, i/2)
		}
	}
	r.Clear()
	for i, p := range r.b {
		if p != nil {
			t.Errorf("item %d is still held", i)
		}
	}
}
