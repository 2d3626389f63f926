package fabric

import (
	"fmt"
	"slices"
	"sync"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/topology"
)

// A Fabric is the network with nothing down: everything ever advertised. EVs are built from the
// Fabric; an EV that crosses a missing element is lost. A Fabric never changes. The place of a link
// is its index in the snapshot, from 0.
type Fabric struct {
	clos   *topology.Clos
	assign *ev.Assignment
	snap   *topology.Snapshot
	edges  []Edge // by place
	byID   func() []int32
}

// An Edge is one direction of a link of the fabric.
type Edge struct {
	*topology.Link
	leaves  *[]topology.NodeID // nil: none; shared by all edges that have the same one
	reverse int32              // -1: there is none
	rises   bool
}

// Leaves returns the leaves below the edge; none when no path crosses it.
func (e *Edge) Leaves() []topology.NodeID {
	if e.leaves == nil {
		return nil
	}
	return *e.leaves
}

// crossed reports whether paths cross the edge.
func (e *Edge) crossed() bool { return e.leaves != nil }

// Rises reports whether paths climb by the edge; else they descend, if they use it at all.
func (e *Edge) Rises() bool { return e.rises }

// Clos returns the planes, tiers and paths.
func (f *Fabric) Clos() *topology.Clos { return f.clos }

// Assignment returns the numbers of links that EVs are made of.
func (f *Fabric) Assignment() *ev.Assignment { return f.assign }

// Snapshot returns the nodes and links, those that are not advertised now included.
func (f *Fabric) Snapshot() *topology.Snapshot { return f.snap }

// Len returns the number of edges.
func (f *Fabric) Len() int { return len(f.edges) }

// Edge returns the edge at a place.
func (f *Fabric) Edge(place int32) *Edge { return &f.edges[place] }

// Place returns the place of a link; ok is false when the fabric does not have it.
func (f *Fabric) Place(id topology.LinkID) (place int32, ok bool) {
	place = int32(f.snap.LinkPlace(id))
	return place, place >= 0
}

// Reverse returns the opposite direction of an edge, or nil.
func (f *Fabric) Reverse(e *Edge) *Edge {
	if e.reverse < 0 {
		return nil
	}
	return &f.edges[e.reverse]
}

// Back returns the place of the opposite direction of the edge at a place; -1: it has none.
func (f *Fabric) Back(place int32) int32 { return f.edges[place].reverse }

// Both returns a place, and the place of the opposite direction if the link has one.
func (f *Fabric) Both(place int32) []int32 {
	if back := f.Back(place); back >= 0 {
		return []int32{place, back}
	}
	return []int32{place}
}

// ByID returns the places of the edges that paths cross, in the natural order of their ids. The
// slice must not be changed.
func (f *Fabric) ByID() []int32 { return f.byID() }

// whole merges an earlier and a newer snapshot. For elements in both, the newer snapshot wins. It
// returns now itself when the earlier snapshot adds nothing.
func whole(before, now *topology.Snapshot) *topology.Snapshot {
	if len(before.Nodes)+len(before.Links)+len(before.Prefixes) == 0 && now.Stale == nil &&
		now.Advertised() == now &&
		!slices.ContainsFunc(now.Nodes, func(n *topology.Node) bool { return n.Overload }) {
		return now
	}
	b := before.Builder()
	b.SetStale(nil)
	for _, n := range now.Nodes {
		b.SetNode(*n)
	}
	for _, l := range now.Links {
		b.SetLink(*l)
	}
	for _, p := range now.Prefixes {
		b.SetPrefix(*p)
	}
	for _, n := range b.Build().Nodes {
		if n.Overload { // a path across it is lost, and not unknown
			m := *n
			m.Overload = false
			b.SetNode(m)
		}
	}
	return b.Build()
}

// newFabric builds the fabric of a network whose hosts attach to leaves. Planes and links keep
// their numbers from the fabric before, if they were in it; before may be nil.
func newFabric(
	snap *topology.Snapshot, leaves []topology.NodeID, cfg *inventory.MRC, before *Fabric,
) (*Fabric, error) {
	request := topology.ClosRequest{Leaves: leaves, Planes: cfg.PlaneRule()}
	var numbers ev.Numbers
	if before != nil {
		request.Previous, numbers.Previous = before.clos, before.assign
	}
	clos, err := snap.Graph().Clos(request)
	if err != nil {
		return nil, fmt.Errorf("fabric: %w", err)
	}
	assign, err := ev.Assign(clos, cfg.Format(), numbers)
	if err != nil {
		return nil, fmt.Errorf("fabric: %w", err)
	}
	f := &Fabric{
		clos: clos, assign: assign, snap: snap,
		edges: make([]Edge, len(snap.Links)),
	}
	for i, l := range snap.Links {
		f.edges[i] = Edge{Link: l, reverse: snap.Graph().ReversePlace(int32(i))}
	}
	f.findLeaves()
	f.byID = sync.OnceValue(f.crossed)
	return f, nil
}

func (f *Fabric) crossed() []int32 {
	var out []int32
	for i := range f.edges {
		if f.edges[i].crossed() {
			out = append(out, int32(i))
		}
	}
	slices.SortFunc(out, func(a, b int32) int { return natural.Compare(f.edges[a].ID, f.edges[b].ID) })
	return out
}

// findLeaves notes the leaves below each link.
func (f *Fabric) findLeaves() {
	for _, leaf := range f.clos.Leaves() {
		alone := &[]topology.NodeID{leaf.ID} // shared by all edges below which it is the first
		for _, plane := range f.clos.PlanesOf(leaf.ID) {
			ascents, err := f.clos.Ascents(leaf.ID, plane)
			if err != nil {
				continue
			}
			for w := range int32(ascents.Len()) {
				for _, l := range ascents.Links(w) {
					below := &f.edges[l]
					below.rises = true
					switch known := below.Leaves(); {
					case known == nil:
						below.leaves = alone
					case known[len(known)-1] == leaf.ID:
					case len(known) == 1:
						below.leaves = &[]topology.NodeID{known[0], leaf.ID}
					default:
						*below.leaves = append(known, leaf.ID)
					}
				}
			}
		}
	}
	for i := range f.edges {
		l := &f.edges[i]
		if l.reverse >= 0 && f.edges[l.reverse].rises {
			l.leaves = f.edges[l.reverse].leaves
		}
	}
}

// has reports whether the fabric holds everything of a snapshot, with the same
// ports, addresses and SIDs.
func (f *Fabric) has(snap *topology.Snapshot) bool {
	for _, n := range snap.Nodes {
		if !f.hasNode(n) {
			return false
		}
	}
	// Both lists are in one order, so one walk finds every link.
	i := 0
	for _, l := range snap.Links {
		for i < len(f.snap.Links) && f.snap.Links[i].ID != l.ID {
			i++
		}
		if i == len(f.snap.Links) {
			return false
		}
		if !f.hasLink(int32(i), l) {
			return false
		}
	}
	return true
}

func (f *Fabric) hasNode(n *topology.Node) bool {
	m := f.snap.Node(n.ID)
	return m == n || m != nil && slices.Equal(m.Locators, n.Locators) &&
		slices.Equal(m.SIDs, n.SIDs) && m.Loopback == n.Loopback && m.Pseudonode == n.Pseudonode
}

// hasLink reports whether the link at a place has the ports and the admin group of l.
func (f *Fabric) hasLink(place int32, l *topology.Link) bool {
	m := f.snap.Links[place]
	return m == l || m.LocalPort == l.LocalPort && m.RemotePort == l.RemotePort &&
		m.AdminGroup == l.AdminGroup
}

// isLeaf reports whether hosts can attach to a node of the fabric. It returns true for a node
// outside the fabric, because the node may become a leaf.
func (f *Fabric) isLeaf(id topology.NodeID) bool {
	tier, ok := f.clos.Tier(id)
	return f.snap.Node(id) == nil || ok && tier == 0
}

// PlaneOf returns the plane of a port that is attached to a leaf.
func (f *Fabric) PlaneOf(leaf topology.NodeID, port uint8) int {
	planes := f.clos.PlanesOf(leaf)
	if len(planes) == 1 {
		return planes[0]
	}
	return int(port)
}

// PathSet returns the paths from a port of one attachment to another attachment; ok
// is false when there is none.
func (f *Fabric) PathSet(
	src, dst ev.Attachment, port uint8,
) (set topology.PathSet, ok bool) {
	i := int(port) - 1
	if i < 0 || i >= len(src) || i >= len(dst) || src[i] == "" || dst[i] == "" {
		return topology.PathSet{}, false
	}
	set, err := f.clos.Paths(src[i], dst[i], f.PlaneOf(src[i], port))
	return set, err == nil && set.Hops() >= 0
}

// Crosses reports whether a path takes a link, up or down.
func (f *Fabric) Crosses(set topology.PathSet, ref topology.PathRef, place int32) bool {
	if e := &f.edges[place]; !e.rises {
		return slices.Contains(set.Down().Links(ref.Down), e.reverse)
	}
	return slices.Contains(set.Up().Links(ref.Up), place)
}

// PlacesOf returns the places of the links of a path, from the source on.
func (f *Fabric) PlacesOf(set topology.PathSet, ref topology.PathRef) []int32 {
	out := slices.Clone(set.Up().Links(ref.Up))
	for _, l := range slices.Backward(set.Down().Links(ref.Down)) { // they climb from the destination
		out = append(out, f.edges[l].reverse)
	}
	return out
}

// NameOf returns the name that a node of a snapshot shows, or "" for an unknown node.
func NameOf(s *topology.Snapshot, id topology.NodeID) string {
	if n := s.Node(id); n != nil {
		return n.Name
	}
	return ""
}
