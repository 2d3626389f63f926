package topology

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"
)

// DefaultMaxAscents bounds the ascents from one leaf in one plane.
const DefaultMaxAscents = 1 << 16

// mostTiers bounds the tiers of a fabric.
const mostTiers = 100

// A PlaneRule says what the planes of a fabric are. A packet stays in the plane
// of the port it was sent on (OCP MRC 1.0, section 9.3.2).
type PlaneRule uint8

const (
	// PlanesByComponent makes every connected part of the network a plane: a
	// host has a port in each, and only hosts join them.
	PlanesByComponent PlaneRule = iota
	// PlanesByAdminGroup is for planes that share leaves: a link is in plane
	// n + 1 when n is the lowest bit set in its administrative group (RFC 9552
	// section 5.3.2), and in none when no bit is set.
	PlanesByAdminGroup
)

// A ClosRequest reports how to see a Clos in a graph.
type ClosRequest struct {
	// Leaves lists the switches with hosts, at tier 0; nil: [Snapshot.Leaves].
	Leaves []NodeID
	// Tiers sets the tier of nodes for which the tier differs from the distance in links to the
	// nearest leaf, for example if a leaf connects to the top of the fabric.
	Tiers map[NodeID]int
	// MaxTiers is the number of tiers that the fabric is built with, at least 2 with paths from leaf
	// to leaf; 0: the number that the links show. With MaxTiers a switch without links down is in no
	// tier, instead of above the top.
	MaxTiers int
	Planes   PlaneRule
	// Previous is the Clos of an earlier snapshot, if any: the nodes it knows keep their tier and
	// plane. A switch that has lost all links to leaves would otherwise seem to stand above those it
	// hangs on now.
	Previous *Clos
	// MaxAscents bounds the ascents from a leaf in a plane; 0:
	// [DefaultMaxAscents].
	MaxAscents int
}

// A Clos shows a graph in tiers and planes, with all up-down paths: a packet climbs from a leaf,
// tier by tier, and descends to another, without ever climbing again. Parallel links make different
// paths.
//
// It is regular or not: links and switches may be missing, and fan-outs differ.
// Links between switches of one tier are not used. Nodes that are overloaded,
// or LANs, are not crossed.
//
// A Clos keeps the ascents from each leaf only. The descents are the same links backwards, and a
// path consists of an ascent and a descent that meet in a switch, its apex; so a fabric with n
// leaves and p paths per pair needs memory for n p ascents, not for n² p paths. A Clos is immutable
// and safe for use by several goroutines.
type Clos struct {
	g          *Graph
	planeRule  PlaneRule
	maxAscents int
	leaves     []int32 // nodes
	tier       []int8  // by node, -1: in no tier
	plane      []int32 // by node, 0: in none or in several
	rank       []int32 // by node: its place in the order by tier
	planes     int
	up         []bool  // by link: leads up, and is used
	dead       []bool  // by link; nil: none
	linkTo     []int32 // by link: the remote node

	members []member // ordered by plane and leaf
	inPlane []int32  // by plane: where its members start
	index   map[memberKey]int32

	crossing func() *crossings
}

type memberKey struct{ leaf, plane int32 }

// Clos sees a Clos in the graph.
func (g *Graph) Clos(r ClosRequest) (*Clos, error) {
	s := g.snapshot
	c := &Clos{g: g, planeRule: r.Planes, maxAscents: r.MaxAscents}
	if c.maxAscents <= 0 {
		c.maxAscents = DefaultMaxAscents
	}
	ids := r.Leaves
	if ids == nil {
		ids = s.Leaves()
	}
	for _, id := range ids {
		v, ok := s.nodeIndex[id]
		if !ok {
			return nil, fmt.Errorf("leaf %s: %w", id, ErrUnknownNode)
		}
		c.leaves = append(c.leaves, v)
	}
	slices.Sort(c.leaves)
	c.leaves = slices.Compact(c.leaves)
	if err := c.findTiers(r); err != nil {
		return nil, err
	}
	c.findLinks()
	c.findPlanes(r.Previous)
	if err := c.climbAll(); err != nil {
		return nil, err
	}
	c.crossing = sync.OnceValue(c.newCrossings)
	return c, nil
}

// findTiers gives each node its distance from the nearest leaf, where nothing
// else is said.
func (c *Clos) findTiers(r ClosRequest) error {
	s := c.g.snapshot
	c.tier = make([]int8, len(s.Nodes))
	for v := range c.tier {
		c.tier[v] = -1
	}
	highest := mostTiers - 1
	if 0 < r.MaxTiers && r.MaxTiers < mostTiers {
		highest = r.MaxTiers - 1
	}
	levels := make([][]int32, highest+1)
	set := func(v int32, tier int) {
		if c.tier[v] < 0 && !s.Nodes[v].Pseudonode {
			c.tier[v] = int8(tier)
			levels[tier] = append(levels[tier], v)
		}
	}
	for _, v := range c.leaves {
		if s.Nodes[v].Pseudonode {
			return fmt.Errorf("leaf %s: a LAN, want a switch", s.Nodes[v].ID)
		}
		set(v, 0)
	}
	for v, n := range s.Nodes {
		if t, ok := r.Tiers[n.ID]; ok {
			if isLeaf := c.tier[v] == 0; t < 0 || t > highest || isLeaf != (t == 0) {
				return fmt.Errorf("tier %d of %s, want 0 for leaves and 1 to %d for others", t, n.ID, highest)
			}
			set(int32(v), t)
		} else if t, ok := r.Previous.knownTier(n.ID); ok && 0 < t && t <= highest {
			set(int32(v), t)
		}
	}
	for t := range highest {
		for _, v := range levels[t] {
			for _, e := range c.g.out.of(v) {
				set(e.node, t+1)
			}
		}
	}
	// The order by tier, and by id within a tier.
	c.rank = make([]int32, len(s.Nodes))
	next := int32(0)
	for t := range levels {
		slices.Sort(levels[t])
		for _, v := range levels[t] {
			c.rank[v] = next
			next++
		}
	}
	return nil
}

// knownTier is the tier of a node; c may be nil.
func (c *Clos) knownTier(id NodeID) (int, bool) {
	if c == nil {
		return 0, false
	}
	return c.Tier(id)
}

// findLinks reports which links lead up.
func (c *Clos) findLinks() {
	s := c.g.snapshot
	c.up = make([]bool, len(s.Links))
	c.linkTo = make([]int32, len(s.Links))
	for v := range s.Nodes {
		for _, e := range c.g.out.of(int32(v)) {
			c.linkTo[e.link] = e.node
			from, to := c.tier[v], c.tier[e.node]
			colored := c.planeRule != PlanesByAdminGroup || c.linkPlane(e.link) > 0 &&
				c.linkPlane(e.link) == c.linkPlane(c.g.reverse[e.link])
			c.up[e.link] = from >= 0 && from < to && c.g.transit[e.node] && colored
		}
	}
}

// linkPlane returns the plane from a link's administrative group, 0 for a group without a plane.
func (c *Clos) linkPlane(link int32) int32 {
	group := c.g.snapshot.Links[link].AdminGroup
	if group == 0 {
		return 0
	}
	return int32(bits.TrailingZeros32(group)) + 1
}

// findPlanes numbers the planes and says in which of them the leaves are.
func (c *Clos) findPlanes(previous *Clos) {
	c.plane = make([]int32, len(c.tier))
	if c.planeRule == PlanesByAdminGroup {
		c.planesOfLinks()
	} else {
		c.planesOfComponents(previous)
	}
	slices.SortFunc(c.members, func(a, b member) int {
		if a.plane != b.plane {
			return int(a.plane - b.plane)
		}
		return int(a.leaf - b.leaf)
	})
	c.index = make(map[memberKey]int32, len(c.members))
	c.inPlane = make([]int32, c.planes+2)
	for i, m := range c.members {
		c.members[i].number = int32(i)
		c.index[memberKey{m.leaf, m.plane}] = int32(i)
		c.inPlane[m.plane+1]++
	}
	for p := 1; p < len(c.inPlane); p++ {
		c.inPlane[p] += c.inPlane[p-1]
	}
}

// planesOfLinks puts a leaf in the planes of its links up, and other nodes in
// the plane of all their links.
func (c *Clos) planesOfLinks() {
	seen := make(map[memberKey]bool)
	of := make([]int32, len(c.tier)) // -1: several
	for v := range c.tier {
		for _, e := range c.g.out.of(int32(v)) {
			if !c.up[e.link] {
				continue
			}
			p := c.linkPlane(e.link)
			c.planes = max(c.planes, int(p))
			for _, end := range [...]int32{int32(v), e.node} {
				if of[end] == 0 {
					of[end] = p
				} else if of[end] != p {
					of[end] = -1
				}
			}
			if k := (memberKey{int32(v), p}); c.tier[v] == 0 && !seen[k] {
				seen[k] = true
				c.members = append(c.members, member{leaf: k.leaf, plane: p})
			}
		}
	}
	for v, p := range of {
		c.plane[v] = max(p, 0)
	}
}

// planesOfComponents numbers the connected parts of the network in the order
// of their first node; those known before keep their number.
func (c *Clos) planesOfComponents(previous *Clos) {
	s := c.g.snapshot
	component := make([]int32, len(c.tier))
	var first []int32 // by component less 1
	var stack []int32
	for v := range c.tier {
		if c.tier[v] < 0 || component[v] != 0 {
			continue
		}
		first = append(first, int32(v))
		id := int32(len(first))
		component[v] = id
		stack = append(stack, int32(v))
		for len(stack) > 0 {
			u := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, e := range c.g.out.of(u) {
				if c.tier[e.node] >= 0 && component[e.node] == 0 {
					component[e.node] = id
					stack = append(stack, e.node)
				}
			}
		}
	}
	number := make([]int32, len(first)+1) // by component
	if previous != nil && previous.planeRule == PlanesByComponent {
		c.planes = previous.planes
		for v, n := range s.Nodes {
			if id := component[v]; id != 0 && number[id] == 0 {
				if u, ok := previous.g.snapshot.nodeIndex[n.ID]; ok {
					number[id] = previous.plane[u]
				}
			}
		}
	}
	for id := range number {
		if id > 0 && number[id] == 0 {
			c.planes++
			number[id] = int32(c.planes)
		}
	}
	for v, id := range component {
		c.plane[v] = number[id]
	}
	for _, v := range c.leaves {
		c.members = append(c.members, member{leaf: v, plane: c.plane[v]})
	}
}
