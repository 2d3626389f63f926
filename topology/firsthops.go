package topology

import (
	"encoding/binary"
	"math/bits"
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

	dist distances
}

// Distance returns the cost of the shortest path to the node at a place of the
// snapshot; ok is false when there is none.
func (f *FirstHops) Distance(place int32) (d uint64, ok bool) {
	d = f.dist.to(place)
	return d, d != unreached
}

// FirstHops returns the first links of the shortest paths from a node to all
// others, which are the links that [Paths.Links] of [Graph.Toward] returns for
// it; ok is false when the snapshot lacks the node. It takes the shortest paths
// from the node and from each of its neighbors, of which twins have the same; the
// graph remembers them.
func (g *Graph) FirstHops(id NodeID, m Metric) (f *FirstHops, ok bool) {
	v, ok := g.snapshot.nodeIndex[id]
	if !ok {
		return nil, false
	}
	t := g.twins[m]()
	edges := g.out.of(v)
	w := firstHopWork{g: g, v: v, edges: edges, known: make(map[string]int32, len(edges)+2)}
	w.FirstHops = FirstHops{Sets: append(make([][]*Link, 0, len(edges)+2), nil),
		Of: make([]int32, len(t.class)), dist: t.distances(v)}
	w.words = (len(w.edges) + 63) / 64
	masks := make([]uint64, w.words*len(t.some)) // of edges, by class
	w.known[string(make([]byte, 8*w.words))] = 0

	dist := make([]uint64, len(t.some)) // by class
	for c := range dist {
		dist[c] = t.toClass(w.dist.dist, t.class[v], int32(c))
	}
	before := int32(none)
	var tight []int32 // classes that lie behind a node of class before, at the cost of the edge before
	var cost uint64
	for i, e := range w.edges {
		if !g.transit[e.node] {
			continue
		}
		if c := t.class[e.node]; c != before || cost != uint64(g.costs[m][e.link]) {
			before, cost, tight = c, uint64(g.costs[m][e.link]), tight[:0]
			from := t.from(c)
			for u := range dist {
				if d := t.toClass(from, c, int32(u)); d != unreached && d+cost == dist[u] {
					tight = append(tight, int32(u))
				}
			}
		}
		for _, u := range tight {
			masks[w.words*int(u)+i/64] |= 1 << (i % 64)
		}
	}
	w.places(t.class, masks, m)
	return &w.FirstHops, true
}

// none is no node and no class.
const none = -1

type firstHopWork struct {
	FirstHops
	g     *Graph
	v     int32
	edges []edge
	words int // of a mask
	known map[string]int32
	key   []byte
}

// places finds the set of each node: that of its class, or of a neighbor that with the edges to
// itself.
func (w *firstHopWork) places(class []int32, masks []uint64, m Metric) {
	own := make([]uint64, w.words)
	ofClass := make([]int32, len(masks)/max(w.words, 1))
	for c := range ofClass {
		ofClass[c] = none
	}
	rest := w.edges // ordered by node
	for u := range w.Of {
		if int32(u) == w.v || w.words == 0 {
			continue
		}
		c := int(class[u])
		mask := masks[w.words*c : w.words*(c+1)]
		for len(rest) > 0 && rest[0].node < int32(u) {
			rest = rest[1:]
		}
		if len(rest) > 0 && rest[0].node == int32(u) {
			copy(own, mask)
			for i := len(w.edges) - len(rest); i < len(w.edges) && w.edges[i].node == int32(u); i++ {
				own[i/64] &^= 1 << (i % 64)
				if uint64(w.g.costs[m][w.edges[i].link]) == w.dist.to(int32(u)) {
					own[i/64] |= 1 << (i % 64)
				}
			}
			w.Of[u] = w.place(own)
			continue
		}
		if ofClass[c] == none {
			ofClass[c] = w.place(mask)
		}
		w.Of[u] = ofClass[c]
	}
}

// place returns the place of the set of a mask.
func (w *firstHopWork) place(mask []uint64) int32 {
	w.key = w.key[:0]
	for _, word := range mask {
		w.key = binary.LittleEndian.AppendUint64(w.key, word)
	}
	place, known := w.known[string(w.key)]
	if !known {
		place = int32(len(w.Sets))
		w.known[string(w.key)] = place
		w.Sets = append(w.Sets, w.g.linksOf(w.edges, mask))
	}
	return place
}

// linksOf returns the links of the edges that a mask has.
func (g *Graph) linksOf(edges []edge, mask []uint64) (links []*Link) {
	n := 0
	for _, word := range mask {
		n += bits.OnesCount64(word)
	}
	links = make([]*Link, 0, n)
	for w, word := range mask {
		for ; word != 0; word &= word - 1 {
			links = append(links, g.snapshot.Links[edges[64*w+bits.TrailingZeros64(word)].link])
		}
	}
	return links
}
