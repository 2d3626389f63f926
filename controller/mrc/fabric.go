package mrc

import (
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/topology"
)

// A fabric is the network as it is when nothing is down: everything that was
// ever advertised. EVs are made of it, and what is missing now is lost to them.
type fabric struct {
	clos   *topology.Clos
	assign *ev.Assignment
	snap   *topology.Snapshot
	place  map[topology.LinkID]int32
	links  []link // by place in the snapshot
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

// newFabric sees a fabric in a network. Links keep their state of an earlier
// fabric.
func (c *Core) newFabric(snap *topology.Snapshot) (*fabric, error) {
	request := topology.ClosRequest{Leaves: c.leaves(snap), Planes: c.cfg.Planes}
	numbers := ev.Numbers{Rule: c.cfg.Numbers}
	if c.fabric != nil {
		request.Previous, numbers.Previous = c.fabric.clos, c.fabric.assign
	}
	clos, err := snap.Graph().Clos(request)
	if err != nil {
		return nil, fmt.Errorf("fabric: %w", err)
	}
	assign, err := ev.Assign(clos, c.cfg.Format, numbers)
	if err != nil {
		return nil, fmt.Errorf("fabric: %w", err)
	}
	f := &fabric{clos: clos, assign: assign, snap: snap, place: make(map[topology.LinkID]int32, len(snap.Links)), links: make([]link, len(snap.Links))}
	for i, l := range snap.Links {
		f.place[l.ID] = int32(i)
	}
	for i, l := range snap.Links {
		fresh := link{reverse: -1, phase: up, present: true}
		if c.fabric != nil {
			if before, ok := c.fabric.place[l.ID]; ok {
				fresh = c.fabric.links[before]
			} else { // nobody has tried it
				fresh.phase, fresh.cause, fresh.since = held, "new", c.now
				fresh.until = c.now
			}
		}
		fresh.Link, fresh.leaves, fresh.rises, fresh.reverse, fresh.next, fresh.alone = l, nil, false, -1, 0, 0
		f.links[i] = fresh
		if r := snap.Graph().Reverse(l); r != nil {
			f.links[i].reverse = f.place[r.ID]
		}
	}
	f.findLeaves()
	return f, nil
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
					below := &f.links[l]
					below.rises = true
					if n := len(below.leaves); n == 0 || below.leaves[n-1] != leaf.ID {
						below.leaves = append(below.leaves, leaf.ID)
					}
				}
			}
		}
	}
	for i := range f.links {
		l := &f.links[i]
		if !l.rises && l.reverse >= 0 && f.links[l.reverse].rises {
			l.leaves = f.links[l.reverse].leaves
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

// leaves are the switches of hosts, and those that seem to have some.
func (c *Core) leaves(snap *topology.Snapshot) []topology.NodeID {
	leaves := snap.Leaves()
	for _, r := range c.racks {
		for _, leaf := range r.at {
			if leaf != "" && snap.Node(leaf) != nil {
				leaves = append(leaves, leaf)
			}
		}
	}
	slices.Sort(leaves)
	return slices.Compact(leaves)
}
