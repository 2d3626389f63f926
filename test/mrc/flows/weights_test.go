package flows

import (
	"slices"
	"testing"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/test/seeds"
)

// TestPortWeights: hosts fill both of their ports although one plane keeps only one of four uplinks
// for traffic out of the rack. Hosts have more data than port capacity, so the ports become free in
// turn. A host that takes every free port would send the same amount through both ports: more than
// the uplink carries through one port, and no compensation through the other port. Without port
// weights (docs/mrc-hosts.md, Spraying) hosts fill 0.87 to 0.89 of the ports, with weights 0.98 to
// 1.00 (seeds 1 to 5).
func TestPortWeights(t *testing.T) {
	seed := seeds.One(t, 1)
	cfg := lab.ClosConfig{}
	near, far := []string{"H1", "H2", "H3", "H4"}, []string{"H5", "H6", "H7", "H8"}
	x, err := newExchange(cfg, ev.ModeStructured, seed, func(from, to string) bool {
		return slices.Contains(near, from) && (slices.Contains(near, to) || slices.Contains(far, to))
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.lose(lab.Loss{Switches: []string{"P1-T1-2", "P1-T1-3", "P1-T1-4"}},
		""); err != nil {
		t.Fatal(err)
	}
	rates, err := x.rates()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	rate, _ := lab.DemoLinks(cfg)
	filled := sum / float64(2*len(near)) / float64(rate)
	t.Logf("%.3f of the ports filled", filled)
	if filled < 0.95 || filled > 1 {
		t.Errorf("%.3f of the ports filled, want 0.95 to 1", filled)
	}
}

// TestWeightsByTime: one rack loses one of its two uplinks in a plane, and the racks share the
// remaining capacity. The switches neither mark nor trim, like kernels. Hosts detect the plane with
// less capacity by packet times. With equal traffic on both planes, the flows between racks get
// 0.73 to 0.78 of their share; with weights, 0.91 to 0.94 (seeds 1 to 12).
func TestWeightsByTime(t *testing.T) {
	seed := seeds.One(t, 1)
	const endless = 9000 // packets, more than windows hold
	x, err := newExchangeBy(lab.ClosConfig{T0: 2, T1: 2, Hosts: 4}, ev.ModeUSIDStructured, seed,
		func(string, string) bool { return true }, func(c *inventory.Classes) {
			c.ECNMin, c.ECNMax, c.DataPackets = endless, endless, endless
		})
	if err != nil {
		t.Fatal(err)
	}
	lost := lab.Loss{Links: [][2]string{{"P1-T0-1", "P1-T1-1"}}}
	if _, err := x.lose(lost, ""); err != nil {
		t.Fatal(err)
	}
	shares, err := x.world.Network.AllToAllShares(lost)
	if err != nil {
		t.Fatal(err)
	}
	rates, err := x.rates()
	if err != nil {
		t.Fatal(err)
	}
	var got, want float64
	for i, f := range x.Flows {
		if x.leaf(f.From) != x.leaf(f.To) {
			got, want = got+rates[i], want+shares.Of(f.From, f.To)
		}
	}
	t.Logf("%.3f of the share of what is between racks", got/want)
	if got < 0.87*want {
		t.Errorf("%.3f of the share of what is between racks, want 0.87", got/want)
	}
}
