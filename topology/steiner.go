package topology

import (
	"fmt"
	"slices"
)

// nearestFirst makes a tree by joining, repeatedly, the leaf that is
// nearest to the tree by a shortest path to it (Takahashi and Matsuyama,
// 1980). It reads distances toward the leaves, which the graph remembers, so
// that trees with common leaves share the work.
func (w *treeWork) nearestFirst() error {
	type join struct {
		leaf, at int32 // the leaf, and the node of the tree nearest to it
		dist     uint64
		paths    *Paths
	}
	var waiting []join
	members := []int32{w.root}
	nearest := func(j *join, among []int32) {
		for _, u := range among {
			if d := j.paths.dist[u]; d < j.dist && w.mayBranch(u) {
				j.at, j.dist = u, d
			}
		}
	}
	for _, leaf := range w.leaves {
		j := join{leaf: leaf, dist: unreached, paths: w.g.pathsToward(leaf, w.metric)}
		nearest(&j, members)
		waiting = append(waiting, j)
	}
	var links []int32
	for len(waiting) > 0 {
		first := 0
		for i := range waiting {
			if waiting[i].dist < waiting[first].dist {
				first = i
			}
		}
		j := waiting[first]
		if j.dist == unreached {
			return fmt.Errorf("%w: %s", ErrBranchLimit, w.g.snapshot.Nodes[j.leaf].ID)
		}
		waiting = slices.Delete(waiting, first, first+1)
		if w.contains(j.leaf) {
			continue
		}
		known := len(members)
		links = w.walk(j.at, j.leaf, j.paths, links[:0])
		w.graft(j.at, links)
		for v := j.leaf; v != j.at; v = w.parent[v] {
			members = append(members, v)
		}
		full := !w.mayBranch(j.at)
		for i := range waiting {
			if k := &waiting[i]; full && k.at == j.at {
				k.dist = unreached
				nearest(k, members)
			} else {
				nearest(k, members[known:])
			}
		}
	}
	return nil
}

// walk appends the links of the shortest path from u to v that the key picks.
func (w *treeWork) walk(u, v int32, toward *Paths, links []int32) []int32 {
	for u != v {
		e := toward.pick(u, w.key)
		links = append(links, e.link)
		u = e.node
	}
	return links
}

// improve replaces parts of the tree with cheaper parts until no part is cheaper: improve removes
// the stretch above a leaf or a node with several children, up to the next such node, and joins the
// subtree below the stretch to the nearest node of the rest.
func (w *treeWork) improve() {
	var links []int32
	below := make([]bool, len(w.parent))
	for improved := true; improved; {
		improved = false
		for i := range w.parent {
			v := int32(i)
			if !w.contains(v) || v == w.root || !w.leaf[v] && w.children[v] < 2 {
				continue
			}
			before := w.cost
			undo := w.cut(v)
			paths := w.g.pathsToward(v, w.metric)
			w.markBelow(v, below)
			at, dist := noNode, before-w.cost
			for u, d := range paths.dist {
				if d < dist && !below[u] && w.contains(int32(u)) && w.mayBranch(int32(u)) {
					at, dist = int32(u), d
				}
			}
			ok := at >= 0
			if ok {
				links = w.walk(at, v, paths, links[:0])
				for _, l := range links[:len(links)-1] {
					ok = ok && !below[w.g.snapshot.nodeIndex[w.g.snapshot.Links[l].Remote]]
				}
			}
			if !ok {
				undo()
				continue
			}
			w.graft(at, links)
			improved = true
		}
	}
}

// cut detaches v and all nodes above v that served v alone, and returns a function that undoes the
// cut.
func (w *treeWork) cut(v int32) (undo func()) {
	type piece struct {
		u, v  int32
		links []int32
	}
	var pieces []piece
	for {
		links := w.branch[v]
		u := w.detach(v)
		pieces = append(pieces, piece{u, v, links})
		if u == w.root || w.leaf[u] || w.children[u] > 0 {
			break
		}
		v = u
	}
	return func() {
		for _, p := range slices.Backward(pieces) {
			w.attach(p.u, p.v, p.links)
		}
	}
}

// markBelow marks v and the nodes whose path up leads through v, which has no
// parent.
func (w *treeWork) markBelow(v int32, below []bool) {
	for i := range below {
		u := int32(i)
		for u >= 0 && u != v {
			u = w.parent[u]
		}
		below[i] = u == v
	}
}
