package topology

import (
	"fmt"
	"slices"
	"sync"
)

// An Objective says what a tree is to minimize.
type Objective uint8

const (
	// ShortestPaths gives every leaf a shortest path from the root.
	ShortestPaths Objective = iota
	// LeastCost keeps the sum of the costs of all links low. The result never
	// costs more than the tree of shortest paths.
	LeastCost
)

// A TreeRequest reports which tree to compute.
type TreeRequest struct {
	Root NodeID
	// Leaves are the nodes that must be in the tree; the root may be one, and
	// repetitions do not matter.
	Leaves    []NodeID
	Metric    Metric
	Objective Objective
	// Key decides among equal choices. Trees of different keys spread over
	// them; the same key on the same graph gives the same tree.
	Key uint64
	// Replicates reports which nodes can be nodes of the tree, by place in the
	// snapshot. Root and leaves must be; branches cross the others. Nil: all but
	// pseudonodes.
	Replicates []bool
	// Branches bounds the branches from a node to further nodes, by place in the snapshot; nil sets no
	// limit.
	Branches []int32
}

// A Tree is a tree of nodes that replicate. Between a node and its parent lies
// a branch of one or more links.
type Tree struct {
	// Nodes has the root first and every parent before its children; children
	// of a node are in the order of the snapshot.
	Nodes []TreeNode
	// Cost is the sum of the costs of the links of all branches. A link that
	// two branches cross, because they part at a node that cannot replicate,
	// counts twice.
	Cost   uint64
	Metric Metric
}

// A TreeNode is a node of a tree.
type TreeNode struct {
	Node *Node
	// Parent and Children are places in Tree.Nodes; the root's Parent is -1.
	Parent   int
	Children []int
	// Branch is the links from the parent to this node. Nodes between them are
	// crossed by plain forwarding.
	Branch []*Link
	// Back holds the opposite direction of each link of Branch, in the order of Branch.
	Back []*Link
	// Distance is the cost from the root along the tree.
	Distance uint64
	// Leaf reports that the request asked for the node.
	Leaf bool
}

// Find returns the place of a node in Nodes, or -1.
func (t *Tree) Find(id NodeID) int {
	return slices.IndexFunc(t.Nodes, func(n TreeNode) bool { return n.Node.ID == id })
}

// Crosses reports whether a branch of the tree uses a link.
func (t *Tree) Crosses(id LinkID) bool {
	return slices.ContainsFunc(t.Nodes, func(n TreeNode) bool {
		return slices.ContainsFunc(n.Branch, func(l *Link) bool { return l.ID == id })
	})
}

// KeyOf returns a key for trees that depends on a name alone.
func KeyOf(name string) uint64 { return hashString(name) }

// Tree computes the tree of a request. Errors are [ErrUnknownNode],
// [ErrNotReplicator], [ErrUnreachable] and [ErrBranchLimit], with the id of
// the node.
//
// Without branch limits the path to a leaf in a tree of shortest paths does
// not depend on the other leaves: adding or removing one moves no other.
func (g *Graph) Tree(req TreeRequest) (*Tree, error) {
	w, err := g.newTreeWork(&req)
	if err != nil {
		return nil, err
	}
	defer w.release()
	err = w.shortest()
	if req.Objective == ShortestPaths {
		if err != nil {
			return nil, err
		}
		return w.tree(), nil
	}
	best := w
	if err != nil {
		best = nil
	} else {
		w.improve()
	}
	nearest, nearestErr := g.newTreeWork(&req)
	if nearestErr != nil {
		return nil, nearestErr
	}
	defer nearest.release()
	if nearestErr = nearest.nearestFirst(); nearestErr == nil {
		nearest.improve()
		if best == nil || nearest.cost < best.cost {
			best = nearest
		}
	}
	if best == nil {
		return nil, err
	}
	return best.tree(), nil
}

const (
	outside int32 = -2 // parent of a node that is not in the tree
	noNode  int32 = -1 // parent of the root
)

// treeWork is a tree being made.
type treeWork struct {
	g      *Graph
	metric Metric
	key    uint64
	root   int32
	leaves []int32 // ascending, without the root

	*treeNodes
	replicates []bool // by node

	cost uint64
}

// treeNodes holds the data of a treeWork by node. Graphs have many nodes and trees few, so
// consecutive works share the memory.
type treeNodes struct {
	parent   []int32
	branch   [][]int32 // links from the parent
	children []int32   // how many
	room     []int32   // branches a node may still have
	leaf     []bool

	failed  []bool  // see climb
	ranking ranking // see climb
	first   []int32 // see treeWork.tree
	next    []int32
}

var treeMemory = sync.Pool{New: func() any { return new(treeNodes) }}

// reset prepares the memory for a tree of a graph of n nodes.
func (t *treeNodes) reset(n int) {
	t.parent = filled(t.parent, n, outside)
	t.branch = filled(t.branch, n, nil)
	t.children = filled(t.children, n, 0)
	t.room = filled(t.room, n, int32(n))
	t.leaf = filled(t.leaf, n, false)
}

// filled returns n times a value, in the memory of s if that suffices.
func filled[S ~[]T, T any](s S, n int, value T) S {
	s = slices.Grow(s[:0], n)[:n]
	for i := range s {
		s[i] = value
	}
	return s
}

// release gives the memory of the work back: nothing may use the work any more.
func (w *treeWork) release() {
	clear(w.branch)
	w.ranking.p = nil
	treeMemory.Put(w.treeNodes)
	w.treeNodes = nil
}

func (g *Graph) newTreeWork(req *TreeRequest) (*treeWork, error) {
	s := g.snapshot
	n := len(s.Nodes)
	root, ok := s.nodeIndex[req.Root]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrUnknownNode, req.Root)
	}
	w := &treeWork{g: g, metric: req.Metric, key: req.Key, root: root, replicates: req.Replicates}
	if w.replicates == nil {
		w.replicates = make([]bool, n)
		for i, node := range s.Nodes {
			w.replicates[i] = !node.Pseudonode
		}
	}
	reach := g.pathsFrom(root, req.Metric)
	for _, id := range append([]NodeID{req.Root}, req.Leaves...) {
		v, ok := s.nodeIndex[id]
		switch {
		case !ok:
			return nil, fmt.Errorf("%w: %s", ErrUnknownNode, id)
		case !w.replicates[v]:
			return nil, fmt.Errorf("%w: %s", ErrNotReplicator, id)
		case reach.dist[v] == unreached:
			return nil, fmt.Errorf("%w: %s from %s", ErrUnreachable, id, req.Root)
		}
	}
	w.treeNodes = treeMemory.Get().(*treeNodes)
	w.reset(n)
	if req.Branches != nil {
		copy(w.room, req.Branches)
	}
	w.parent[root] = noNode
	for _, id := range req.Leaves {
		v := s.nodeIndex[id]
		if !w.leaf[v] && v != root {
			w.leaves = append(w.leaves, v)
		}
		w.leaf[v] = true
	}
	slices.Sort(w.leaves)
	return w, nil
}

func (w *treeWork) contains(v int32) bool { return w.parent[v] != outside }

// attach makes v a child of u by links, which it keeps.
func (w *treeWork) attach(u, v int32, links []int32) {
	w.parent[v] = u
	w.branch[v] = links
	w.children[u]++
	w.room[u]--
	w.cost += w.costOf(links)
}

// detach takes the branch above v away and returns the former parent. The
// nodes below v stay attached to it.
func (w *treeWork) detach(v int32) int32 {
	u := w.parent[v]
	w.cost -= w.costOf(w.branch[v])
	w.children[u]--
	w.room[u]++
	w.parent[v], w.branch[v] = outside, nil
	return u
}

func (w *treeWork) costOf(links []int32) (sum uint64) {
	for _, l := range links {
		sum += uint64(w.g.costs[w.metric][l])
	}
	return sum
}

// mayBranch reports whether v is, or can become, a parent.
func (w *treeWork) mayBranch(v int32) bool {
	return w.replicates[v] && w.room[v] > 0 && (v == w.root || w.g.transit[v])
}

// tree returns the finished tree.
func (w *treeWork) tree() *Tree {
	s := w.g.snapshot
	// The first child of a node, and the next child of its parent: by node, noNode
	// where there is none.
	w.first, w.next = filled(w.first, len(w.parent), noNode), filled(w.next, len(w.parent), noNode)
	first, next := w.first, w.next
	size := 0
	for v, u := range slices.Backward(w.parent) {
		if u != outside {
			size++
		}
		if u >= 0 {
			first[u], next[v] = int32(v), first[u]
		}
	}
	t := &Tree{Nodes: make([]TreeNode, 0, size), Cost: w.cost, Metric: w.metric}
	var add func(v int32, parent int)
	add = func(v int32, parent int) {
		at := len(t.Nodes)
		node := TreeNode{Node: s.Nodes[v], Parent: parent, Leaf: w.leaf[v]}
		if parent >= 0 {
			n := len(w.branch[v])
			links := make([]*Link, 2*n)
			node.Branch, node.Back = links[:n:n], links[n:]
			for i, l := range w.branch[v] {
				node.Branch[i], node.Back[i] = s.Links[l], s.Links[w.g.reverse[l]]
			}
			node.Distance = t.Nodes[parent].Distance + w.costOf(w.branch[v])
			t.Nodes[parent].Children = append(t.Nodes[parent].Children, at)
		}
		if n := w.children[v]; n > 0 {
			node.Children = make([]int, 0, n)
		}
		t.Nodes = append(t.Nodes, node)
		for child := first[v]; child != noNode; child = next[child] {
			add(child, at)
		}
	}
	add(w.root, -1)
	return t
}
