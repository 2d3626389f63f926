// Package queue holds the queues of queue pairs: send, receive and completion queues.
package queue

// Ring is a queue, first-in, first-out but for PushFront, that grows by doubling and never shrinks.
// The zero value is empty.
type Ring[T any] struct {
	items []T // length zero or a power of two
	head  int
	n     int
}

// Len is the number of items.
func (r *Ring[T]) Len() int { return r.n }

// At is the i-th item from the front; it stays valid until the next Push or Pop.
func (r *Ring[T]) At(i int) *T { return &r.items[(r.head+i)&(len(r.items)-1)] }

// Push appends an item.
func (r *Ring[T]) Push(v T) {
	r.grow()
	r.n++
	*r.At(r.n - 1) = v
}

// PushFront puts an item before all others.
func (r *Ring[T]) PushFront(v T) {
	r.grow()
	r.n++
	r.head = (r.head - 1) & (len(r.items) - 1)
	*r.At(0) = v
}

// grow makes room for an item.
func (r *Ring[T]) grow() {
	if r.n < len(r.items) {
		return
	}
	grown := make([]T, max(16, 2*len(r.items)))
	for i := range r.n {
		grown[i] = *r.At(i)
	}
	r.items, r.head = grown, 0
}

// Pop removes the front item, which must exist, and forgets what it referred to.
func (r *Ring[T]) Pop() T {
	var zero T
	front := r.At(0)
	v := *front
	*front = zero
	r.head = (r.head + 1) & (len(r.items) - 1)
	r.n--
	return v
}

// Clear removes all items.
func (r *Ring[T]) Clear() {
	for r.n > 0 {
		r.Pop()
	}
}
