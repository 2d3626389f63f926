package topology

import (
	"fmt"
	"slices"
)

// shortest makes the tree of shortest paths.
func (w *treeWork) shortest() error {
	w.failed = filled(w.failed, len(w.parent), false)
	w.ranking.reset(w.g.pathsFrom(w.root, w.metric), w.key)
	c := climb{w: w, rank: &w.ranking, failed: w.failed}
	for _, leaf := range w.leaves {
		if w.contains(leaf) {
			continue
		}
		if !c.search(leaf, false) && !c.search(leaf, true) {
			return fmt.Errorf("%w: %s", ErrBranchLimit, w.g.snapshot.Nodes[leaf].ID)
		}
		w.graft(c.top, c.links)
	}
	return nil
}

// graft attaches a path that starts at a node of the tree: every possible parent on the path
// becomes a node in the tree, and so does the last node; the others are crossed.
func (w *treeWork) graft(top int32, links []int32) {
	s := w.g.snapshot
	u, from := top, 0
	for i, l := range links {
		v := s.nodeIndex[s.Links[l].Remote]
		if i+1 < len(links) && (w.contains(v) || !w.mayBranch(v)) {
			continue
		}
		w.attach(u, v, slices.Clone(links[from:i+1]))
		u, from = v, i+1
	}
}

// climb searches a path from a leaf up to a node of the tree that has room.
type climb struct {
	w      *treeWork
	rank   *ranking
	failed []bool
	// crossing lets a way cross nodes that could replicate but have no room.
	crossing bool

	top   int32   // the node of the tree that was found
	links []int32 // from there down to the leaf
}

func (c *climb) search(leaf int32, crossing bool) bool {
	c.crossing, c.links = crossing, c.links[:0]
	clear(c.failed)
	return c.up(leaf)
}

// up finds the link above v, preferred choices first. The first choice mostly has room; only
// otherwise does up sort the remaining choices.
func (c *climb) up(v int32) bool {
	c.rank.settle(v)
	if c.by(c.rank.best[v]) {
		return true
	}
	return slices.ContainsFunc(c.rank.choices(v), c.by)
}

// by tries e as the link above a node, and reports whether its upper end leads to the tree.
func (c *climb) by(e edge) bool {
	u := e.node
	if c.failed[u] {
		return false
	}
	found := c.w.contains(u) && c.w.room[u] > 0
	if found {
		c.top = u
	} else if u != c.w.root && (c.crossing || !c.w.replicates[u] || c.w.room[u] > 0) {
		found = c.up(u)
	}
	if found {
		c.links = append(c.links, e.link)
	}
	c.failed[u] = !found
	return found
}

// A ranking orders the equal choices of a tree of shortest paths. It gives
// every node one preferred path from the root, and prefers the node whose
// path, seen from the root, parts from the other's in the direction that the
// key favours. So all nodes lean to the same side where possible, and paths join close to the
// leaves instead of close to the root; and the choice of a node depends only on the key and on what
// lies between root and node.
type ranking struct {
	p     *Paths
	key   uint64
	score []uint64 // by node: what the key makes of it, see [Graph.score]
	best  []edge   // by node: the last of its preferred path; node is -1 where not yet known
	depth []int32  // by node: links of its preferred path
}

func (r *ranking) reset(p *Paths, key uint64) {
	n := len(p.dist)
	r.p, r.key = p, key
	r.score, r.best, r.depth = filled(r.score, n, 0), filled(r.best, n, edge{node: -1}),
		filled(r.depth, n, 0)
	for v := range n {
		r.score[v] = p.g.score(int32(v), key)
	}
}

// choices returns the edges by which shortest paths reach v, the preferred first.
func (r *ranking) choices(v int32) []edge {
	choices := make([]edge, 0, 8)
	for _, e := range r.p.rows().of(v) {
		if r.p.tight(v, e) {
			r.settle(e.node)
			choices = append(choices, e)
		}
	}
	slices.SortFunc(choices, func(a, b edge) int {
		if r.prefer(a, b) {
			return -1
		}
		return 1
	})
	return choices
}

// settle finds the preferred path of v.
func (r *ranking) settle(v int32) {
	if v == r.p.root || r.best[v].node >= 0 {
		return
	}
	best := edge{node: -1}
	for _, e := range r.p.rows().of(v) {
		if !r.p.tight(v, e) {
			continue
		}
		r.settle(e.node)
		if best.node < 0 || r.prefer(e, best) {
			best = e
		}
	}
	r.best[v], r.depth[v] = best, r.depth[best.node]+1
}

// prefer reports whether a is preferred to b. Both their nodes are settled.
func (r *ranking) prefer(a, b edge) bool {
	if a.node == b.node {
		return r.p.g.prefer(a, b, r.key)
	}
	u, v := a.node, b.node
	for r.depth[u] > r.depth[v] {
		u = r.best[u].node
	}
	for r.depth[v] > r.depth[u] {
		v = r.best[v].node
	}
	if u == v { // one is on the other's path: the shorter
		return r.depth[a.node] < r.depth[b.node]
	}
	for r.best[u].node != r.best[v].node {
		u, v = r.best[u].node, r.best[v].node
	}
	return r.score[u] > r.score[v] || r.score[u] == r.score[v] && u < v
}
