package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"weak"
)

// A Snapshot is one state of the network. It is built by a [Builder] and never
// modified afterwards, neither by this package nor by anyone who reads it.
type Snapshot struct {
	// Version grows by at least one from each snapshot of a Builder to its
	// next; 0 is the empty one.
	Version uint64 `json:"version"`
	// Stale is nil while the snapshot is what the network last said.
	Stale *Staleness `json:"stale,omitempty"`
	// Nodes are ordered by id.
	Nodes []*Node `json:"nodes"`
	// Links are ordered by local node, remote node, local link id and id.
	Links []*Link `json:"links"`
	// Prefixes are ordered by node and prefix.
	Prefixes []*Prefix `json:"prefixes"`

	nodeIndex map[NodeID]int32
	links     linkSet

	graph      func() *Graph
	advertised *Snapshot // nil: this one

	// before is the builder's previous snapshot, and since the changes after it; see Since.
	before weak.Pointer[Snapshot]
	since  changed
}

// Staleness reports why a snapshot may no longer be true.
type Staleness struct {
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
	// Sources are the peers that have gone, in order.
	Sources []string `json:"sources,omitempty"`
	// Incomplete reports that at least one peer never advertised all its objects: an object missing in
	// the snapshot may still exist. Otherwise a missing object was withdrawn, and only objects of the
	// snapshot may be gone.
	Incomplete bool `json:"incomplete,omitempty"`
}

// Equal compares two reasons; nil equals nil.
func (s *Staleness) Equal(o *Staleness) bool {
	if s == nil || o == nil {
		return s == o
	}
	return s.Reason == o.Reason && s.Since.Equal(o.Since) && slices.Equal(s.Sources, o.Sources) &&
		s.Incomplete == o.Incomplete
}

// Incomplete reports whether objects that the snapshot lacks may still exist: see Staleness.
func (s *Snapshot) Incomplete() bool { return s.Stale != nil && s.Stale.Incomplete }

// Empty is the snapshot without any object, version 0.
func Empty() *Snapshot { return NewBuilder().finish(0) }

// Node returns the node with an id, or nil.
func (s *Snapshot) Node(id NodeID) *Node {
	if i, ok := s.nodeIndex[id]; ok {
		return s.Nodes[i]
	}
	return nil
}

// NodePlace returns the place in Nodes of the node with an id, -1 when there is
// none.
func (s *Snapshot) NodePlace(id NodeID) int {
	if i, ok := s.nodeIndex[id]; ok {
		return int(i)
	}
	return -1
}

// Link returns the link with an id, or nil.
func (s *Snapshot) Link(id LinkID) *Link {
	l := s.links.get(id)
	if l == nil || s.advertised == nil {
		return l
	}
	return s.Links[placeOf(s.Links, l)] // a view has links of its own
}

// Same returns the snapshot's link with the id of l, nil if no such link connects the nodes of l.
// Same needs no index.
func (s *Snapshot) Same(l *Link) *Link {
	i, _ := slices.BinarySearchFunc(s.Links, l, func(x, l *Link) int {
		return cmp.Or(cmp.Compare(x.Local, l.Local), cmp.Compare(x.Remote, l.Remote), 1)
	})
	for ; i < len(s.Links) && s.Links[i].Local == l.Local && s.Links[i].Remote == l.Remote; i++ {
		if s.Links[i].ID == l.ID {
			return s.Links[i]
		}
	}
	return nil
}

// LinkName names a link for people: by the names of its ends, and by its identifiers beside a
// parallel link. The snapshot may lack the link.
func (s *Snapshot) LinkName(id LinkID) string {
	from, to, ok := strings.Cut(string(id), "~")
	if !ok {
		return string(id)
	}
	end := func(text string) (node NodeID, name, number string) {
		at, number, _ := strings.Cut(text, ",")
		if n := s.Node(NodeID(at)); n != nil {
			return n.ID, n.DisplayName(), number
		}
		return NodeID(at), at, number
	}
	a, nameA, numberA := end(from)
	b, nameB, numberB := end(to)
	name := nameA + " – " + nameB
	for _, l := range s.LinksFrom(a) {
		if l.Remote == b && l.ID != id {
			return fmt.Sprintf("%s (%s and %s)", name, numberA, numberB)
		}
	}
	return name
}

// LinkPlace returns the place in Links of the link with an id, -1 when there is
// none.
func (s *Snapshot) LinkPlace(id LinkID) int {
	if l := s.links.get(id); l != nil {
		return placeOf(s.Links, l)
	}
	return -1
}

// NodeByName returns the first node with a name, or nil.
func (s *Snapshot) NodeByName(name string) *Node {
	for _, n := range s.Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// LinksFrom returns the links whose local node is id: a part of Links.
func (s *Snapshot) LinksFrom(id NodeID) []*Link {
	lo, _ := slices.BinarySearchFunc(s.Links, id, func(l *Link, id NodeID) int {
		if l.Local < id {
			return -1
		}
		return 1
	})
	// Most nodes have few of the links: the end is looked for near the start.
	step := 1
	for lo+step < len(s.Links) && s.Links[lo+step].Local == id {
		step *= 2
	}
	first, last := lo+step/2, min(lo+step, len(s.Links))
	n, _ := slices.BinarySearchFunc(s.Links[first:last], id, func(l *Link, id NodeID) int {
		if l.Local == id {
			return -1
		}
		return 1
	})
	hi := first + n
	return s.Links[lo:hi:hi]
}

// PrefixesOf returns the prefixes of a node: a part of Prefixes.
func (s *Snapshot) PrefixesOf(id NodeID) []*Prefix {
	lo, _ := slices.BinarySearchFunc(s.Prefixes, id, func(p *Prefix, id NodeID) int {
		if p.Node < id {
			return -1
		}
		return 1
	})
	hi := lo
	for hi < len(s.Prefixes) && s.Prefixes[hi].Node == id {
		hi++
	}
	return s.Prefixes[lo:hi:hi]
}

// Graph returns the graph of the whole snapshot. It is built once and keeps
// the shortest paths computed on it.
func (s *Snapshot) Graph() *Graph { return s.graph() }
