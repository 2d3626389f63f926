package flows

import (
	"slices"
	"testing"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/test/seeds"
)

// TestPortWeights: hosts fill both of their ports although one plane has only one of four uplinks
// left for what leaves their rack. They have more to send than the ports carry, so the ports are
// free in turn, and a host that takes every port that is free sends the same by both: more than the
// uplink carries by the one, and nothing in its place by the other. Without the weights of ports
// (section "Ports" of docs/mrc.md) they fill 0.87 to 0.89 of the ports, with them 0.98 to 1.00
// (seeds 1 to 5).
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
