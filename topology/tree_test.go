package topology

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// describe writes a tree as one line: node(children...).
func describe(t *Tree) string {
	var of func(i int) string
	of = func(i int) string {
		s := string(t.Nodes[i].Node.ID)
		for _, l := range t.Nodes[i].Branch[:max(len(t.Nodes[i].Branch)-1, 0)] {
			s = string(l.Remote) + "~" + s
		}
		if t.Nodes[i].Leaf {
			s += "*"
		}
		if len(t.Nodes[i].Children) > 0 {
			s += "("
			for k, c := range t.Nodes[i].Children {
				if k > 0 {
					s += " "
				}
				s += of(c)
			}
			s += ")"
		}
		return s
	}
	return of(0)
}

// ofNodes returns what a function returns for the nodes of a graph, by place.
func ofNodes[T any](g *Graph, of func(NodeID) T) (out []T) {
	for _, n := range g.snapshot.Nodes {
		out = append(out, of(n.ID))
	}
	return out
}

// checkTree fails unless a tree satisfies its request, whatever made the tree.
func checkTree(t failer, g *Graph, req TreeRequest, tree *Tree) {
	t.Helper()
	if tree.Nodes[0].Node.ID != req.Root || tree.Nodes[0].Parent != -1 ||
		len(tree.Nodes[0].Branch) != 0 {
		t.Fatalf("the first node is not a root %s", req.Root)
	}
	seen := map[NodeID]bool{}
	var cost uint64
	for i, n := range tree.Nodes {
		if seen[n.Node.ID] {
			t.Fatalf("%s is twice in %s", n.Node.ID, describe(tree))
		}
		seen[n.Node.ID] = true
		place := g.snapshot.NodePlace(n.Node.ID)
		if req.Replicates != nil && !req.Replicates[place] {
			t.Fatalf("%s cannot replicate", n.Node.ID)
		}
		if req.Branches != nil && len(n.Children) > int(req.Branches[place]) {
			t.Fatalf("%s has %d branches of %d", n.Node.ID, len(n.Children), req.Branches[place])
		}
		for _, c := range n.Children {
			if tree.Nodes[c].Parent != i {
				t.Fatalf("child %d of %d has another parent", c, i)
			}
		}
		if n.Leaf != slices.Contains(req.Leaves, n.Node.ID) {
			t.Fatalf("%s: Leaf is %v", n.Node.ID, n.Leaf)
		}
		if len(n.Children) == 0 && !n.Leaf && i > 0 {
			t.Fatalf("%s serves nobody", n.Node.ID)
		}
		if i == 0 {
			continue
		}
		if n.Parent < 0 || n.Parent >= i || !slices.Contains(tree.Nodes[n.Parent].Children, i) {
			t.Fatalf("%s: parent is %d", n.Node.ID, n.Parent)
		}
		at, d := tree.Nodes[n.Parent].Node.ID, tree.Nodes[n.Parent].Distance
		for k, l := range n.Branch {
			if l.Local != at || g.Reverse(l) == nil {
				t.Fatalf("the branch to %s breaks at %s", n.Node.ID, at)
			}
			if n.Back[k] != g.Reverse(l) {
				t.Fatalf("the way back from %s is not that of the branch at %s", n.Node.ID, at)
			}
			at = l.Remote
			cost += uint64(g.Cost(l, req.Metric))
			d += uint64(g.Cost(l, req.Metric))
			if node := g.snapshot.Node(at); k+1 < len(n.Branch) && node.Overload {
				t.Fatalf("the branch to %s crosses %s", n.Node.ID, at)
			}
		}
		if at != n.Node.ID || d != n.Distance {
			t.Fatalf("the branch to %s ends at %s, distance %d, not %d", n.Node.ID, at, d, n.Distance)
		}
	}
	for _, leaf := range req.Leaves {
		if !seen[leaf] {
			t.Fatalf("%s is not in %s", leaf, describe(tree))
		}
	}
	if cost != tree.Cost {
		t.Fatalf("cost is %d, not %d", tree.Cost, cost)
	}
}

func TestTreeOfFigure1(t *testing.T) {
	g := figure1().Build().Graph()
	all := []NodeID{"n1", "n2", "n3"}
	seen := map[string]int{}
	for key := range uint64(64) {
		req := TreeRequest{Root: "n6", Leaves: all, Key: key}
		tree, err := g.Tree(req)
		if err != nil {
			t.Fatal(err)
		}
		checkTree(t, g, req, tree)
		if tree.Cost != 50 {
			t.Errorf("key %d: cost is %d", key, tree.Cost)
		}
		seen[describe(tree)]++
	}
	for _, want := range []string{"n6(n4(n1* n2*) n5(n3*))", "n6(n4(n1*) n5(n2* n3*))"} {
		if seen[want] < 16 {
			t.Errorf("%s was made for %d of 64 keys", want, seen[want])
		}
	}
	if len(seen) != 2 {
		t.Errorf("trees made: %v", seen)
	}
}

func TestTreeLeaves(t *testing.T) {
	g := figure1().Build().Graph()
	for _, c := range []struct {
		name   string
		req    TreeRequest
		want   string
		is     error
		shared uint64
	}{
		{name: "root only", req: TreeRequest{Root: "n6"}, want: "n6"},
		{name: "root as leaf", req: TreeRequest{Root: "n6", Leaves: []NodeID{"n6"}}, want: "n6*"},
		{name: "twice the same", req: TreeRequest{Root: "n6", Leaves: []NodeID{"n1", "n1"}},
			want: "n6(n4(n1*))"},
		{name: "a leaf on the way", req: TreeRequest{Root: "n6", Leaves: []NodeID{"n1", "n4"}},
			want: "n6(n4*(n1*))"},
		{name: "crossing a router", req: TreeRequest{Root: "n6", Leaves: []NodeID{"n1", "n3"},
			Replicates: ofNodes(g, func(id NodeID) bool { return id != "n4" })}, want: "n6(n4~n1* n5(n3*))"},
		{name: "no branch left at a transit node",
			req: TreeRequest{Root: "n6", Leaves: []NodeID{"n1", "n2"},
				Branches: ofNodes(g, func(id NodeID) int32 {
					if id == "n4" {
						return 1
					}
					return 2
				})}, want: "n6(n4(n1*) n5(n2*))"},
		{name: "crossing a node without any branch", req: TreeRequest{Root: "n6", Leaves: []NodeID{"n1"},
			Branches: ofNodes(g, func(id NodeID) int32 {
				if id == "n4" {
					return 0
				}
				return 2
			})}, want: "n6(n4~n1*)"},
		{name: "unknown leaf", req: TreeRequest{Root: "n6", Leaves: []NodeID{"n9"}}, is: ErrUnknownNode},
		{name: "unknown root", req: TreeRequest{Root: "n9"}, is: ErrUnknownNode},
		{name: "leaf cannot replicate", req: TreeRequest{Root: "n6", Leaves: []NodeID{"n1"},
			Replicates: ofNodes(g, func(id NodeID) bool { return id != "n1" })}, is: ErrNotReplicator},
		{name: "no branch at all", req: TreeRequest{Root: "n6", Leaves: []NodeID{"n1"},
			Branches: ofNodes(g, func(NodeID) int32 { return 0 })}, is: ErrBranchLimit},
	} {
		for _, objective := range []Objective{ShortestPaths, LeastCost} {
			req := c.req
			req.Objective = objective
			tree, err := g.Tree(req)
			if c.is != nil {
				if !errors.Is(err, c.is) {
					t.Errorf("%s: error is %v", c.name, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			checkTree(t, g, req, tree)
			if got := describe(tree); got != c.want {
				t.Errorf("%s: tree is %s, not %s", c.name, got, c.want)
			}
		}
	}
}

func TestTreeUnreachableLeaf(t *testing.T) {
	w := figure1()
	w.RemoveLink("n6,2~n5,1")
	w.RemoveLink("n5,2~n2,2")
	_, err := w.Build().Graph().Tree(TreeRequest{Root: "n6", Leaves: []NodeID{"n3"}})
	if !errors.Is(err, ErrUnreachable) {
		t.Fatalf("error is %v", err)
	}
}

// request draws a request that the network may or may not be able to serve.
func randomRequest(t *rapid.T, s *Snapshot) TreeRequest {
	some := func(label string, of int) map[NodeID]bool {
		chosen := map[NodeID]bool{}
		for _, n := range s.Nodes {
			if rapid.IntRange(1, of).Draw(t, label) == 1 {
				chosen[n.ID] = true
			}
		}
		return chosen
	}
	req := TreeRequest{Root: s.Nodes[0].ID, Key: rapid.Uint64().Draw(t, "key")}
	leaves := some("leaf", 2)
	for _, n := range s.Nodes {
		if leaves[n.ID] {
			req.Leaves = append(req.Leaves, n.ID)
		}
	}
	if rapid.Bool().Draw(t, "routers") {
		routers := some("router", 4)
		req.Replicates = ofNodes(s.Graph(), func(id NodeID) bool {
			return !routers[id] || leaves[id] || id == req.Root
		})
	}
	if rapid.Bool().Draw(t, "limits") {
		limit := rapid.Int32Range(1, 4).Draw(t, "limit")
		req.Branches = ofNodes(s.Graph(), func(NodeID) int32 { return limit })
	}
	return req
}

func TestTreeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := randomNetwork(t, 12, 16, 6)
		s := w.Build()
		g := s.Graph()
		req := randomRequest(t, s)
		spt, sptErr := g.Tree(req)
		if sptErr == nil {
			checkTree(t, g, req, spt)
			p, _ := g.From(req.Root, req.Metric)
			for _, n := range spt.Nodes {
				if d, _ := p.Distance(n.Node.ID); d != n.Distance {
					t.Fatalf("%s is at %d, the shortest path has %d", n.Node.ID, n.Distance, d)
				}
			}
		}
		cheap := req
		cheap.Objective = LeastCost
		tree, err := g.Tree(cheap)
		if err != nil && sptErr == nil || err != nil && req.Branches == nil {
			t.Fatalf("no tree of least cost: %v", err)
		}
		if err != nil {
			return
		}
		checkTree(t, g, cheap, tree)
		if sptErr == nil && tree.Cost > spt.Cost {
			t.Fatalf("least cost is %d, the tree of shortest paths has %d", tree.Cost, spt.Cost)
		}
		again, _ := NewGraph(s, Filter{}).Tree(cheap)
		if describe(again) != describe(tree) {
			t.Fatalf("another graph of the same snapshot gives another tree")
		}
	})
}

// A leaf that comes or goes moves no other leaf of a tree of shortest paths.
func TestTreeOfShortestPathsIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := randomNetwork(t, 12, 16, 3).Build()
		g := s.Graph()
		req := randomRequest(t, s)
		req.Branches = nil
		all, err := g.Tree(req)
		if err != nil {
			t.Fatal(err)
		}
		for _, leaf := range req.Leaves {
			alone := req
			alone.Leaves = []NodeID{leaf}
			tree, err := g.Tree(alone)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range tree.Nodes[1:] {
				i := all.Find(n.Node.ID)
				if i < 0 || !slices.Equal(all.Nodes[i].Branch, n.Branch) {
					t.Fatalf("the way to %s by %s depends on others", leaf, n.Node.ID)
				}
			}
		}
	})
}

// leastCost is the dumb twin: the cost of a cheapest tree by dynamic
// programming over subsets of leaves (Dreyfus and Wagner), any node branching.
func leastCost(g *Graph, root NodeID, leaves []NodeID) uint64 {
	n := len(g.snapshot.Nodes)
	dist := make([][]uint64, n)
	for v := range n {
		dist[v] = bellmanFord(g, int32(v), MetricIGP, false)
	}
	k := len(leaves)
	best := make([][]uint64, 1<<k) // by set, by node the tree hangs from
	for set := range best {
		best[set] = make([]uint64, n)
		for v := range n {
			best[set][v] = unreached
			if set == 0 {
				best[set][v] = 0
			}
		}
	}
	for set := 1; set < 1<<k; set++ {
		joined := make([]uint64, n)
		for v := range n {
			joined[v] = unreached
			if bits.OnesCount(uint(set)) == 1 &&
				g.snapshot.Nodes[v].ID == leaves[bits.TrailingZeros(uint(set))] {
				joined[v] = 0
			}
			for part := (set - 1) & set; part > 0; part = (part - 1) & set {
				if a, b := best[part][v], best[set&^part][v]; a != unreached && b != unreached {
					joined[v] = min(joined[v], a+b)
				}
			}
		}
		for v := range n {
			for u := range n {
				if dist[v][u] != unreached && joined[u] != unreached {
					best[set][v] = min(best[set][v], dist[v][u]+joined[u])
				}
			}
		}
	}
	return best[1<<k-1][g.snapshot.nodeIndex[root]]
}

// The heuristic against the exact twin, on networks where trees of shortest
// paths are bad.
func TestLeastCostAgainstExact(t *testing.T) {
	const networks, seed = 400, 1
	rng := rand.New(rand.NewPCG(seed, seed))
	exact, better := 0, 0
	var sum, least, shortest uint64
	for i := range networks {
		w := newNetwork()
		n := 8 + rng.IntN(10)
		for v := range n {
			w.SetNode(Node{ID: NodeID(fmt.Sprintf("n%02d", v))})
		}
		id := func(v int) NodeID { return NodeID(fmt.Sprintf("n%02d", v)) }
		metric := func() uint32 { return 1 + rng.Uint32N(20) }
		for v := 1; v < n; v++ {
			w.connect(id(v), id(rng.IntN(v)), metric(), metric())
		}
		for range n {
			if a, b := rng.IntN(n), rng.IntN(n); a != b {
				w.connect(id(a), id(b), metric(), metric())
			}
		}
		g := w.Build().Graph()
		req := TreeRequest{Root: id(0), Key: rng.Uint64()}
		for _, v := range rng.Perm(n - 1)[:min(n-1, 2+rng.IntN(6))] {
			req.Leaves = append(req.Leaves, id(v+1))
		}
		spt, err := g.Tree(req)
		if err != nil {
			t.Fatal(err)
		}
		req.Objective = LeastCost
		tree, err := g.Tree(req)
		if err != nil {
			t.Fatal(err)
		}
		checkTree(t, g, req, tree)
		want := leastCost(g, req.Root, req.Leaves)
		if tree.Cost < want || tree.Cost > spt.Cost {
			t.Fatalf("seed %d, network %d: cost is %d, the least %d, of shortest paths %d", seed, i,
				tree.Cost, want, spt.Cost)
		}
		if tree.Cost == want {
			exact++
		}
		if tree.Cost < spt.Cost {
			better++
		}
		sum, least, shortest = sum+tree.Cost, least+want, shortest+spt.Cost
	}
	t.Logf("of %d trees %d cost the least possible, %d less than shortest paths; in all %.3f and "+
		"%.3f times the least",
		networks, exact, better, float64(sum)/float64(least), float64(shortest)/float64(least))
	if exact < networks*88/100 || better < networks*65/100 {
		t.Errorf("of %d trees only %d cost the least possible, %d less than shortest paths", networks,
			exact, better)
	}
}

func TestTreesSpreadOverAClos(t *testing.T) {
	w, edges := clos(4, 4, 4, 16)
	g := w.Build().Graph()
	rng := rand.New(rand.NewPCG(1, 2))
	used := map[NodeID]int{}
	const groups = 1600
	for i := range groups {
		perm := rng.Perm(len(edges))
		req := TreeRequest{Root: edges[perm[0]], Key: KeyOf(fmt.Sprintf("group-%d", i))}
		for _, e := range perm[1:9] {
			req.Leaves = append(req.Leaves, edges[e])
		}
		tree, err := g.Tree(req)
		if err != nil {
			t.Fatal(err)
		}
		checkTree(t, g, req, tree)
		cores := 0
		for _, n := range tree.Nodes {
			if n.Node.ID[:4] == "core" {
				cores++
				used[n.Node.ID]++
			}
		}
		if cores != 1 {
			t.Fatalf("group %d uses %d cores", i, cores)
		}
	}
	for core, n := range used {
		if n < groups/16*6/10 || n > groups/16*14/10 {
			t.Errorf("%s carries %d of %d groups", core, n, groups)
		}
	}
	if len(used) != 16 {
		t.Errorf("%d cores of 16 are used", len(used))
	}
}

// bigClos has 1,024 switches: 32 pods of 16 leaves and 8 aggregation switches,
// and 256 cores.
func bigClos() (*Snapshot, []NodeID) {
	w, edges := clos(32, 16, 8, 256)
	return w.Build(), edges
}

func plan(t testing.TB, g *Graph, edges []NodeID, groups, receivers int,
	objective Objective) (cost uint64) {
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range groups {
		perm := rng.Perm(len(edges))
		req := TreeRequest{Root: edges[perm[0]], Key: KeyOf(fmt.Sprintf("group-%d", i)),
			Objective: objective,
			Branches:  ofNodes(g, func(NodeID) int32 { return 32 })}
		for _, e := range perm[1 : receivers+1] {
			req.Leaves = append(req.Leaves, edges[e])
		}
		tree, err := g.Tree(req)
		if err != nil {
			t.Fatal(err)
		}
		cost += tree.Cost
	}
	return cost
}

// TestPlanLargeClos plans on a fabric of the size that the controller is made for;
// BenchmarkPlan1000Groups says how fast.
func TestPlanLargeClos(t *testing.T) {
	if testing.Short() {
		t.Skip("a large graph on one goroutine")
	}
	s, edges := bigClos()
	if len(s.Nodes) != 1024 {
		t.Fatalf("%d switches", len(s.Nodes))
	}
	spt := plan(t, s.Graph(), edges, 100, 64, ShortestPaths)
	cheap := plan(t, s.Graph(), edges, 100, 64, LeastCost)
	if cheap > spt {
		t.Errorf("cost is %d with the objective, %d without", cheap, spt)
	}
}

func BenchmarkPlan1000Groups(b *testing.B) {
	for name, objective := range map[string]Objective{"shortest": ShortestPaths, "cost": LeastCost} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s, edges := bigClos()
				plan(b, s.Graph(), edges, 1000, 64, objective)
			}
		})
	}
}
