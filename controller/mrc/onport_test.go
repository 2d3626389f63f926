package mrc

import (
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
)

// TestEVsOnPort: a job counts the EVs left on a port, and the EVs that a host keeps active there:
// the port's share of MinActive, rounded up, at least one, and at most the EVs left.
func TestEVsOnPort(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 2, 4, 1).start()
	p := w.core.profiles.byName["leaf1-1:leaf1-2"]
	explicit := func(min int, denied ...int) *hostapi.Profile {
		q := &hostapi.Profile{Mode: hostapi.ModeExplicit, Count: 4, MinActive: min, EVs: []hostapi.EV{
			hostapi.NewEV(1, 1), hostapi.NewEV(2, 1), hostapi.NewEV(3, 1), hostapi.NewEV(4, 2)}}
		var list []hostapi.EV
		for _, i := range denied {
			list = append(list, q.EVs[i])
		}
		return q.WithDenied(list)
	}
	generated := func(count, min, denied int) *hostapi.Profile {
		q := &hostapi.Profile{Mode: hostapi.ModeGenerated, Count: count, MinActive: min,
			Fields: []hostapi.Field{{MaxVal: 3}}}
		for i := range denied {
			q.Denied = append(q.Denied, hostapi.NewEV(uint32(i), 1))
		}
		return q
	}
	auto := func(count, min int) *hostapi.Profile {
		return &hostapi.Profile{Mode: hostapi.ModeAuto, Count: count, MinActive: min}
	}
	for name, c := range map[string]struct {
		profile *hostapi.Profile
		want    [2][3]int32 // of ports 1 and 2: active, of, want
	}{
		"explicit, 0 active":      {explicit(0), [2][3]int32{{3, 3, 1}, {1, 1, 1}}},
		"explicit, 2 active":      {explicit(2), [2][3]int32{{3, 3, 1}, {1, 1, 1}}},
		"explicit, 3 active":      {explicit(3), [2][3]int32{{3, 3, 2}, {1, 1, 1}}},
		"explicit, 4 active":      {explicit(4), [2][3]int32{{3, 3, 2}, {1, 1, 1}}},
		"explicit, some denied":   {explicit(3, 0, 2), [2][3]int32{{1, 3, 2}, {1, 1, 1}}},
		"explicit, port 2 denied": {explicit(3, 3), [2][3]int32{{3, 3, 2}, {0, 1, 1}}},
		"generated":               {generated(16, 4, 0), [2][3]int32{{8, 8, 2}, {8, 8, 2}}},
		"generated, 5 active":     {generated(16, 5, 1), [2][3]int32{{6, 8, 3}, {8, 8, 3}}},
		"generated, one EV":       {generated(1, 1, 0), [2][3]int32{{1, 1, 1}, {1, 1, 1}}},
		"generated, all denied":   {generated(16, 4, 4), [2][3]int32{{0, 8, 2}, {8, 8, 2}}},
		"auto":                    {auto(9, 3), [2][3]int32{{4, 4, 2}, {4, 4, 2}}},
		"auto, one EV":            {auto(1, 1), [2][3]int32{{1, 1, 1}, {1, 1, 1}}},
	} {
		p.outcome.Profile = c.profile
		for i, w := range c.want {
			active, of, want := p.onPort(uint8(i + 1))
			if got := [3]int32{active, of, want}; got != w {
				t.Errorf("%s: port %d has %v, want %v", name, i+1, got, w)
			}
		}
		if active, of, want := p.onPort(3); active != 0 || of != 0 || want != 0 {
			t.Errorf("%s: port 3, which has no paths, has %d of %d, want %d", name, active, of, want)
		}
	}
}
