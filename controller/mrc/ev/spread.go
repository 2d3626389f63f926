package ev

import (
	"hash/fnv"

	"github.com/weft-sdn/weft/topology"
)

// spread orders candidates so that, for every n, the first n are spread evenly over the links of
// each switch. The first links take turns; among candidates with the same first link, the second
// links take turns, and so on. key rotates the order, so that different pairs choose differently.
func spread(set topology.PathSet, candidates []candidate, key uint64) []int {
	items := make([]int, len(candidates))
	for i := range items {
		items[i] = i
	}
	if set.Hops() <= 0 {
		return items
	}
	s := spreading{hops: set.Hops(), links: make([]int32, 0, len(candidates)*set.Hops())}
	for _, c := range candidates {
		up, down := set.Up().Links(c.refs[0].Up), set.Down().Links(c.refs[0].Down)
		s.links = append(s.links, up...)
		for i := len(down) - 1; i >= 0; i-- {
			s.links = append(s.links, down[i])
		}
	}
	return s.order(items, 0, key)
}

type spreading struct {
	hops  int
	links []int32 // by candidate: its links
}

// order orders candidates that agree in their first depth links.
func (s *spreading) order(items []int, depth int, key uint64) []int {
	if len(items) < 2 {
		return items
	}
	if s.distinct(items, depth) {
		turn := int(topology.Mix(key+uint64(depth)) % uint64(len(items)))
		return append(items[turn:len(items):len(items)], items[:turn]...)
	}
	var groups [][]int
	place := make(map[int32]int, len(items))
	for _, i := range items {
		l := s.links[i*s.hops+depth]
		g, ok := place[l]
		if !ok {
			g = len(groups)
			place[l] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	turn := int(topology.Mix(key+uint64(depth)) % uint64(len(groups)))
	rotated := make([][]int, 0, len(groups))
	for g := range groups {
		// Each group rotates by a different amount, so that the second links of all first links together
		// are even too.
		at := (g + turn) % len(groups)
		rotated = append(rotated, s.order(groups[at], depth+1, key+uint64(at)))
	}
	out := make([]int, 0, len(items))
	for round := 0; len(out) < len(items); round++ {
		for _, g := range rotated {
			if round < len(g) {
				out = append(out, g[round])
			}
		}
	}
	return out
}

// distinct reports whether all candidates have different links at a depth. It makes only a quick
// check: the candidates are in the order of their links.
func (s *spreading) distinct(items []int, depth int) bool {
	last := s.links[items[0]*s.hops+depth]
	for _, i := range items[1:] {
		l := s.links[i*s.hops+depth]
		if l <= last {
			return false
		}
		last = l
	}
	return true
}

// A pick is a candidate of a lane.
type pick struct{ lane, candidate int }

// interleave returns the candidates of all lanes, lane by lane in turn, those of
// a lane in the order of spread.
func interleave(lanes []lane) []pick {
	orders := make([][]int, len(lanes))
	total := 0
	for i, l := range lanes {
		if len(l.candidates) > 0 {
			orders[i] = spread(l.set, l.candidates, pairKey(l.set.Source().ID, l.set.Destination().ID))
		}
		total += len(l.candidates)
	}
	out := make([]pick, 0, total)
	for round := 0; len(out) < total; round++ {
		for i := range lanes {
			if round < len(orders[i]) {
				out = append(out, pick{i, orders[i][round]})
			}
		}
	}
	return out
}

// pairKey is a number that differs from pair to pair.
func pairKey(src, dst topology.NodeID) uint64 {
	h := fnv.New64a()
	h.Write([]byte(src))
	h.Write([]byte{0})
	h.Write([]byte(dst))
	return h.Sum64()
}
