package topology

import "encoding/binary"

// Twins are nodes with the same neighbors at the same costs; no twin is a neighbor of another. A
// shortest path to or from a twin crosses no other twin: the path reaches the other twin's
// neighbors directly at a lower cost. So all twins are equally far from every other node, and the
// shortest paths from one twin give the shortest paths from all twins: one search serves thousands
// of leaves.
type twins struct {
	g      *Graph
	metric Metric
	class  []int32   // by node
	some   [][]int32 // by class: up to two of its nodes; the first is searched from
}

// newTwins finds the twins of a graph.
func newTwins(g *Graph, m Metric) *twins {
	t := &twins{g: g, metric: m, class: make([]int32, len(g.snapshot.Nodes))}
	classes := make(map[string]int32)
	var key []byte
	for v := range t.class {
		key = key[:0]
		for _, r := range [...]*rows{&g.out, &g.in} {
			edges := r.of(int32(v))
			key = binary.LittleEndian.AppendUint32(key, uint32(len(edges)))
			for _, e := range edges {
				key = binary.LittleEndian.AppendUint32(key, uint32(e.node))
				key = binary.LittleEndian.AppendUint32(key, g.costs[m][e.link])
			}
		}
		c, ok := classes[string(key)]
		if !ok {
			c = int32(len(t.some))
			classes[string(key)] = c
			t.some = append(t.some, nil)
		}
		t.class[v] = c
		if len(t.some[c]) < 2 {
			t.some[c] = append(t.some[c], int32(v))
		}
	}
	return t
}

// from returns the distances from the first node of a class.
func (t *twins) from(class int32) []uint64 {
	return t.g.pathsFrom(t.some[class][0], t.metric).dist
}

// distances are those from a node: distances from the first of its twins, with the two exchanged.
type distances struct {
	node, first int32
	dist        []uint64
}

func (t *twins) distances(v int32) distances {
	c := t.class[v]
	return distances{v, t.some[c][0], t.from(c)}
}

func (d distances) to(u int32) uint64 {
	switch u {
	case d.node:
		return d.dist[d.first]
	case d.first:
		return d.dist[d.node]
	}
	return d.dist[u]
}

// toClass returns the distance from every node of a class to every other one of a class; unreached
// where there is no other.
func (t *twins) toClass(from []uint64, c, to int32) uint64 {
	u := t.some[to]
	if c != to {
		return from[u[0]]
	}
	if len(u) == 1 {
		return unreached
	}
	return from[u[1]]
}
