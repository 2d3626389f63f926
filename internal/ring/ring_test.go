package ring

import "testing"

// TestRing compares a ring with a slice, while it fills and empties and wraps round.
func TestRing(t *testing.T) {
	var r Ring[int]
	var twin []int
	for i := range 5000 {
		if push := 4 - i/2500; i%7 < push {
			r.Push(i)
			twin = append(twin, i)
		} else if len(twin) > 0 {
			if *r.Peek() != twin[0] {
				t.Fatalf("step %d: first is %d, want %d", i, *r.Peek(), twin[0])
			}
			got := 0
			if i%2 == 0 {
				got = r.Pop()
			} else {
				got = *r.Take()
			}
			if got != twin[0] {
				t.Fatalf("step %d: took %d, want %d", i, got, twin[0])
			}
			twin = twin[1:]
		}
		if r.Len() != len(twin) {
			t.Fatalf("step %d: %d values, want %d", i, r.Len(), len(twin))
		}
	}
}
