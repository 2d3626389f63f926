package flows

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/test/seeds"
)

// crossing returns a host's EVs that cross a wire, by profile and place, and the number of denied
// EVs.
func (x *loop) crossing(t *testing.T, h *lab.MRCNode, w *lab.Wire) (all, denied int) {
	t.Helper()
	core := x.control.Paths.Core()
	nodes := map[string]string{}
	for _, s := range x.Network.Switches {
		nodes[string(lab.NodeID(s))] = s.Name
	}
	for _, p := range h.State().Profiles {
		status, ok := core.Profile(p.Name)
		if !ok {
			t.Fatalf("no profile %s", p.Name)
		}
		evs := p.EVs
		if p.Mode == hostapi.ModeGenerated {
			evs = p.Generate(hostapi.PortMask(h.Ports()))
		}
		for _, v := range evs {
			wire, err := p.Expand(v)
			if err != nil {
				t.Fatal(err)
			}
			route, err := core.Assignment().Decode(status.Source[v.Port-1], status.Destination[v.Port-1],
				wire.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, hop := range route.Hops {
				if l := hop.Links[0]; nodes[string(l.Local)] == w.From && nodes[string(l.Remote)] == w.To {
					all++
					if p.IsDenied(v) {
						denied++
					}
				}
			}
		}
	}
	return all, denied
}

// TestLinkDownToApply: from the failure of a link between switches until the last of 16 hosts sends
// nothing over it by the controller's word, with the latencies of lab.DefaultLatencies (10 ms from
// the failure to the topology that lacks the link, 0.5 ms from controller to host), takes less than
// 20 ms; and what was written arrives.
func TestLinkDownToApply(t *testing.T) {
	t.Parallel()
	first, n := seeds.Range(t, 1, uint64(len(modes)))
	for seed := first; seed < first+n; seed++ {
		x, err := newLoop(lab.ClosConfig{}, modes[seed%uint64(len(modes))], fast, seed)
		if err != nil {
			t.Fatal(err)
		}
		m, err := x.NewMesh(lab.MeshConfig{Flows: x.pairs(3, 64<<10)})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Start(); err != nil {
			t.Fatal(err)
		}
		wires := x.between()
		w := wires[x.rng.IntN(len(wires))]
		began := x.Now()
		if _, err := x.Lose(lab.Loss{Links: [][2]string{{w.From, w.To}}}); err != nil {
			t.Fatal(err)
		}
		x.control.NetworkChanged()
		obeyed := func() bool {
			for _, h := range x.Network.Hosts {
				node, err := x.MRCHost(h.Name)
				if err != nil {
					t.Fatal(err)
				}
				if all, denied := x.crossing(t, node, w); denied < all {
					return false
				}
			}
			return true
		}
		crossed := 0
		for _, h := range x.Network.Hosts {
			node, _ := x.MRCHost(h.Name)
			all, _ := x.crossing(t, node, w)
			crossed += all
		}
		for !obeyed() && x.Now() < began+time.Second {
			if err := x.run(m, 100*time.Microsecond, nil); err != nil {
				t.Fatal(err)
			}
		}
		took := x.Now() - began
		t.Logf("seed %d: %s goes down, which %d EVs of hosts cross: the last host has denied them "+
			"after %v", seed, w.Name(), crossed, took)
		if took >= 20*time.Millisecond || crossed == 0 {
			t.Errorf("seed %d: %v for %d EVs, want less than 20 ms for some", seed, took, crossed)
		}
		if err := x.run(m, time.Second, m.Done); err != nil || !m.Done() || m.Corrupt() > 0 {
			t.Errorf("seed %d: progress %.2f, %d corrupt, %v", seed, m.Progress(), m.Corrupt(), err)
		}
	}
}
