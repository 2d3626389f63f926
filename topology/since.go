package topology

import (
	"maps"
	"slices"
	"weak"
)

// mostChanged is how many changes a builder keeps: with more, who asks compares everything.
const mostChanged = 4096

// changed are the nodes and links that were set or removed.
type changed struct {
	nodes map[NodeID]struct{}
	links map[LinkID]struct{}
	many  bool // too many to keep
	// prefixes were set or removed.
	prefixes bool
}

func (c *changed) node(id NodeID) { c.many = note(&c.nodes, id, c.many) }

func (c *changed) link(id LinkID) { c.many = note(&c.links, id, c.many) }

// note records a change. With too many changes, note drops all and returns true.
func note[K comparable](all *map[K]struct{}, id K, many bool) bool {
	if many || len(*all) == mostChanged {
		*all = nil
		return true
	}
	if *all == nil {
		*all = make(map[K]struct{})
	}
	(*all)[id] = struct{}{}
	return false
}

// Since returns the nodes and links, in order, that may be others than in the snapshot before, or
// missing, or new: all others are the same objects in both. ok is false when that is not known:
// the builder built another snapshot between, or started anew, or too much has changed.
func (s *Snapshot) Since(before *Snapshot) (nodes []NodeID, links []LinkID, ok bool) {
	if s == before {
		return nil, nil, true
	}
	if before == nil || s.before != weak.Make(before) {
		return nil, nil, false
	}
	return slices.Sorted(maps.Keys(s.since.nodes)), slices.Sorted(maps.Keys(s.since.links)), true
}
