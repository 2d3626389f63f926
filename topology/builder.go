package topology

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"weak"
)

// A Builder holds a changing state of the network and builds snapshots of it. A Builder is not safe
// for use by several goroutines.
type Builder struct {
	version  uint64
	stale    *Staleness
	nodes    map[NodeID]*Node
	links    linkSet
	prefixes map[PrefixKey]*Prefix
	ports    PortMap
	// last is the snapshot that since counts changes from.
	last  weak.Pointer[Snapshot]
	since changed
}

// NewBuilder returns a builder of an empty network.
func NewBuilder() *Builder {
	return &Builder{
		nodes:    make(map[NodeID]*Node),
		prefixes: make(map[PrefixKey]*Prefix),
	}
}

// Builder returns a builder that starts from the snapshot. The builder does not change the
// snapshot.
func (s *Snapshot) Builder() *Builder {
	b := NewBuilder()
	b.version, b.stale, b.last = s.Version, s.Stale, weak.Make(s)
	for _, n := range s.Nodes {
		b.nodes[n.ID] = n
	}
	if s.advertised == nil {
		b.links = s.links
	} else { // a view has links of its own
		for _, l := range s.Links {
			b.links.set(l)
		}
	}
	for _, p := range s.Prefixes {
		b.prefixes[p.PrefixKey] = p
	}
	return b
}

// SetNode adds a node or replaces the one with its id. The builder copies what
// it is given.
func (b *Builder) SetNode(n Node) {
	n = n.normal()
	b.nodes[n.ID] = &n
	b.since.node(n.ID)
}

// RemoveNode removes a node; its links and prefixes stay. Removing what is not
// there does nothing, here and below.
func (b *Builder) RemoveNode(id NodeID) {
	delete(b.nodes, id)
	b.since.node(id)
}

// SetLink adds a link or replaces the one with its id, and returns the id. A
// link without an id is given [NewLinkID]; ports that are 0 are taken from the
// port map or else from the link identifiers.
func (b *Builder) SetLink(l Link) LinkID {
	b.ports.apply(&l)
	l = l.normal()
	b.links.set(&l)
	b.since.link(l.ID)
	return l.ID
}

// RemoveLink removes one direction of a link.
func (b *Builder) RemoveLink(id LinkID) {
	b.links.remove(id)
	b.since.link(id)
}

// SetPrefix adds a prefix or replaces the one with its key.
func (b *Builder) SetPrefix(p Prefix) {
	b.prefixes[p.PrefixKey] = &p
	b.since.prefixes = true
}

// RemovePrefix removes a prefix.
func (b *Builder) RemovePrefix(k PrefixKey) {
	delete(b.prefixes, k)
	b.since.prefixes = true
}

// SetStale marks the next snapshots stale; nil ends it.
func (b *Builder) SetStale(s *Staleness) { b.stale = s }

// SetPorts sets the map that SetLink applies to the links that follow. The
// builder keeps m, which must not be modified any more.
func (b *Builder) SetPorts(m PortMap) { b.ports = m }

// Build returns the present state as a snapshot. Its version is one more than the version of the
// builder's last snapshot. While the last snapshot is in use, a few changes cost about a copy of
// its slice of links, in networks of any size. A link with a missing local or remote node is in the
// snapshot, but no graph uses the link.
func (b *Builder) Build() *Snapshot {
	b.version++
	return b.finish(b.version)
}

func (b *Builder) finish(version uint64) *Snapshot {
	s := &Snapshot{Version: version, Stale: b.stale}
	before := b.last.Value()
	if b.since.many {
		before = nil
	}
	if before != nil && len(b.since.nodes) == 0 {
		s.Nodes, s.nodeIndex = before.Nodes, before.nodeIndex
	} else {
		s.Nodes = inOrder(b.nodes, func(a, b *Node) int { return cmp.Compare(a.ID, b.ID) })
		s.nodeIndex = make(map[NodeID]int32, len(s.Nodes))
		for i, n := range s.Nodes {
			s.nodeIndex[n.ID] = int32(i)
		}
	}
	s.links = b.links.share()
	if before != nil && len(b.since.links) == 0 {
		s.Links = before.Links
	} else {
		s.Links = s.links.ordered()
	}
	if before != nil && !b.since.prefixes {
		s.Prefixes = before.Prefixes
	} else {
		s.Prefixes = inOrder(b.prefixes, func(a, b *Prefix) int {
			return comparePrefixKeys(a.PrefixKey, b.PrefixKey)
		})
	}
	s.graph = sync.OnceValue(func() *Graph { return NewGraph(s, Filter{}) })
	if !b.since.many {
		s.before, s.since = b.last, b.since
	}
	b.last, b.since = weak.Make(s), changed{}
	return s
}

// inOrder returns the values of a map in order.
func inOrder[K comparable, V any](of map[K]V, compare func(a, b V) int) []V {
	out := slices.AppendSeq(make([]V, 0, len(of)), maps.Values(of))
	slices.SortFunc(out, compare)
	return out
}
