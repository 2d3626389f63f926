package topology

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestLinkSet: a changed and shared set has the same links as a map, and earlier shared sets stay
// unchanged. The test makes enough changes for several indexes.
func TestLinkSet(t *testing.T) {
	type state struct {
		set  linkSet
		want map[LinkID]*Link
	}
	check := func(t *rapid.T, s *linkSet, want map[LinkID]*Link) {
		for i := range 400 {
			if id := LinkID(fmt.Sprint(i)); s.get(id) != want[id] {
				t.Fatalf("%s is %v, want %v", id, s.get(id), want[id])
			}
		}
		every := slices.SortedFunc(maps.Values(want), compareLinks)
		if !slices.Equal(s.ordered(), every) {
			t.Fatalf("in order there are %d links, want %d, or they are in another order",
				len(s.ordered()), len(every))
		}
		links, most := s.all()
		got := slices.SortedFunc(links, compareLinks)
		if !slices.Equal(got, every) || len(got) > most {
			t.Fatalf("all has %d links, want %d and at most %d", len(got), len(every), most)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var s linkSet
		want := make(map[LinkID]*Link)
		var shared []state
		for range 6 {
			random := rapid.Uint64().Draw(t, "seed")
			next := func(n int) int {
				random = Mix(random)
				return int(random % uint64(n))
			}
			for range rapid.SampledFrom([]int{0, 1, 30, 200, 400}).Draw(t, "changes") {
				id := LinkID(fmt.Sprint(next(350)))
				if next(3) == 0 {
					s.remove(id)
					delete(want, id)
					continue
				}
				l := &Link{ID: id, Local: NodeID(fmt.Sprint(next(3))), Remote: "r", LocalID: uint32(next(5))}
				s.set(l)
				want[id] = l
			}
			check(t, &s, want)
			shared = append(shared, state{s.share(), maps.Clone(want)})
		}
		for i := range shared {
			check(t, &shared[i].set, shared[i].want)
		}
	})
}
