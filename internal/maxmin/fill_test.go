package maxmin_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weft-sdn/weft/internal/maxmin"
	"github.com/weft-sdn/weft/test/seeds"
)

// TestFillIsFair: on random networks of flows with two links a path, no link is over-full, every
// flow has a full link on each of its paths, and all flows together get nearly as much as by
// [maxmin.Rates].
// With one path a flow both are the same.
func TestFillIsFair(t *testing.T) {
	first, count := seeds.Range(t, 1, 200)
	worst := 1.0
	for seed := first; seed < first+count; seed++ {
		r := rand.New(rand.NewPCG(seed, 0))
		capacities := make([]float64, 4+r.IntN(6))
		for i := range capacities {
			capacities[i] = float64(1 + r.IntN(4))
		}
		most := 1 + r.IntN(3)
		var demands []maxmin.Demand
		var parted []maxmin.Parted
		for range 2 + r.IntN(5) {
			d := maxmin.Demand{Flows: 1 + r.IntN(3)}
			p := maxmin.Parted{Flows: float64(d.Flows)}
			for range 1 + r.IntN(most) {
				a := r.IntN(len(capacities))
				b := (a + 1 + r.IntN(len(capacities)-1)) % len(capacities)
				d.Paths = append(d.Paths, []int{a, b})
				p.Paths = append(p.Paths, maxmin.Path{Share: 1, Uses: []maxmin.Use{{Link: int32(a), Part: 1},
					{Link: int32(b), Part: 1}}})
			}
			demands, parted = append(demands, d), append(parted, p)
		}
		want, err := maxmin.Rates(capacities, demands)
		if err != nil {
			t.Fatal(err)
		}
		got := fill(t, capacities, parted)
		sum, best := 0.0, 0.0
		for i, p := range parted {
			sum, best = sum+got.Rates[i]*p.Flows, best+want[i]*p.Flows
			if one := most == 1; one && (got.Rates[i] < want[i]-1e-5 || got.Rates[i] > want[i]+1e-5) {
				t.Errorf("seed %d: demand %d of one path gets %v, want %v", seed, i, got.Rates[i], want[i])
			}
			for _, w := range p.Paths {
				room := capacities[w.Uses[0].Link]
				for _, u := range w.Uses {
					room = min(room, capacities[u.Link]-got.Loads[u.Link])
				}
				if room > 1e-6 {
					t.Errorf("seed %d: demand %d has room for %v on a path", seed, i, room)
				}
			}
		}
		for l, load := range got.Loads {
			if load > capacities[l]+1e-6 {
				t.Errorf("seed %d: link %d carries %v of %v", seed, l, load, capacities[l])
			}
		}
		worst = min(worst, sum/best)
	}
	t.Logf("all flows get at least %.2f of what the linear program gives them", worst)
	if worst < 0.5 {
		t.Errorf("all flows get %.2f of what the linear program gives them: want half at least", worst)
	}
}

// TestFillBounds: a flow gets no more than it needs, the rest goes to others, and Bound names the
// link in the way.
func TestFillBounds(t *testing.T) {
	path := func(links ...int32) (w maxmin.Path) {
		w.Share = 1
		for _, l := range links {
			w.Uses = append(w.Uses, maxmin.Use{Link: l, Part: 1})
		}
		return w
	}
	got := fill(t, []float64{10, 4}, []maxmin.Parted{
		{Flows: 1, Most: 2, Paths: []maxmin.Path{path(0)}},
		{Flows: 2, Paths: []maxmin.Path{path(0), path(1)}},
		{Flows: 1}})
	if got.Rates[0] != 2 || got.Rates[1] != 6 || got.Bound[0] != -1 || got.Bound[1] != 0 ||
		got.Rates[2] != 0 || got.Loads[0] != 10 {
		t.Errorf("%+v, want rates 2, 6 and 0", got)
	}
	// A class of two links, each of which carries half.
	half := maxmin.Path{Share: 1, Uses: []maxmin.Use{{Link: 0, Part: 0.5}}}
	if got := fill(t, []float64{10}, []maxmin.Parted{{Flows: 4, Paths: []maxmin.Path{half}}}); got.
		Rates[0] != 5 {
		t.Errorf("four flows over two links of 10 get %v each, want 5", got.Rates[0])
	}
}

// TestFillRounds: Fill gives a rate to a demand too small for sums beside large demands, and ends.
func TestFillRounds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, small := range []float64{1, 1e4 / 3} {
		path := maxmin.Path{Share: 1, Uses: []maxmin.Use{{Link: 0, Part: 1}}}
		got, err := maxmin.Fill(ctx, []float64{1e30}, []maxmin.Parted{
			{Flows: 1e20 / 3, Most: 2, Paths: []maxmin.Path{path}},
			{Flows: small, Paths: []maxmin.Path{path}}, {Flows: 1e20, Most: 3, Paths: []maxmin.Path{path}}})
		if r := got.Rates[1]; err != nil || !(r >= 3 && r < 1e30) || !(got.Loads[0] <= 1e30) {
			t.Errorf("beside 1e20 flows %v flows get %v, load %v: %v", small, r, got.Loads[0], err)
		}
	}
}

func fill(t *testing.T, capacities []float64, demands []maxmin.Parted) maxmin.Filled {
	t.Helper()
	got, err := maxmin.Fill(t.Context(), capacities, demands)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
