package fabric

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/topology"
)

// noDrains has nothing drained.
type noDrains struct{}

func (noDrains) Link(*Edge) bool           { return false }
func (noDrains) Node(topology.NodeID) bool { return false }
func (noDrains) Port(string, uint8) bool   { return false }
func (noDrains) Planes() []int             { return nil }

// TestChangedAlone: a State that looks only at changes of the topology has the same phases, causes,
// leaves and losses as a State that looks at everything, through random losses of links and
// switches and their return.
func TestChangedAlone(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	cfg := inventory.DefaultMRC("stev")
	alone, all := New(&cfg, Outside{Drains: noDrains{}}), New(&cfg, Outside{Drains: noDrains{}})
	b := topology.NewBuilder()
	node := func(tier string, p, n int) topology.NodeID {
		return topology.NodeID(fmt.Sprintf("%s%d-%d", tier, p, n))
	}
	nodes, links := []topology.Node{}, []topology.Link{}
	for p := range 2 {
		for s := range 3 {
			nodes = append(nodes, topology.Node{ID: node("t1-", p, s)})
		}
		for l := range 4 {
			nodes = append(nodes, topology.Node{ID: node("t0-", p, l)})
			for s := range 3 {
				up, down := uint32(s+1), uint32(l+1)
				links = append(links,
					topology.Link{Local: node("t0-", p, l), Remote: node("t1-", p, s), LocalID: up,
						RemoteID: down, IGPMetric: 10},
					topology.Link{Local: node("t1-", p, s), Remote: node("t0-", p, l), LocalID: down,
						RemoteID: up, IGPMetric: 10})
			}
		}
	}
	for _, n := range nodes {
		b.SetNode(n)
	}
	for _, l := range links {
		b.SetLink(l)
	}
	for l := range 4 {
		h := Host{Name: fmt.Sprint("h", l), At: ev.Attachment{node("t0-", 0, l), node("t0-", 1, l)},
			Address: netip.AddrFrom16([16]byte{0x20, 15: byte(l + 1)})}
		for _, s := range []*State{alone, all} {
			if _, err := s.PutHost(h); err != nil {
				t.Fatal(err)
			}
		}
	}
	first := b.Build()
	for _, s := range []*State{alone, all} {
		s.SetTopology(first)
		s.InSync()
		s.Settle()
		s.Take()
	}
	now, quick := time.Duration(0), 0
	for step := range 400 {
		for range 1 + rng.IntN(3) {
			switch n, l := nodes[rng.IntN(len(nodes))], links[rng.IntN(len(links))]; rng.IntN(6) {
			case 0:
				b.RemoveNode(n.ID)
			case 1:
				n.Overload = true
				b.SetNode(n)
			case 2:
				b.SetNode(n)
			case 3, 4:
				b.RemoveLink(topology.NewLinkID(&l))
			case 5:
				b.SetLink(l)
			}
		}
		snap := b.Build()
		if _, _, ok := snap.Since(alone.looked); ok {
			quick++
		}
		all.looked = nil // so that it knows no change
		alone.SetTopology(snap)
		all.SetTopology(snap)
		for _, s := range []*State{alone, all} {
			s.Settle()
		}
		for i := range all.links.all {
			x, y := alone.links.all[i], all.links.all[i]
			if x.phase != y.phase || x.cause != y.cause || x.present != y.present || x.until != y.until {
				t.Fatalf("step %d: link %s is %v, %q; of a state that looks at all %v, %q", step, x.ID,
					x.phase, x.cause, y.phase, y.cause)
			}
		}
		got, want := alone.links.lost((*Link).Denied), all.links.lost((*Link).Denied)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("step %d: lost %v, want %v", step, got, want)
		}
		for id, y := range all.leaves.states {
			if x := alone.leaves.states[id]; x == nil || *x != *y {
				t.Fatalf("step %d: leaf %s is %+v, want %+v", step, id, x, y)
			}
		}
		now += time.Duration(rng.IntN(2000)) * time.Millisecond
		alone.Tick(now)
		all.Tick(now)
		alone.Take()
		all.Take()
	}
	if quick < 390 {
		t.Errorf("the changes of %d of 400 topologies were known", quick)
	}
	if never != (past{}) {
		t.Errorf("the past that links share was written: %+v", never)
	}
}
