package topology

import (
	"fmt"
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

// network builds snapshots in tests: nodes are named by a word, ports count up.
type network struct {
	*Builder
	ports map[NodeID]uint32
}

func newNetwork(nodes ...NodeID) *network {
	w := &network{Builder: NewBuilder(), ports: map[NodeID]uint32{}}
	for i, n := range nodes {
		w.SetNode(Node{ID: n, Name: string(n),
			Loopback: netip.AddrFrom16([16]byte{0xfd, 15: byte(i + 1), 14: byte((i + 1) >> 8)})})
	}
	return w
}

// connect adds both directions of a link.
func (w *network) connect(a, b NodeID, there, back uint32) (LinkID, LinkID) {
	w.ports[a]++
	w.ports[b]++
	pa, pb := w.ports[a], w.ports[b]
	return w.SetLink(Link{Local: a, Remote: b, LocalID: pa, RemoteID: pb, IGPMetric: there}),
		w.SetLink(Link{Local: b, Remote: a, LocalID: pb, RemoteID: pa, IGPMetric: back})
}

// figure1 is the reference network of the draft, all metrics 10.
func figure1() *network {
	w := newNetwork("n1", "n2", "n3", "n4", "n5", "n6")
	for _, l := range [][2]NodeID{{"n6", "n4"}, {"n6", "n5"}, {"n4", "n1"}, {"n4", "n2"}, {"n5", "n2"},
		{"n5", "n3"}} {
		w.connect(l[0], l[1], 10, 10)
	}
	return w
}

// clos is a folded Clos of three tiers: pods of leaves and aggregation
// switches, fully meshed, and cores, of which aggregation switch i of each pod
// reaches the i-th share.
func clos(pods, leaves, aggs, cores int) (*network, []NodeID) {
	var nodes, edges []NodeID
	leaf := func(p, i int) NodeID { return NodeID(fmt.Sprintf("leaf-%02d-%02d", p, i)) }
	agg := func(p, i int) NodeID { return NodeID(fmt.Sprintf("agg-%02d-%02d", p, i)) }
	core := func(i int) NodeID { return NodeID(fmt.Sprintf("core-%03d", i)) }
	for p := range pods {
		for i := range leaves {
			edges = append(edges, leaf(p, i))
		}
		for i := range aggs {
			nodes = append(nodes, agg(p, i))
		}
	}
	for i := range cores {
		nodes = append(nodes, core(i))
	}
	w := newNetwork(append(nodes, edges...)...)
	for p := range pods {
		for a := range aggs {
			for i := range leaves {
				w.connect(leaf(p, i), agg(p, a), 10, 10)
			}
			for c := a * cores / aggs; c < (a+1)*cores/aggs; c++ {
				w.connect(agg(p, a), core(c), 10, 10)
			}
		}
	}
	return w, edges
}

// randomNetwork draws a connected network with parallel links and asymmetric
// metrics.
func randomNetwork(t *rapid.T, maxNodes, maxExtra int, maxMetric uint32) *network {
	n := rapid.IntRange(2, maxNodes).Draw(t, "nodes")
	ids := make([]NodeID, n)
	for i := range ids {
		ids[i] = NodeID(fmt.Sprintf("n%02d", i))
	}
	w := newNetwork(ids...)
	metric := rapid.Uint32Range(0, maxMetric)
	for i := 1; i < n; i++ {
		j := rapid.IntRange(0, i-1).Draw(t, "parent")
		w.connect(ids[i], ids[j], metric.Draw(t, "there"), metric.Draw(t, "back"))
	}
	for range rapid.IntRange(0, maxExtra).Draw(t, "extra") {
		i, j := rapid.IntRange(0, n-1).Draw(t, "i"), rapid.IntRange(0, n-1).Draw(t, "j")
		if i != j {
			w.connect(ids[i], ids[j], metric.Draw(t, "there"), metric.Draw(t, "back"))
		}
	}
	return w
}

func ids[T any](t testing.TB, s []T, id func(T) string) string {
	t.Helper()
	out := ""
	for i, x := range s {
		if i > 0 {
			out += " "
		}
		out += id(x)
	}
	return out
}

func addrs(s ...string) []netip.Addr {
	var out []netip.Addr
	for _, a := range s {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

// failer is what *testing.T and *rapid.T have in common here.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}
