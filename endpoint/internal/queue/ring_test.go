package queue

import "testing"

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
	for i, p := range r.items {
		if p != nil {
			t.Errorf("item %d is still held", i)
		}
	}
}
