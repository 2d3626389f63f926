package plan

import (
	"testing"

	"github.com/weft-sdn/weft/controller/internal/sample"
)

// towards all nodes are shared by all switches and not counted.
func BenchmarkBase(b *testing.B) {
	net := sample.FatTree(32, 16, 8, 256, 4)
	n := NewNetwork(net.Topology.Build(), &net.Inventory)
	sw := &net.Inventory.Switches[0]
	entries := len(n.Base(sw))
	b.ReportAllocs()
	for b.Loop() {
		n.Base(sw)
	}
	b.ReportMetric(float64(entries), "entries")
}
