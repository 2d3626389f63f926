package topology

import (
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// checkSame compares a snapshot with a snapshot built from the same objects at once.
func checkSame(t *rapid.T, got *Snapshot) {
	fresh := NewBuilder()
	for _, n := range got.Nodes {
		fresh.nodes[n.ID] = n
	}
	for _, l := range got.Links {
		fresh.links.set(l)
	}
	for _, p := range got.Prefixes {
		fresh.prefixes[p.PrefixKey] = p
	}
	want := fresh.Build()
	if !slices.Equal(got.Nodes, want.Nodes) || !slices.Equal(got.Links, want.Links) ||
		!slices.Equal(got.Prefixes, want.Prefixes) {
		t.Fatal("the objects are not in order, or some are there twice")
	}
	for i, n := range got.Nodes {
		if got.NodePlace(n.ID) != i || !slices.Equal(got.LinksFrom(n.ID), want.LinksFrom(n.ID)) {
			t.Fatalf("node %s is at %d, want %d, with links %v", n.ID, got.NodePlace(n.ID), i,
				got.LinksFrom(n.ID))
		}
	}
	for i, l := range got.Links {
		if got.LinkPlace(l.ID) != i || got.Link(l.ID) != l {
			t.Fatalf("link %s is at %d, want %d", l.ID, got.LinkPlace(l.ID), i)
		}
	}
}

// TestChangesOneByOne: a builder continues from its last snapshot, and its snapshots equal the
// snapshots of a builder that receives everything at once. Earlier snapshots stay unchanged.
func TestChangesOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := randomNetwork(t, 6, 8, 3)
		type state struct {
			s                  *Snapshot
			nodes, links, pfxs int
		}
		var all []state // which keeps them in use
		b := w.Builder
		if rapid.Bool().Draw(t, "from a snapshot") {
			b = w.Build().Builder()
		}
		node := rapid.Custom(func(t *rapid.T) NodeID {
			return NodeID(fmt.Sprintf("n%02d", rapid.IntRange(0, 7).Draw(t, "node")))
		})
		removed := map[LinkID]bool{}
		for range rapid.IntRange(1, 8).Draw(t, "builds") {
			for range rapid.IntRange(0, 4).Draw(t, "changes") {
				switch rapid.IntRange(0, 6).Draw(t, "change") {
				case 0:
					b.SetNode(Node{ID: node.Draw(t, "set")})
				case 1:
					b.RemoveNode(node.Draw(t, "remove"))
				case 2, 3:
					l := Link{Local: node.Draw(t, "local"), Remote: node.Draw(t, "remote"),
						LocalID: rapid.Uint32Range(1, 3).Draw(t, "local id"), RemoteID: 1}
					if rapid.Bool().Draw(t, "named") { // its place may be another than before
						l.ID = LinkID(fmt.Sprint("l", rapid.IntRange(0, 3).Draw(t, "id")))
					}
					removed[b.SetLink(l)] = false
				case 4:
					links, _ := b.links.all()
					for l := range links {
						b.RemoveLink(l.ID)
						removed[l.ID] = true
						break
					}
					b.RemoveLink("nothing")
				case 5:
					b.SetPrefix(Prefix{PrefixKey: PrefixKey{Node: node.Draw(t, "of"),
						Prefix: netip.MustParsePrefix("fd00::/64")}})
				default:
					b.RemovePrefix(PrefixKey{Node: node.Draw(t, "of"), Prefix: netip.MustParsePrefix("fd00::/64")})
				}
			}
			s := b.Build()
			links, _ := b.links.all()
			if n := len(slices.Collect(links)); len(s.Nodes) != len(b.nodes) || len(s.Links) != n ||
				len(s.Prefixes) != len(b.prefixes) {
				t.Fatalf("%d nodes, %d links and %d prefixes, want %d, %d and %d", len(s.Nodes), len(s.Links),
					len(s.Prefixes), len(b.nodes), n, len(b.prefixes))
			}
			for id, gone := range removed {
				if l := s.Link(id); gone != (l == nil) || !gone && l != b.links.get(id) {
					t.Fatalf("link %s is %v, want that it is there: %v", id, l, !gone)
				}
			}
			all = append(all, state{s, len(s.Nodes), len(s.Links), len(s.Prefixes)})
			for _, x := range all {
				if len(x.s.Nodes) != x.nodes || len(x.s.Links) != x.links || len(x.s.Prefixes) != x.pfxs {
					t.Fatal("a snapshot has changed")
				}
				checkSame(t, x.s)
			}
		}
		runtime.KeepAlive(all)
	})
}

// TestChangesShareTheRest: after a change of one link, the snapshots share the maps of nodes and
// links, and all slices but the slice of links; after more changes than a builder keeps, everything
// is new.
func TestChangesShareTheRest(t *testing.T) {
	same := func(a, b *Snapshot) bool { // base is one in both
		return unsafe.SliceData(a.links.base.slots) == unsafe.SliceData(b.links.base.slots)
	}
	w, _ := clos(2, 4, 2, 4)
	b := w.Builder
	s := b.Build()
	link := s.Links[3]
	b.RemoveLink(link.ID)
	less := b.Build()
	if &less.Nodes[0] != &s.Nodes[0] || !same(less, s) ||
		&less.Links[0] == &s.Links[0] {
		t.Error("a lost link shares too little, or the links themselves")
	}
	b.SetLink(*link)
	whole := b.Build()
	if !same(whole, s) || whole.Link(link.ID) == nil || less.Link(link.ID) != nil {
		t.Error("the link that came back is in the wrong snapshots")
	}
	if again := b.Build(); &again.Links[0] != &whole.Links[0] || &again.Nodes[0] != &whole.Nodes[0] {
		t.Error("nothing has changed, and the links are copied")
	}
	for i := range uint32(mostChanged + 1) {
		b.SetLink(Link{Local: link.Local, Remote: link.Remote, LocalID: 100 + i, RemoteID: 100 + i})
	}
	if many := b.Build(); same(many, s) ||
		len(many.Links) != len(s.Links)+mostChanged+1 {
		t.Error("too many changes go with the old index")
	}
	// Few at a time, and many together: the index is made anew where it pays.
	last := b.Build()
	for i := range uint32(2 * mostChanged) {
		b.SetLink(Link{Local: link.Local, Remote: link.Remote, LocalID: 10000 + i, RemoteID: 10000 + i})
		if i%1000 == 0 {
			last = b.Build()
		}
		if n := len(last.links.changed); n > mostChanged {
			t.Fatalf("a snapshot has %d changes beside its index", n)
		}
	}
	runtime.KeepAlive(s)
}
