package topology

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
)

// row is nodes in a row, each with links to the next at port 2 and to the one before at port 1.
func row(nodes ...NodeID) *Snapshot {
	b := NewBuilder()
	for i, id := range nodes {
		b.SetNode(Node{ID: id, Name: fmt.Sprintf("%s of %d", id, len(nodes))})
		b.SetPrefix(Prefix{PrefixKey: PrefixKey{Node: id,
			Prefix: netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 15: byte(len(nodes))}), 128)}})
		if i > 0 {
			b.SetLink(Link{Local: nodes[i-1], LocalID: 2, Remote: id, RemoteID: 1,
				IGPMetric: uint32(len(nodes))})
			b.SetLink(Link{Local: id, LocalID: 1, Remote: nodes[i-1], RemoteID: 2,
				IGPMetric: uint32(len(nodes))})
		}
	}
	return b.Build()
}

func linksOf(s *Snapshot) map[LinkID]string {
	out := make(map[LinkID]string)
	for _, l := range s.Links {
		out[l.ID] = fmt.Sprintf("%d %v", l.IGPMetric, l.Sources)
	}
	return out
}

// TestMerge: the first source that has a node decides its links and prefixes; a link names all that
// have it; what only completes others counts where a port is free.
func TestMerge(t *testing.T) {
	bgp, file := row("a", "b"), row("a", "b", "c")
	s := Merge(7, Source{Name: "bgp-ls", Snapshot: bgp}, Source{Name: "file", Snapshot: file})
	if s.Version != 8 || len(s.Nodes) != 3 || s.Node("a").Name != "a of 2" ||
		s.Node("c").Name != "c of 3" {
		t.Fatalf("version %d, nodes %+v", s.Version, s.Nodes)
	}
	// b's link to c is not what b says: that direction is down.
	want := map[LinkID]string{"a,2~b,1": "2 [bgp-ls file]", "b,1~a,2": "2 [bgp-ls file]",
		"c,1~b,2": "3 [file]"}
	if got := linksOf(s); !maps.Equal(got, want) {
		t.Errorf("links %v, want %v", got, want)
	}
	if p := s.PrefixesOf("a"); len(p) != 1 || p[0].Prefix.Addr().As16()[15] != 2 {
		t.Errorf("a has prefixes %+v", p)
	}

	// A link that is found counts at free ports only.
	found := NewBuilder()
	for _, l := range []Link{{Local: "b", LocalID: 2, Remote: "c", RemoteID: 3},
		{Local: "a", LocalID: 2, Remote: "c", RemoteID: 9}} {
		found.SetLink(l)
	}
	lone := NewBuilder()
	lone.SetNode(Node{ID: "c"})
	s = Merge(0, Source{Name: "bgp-ls", Snapshot: bgp},
		Source{Name: "api net", Snapshot: lone.Build()}, Source{Name: "lldp", Snapshot: found.Build(),
			Fills: true})
	want = map[LinkID]string{"a,2~b,1": "2 [bgp-ls]", "b,1~a,2": "2 [bgp-ls]", "b,2~c,3": "0 [lldp]"}
	if got := linksOf(s); !maps.Equal(got, want) {
		t.Errorf("with what is found: links %v, want %v", got, want)
	}

	// A confirming source adds no link, and appears among the sources of existing links.
	s = Merge(0, Source{Name: "bgp-ls", Snapshot: bgp}, Source{Name: "lldp", Snapshot: file,
		Confirms: true})
	want = map[LinkID]string{"a,2~b,1": "2 [bgp-ls lldp]", "b,1~a,2": "2 [bgp-ls lldp]"}
	if got := linksOf(s); !maps.Equal(got, want) {
		t.Errorf("with what is confirmed: links %v, want %v", got, want)
	}

	// Merge returns a single newer snapshot unchanged; otherwise the snapshot gets a new version.
	if s := Merge(bgp.Version-1, Source{Name: "bgp-ls", Snapshot: bgp},
		Source{Name: "file", Snapshot: Empty()}); s != bgp {
		t.Error("a single source is copied")
	}
	if s := Merge(bgp.Version, Source{Name: "bgp-ls", Snapshot: bgp}); s == bgp ||
		s.Version != bgp.Version+1 || len(s.Links) != 2 {
		t.Errorf("an old snapshot: version %d, %d links", s.Version, len(s.Links))
	}
	stale := bgp.Builder()
	stale.SetStale(&Staleness{Reason: "gone"})
	if s := Merge(9, Source{Name: "file", Snapshot: file},
		Source{Name: "bgp-ls", Snapshot: stale.Build()}); s.Stale == nil || s.Stale.Reason != "gone" {
		t.Errorf("stale: %+v", s.Stale)
	}
	if ids := slices.Collect(maps.Keys(linksOf(bgp))); len(ids) != 2 || bgp.Links[0].Sources != nil {
		t.Error("a source has changed")
	}
}
