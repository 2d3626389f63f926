package endpoint

// ring is a first-in, first-out queue that grows by doubling and never shrinks. The zero value is empty.
type ring[T any] struct {
	items []T // length zero or a power of two
	head  int
	n     int
}

func (r *ring[T]) len() int { return r.n }

// at is the i-th item from the front; it stays valid until the next push or pop.
func (r *ring[T]) at(i int) *T { return &r.items[(r.head+i)&(len(r.items)-1)] }

func (r *ring[T]) push(v T) {
	if r.n == len(r.items) {
		grown := make([]T, max(16, 2*len(r.items)))
		for i := range r.n {
			grown[i] = *r.at(i)
		}
		r.items, r.head = grown, 0
	}
	r.n++
	*r.at(r.n - 1) = v
}

// pop removes the front item, which must exist, and forgets what it referred to.
func (r *ring[T]) pop() T {
	var zero T
	front := r.at(0)
	v := *front
	*front = zero
	r.head = (r.head + 1) & (len(r.items) - 1)
	r.n--
	return v
}

func (r *ring[T]) clear() {
	for r.n > 0 {
		r.pop()
	}
}
