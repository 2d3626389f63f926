package mrc

import (
	"fmt"
	"slices"
	"sync"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/topology"
)

// A fabric is the network as it is when nothing is down: everything that was
// ever advertised. EVs are made of it, and what is missing now is lost to them.
// It does not change.
type fabric struct {
	clos   *topology.Clos
	assign *ev.Assignment
	snap   *topology.Snapshot
	place  map[topology.LinkID]int32
	edges  []edge // by place in the snapshot
	// byID returns the places of the edges that paths cross, in the natural order of their ids.
	byID func() []int32
}

// An edge is one direction of a link of the fabric.
type edge struct {
	*topology.Link
	reverse int32             // place of the other direction; -1: there is none
	leaves  []topology.NodeID // below it
	rises   bool              // paths climb by it; else they descend, if they use it at all
}

// whole is what an earlier snapshot and a newer one have together; of what both
// have, the newer.
func whole(before, now *topology.Snapshot) *topology.Snapshot {
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

// newFabric sees a fabric in a network whose hosts are at leaves. Planes and numbers
// of links are those of the fabric before, as far as it had them; before may be nil.
func newFabric(snap *topology.Snapshot, leaves []topology.NodeID, cfg *Config, before *fabric) (*fabric, error) {
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
	f := &fabric{clos: clos, assign: assign, snap: snap, place: make(map[topology.LinkID]int32, len(snap.Links)), edges: make([]edge, len(snap.Links))}
	for i, l := range snap.Links {
		f.place[l.ID] = int32(i)
	}
	for i, l := range snap.Links {
		f.edges[i] = edge{Link: l, reverse: -1}
		if r := snap.Graph().Reverse(l); r != nil {
			f.edges[i].reverse = f.place[r.ID]
		}
	}
	f.findLeaves()
	f.byID = sync.OnceValue(f.crossed)
	return f, nil
}

func (f *fabric) crossed() []int32 {
	var out []int32
	for i := range f.edges {
		if len(f.edges[i].leaves) > 0 {
			out = append(out, int32(i))
		}
	}
	slices.SortFunc(out, func(a, b int32) int { return natural.Compare(f.edges[a].ID, f.edges[b].ID) })
	return out
}

// findLeaves notes the leaves below each link.
func (f *fabric) findLeaves() {
	for _, leaf := range f.clos.Leaves() {
		for _, plane := range f.clos.PlanesOf(leaf.ID) {
			ways, err := f.clos.Ways(leaf.ID, plane)
			if err != nil {
				continue
			}
			for w := range int32(ways.Len()) {
				for _, l := range ways.Links(w) {
					below := &f.edges[l]
					below.rises = true
					if n := len(below.leaves); n == 0 || below.leaves[n-1] != leaf.ID {
						below.leaves = append(below.leaves, leaf.ID)
					}
				}
			}
		}
	}
	for i := range f.edges {
		l := &f.edges[i]
		if !l.rises && l.reverse >= 0 && f.edges[l.reverse].rises {
			l.leaves = f.edges[l.reverse].leaves
		}
	}
}

// has reports whether the fabric holds everything of a snapshot, with the same
// ports, addresses and SIDs.
func (f *fabric) has(snap *topology.Snapshot) bool {
	for _, n := range snap.Nodes {
		m := f.snap.Node(n.ID)
		if m == nil || !slices.Equal(m.Locators, n.Locators) || !slices.Equal(m.SIDs, n.SIDs) || m.Loopback != n.Loopback || m.Pseudonode != n.Pseudonode {
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
		if m := f.snap.Links[i]; m != l && (m.LocalPort != l.LocalPort || m.RemotePort != l.RemotePort || m.AdminGroup != l.AdminGroup) {
			return false
		}
	}
	return true
}

// isLeaf reports whether hosts can be attached to a node of the fabric. Of a node
// that the fabric does not have it is true: it may become one.
func (f *fabric) isLeaf(id topology.NodeID) bool {
	tier, ok := f.clos.Tier(id)
	return f.snap.Node(id) == nil || ok && tier == 0
}

// planeOf is the plane of a port that is attached to a leaf.
func (f *fabric) planeOf(leaf topology.NodeID, port uint8) int {
	planes := f.clos.PlanesOf(leaf)
	if len(planes) == 1 {
		return planes[0]
	}
	return int(port)
}

// pathSet returns the paths from a port of one attachment to another attachment; ok
// is false when there is none.
func (f *fabric) pathSet(src, dst ev.Attachment, port uint8) (set topology.PathSet, ok bool) {
	i := int(port) - 1
	if i < 0 || i >= len(src) || i >= len(dst) || src[i] == "" || dst[i] == "" {
		return topology.PathSet{}, false
	}
	set, err := f.clos.Paths(src[i], dst[i], f.planeOf(src[i], port))
	return set, err == nil && set.Hops() >= 0
}

// crosses reports whether a path takes a link, up or down.
func (f *fabric) crosses(set topology.PathSet, ref topology.PathRef, place int32) bool {
	if e := &f.edges[place]; !e.rises {
		return slices.Contains(set.Down().Links(ref.Down), e.reverse)
	}
	return slices.Contains(set.Up().Links(ref.Up), place)
}

// placesOf are the links of a path.
func (f *fabric) placesOf(set topology.PathSet, ref topology.PathRef) []int32 {
	var out []int32
	out = append(out, set.Up().Links(ref.Up)...)
	for _, l := range set.Down().Links(ref.Down) {
		out = append(out, f.edges[l].reverse)
	}
	return out
}
