package tree

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/plan"
)

// big is a fabric of 1,024 switches and 2,048 hosts.
func big() *sample.Net { return sample.FatTree(32, 16, 8, 256, 4) }

// groups returns the specs of so many groups of 64 receivers.
func groups(net *sample.Net, n int, objective api.TreeObjective) []api.MulticastGroupSpec {
	rng := rand.New(rand.NewPCG(1, 2))
	specs := make([]api.MulticastGroupSpec, n)
	hosts := net.Inventory.Hosts
	for i := range specs {
		pick := rng.Perm(len(hosts))[:65]
		s := api.MulticastGroupSpec{ProxyAddress: sample.HostAddress(0x8000 + i), DesignatedQPN: 77,
			Objective: objective,
			Source:    api.GroupSource{Address: hosts[pick[0]].Address, QPN: 100}}
		for _, h := range pick[1:] {
			s.Receivers = append(s.Receivers, api.GroupReceiver{Address: hosts[h].Address, QPN: 101})
		}
		specs[i] = net.Inventory.Defaults.Complete(s)
	}
	return specs
}

// BenchmarkPlan1000Groups plans 1,000 groups of 64 receivers on a 1,024-switch
// Clos from nothing: matching topology and inventory, trees, and all entries.
func BenchmarkPlan1000Groups(b *testing.B) {
	for _, objective := range []api.TreeObjective{api.ObjectiveDelay, api.ObjectiveCost} {
		b.Run(string(objective), func(b *testing.B) {
			net := big()
			specs := groups(net, 1000, objective)
			snap := net.Topology.Build()
			b.ReportAllocs()
			entries := 0
			for b.Loop() {
				builder := snap.Builder() // without the paths of the round before
				n := plan.NewNetwork(builder.Build(), &net.Inventory)
				entries = 0
				for i := range specs {
					p, err := Place(n, Request{Name: fmt.Sprintf("g%d", i), Group: uint16(i), Spec: &specs[i],
						Epoch: 1})
					if err != nil {
						b.Fatal(err)
					}
					for _, sw := range p.Switches() {
						entries += len(p.Items(sw))
					}
				}
			}
			b.ReportMetric(float64(entries), "entries")
		})
	}
}

// BenchmarkReplan1000Groups looks at the same groups again after a link has
// gone: most stay where they are.
func BenchmarkReplan1000Groups(b *testing.B) {
	net := big()
	specs := groups(net, 1000, api.ObjectiveDelay)
	snap := net.Topology.Build()
	n := plan.NewNetwork(snap, &net.Inventory)
	before := make([]*Placement, len(specs))
	for i := range specs {
		before[i], _ = Place(n, Request{Name: fmt.Sprintf("g%d", i), Group: uint16(i), Spec: &specs[i],
			Epoch: 1})
	}
	moved := 0
	for b.Loop() {
		builder := snap.Builder()
		builder.RemoveLink(snap.LinksFrom(net.Node("p3-spine2"))[0].ID)
		n := plan.NewNetwork(builder.Build(), &net.Inventory)
		moved = 0
		for i := range specs {
			p, err := Place(n, Request{Name: fmt.Sprintf("g%d", i), Group: uint16(i), Spec: &specs[i],
				Previous: before[i], Epoch: 2, Turn: 1})
			if err != nil {
				b.Fatal(err)
			}
			if p.Epoch == 2 {
				moved++
			}
		}
	}
	b.ReportMetric(float64(moved), "moved")
}

// BenchmarkBase plans what one leaf holds whatever groups there are; the paths
