package ring

// Place is the index in a circular slice of n values of the k-th from first on, k below n.
func Place(n, first, k int) int {
	if k += first; k >= n {
		k -= n
	}
	return k
}

// Turn puts the k-th value of a circular slice from first on behind all others, and returns where
// the first one is then.
func Turn[T any](s []T, first, k int) int {
	to := Place(len(s), first, k)
	v := s[to]
	for ; k > 0; k-- {
		from := Place(len(s), first, k-1)
		s[to] = s[from]
		to = from
	}
	s[to] = v
	return Place(len(s), first, 1)
}
