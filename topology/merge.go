package topology

import "slices"

const (
	// SourceBGPLS names the source BGP-LS. A link without sources is known from BGP-LS.
	SourceBGPLS = "bgp-ls"
	// SourceLLDP names the source LLDP, by which switches see their cables.
	SourceLLDP = "lldp"
)

// A Source is a snapshot and the name of its origin.
type Source struct {
	Name     string
	Snapshot *Snapshot
	// Fills reports that the source completes other sources: its links count at ports without a link,
	// including ports of nodes that another source decides.
	Fills bool
	// Confirms reports that the source adds no link, and only confirms links of other sources.
	Confirms bool
}

// Merge combines the snapshots of several sources. The first source with a node decides the node's
// outgoing links and prefixes: a link missing from that source is down, unless a later source fills
// or confirms. A link names all sources that have the link. The new version is above last. If
// BGP-LS alone has anything and its snapshot is newer, Merge returns that snapshot unchanged.
//
// The merged snapshot is stale if any source is stale.
func Merge(last uint64, sources ...Source) *Snapshot {
	sources = slices.DeleteFunc(slices.Clone(sources), func(s Source) bool {
		return len(s.Snapshot.Nodes) == 0 && len(s.Snapshot.Links) == 0 &&
			len(s.Snapshot.Prefixes) == 0 && s.Snapshot.Stale == nil
	})
	if len(sources) == 1 && sources[0].Name == SourceBGPLS && sources[0].Snapshot.Version > last {
		return sources[0].Snapshot
	}
	if len(sources) == 0 && last == 0 {
		return Empty()
	}
	b := NewBuilder()
	b.version = last
	decides := make(map[NodeID]int)
	var ends map[linkEnd]bool
	for i, s := range sources {
		for _, n := range s.Snapshot.Nodes {
			if _, taken := decides[n.ID]; !taken {
				decides[n.ID] = i
				b.nodes[n.ID] = n
			}
		}
		if s.Snapshot.Stale != nil && b.stale == nil {
			b.stale = s.Snapshot.Stale
		}
	}
	by := func(id NodeID, i int) bool {
		first, known := decides[id]
		return first == i || !known
	}
	for i, s := range sources {
		for _, p := range s.Snapshot.Prefixes {
			if _, there := b.prefixes[p.PrefixKey]; !there && by(p.Node, i) {
				b.prefixes[p.PrefixKey] = p
			}
		}
		if s.Fills && ends == nil {
			ends = endsOf(&b.links)
		}
		for _, l := range s.Snapshot.Links {
			switch other := b.links.get(l.ID); {
			case other != nil:
				known := *other
				known.Sources = append(slices.Clone(other.Sources), s.Name)
				b.links.set(&known)
			case s.Confirms:
			case s.Fills && !ends[linkEnd{l.Local, l.LocalPort}] && !ends[linkEnd{l.Remote, l.RemotePort}],
				!s.Fills && by(l.Local, i):
				known := *l
				known.Sources = []string{s.Name}
				b.links.set(&known)
			}
		}
	}
	return b.Build()
}

// A linkEnd is a port of a node.
type linkEnd struct {
	node NodeID
	port uint32
}

// endsOf returns the ports that have links.
func endsOf(set *linkSet) map[linkEnd]bool {
	links, most := set.all()
	ends := make(map[linkEnd]bool, 2*most)
	for l := range links {
		ends[linkEnd{l.Local, l.LocalPort}], ends[linkEnd{l.Remote, l.RemotePort}] = true, true
	}
	return ends
}
