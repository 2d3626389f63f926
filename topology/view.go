package topology

import (
	"slices"
	"sync"
	"weak"
)

// A View adds knowledge about links beyond the advertisements. A nil function adds nothing.
type View struct {
	// Out reports that one direction of a link carries nothing, and so the link carries nothing in
	// either direction.
	Out func(*Link) bool
	// Rate returns the capacity, in bit/s, of a link that advertises none; 0: unknown.
	Rate func(*Link) uint64
}

// With returns the snapshot with a view applied. The result has the advertised nodes, links and
// prefixes, and its graph crosses no link that is out.
func (s *Snapshot) With(v View) *Snapshot {
	out := *s
	out.advertised = s.Advertised()
	out.before, out.since = weak.Pointer[Snapshot]{}, changed{}
	if v.Rate != nil {
		out.Links = slices.Clone(s.Links)
		for i, l := range out.Links {
			if rate := v.Rate(l); l.MaxBandwidth == 0 && rate != 0 {
				with := *l
				with.MaxBandwidth = rate
				out.Links[i] = &with
			}
		}
	}
	var keep func(*Link) bool
	if v.Out != nil {
		keep = func(l *Link) bool { return !v.Out(l) }
	}
	out.graph = sync.OnceValue(func() *Graph { return NewGraph(&out, Filter{Link: keep}) })
	return &out
}

// Advertised returns the snapshot that With was called on first: what the network said.
func (s *Snapshot) Advertised() *Snapshot {
	if s.advertised != nil {
		return s.advertised
	}
	return s
}
