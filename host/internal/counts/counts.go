// Package counts adds up and names counts by reason.
package counts

// Total is the sum of the counts.
func Total(counts []uint64) uint64 {
	var n uint64
	for _, c := range counts {
		n += c
	}
	return n
}

// Map is the counts that are not zero, by name.
func Map(counts []uint64, name func(reason int) string) map[string]uint64 {
	m := make(map[string]uint64)
	for i, c := range counts {
		if c != 0 {
			m[name(i)] = c
		}
	}
	return m
}
