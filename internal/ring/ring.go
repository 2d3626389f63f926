// Package ring holds a queue that allocates only while it grows, and what turns a circular slice.
package ring

// Ring is a first-in, first-out queue in a circular buffer that grows. The zero value is empty.
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
		b := make([]T, max(16, 2*len(r.b)))
		k := copy(b, r.b[r.head:])
		copy(b[k:], r.b[:r.head])
		r.b, r.head = b, 0
	}
	r.b[(r.head+r.n)&(len(r.b)-1)] = v
	r.n++
}

// Peek returns the first value, which must exist.
func (r *Ring[T]) Peek() *T { return &r.b[r.head] }

// Pop takes the first value out, which must exist.
func (r *Ring[T]) Pop() T {
	v := r.Take()
	t := *v
	var zero T
	*v = zero
	return t
}

// Take is Pop without a copy: the result is valid until the next Push.
func (r *Ring[T]) Take() *T {
	v := &r.b[r.head]
	r.head = (r.head + 1) & (len(r.b) - 1)
	r.n--
	return v
}
