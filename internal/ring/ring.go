// Package ring holds a queue that allocates only while it grows, and what turns a circular slice.
package ring

// Ring is a queue in a circular buffer that grows, first-in, first-out but for PushFront. The zero
// value is empty.
type Ring[T any] struct {
	b    []T
	head int
	n    int
}

// Len returns the number of values.
func (r *Ring[T]) Len() int { return r.n }

// Push adds a value at the end.
func (r *Ring[T]) Push(v T) {
	if r.n == len(r.b) {
		r.grow()
	}
	r.n++
	*r.At(r.n - 1) = v
}

// PushFront adds a value before all others.
func (r *Ring[T]) PushFront(v T) {
	if r.n == len(r.b) {
		r.grow()
	}
	r.n++
	r.head = (r.head - 1) & (len(r.b) - 1)
	*r.At(0) = v
}

// grow makes room in a full ring.
func (r *Ring[T]) grow() {
	b := make([]T, max(16, 2*len(r.b)))
	k := copy(b, r.b[r.head:])
	copy(b[k:], r.b[:r.head])
	r.b, r.head = b, 0
}

// At returns the i-th value, which must exist. It is valid until the next push.
func (r *Ring[T]) At(i int) *T { return &r.b[(r.head+i)&(len(r.b)-1)] }

// Pop takes the first value out, which must exist.
func (r *Ring[T]) Pop() T {
	v := r.Take()
	t := *v
	var zero T
	*v = zero
	return t
}

// Take is Pop without a copy: the result is valid until the next push.
func (r *Ring[T]) Take() *T {
	v := &r.b[r.head]
	r.head = (r.head + 1) & (len(r.b) - 1)
	r.n--
	return v
}

// Clear takes all values out.
func (r *Ring[T]) Clear() {
	for r.n > 0 {
		r.Pop()
	}
}
