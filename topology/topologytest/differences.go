package topology

import (
	"cmp"
	"net/netip"
	"slices"
)

// A Diff is what is different between two snapshots. All lists are in order.
type Diff struct {
	Nodes    Changes[NodeID]    `json:"nodes,omitzero"`
	Links    Changes[LinkID]    `json:"links,omitzero"`
	Prefixes Changes[PrefixKey] `json:"prefixes,omitzero"`
	// SIDs are those of nodes and of links. A node whose SIDs or locators
	// alone have changed is also in Nodes.Changed, a link in Links.Changed.
	SIDs Changes[SIDKey] `json:"sids,omitzero"`
	// Stale reports that the snapshot became stale, or no longer is.
	Stale bool `json:"stale,omitempty"`
}

// Changes lists the keys of added, removed and changed objects.
type Changes[K any] struct {
	Added   []K `json:"added,omitempty"`
	Removed []K `json:"removed,omitempty"`
	Changed []K `json:"changed,omitempty"`
}

// IsZero reports whether nothing changed.
func (c Changes[K]) IsZero() bool { return len(c.Added)+len(c.Removed)+len(c.Changed) == 0 }

// A SIDKey names a SID: its address, where it belongs, and the algorithm.
type SIDKey struct {
	Node      NodeID     `json:"node"`
	Link      LinkID     `json:"link,omitempty"` // of an End.X SID
	Address   netip.Addr `json:"address"`
	Behavior  Behavior   `json:"behavior"`
	Algorithm uint8      `json:"algorithm,omitempty"`
}

// IsZero reports whether the snapshots hold the same.
func (d *Diff) IsZero() bool {
	return d.Nodes.IsZero() && d.Links.IsZero() && d.Prefixes.IsZero() && d.SIDs.IsZero() && !d.Stale
}

// Compare returns the changes from one snapshot to another. Versions do not
// count; neither do the reason and the time of staleness.
func Compare(from, to *Snapshot) Diff {
	d := Diff{Stale: (from.Stale == nil) != (to.Stale == nil)}
	d.Nodes = merge(from.Nodes, to.Nodes, func(n *Node) NodeID {
		return n.ID
	}, cmp.Compare[NodeID], (*Node).Equal)
	d.Links = merge(byID(from.Links), byID(to.Links), func(l *Link) LinkID {
		return l.ID
	}, cmp.Compare[LinkID], (*Link).Equal)
	d.Prefixes = merge(from.Prefixes, to.Prefixes, func(p *Prefix) PrefixKey {
		return p.PrefixKey
	}, comparePrefixKeys,
		func(a, b *Prefix) bool { return *a == *b })
	d.SIDs = merge(from.sids(), to.sids(), func(s placedSID) SIDKey { return s.key }, compareSIDKeys,
		func(a, b placedSID) bool { return a.EndX == b.EndX })
	return d
}

type placedSID struct {
	key SIDKey
	EndX
}

// sids returns all SIDs of the snapshot in the order of their keys.
func (s *Snapshot) sids() []placedSID {
	var all []placedSID
	add := func(node NodeID, link LinkID, x EndX) {
		all = append(all, placedSID{SIDKey{node, link, x.Address, x.Behavior, x.Algorithm}, x})
	}
	for _, n := range s.Nodes {
		for _, sid := range n.SIDs {
			add(n.ID, "", EndX{SID: sid})
		}
	}
	for _, l := range s.Links {
		for _, x := range l.EndX {
			add(l.Local, l.ID, x)
		}
	}
	slices.SortStableFunc(all, func(a, b placedSID) int { return compareSIDKeys(a.key, b.key) })
	return all
}

func compareSIDKeys(a, b SIDKey) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Link, b.Link),
		a.Address.Compare(b.Address),
		cmp.Compare(a.Behavior, b.Behavior), cmp.Compare(a.Algorithm, b.Algorithm))
}

// byID returns links in the order of their ids, which is not the order of a snapshot.
func byID(links []*Link) []*Link {
	return sorted(links, func(a, b *Link) int { return cmp.Compare(a.ID, b.ID) })
}

// merge walks two lists in order of their keys.
func merge[T, K any](from, to []T, key func(T) K, compare func(a, b K) int,
	equal func(a, b T) bool) (c Changes[K]) {
	for len(from) > 0 || len(to) > 0 {
		order := 0
		switch {
		case len(from) == 0:
			order = 1
		case len(to) == 0:
			order = -1
		default:
			order = compare(key(from[0]), key(to[0]))
		}
		switch {
		case order < 0:
			c.Removed = append(c.Removed, key(from[0]))
			from = from[1:]
		case order > 0:
			c.Added = append(c.Added, key(to[0]))
			to = to[1:]
		default:
			if !equal(from[0], to[0]) {
				c.Changed = append(c.Changed, key(to[0]))
			}
			from, to = from[1:], to[1:]
		}
	}
	return c
}
