package topology

import "sync/atomic"

// cached returns what slot holds, computing it the first time. Two goroutines
// that come first at once compute the same.
func (g *Graph) cached(slot *atomic.Pointer[Paths], root int32, m Metric, toward bool) *Paths {
	if p := slot.Load(); p != nil {
		return p
	}
	p := &Paths{g: g, metric: m, root: root, toward: toward}
	edges := &g.out
	if toward {
		edges = &g.in
	}
	p.dist = g.dijkstra(root, edges, g.costs[m])
	slot.Store(p)
	return p
}

// dijkstra returns the distances from root over edges.
func (g *Graph) dijkstra(root int32, edges *rows, costs []uint32) []uint64 {
	n := len(g.snapshot.Nodes)
	dist := make([]uint64, n)
	for i := range dist {
		dist[i] = unreached
	}
	q := newQueue(n)
	dist[root] = 0
	q.push(root, dist)
	for len(q.heap) > 0 {
		v := q.pop(dist)
		if v != root && !g.transit[v] {
			continue
		}
		for _, e := range edges.of(v) {
			if d := dist[v] + uint64(costs[e.link]); d < dist[e.node] {
				dist[e.node] = d
				q.push(e.node, dist)
			}
		}
	}
	return dist
}

// A queue is a binary heap of nodes by distance. The distance of a queued node may shrink.
type queue struct {
	heap []int32
	pos  []int32 // by node: place in heap, -1: not in it
}

func newQueue(n int) *queue {
	q := &queue{heap: make([]int32, 0, n), pos: make([]int32, n)}
	for i := range q.pos {
		q.pos[i] = -1
	}
	return q
}

// push adds a node, or moves it after its distance has shrunk.
func (q *queue) push(v int32, dist []uint64) {
	i := q.pos[v]
	if i < 0 {
		i = int32(len(q.heap))
		q.heap = append(q.heap, v)
	}
	for i > 0 {
		parent := (i - 1) / 2
		u := q.heap[parent]
		if dist[u] <= dist[v] {
			break
		}
		q.heap[i], q.pos[u] = u, i
		i = parent
	}
	q.heap[i], q.pos[v] = v, i
}

// pop removes the nearest node.
func (q *queue) pop(dist []uint64) int32 {
	top := q.heap[0]
	q.pos[top] = -1
	last := len(q.heap) - 1
	v := q.heap[last]
	q.heap = q.heap[:last]
	if last == 0 {
		return top
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= last {
			break
		}
		if r := child + 1; r < last && dist[q.heap[r]] < dist[q.heap[child]] {
			child = r
		}
		u := q.heap[child]
		if dist[v] <= dist[u] {
			break
		}
		q.heap[i], q.pos[u] = u, int32(i)
		i = child
	}
	q.heap[i], q.pos[v] = v, int32(i)
	return top
}
