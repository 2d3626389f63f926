package blackhole

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/test/seeds"
)

// TestUnderLoad: under an all-to-all of 16 hosts, packet by packet, the controller names the link
// that loses packets in one direction within the time of docs/mrc.md, and nothing else; after the
// denial of a black hole the goodput equals the goodput over the remaining links.
func TestUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("a fabric under load is long")
	}
	for name, c := range map[string]struct {
		loss   float64
		within time.Duration
		seeds  uint64 // by default
	}{"black hole": {1, 10 * time.Millisecond, 1}, "5 %": {0.05, time.Second, 0}} {
		t.Run(name, func(t *testing.T) {
			first, count := seeds.Range(t, 1, c.seeds)
			if count == 0 {
				t.Skip("WEFT_SEEDS=n runs n seeds")
			}
			var took []float64
			least, bad := 1.0, 0
			for seed := first; seed < first+count; seed++ {
				r, err := Run(t.Context(), Options{Mode: ev.ModeF3216, Seed: seed, Loss: c.loss})
				if err != nil {
					t.Logf("seed %d: %v: %+v", seed, err, r)
					bad++
					continue
				}
				took, least = append(took, r.NamedMs), min(least, r.GoodputKept)
				if r.NamedMs > millis(c.within) {
					t.Logf("seed %d: %+v, want %v", seed, r, c.within)
					bad++
				}
			}
			if slices.Sort(took); len(took) > 0 {
				t.Logf("%d seeds, named after %v ms (median), %v ms (99 of 100), %v ms (most); goodput %v "+
					"at least; %d bad", count, took[len(took)/2], took[len(took)*99/100],
					took[len(took)-1], least, bad)
			}
			if bad > int(count)/100 {
				t.Errorf("%d of %d seeds are bad, want 1 of 100", bad, count)
			}
		})
	}
}
