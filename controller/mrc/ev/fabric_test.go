package ev

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/weft-sdn/weft/topology"
)

// fabric builds networks: nodes are named by a word, ports count up.
type fabric struct {
	*topology.Builder
	ports  map[topology.NodeID]uint32
	leaves []topology.NodeID
}

func newFabric() *fabric {
	return &fabric{Builder: topology.NewBuilder(), ports: map[topology.NodeID]uint32{}}
}

func (f *fabric) add(format string, args ...any) topology.NodeID {
	id := topology.NodeID(fmt.Sprintf(format, args...))
	f.SetNode(topology.Node{ID: id})
	return id
}

func (f *fabric) leaf(format string, args ...any) topology.NodeID {
	id := f.add(format, args...)
	f.leaves = append(f.leaves, id)
	return id
}

func (f *fabric) connect(a, b topology.NodeID) {
	f.ports[a]++
	f.ports[b]++
	pa, pb := f.ports[a], f.ports[b]
	f.SetLink(topology.Link{Local: a, Remote: b, LocalID: pa, RemoteID: pb, IGPMetric: 10})
	f.SetLink(topology.Link{Local: b, Remote: a, LocalID: pb, RemoteID: pa, IGPMetric: 10})
}

// leafSpine builds planes of two tiers. Leaf l of plane p is "p-l".
func leafSpine(planes, leaves, spines, width int) *fabric {
	f := newFabric()
	for p := range planes {
		var top []topology.NodeID
		for s := range spines {
			top = append(top, f.add("spine%d-%02d", p+1, s+1))
		}
		for l := range leaves {
			leaf := f.leaf("leaf%d-%02d", p+1, l+1)
			for _, s := range top {
				for range width {
					f.connect(leaf, s)
				}
			}
		}
	}
	return f
}

// isolate takes all links of a node away.
func (f *fabric) isolate(id topology.NodeID) {
	for _, l := range f.Build().Links {
		if l.Local == id || l.Remote == id {
			f.RemoveLink(l.ID)
		}
	}
}

// threeTiers builds planes of pods; aggregation switch i connects to all cores of group i.
func threeTiers(planes, pods, leaves, aggs, cores int) *fabric {
	f := newFabric()
	for p := range planes {
		for pod := range pods {
			for l := range leaves {
				f.leaf("leaf%d-%02d-%02d", p+1, pod+1, l+1)
			}
		}
		for i := range aggs {
			for pod := range pods {
				agg := f.add("agg%d-%02d-%02d", p+1, pod+1, i+1)
				for l := range leaves {
					f.connect(topology.NodeID(fmt.Sprintf("leaf%d-%02d-%02d", p+1, pod+1, l+1)), agg)
				}
			}
			for c := range cores {
				core := f.add("core%d-%02d-%02d", p+1, i+1, c+1)
				for pod := range pods {
					f.connect(topology.NodeID(fmt.Sprintf("agg%d-%02d-%02d", p+1, pod+1, i+1)), core)
				}
			}
		}
	}
	return f
}

// randomFabric draws planes of two or three tiers with different fan-outs, and
// with parallel and missing links.
func randomFabric(r *rand.Rand) *fabric {
	f := newFabric()
	join := func(a, b topology.NodeID) {
		for range []int{1, 1, 1, 1, 1, 2, 0}[r.IntN(7)] {
			f.connect(a, b)
		}
	}
	three := r.IntN(2) == 0
	for p := range 1 + r.IntN(2) {
		pods := 1
		if three {
			pods = 1 + r.IntN(3)
		}
		var middle []topology.NodeID
		for pod := range pods {
			first := len(middle)
			for i := range 1 + r.IntN(3) {
				middle = append(middle, f.add("b%d-%d-%d", p, pod, i))
			}
			for i := range 1 + r.IntN(3) {
				leaf := f.leaf("a%d-%d-%d", p, pod, i)
				for _, m := range middle[first:] {
					join(leaf, m)
				}
			}
		}
		if three {
			for i := range 1 + r.IntN(3) {
				core := f.add("c%d-%d", p, i)
				for _, m := range middle {
					join(m, core)
				}
			}
		}
	}
	return f
}

func (f *fabric) clos(t testing.TB) *topology.Clos {
	t.Helper()
	c, err := f.Build().Graph().Clos(topology.ClosRequest{Leaves: f.leaves, MaxTiers: 3})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func assign(t testing.TB, c *topology.Clos, f Format) *Assignment {
	t.Helper()
	a, err := Assign(c, f, Numbers{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// seeds are the seeds of a random test: n of them from 1 on, or what WEFT_SEED
// and WEFT_SEEDS say.
func seeds(t testing.TB, n int) []uint64 {
	t.Helper()
	number := func(name string, otherwise int) int {
		text := os.Getenv(name)
		if text == "" {
			return otherwise
		}
		v, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s=%q, want a number", name, text)
		}
		return v
	}
	first := number("WEFT_SEED", 1)
	n = number("WEFT_SEEDS", n)
	t.Logf("seeds %d to %d", first, first+n-1)
	out := make([]uint64, n)
	for i := range out {
		out[i] = uint64(first + i)
	}
	return out
}

func linkIDs(links []*topology.Link) []topology.LinkID {
	var ids []topology.LinkID
	for _, l := range links {
		ids = append(ids, l.ID)
	}
	slices.Sort(ids)
	return ids
}

var block32 = netip.MustParsePrefix("fc00:1::/32")
