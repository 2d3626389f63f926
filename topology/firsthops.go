package topology

import (
	"encoding/binary"
	"math/bits"
)

// FirstHops are the links by which the shortest paths leave one node, toward
// every other node. The zero value has none; see [FirstHops.Find].
type FirstHops struct {
	// Sets lists the distinct sets of links, each in the order of the snapshot. Sets[0] is empty, for
	// the node itself and for unreachable nodes.
	Sets [][]*Link
	// Of gives, by a node's index in the snapshot, the index in Sets of the links toward the node.
	Of []int32

	dist distances
	work firstHopWork
}

// Distance returns the cost of the shortest path to the node at a place of the
// snapshot; ok is false when there is none.
func (f *FirstHops) Distance(place int32) (d uint64, ok bool) {
	d = f.dist.to(place)
	return d, d != unreached
}

// Find finds the first links of the shortest paths from a node to all others, like [Paths.Links] of
// [Graph.Toward] for the node; ok is false if the snapshot lacks the node. Find needs the shortest
// paths from the node and from each of its neighbors; twins share theirs, and the graph remembers
// them. Find overwrites earlier results, because it reuses their memory.
func (f *FirstHops) Find(g *Graph, id NodeID, m Metric) (ok bool) {
	v, ok := g.snapshot.nodeIndex[id]
	if !ok {
		return false
	}
	t := g.twins[m]()
	f.Sets, f.Of, f.dist = append(f.Sets[:0], nil), filled(f.Of, len(t.class), 0), t.distances(v)
	w := &f.work
	w.g, w.v, w.edges = g, v, g.out.of(v)
	w.words = (len(w.edges) + 63) / 64
	if w.known == nil {
		w.known = make(map[string]int32, len(w.edges)+2)
	}
	clear(w.known)
	w.links = make([]*Link, 0, len(w.edges))
	w.known[string(make([]byte, 8*w.words))] = 0

	w.masks = filled(w.masks, w.words*len(t.some), 0)
	w.dist = filled(w.dist, len(t.some), 0)
	for c := range w.dist {
		w.dist[c] = t.toClass(f.dist.dist, t.class[v], int32(c))
	}
	before := int32(none)
	var cost uint64
	for i, e := range w.edges {
		if !g.transit[e.node] {
			continue
		}
		if c := t.class[e.node]; c != before || cost != uint64(g.costs[m][e.link]) {
			before, cost, w.tight = c, uint64(g.costs[m][e.link]), w.tight[:0]
			from := t.from(c)
			for u := range w.dist {
				if d := t.toClass(from, c, int32(u)); d != unreached && d+cost == w.dist[u] {
					w.tight = append(w.tight, int32(u))
				}
			}
		}
		for _, u := range w.tight {
			w.masks[w.words*int(u)+i/64] |= 1 << (i % 64)
		}
	}
	f.places(t.class, m)
	return true
}

// none is no node and no class.
const none = -1

// firstHopWork has buffers that one search for first hops leaves to the next.
type firstHopWork struct {
	g     *Graph
	v     int32
	edges []edge
	words int              // of a mask
	known map[string]int32 // place in Sets, by mask
	key   []byte
	masks []uint64 // of edges, by class
	dist  []uint64 // by class
	tight []int32  // classes that lie behind a node of class before, at the cost of the edge before
	links []*Link  // room for those of sets
}

// places finds the set of each node: the set of the node's class; for a neighbor, that set
// corrected by the links to the neighbor itself.
func (f *FirstHops) places(class []int32, m Metric) {
	w := &f.work
	own := make([]uint64, w.words)
	ofClass := make([]int32, len(w.dist))
	for c := range ofClass {
		ofClass[c] = none
	}
	rest := w.edges // ordered by node
	for u := range f.Of {
		if int32(u) == w.v || w.words == 0 {
			continue
		}
		c := int(class[u])
		mask := w.masks[w.words*c : w.words*(c+1)]
		for len(rest) > 0 && rest[0].node < int32(u) {
			rest = rest[1:]
		}
		if len(rest) > 0 && rest[0].node == int32(u) {
			copy(own, mask)
			for i := len(w.edges) - len(rest); i < len(w.edges) && w.edges[i].node == int32(u); i++ {
				own[i/64] &^= 1 << (i % 64)
				if uint64(w.g.costs[m][w.edges[i].link]) == f.dist.to(int32(u)) {
					own[i/64] |= 1 << (i % 64)
				}
			}
			f.Of[u] = f.place(own)
			continue
		}
		if ofClass[c] == none {
			ofClass[c] = f.place(mask)
		}
		f.Of[u] = ofClass[c]
	}
}

// place returns the place of the set of a mask.
func (f *FirstHops) place(mask []uint64) int32 {
	w := &f.work
	w.key = w.key[:0]
	for _, word := range mask {
		w.key = binary.LittleEndian.AppendUint64(w.key, word)
	}
	place, known := w.known[string(w.key)]
	if !known {
		place = int32(len(f.Sets))
		w.known[string(w.key)] = place
		f.Sets = append(f.Sets, w.linksOf(mask))
	}
	return place
}

// linksOf returns the links of the edges that a mask has. Small sets share memory.
func (w *firstHopWork) linksOf(mask []uint64) []*Link {
	n := 0
	for _, word := range mask {
		n += bits.OnesCount64(word)
	}
	if cap(w.links)-len(w.links) < n {
		w.links = make([]*Link, 0, n)
	}
	first := len(w.links)
	for i, word := range mask {
		for ; word != 0; word &= word - 1 {
			w.links = append(w.links, w.g.snapshot.Links[w.edges[64*i+bits.TrailingZeros64(word)].link])
		}
	}
	return w.links[first:len(w.links):len(w.links)]
}
