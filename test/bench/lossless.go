package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/controller/pfc/tunnel"
	pfcdemo "github.com/weft-sdn/weft/lab/demo/pfc"
	"github.com/weft-sdn/weft/topology"
)

const (
	wanNodes    = 1000
	wanChords   = 1000 // links beside those of the ring
	wanPolicies = 1000
	// wanPriorities that tenants have: the highest is that of PFC frames.
	wanPriorities = 7
)

// lossless measures the controller of PFC over SRv6: on a wide area network of 1,000 nodes of which
// half support PFC, with 1,000 PFC policies. Each policy has its own tenant between two PFC nodes.
// pfc/plan is how many policies a second are planned, pfc/deadlock the check of all of them.
// pfc/xoff is the time from XOFF at R3 to the pause at R1 in "weft demo pfc", beyond the delay of
// the WAN.
func lossless(ctx context.Context, out *report) error {
	if out.wants("pfc/plan") || out.wants("pfc/deadlock") {
		if err := planLossless(out); err != nil {
			return err
		}
	}
	if !out.wants("pfc/xoff") {
		return nil
	}
	out.tell("pfc: the demo, in virtual time")
	r, err := pfcdemo.Run(ctx, pfcdemo.Options{})
	if err != nil {
		return err
	}
	delay := float64(pfcdemo.Delay) / float64(time.Millisecond)
	return out.print(figure{bench: "pfc/xoff", unit: "ms", value: r.XOFFToPauseMs - delay,
		more: []field{
			{"xoffToPauseMs", r.XOFFToPauseMs}, {"wanDelayMs", delay}, {"tunnelRttMs", r.TunnelRTTMs}}})
}

func planLossless(out *report) error {
	out.tell("pfc: %d policies over %d nodes", wanPolicies, wanNodes)
	w := newWAN(rand.New(rand.NewPCG(1, wanNodes)))
	core, err := tunnel.New(tunnel.Defaults())
	if err != nil {
		return err
	}
	core.SetTopology(w.topology.Build())

	deployed, circles := 0, 0
	start := time.Now()
	for i := range wanPolicies {
		policy, tenant, request := w.service(i)
		if err := errors.Join(core.PutSRv6Policy(policy), core.PutTenant(tenant)); err != nil {
			return err
		}
		var circle *tunnel.CycleError
		switch err := core.PutPFCPolicy(request); {
		case errors.As(err, &circle):
			circles++
		case err != nil:
			return err
		default:
			deployed++
		}
	}
	took := time.Since(start).Seconds()

	var all [][]tunnel.Dependency
	held := 0
	for i := range wanPolicies {
		name := fmt.Sprintf("p%d", i)
		if s, ok := core.Present(name); ok && s.Deployments[name] != nil {
			all = append(all, s.Deployments[name].Dependencies())
			held += len(all[len(all)-1])
		}
	}
	if len(all) != deployed || held == 0 {
		return fmt.Errorf("%d policies of %d are deployed, with %d dependencies", len(all), deployed,
			held)
	}
	graph := tunnel.NewDependencies()
	start = time.Now()
	for _, deps := range all {
		if circle := graph.Check(deps); circle != nil {
			return fmt.Errorf("the policies that were taken close a circle: %v", circle)
		}
		graph.Add(deps)
	}
	checked := time.Since(start).Seconds()

	fabric := []field{{"nodes", wanNodes}, {"links", wanNodes + wanChords}, {"policies", wanPolicies},
		{"deployed", deployed}, {"circles", circles}}
	if err := out.print(figure{bench: "pfc/plan", unit: "policies/s", value: wanPolicies / took,
		more: append(fabric, field{"seconds", took})}); err != nil {
		return err
	}
	return out.print(figure{bench: "pfc/deadlock", unit: "s", value: checked,
		more: append(fabric, field{"dependencies", graph.Len()})})
}

// A wan is a ring with chords. Every second node knows PFC.
type wan struct {
	topology *topology.Builder
	ports    [wanNodes]uint32
	rng      *rand.Rand
}

func newWAN(rng *rand.Rand) *wan {
	w := &wan{topology: topology.NewBuilder(), rng: rng}
	for n := range wanNodes {
		node := topology.Node{
			ID: w.id(n), Name: string(w.id(n)),
			Loopback: netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", n+1)),
			Locators: []topology.Locator{{Prefix: netip.MustParsePrefix(fmt.Sprintf("5f00:0:%x::/48",
				n+1))}},
			SIDs: []topology.SID{{Address: w.sid(n, 1), Behavior: topology.BehaviorEnd}},
		}
		if w.knows(n) {
			node.SIDs = append(node.SIDs, topology.SID{Address: w.sid(n, 2),
				Behavior: topology.DefaultPFCBehaviors().End})
		}
		w.topology.SetNode(node)
	}
	for n := range wanNodes {
		w.link(n, (n+1)%wanNodes)
	}
	for range wanChords {
		a := rng.IntN(wanNodes)
		w.link(a, (a+2+rng.IntN(wanNodes-3))%wanNodes)
	}
	return w
}

func (w *wan) id(n int) topology.NodeID { return topology.NodeID(fmt.Sprintf("r%d", n)) }
func (w *wan) knows(n int) bool         { return n%2 == 0 }

func (w *wan) sid(n, function int) netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("5f00:0:%x:%x::", n+1, function))
}

func (w *wan) link(a, b int) {
	w.ports[a]++
	w.ports[b]++
	metric := 10 + uint32(w.rng.IntN(10))
	for _, e := range [][2]int{{a, b}, {b, a}} {
		l := topology.Link{
			Local: w.id(e[0]), Remote: w.id(e[1]), LocalID: w.ports[e[0]], RemoteID: w.ports[e[1]],
			IGPMetric: metric, MaxBandwidth: 1.25e9,
			Delay: topology.Delay{Known: true, Average: 1000, Min: 1000, Max: 1000},
			EndX: []topology.EndX{{SID: topology.SID{Address: w.sid(e[0], 0x100+int(w.ports[e[0]])),
				Behavior: topology.BehaviorEndX}}},
		}
		if w.knows(e[0]) {
			l.EndX = append(l.EndX, topology.EndX{SID: topology.SID{Address: w.sid(e[0],
				0x200+int(w.ports[e[0]])), Behavior: topology.DefaultPFCBehaviors().EndX}})
		}
		w.topology.SetLink(l)
	}
}

// service returns the i-th policy, its tenant between two random nodes, and the PFC settings that
// make the service lossless.
func (w *wan) service(i int) (tunnel.SRv6Policy, tunnel.Tenant, tunnel.PFCPolicy) {
	from := 2 * w.rng.IntN(wanNodes/2)
	to := (from + 2*(1+w.rng.IntN(wanNodes/2-1))) % wanNodes
	name, slice := fmt.Sprintf("p%d", i), i+1
	site := func(n, number int) tunnel.Site {
		return tunnel.Site{
			Node: w.id(n), Port: uint32(100 + i),
			Prefixes: []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("2001:db8:%x:%d::/64", slice,
				number))},
			SID: w.sid(n, 0x4000+slice), Address: netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", n+1)),
		}
	}
	path := tunnel.PathRequest{Headend: w.id(from), Endpoint: w.id(to)}
	return tunnel.SRv6Policy{Name: name, ID: uint16(slice), PathRequest: path},
		tunnel.Tenant{Name: name, VRF: uint16(slice), Slice: uint32(slice),
			Priority: uint8(w.rng.IntN(wanPriorities)), Policies: []string{name},
			Sites: []tunnel.Site{site(from, 1), site(to, 2)}},
		tunnel.PFCPolicy{Name: name, SRv6Policy: name, Tenant: name, Scenario: 1, Buffer: 64 << 20,
			MaxPause: time.Second}
}
