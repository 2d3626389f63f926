// Package topologytest compares topologies, for tests.
package topologytest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-sdn/weft/topology"
)

// Differences returns a text for each node, link and prefix that one snapshot lacks or that differs
// between both. It compares neither versions nor staleness.
func Differences(want, got *topology.Snapshot) []string {
	return slices.Concat(
		differences(want.Nodes, got.Nodes, (*topology.Node).Equal,
			func(n *topology.Node) string { return "node " + string(n.ID) }),
		differences(want.Links, got.Links, (*topology.Link).Equal,
			func(l *topology.Link) string { return "link " + string(l.ID) }),
		differences(want.Prefixes, got.Prefixes,
			func(a, b *topology.Prefix) bool { return *a == *b },
			func(p *topology.Prefix) string { return fmt.Sprintf("prefix %v of %s", p.Prefix, p.Node) }))
}

func differences[T any](want, got []*T, equal func(a, b *T) bool, name func(*T) string) []string {
	has := make(map[string]*T)
	for _, o := range got {
		has[name(o)] = o
	}
	var out []string
	for _, o := range want {
		at := name(o)
		if g := has[at]; g == nil {
			out = append(out, at+" is missing")
		} else if !equal(o, g) {
			out = append(out, fmt.Sprintf("%s is %+v: want %+v", at, *g, *o))
		}
		delete(has, at)
	}
	for _, at := range slices.Sorted(maps.Keys(has)) {
		out = append(out, at+" should be missing")
	}
	return out
}
