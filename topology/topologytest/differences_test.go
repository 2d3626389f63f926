package topology

import (
	"encoding/json"
	"net/netip"
	"testing"
	"time"
)

func TestCompare(t *testing.T) {
	sid := func(last byte, structure uint8) SID {
		return SID{Address: netip.AddrFrom16([16]byte{0xfc, 15: last}), Behavior: BehaviorEnd,
			Structure: SIDStructure{LocatorBlock: structure}}
	}
	base := func() *network {
		w := figure1()
		n := *w.nodes["n1"]
		n.SIDs = []SID{sid(1, 0), sid(2, 32)}
		w.SetNode(n)
		w.SetPrefix(Prefix{PrefixKey: PrefixKey{"n1", netip.MustParsePrefix("fd00::/64")}, Metric: 1})
		return w
	}
	for _, c := range []struct {
		name   string
		change func(*Builder)
		want   string
	}{
		{"nothing", func(b *Builder) {}, `{}`},
		{"a replacement by the same", func(b *Builder) {
			b.SetNode(*b.nodes["n1"])
			b.SetLink(*b.links.get("n6,1~n4,1"))
		}, `{}`},
		{"staleness", func(b *Builder) { b.SetStale(&Staleness{Reason: "lost", Since: time.Unix(1, 0)}) },
			`{"stale":true}`},
		{"a node", func(b *Builder) { b.RemoveNode("n3"); b.SetNode(Node{ID: "n7"}) },
			`{"nodes":{"added":["n7"],"removed":["n3"]}}`},
		{"a node's name", func(b *Builder) { n := *b.nodes["n2"]; n.Name = "other"; b.SetNode(n) },
			`{"nodes":{"changed":["n2"]}}`},
		{"a metric", func(b *Builder) { l := *b.links.get("n6,1~n4,1"); l.IGPMetric = 9; b.SetLink(l) },
			`{"links":{"changed":["n6,1~n4,1"]}}`},
		{"a direction of a link", func(b *Builder) {
			b.RemoveLink("n6,1~n4,1")
		}, `{"links":{"removed":["n6,1~n4,1"]}}`},
		{"a prefix", func(b *Builder) {
			b.SetPrefix(Prefix{PrefixKey: PrefixKey{"n1", netip.MustParsePrefix("fd00::/64")}, Metric: 2})
			b.SetPrefix(Prefix{PrefixKey: PrefixKey{"n0", netip.MustParsePrefix("fd00::/64")}})
		},
			`{"prefixes":{"added":[{"node":"n0","prefix":"fd00::/64"}],"changed":[{"node":"n1","prefix":"fd00::/64"}]}}`},
		{"SIDs", func(b *Builder) {
			n := *b.nodes["n1"]
			n.SIDs = []SID{sid(2, 40), sid(3, 0)}
			b.SetNode(n)
		},
			`{"nodes":{"changed":["n1"]},"sids":{"added":[{"node":"n1","address":"fc00::3","behavior":1}],` +
				`"removed":[{"node":"n1","address":"fc00::1","behavior":1}],"changed":[{"node":"n1","address":"fc00::2","behavior":1}]}}`},
		{"an adjacency SID", func(b *Builder) {
			l := *b.links.get("n6,1~n4,1")
			l.EndX = []EndX{{SID: SID{Address: netip.MustParseAddr("fc00::9"), Behavior: BehaviorEndX}}}
			b.SetLink(l)
		},
			`{"links":{"changed":["n6,1~n4,1"]},"sids":{"added":[{"node":"n6","link":"n6,1~n4,1","address":"fc00::9","behavior":5}]}}`},
	} {
		from := base().Build()
		b := from.Builder()
		c.change(b)
		to := b.Build()
		d := Compare(from, to)
		got, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != c.want {
			t.Errorf("%s: diff is\n%s, want\n%s", c.name, got, c.want)
		}
		if d.IsZero() != (c.want == `{}`) {
			t.Errorf("%s: IsZero is %v", c.name, d.IsZero())
		}
		if to.Version != from.Version+1 {
			t.Errorf("%s: version is %d", c.name, to.Version)
		}
	}
}
