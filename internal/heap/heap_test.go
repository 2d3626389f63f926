package heap_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/internal/heap"
)

type item struct{ at, number int }

func before(a, b *item) bool { return a.at < b.at || a.at == b.at && a.number < b.number }

// TestOrder: the heap always pops the first item of an equal sorted list.
func TestOrder(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var h, twin []item
		for number := range 300 {
			if rng.IntN(5) < 3 {
				v := item{rng.IntN(20), number}
				heap.Push(&h, v, before)
				twin = append(twin, v)
				continue
			}
			if len(twin) == 0 {
				continue
			}
			slices.SortFunc(twin, func(a, b item) int { return cmp.Or(a.at-b.at, a.number-b.number) })
			if h[0] != twin[0] {
				t.Fatalf("seed %d: %v is first, want %v", seed, h[0], twin[0])
			}
			if got := heap.Pop(&h, before); got != twin[0] {
				t.Fatalf("seed %d: %v leaves, want %v", seed, got, twin[0])
			}
			twin = twin[1:]
		}
		if len(h) != len(twin) {
			t.Fatalf("seed %d: %d left, want %d", seed, len(h), len(twin))
		}
	}
}

// TestPopForgets: what left can be collected.
func TestPopForgets(t *testing.T) {
	var h []*int
	less := func(a, b **int) bool { return **a < **b }
	for i := range 10 {
		heap.Push(&h, &i, less)
	}
	for len(h) > 0 {
		heap.Pop(&h, less)
	}
	for i, p := range h[:10] {
		if p != nil {
			t.Errorf("place %d keeps what left", i)
		}
	}
}

func TestAllocs(t *testing.T) {
	h := make([]item, 0, 100)
	if n := testing.AllocsPerRun(100, func() {
		for i := range 100 {
			heap.Push(&h, item{at: i * 37 % 100}, before)
		}
		for len(h) > 0 {
			heap.Pop(&h, before)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkPushPop(b *testing.B) {
	var h []item
	for i := range 1000 {
		heap.Push(&h, item{at: i * 37 % 1000}, before)
	}
	b.ReportAllocs()
	for b.Loop() {
		v := heap.Pop(&h, before)
		v.at += 500
		heap.Push(&h, v, before)
	}
}
