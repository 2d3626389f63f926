package flows

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/host/spray"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/test/seeds"
)

// allToAll has every host write octets to every other.
func allToAll(t *testing.T, mode ev.Mode, octets int, seed uint64,
	profile func(f *fabric, i int) spray.Profile) (*experiment, *lab.Spread) {
	t.Helper()
	f := newFabric(t, lab.ClosConfig{}, mode, fast, seed)
	spread := f.NewSpread()
	f.AddTap(spread)
	var flows []lab.FlowConfig
	for i, from := range f.Network.Hosts {
		for j := range f.Network.Hosts[1:] {
			to := f.Network.Hosts[(i+j+1)%len(f.Network.Hosts)]
			flows = append(flows, lab.FlowConfig{From: from.Name, To: to.Name, Bytes: octets})
		}
	}
	var of func(int, string, string) spray.Profile
	if profile != nil {
		of = func(i int, _, _ string) spray.Profile { return profile(f, i) }
	}
	e := f.write(t, seed, of, flows...)
	e.run(time.Second)
	return e, spread
}

// TestSpread: in an all-to-all with more than 1,000 packets a link the uplinks of a plane carry the
// same with entropy values by path, in every mode, and not with one entropy a connection.
func TestSpread(t *testing.T) {
	t.Parallel()
	first, n := seeds.Range(t, 1, 1)
	for seed := first; seed < first+n; seed++ {
		t.Run("one entropy a connection", func(t *testing.T) {
			t.Parallel()
			_, spread := allToAll(t, ev.ModeECMP, 60*pmtu, seed, func(f *fabric, i int) spray.Profile {
				p := spray.Auto(seed<<16|uint64(i), 1, f.planes)
				p.EVs = p.EVs[i%f.planes:][:1]
				return p
			})
			for stage, index := range spread.Jain() {
				t.Logf("seed %d, plane %d: ecmpJain %.3f", seed, stage.Plane, index)
				if index > 0.97 {
					t.Errorf("seed %d, plane %d: Jain's index %.4f: it spreads too, so the switches' hash is none",
						seed, stage.Plane, index)
				}
			}
		})
		for _, mode := range []ev.Mode{ev.ModeStructured, ev.ModeF3216, ev.ModeF1616, ev.ModeSRH,
			ev.ModeUSIDStructured} {
			t.Run(mode.String(), func(t *testing.T) {
				t.Parallel()
				_, spread := allToAll(t, mode, 200*pmtu, seed, nil)
				fewest := spread.Fewest()
				for stage, index := range spread.Jain() {
					t.Logf("seed %d, plane %d, tier %d: jain %.5f, %d packets a link at least", seed, stage.Plane,
						stage.Tier, index, fewest[stage])
					if index < 0.98 || fewest[stage] < 1000 {
						t.Errorf("seed %d, plane %d, tier %d: Jain's index %.4f with %d packets a link, want 0.98 "+
							"with 1,000", seed, stage.Plane, stage.Tier, index, fewest[stage])
					}
				}
			})
		}
	}
}
