// Package heap is a binary heap in a slice, whose first element is before all others. Unlike
// container/heap it makes no interface value of an element, so that Push and Pop allocate nothing
// but the slice's room.
//
// Elements of which neither is before the other leave in no particular order: who wants one numbers
// them.
package heap

// Push adds v to a heap.
func Push[T any](h *[]T, v T, before func(a, b *T) bool) {
	*h = append(*h, v)
	l := *h
	last := len(l) - 1
	to := last
	for to > 0 && before(&l[last], &l[(to-1)/2]) {
		to = (to - 1) / 2
	}
	for i := last; i > to; i = (i - 1) / 2 {
		l[i] = l[(i-1)/2]
	}
	l[to] = v
}

// Pop takes the first element of a heap that is not empty.
func Pop[T any](h *[]T, before func(a, b *T) bool) T {
	l := *h
	last := len(l) - 1
	first := l[0]
	i := 0
	for {
		down := 2*i + 1
		if down >= last {
			break
		}
		if right := down + 1; right < last && before(&l[right], &l[down]) {
			down = right
		}
		if !before(&l[down], &l[last]) {
			break
		}
		l[i] = l[down]
		i = down
	}
	l[i] = l[last]
	clear(l[last:])
	*h = l[:last]
	return first
}
