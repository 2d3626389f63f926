package topology

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// FirstHops are the links by which the shortest paths leave one node, toward
// every other node.
type FirstHops struct {
	// Sets are the distinct sets of links, each in the order of the snapshot.
	// Sets[0] is empty: that of the node itself, and of nodes out of reach.
	Sets [][]*Link
	// Of is the place in Sets of the links toward each node of the snapshot, by
	// the node's place in it.
	Of []int32

	dist []uint64
}

// Distance returns the cost of the shortest path to the node at a place of the
// snapshot; ok is false when there is none.
func (f *FirstHops) Distance(place int32) (d uint64, ok bool) {
	return f.dist[place], f.dist[place] != unreached
}

// FirstHops returns the first links of the shortest paths from a node to all
// others, which are the links that [Paths.Links] of [Graph.Toward] returns for
// it; ok is false when the snapshot lacks the node. It takes the shortest paths
// from the node and from each of its neighbors, which the graph remembers.
func (g *Graph) FirstHops(id NodeID, m Metric) (f *FirstHops, ok bool) {
	v, ok := g.snapshot.nodeIndex[id]
	if !ok {
		return nil, false
	}
	dist := g.pathsFrom(v, m).dist
	edges := g.out.of(v)
	words := (len(edges) + 63) / 64
	masks := make([]uint64, words*len(dist)) // of edges, by node
	for i, e := range edges {
		cost, bit := uint64(g.costs[m][e.link]), uint64(1)<<(i%64)
		if !g.transit[e.node] {
			if dist[e.node] == cost {
				masks[words*int(e.node)+i/64] |= bit
			}
			continue
		}
		for u, d := range g.pathsFrom(e.node, m).dist {
			if d+cost == dist[u] && d != unreached {
				masks[words*u+i/64] |= bit
			}
		}
	}
	f = &FirstHops{Sets: [][]*Link{nil}, Of: make([]int32, len(dist)), dist: dist}
	places := map[string]int32{string(make([]byte, 8*words)): 0}
	var key []byte
	for u := range dist {
		mask := masks[words*u : words*(u+1)]
		if u > 0 && slices.Equal(mask, masks[words*(u-1):words*u]) {
			f.Of[u] = f.Of[u-1]
			continue
		}
		key = key[:0]
		for _, word := range mask {
			key = binary.LittleEndian.AppendUint64(key, word)
		}
		place, known := places[string(key)]
		if !known {
			place = int32(len(f.Sets))
			places[string(key)] = place
			f.Sets = append(f.Sets, g.linksOf(edges, mask))
		}
		f.Of[u] = place
	}
	return f, true
}

// linksOf returns the links of the edges that a mask has.
func (g *Graph) linksOf(edges []edge, mask []uint64) (links []*Link) {
	for w, word := range mask {
		for ; word != 0; word &= word - 1 {
			links = append(links, g.snapshot.Links[edges[64*w+bits.TrailingZeros64(word)].link])
		}
	}
	return links
}
