package topologytest

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/topology"
)

func TestDifferences(t *testing.T) {
	sid := func(last byte, structure uint8) topology.SID {
		return topology.SID{Address: netip.AddrFrom16([16]byte{0xfc, 15: last}),
			Behavior: topology.BehaviorEnd, Structure: topology.SIDStructure{LocatorBlock: structure}}
	}
	n1 := topology.Node{ID: "n1", SIDs: []topology.SID{sid(1, 0), sid(2, 32)}}
	link := topology.Link{ID: "n1,1~n2,1", Local: "n1", Remote: "n2", LocalID: 1, RemoteID: 1}
	prefix := topology.Prefix{PrefixKey: topology.PrefixKey{Node: "n1",
		Prefix: netip.MustParsePrefix("fd00::/64")}, Metric: 1}
	for _, c := range []struct {
		name   string
		change func(*topology.Builder)
		want   []string // how each difference begins
	}{
		{"the same again", func(b *topology.Builder) { b.SetNode(n1); b.SetLink(link) }, nil},
		{"staleness", func(b *topology.Builder) {
			b.SetStale(&topology.Staleness{Reason: "lost", Since: time.Unix(1, 0)})
		}, nil},
		{"nodes", func(b *topology.Builder) {
			b.RemoveNode("n2")
			b.SetNode(topology.Node{ID: "n3"})
		}, []string{"node n2 is missing", "node n3 should be missing"}},
		{"a name", func(b *topology.Builder) { b.SetNode(topology.Node{ID: "n2", Name: "other"}) },
			[]string{"node n2 is {ID:n2 Name:other"}},
		{"a SID", func(b *topology.Builder) {
			n := n1
			n.SIDs = []topology.SID{sid(1, 0), sid(2, 40)}
			b.SetNode(n)
		}, []string{"node n1 is {"}},
		{"an adjacency SID", func(b *topology.Builder) {
			l := link
			l.EndX = []topology.EndX{{SID: sid(9, 0)}}
			b.SetLink(l)
		}, []string{"link n1,1~n2,1 is {"}},
		{"a link", func(b *topology.Builder) { b.RemoveLink(link.ID) },
			[]string{"link n1,1~n2,1 is missing"}},
		{"prefixes", func(b *topology.Builder) {
			p := prefix
			p.Metric = 2
			b.SetPrefix(p)
			p.Node = "n0"
			b.SetPrefix(p)
		}, []string{"prefix fd00::/64 of n1 is {", "prefix fd00::/64 of n0 should be missing"}},
	} {
		b := topology.NewBuilder()
		b.SetNode(n1)
		b.SetNode(topology.Node{ID: "n2"})
		b.SetLink(link)
		b.SetPrefix(prefix)
		from := b.Build()
		c.change(b)
		to := b.Build()
		if got := Differences(from, to); !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if to.Version != from.Version+1 {
			t.Errorf("%s: version is %d after %d", c.name, to.Version, from.Version)
		}
	}
}
