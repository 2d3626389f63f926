package ev

import (
	"slices"
	"testing"
)

// TestSpread: the first n paths, for every n, are spread evenly over the links of each switch,
// until a link runs out of paths.
func TestSpread(t *testing.T) {
	for _, paths := range [][][]int32{
		{{1}, {2}, {3}},
		{{1, 3}, {1, 4}, {1, 5}, {2, 6}},
		{{1, 3, 7}, {1, 4, 8}, {2, 5, 9}, {2, 5, 10}, {2, 6, 11}},
	} {
		s := spreading{hops: len(paths[0]), links: slices.Concat(paths...)}
		var all []int
		for i := range paths {
			all = append(all, i)
		}
		// across counts the paths that begin with some links.
		across := func(items []int, links []int32) (n int) {
			for _, i := range items {
				if slices.Equal(paths[i][:len(links)], links) {
					n++
				}
			}
			return n
		}
		for key := range uint64(16) {
			order := s.order(all, 0, key)
			if got := slices.Sorted(slices.Values(order)); !slices.Equal(got, all) {
				t.Fatalf("%v: the order is %v", paths, order)
			}
			for n := range order {
				for _, a := range paths {
					for _, b := range paths {
						depth := 0 // of the first link that differs
						for depth < s.hops-1 && a[depth] == b[depth] {
							depth++
						}
						first, more, fewer := order[:n+1], a[:depth+1], b[:depth+1]
						if across(first, more) > across(first, fewer)+1 &&
							across(first, fewer) < across(all, fewer) {
							t.Errorf("%v: of %v, more begin with %v than with %v", paths, first, more, fewer)
						}
					}
				}
			}
		}
	}
}
