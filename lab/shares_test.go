package lab

import (
	"math"
	"testing"
)

// TestAllToAllShares: rates computed by hand, in parts of a link's.
func TestAllToAllShares(t *testing.T) {
	// 2 planes, 4 T0, 4 hosts each; with three tiers 2 pods of 2 T0, 2 T1, and 2 T2
	two, three := ClosConfig{}, ClosConfig{Tiers: 3}
	big := ClosConfig{Hosts: 64}
	link := Loss{Links: [][2]string{{"P1-T0-1", "P1-T1-1"}}}
	t1 := Loss{Switches: []string{"P1-T1-4"}}
	type flow struct {
		from, to string
		want     float64
	}
	for _, c := range []struct {
		name   string
		fabric ClosConfig
		losses []Loss
		flows  []flow
		total  float64
	}{
		// Nothing is in the way but ports: 2 links for 15 flows.
		{"two tiers", two, nil, []flow{{"H1", "H2", 2. / 15}, {"H1", "H16", 2. / 15}}, 32},
		// 7 links up for 48 flows that need 6.4.
		{"two tiers, a T1", two, []Loss{t1}, []flow{{"H1", "H2", 2. / 15}, {"H1", "H16", 2. / 15}}, 32},
		// 4 links up for 48 flows; 3 flows share the rest of the ports.
		{"two tiers, a plane", two,
			[]Loss{{Switches: []string{"P1-T0-1", "P1-T0-2", "P1-T0-3", "P1-T0-4"}}},
			[]flow{{"H1", "H2", 1. / 15}, {"H1", "H16", 1. / 15}}, 16},
		// A T0 has 4 links up for 48 flows, and hosts have 1 of 2 left for 3 of the rack.
		{"three tiers", three, nil, []flow{{"H1", "H2", 1. / 3}, {"H1", "H5", 1. / 12},
			{"H1", "H16", 1. / 12}}, 32},
		// The T0s of pod 2 have 3 links for 48 flows, which also limits flows from pod 1: there, 32 of 48
		// flows share 2 of 4 links, and 16 flows share the other 2.
		{"three tiers, a T1", three, []Loss{t1}, []flow{
			{"H16", "H1", 1. / 16}, {"H1", "H16", 1. / 16}, {"H16", "H9", 1. / 16}, {"H1", "H5", 1. / 8},
			{"H1", "H2", 1. / 3}, {"H16", "H15", (2 - .75) / 3},
		}, 32},
		// T0 1 has 3 links up; the other T0s of both pods lose 1/12 - 1/16 of 16 and 32 flows each, and
		// win it back with the rest.
		{"three tiers, a link", three, []Loss{link}, []flow{
			{"H1", "H5", 1. / 16}, {"H1", "H16", 1. / 16}, {"H5", "H1", 1. / 16}, {"H5", "H16", 3. / 32},
			{"H16", "H5", 3. / 32}, {"H16", "H9", 3. / 32},
		}, 32},
		// A T1 has 1 link up instead of 2 in plane 1: pod to pod 2 + 4 for 2 x 4 x 8 flows, which
		// need 64/12 = 5.33.
		{"three tiers, a T2", three, []Loss{{Switches: []string{"P1-T2-1"}}},
			[]flow{{"H1", "H16", 1. / 12}, {"H1", "H5", 1. / 12}}, 32},
		// 16 hosts a T0 with 8 links up: 768 flows; hosts have 1.5 left for 15.
		{"64 hosts", big, nil, []flow{{"H1", "H2", 1.5 / 15}, {"H1", "H64", 8. / 768}}, 128},
		{"64 hosts, a T1", big, []Loss{t1}, []flow{{"H1", "H64", 7. / 768},
			{"H1", "H2", (2 - 48*7./768) / 15}}, 128},
		{"a port of a host", two, []Loss{{Links: [][2]string{{"H1", "P1-T0-1"}}}},
			[]flow{{"H1", "H2", 1. / 15}, {"H2", "H1", 1. / 15}, {"H2", "H3", 29. / 15 / 14}}, 31},
		// T0 1 has 6 links up for 48 flows; at the ports of other T0s, this leaves 1.5 for 11 flows.
		{"two failures", two, []Loss{link, t1}, []flow{{"H1", "H2", (2 - 1.5) / 3},
			{"H1", "H16", 6. / 48}, {"H16", "H1", 6. / 48}, {"H5", "H16", 1.5 / 11}}, 32},
		{"everything", two, []Loss{{Switches: []string{"P1-T0-1", "P2-T0-1"}}},
			[]flow{{"H1", "H2", 0}, {"H1", "H16", 0}, {"H5", "H6", 2. / 11}}, 24},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.fabric.Rate = 20e6
			n := Clos(c.fabric)
			s, err := n.AllToAllShares(c.losses...)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for _, f := range AllToAll(n.MRCHosts(), 1) {
				sum += s.Of(f.From, f.To) / 20e6
			}
			if total := s.Total() / 20e6; math.Abs(total-c.total) > 1e-3 || math.Abs(sum-total) > 1e-6 {
				t.Errorf("total %.4f, sum of the flows %.4f, want %.4f", total, sum, c.total)
			}
			for _, f := range c.flows {
				if got := s.Of(f.from, f.to) / 20e6; math.Abs(got-f.want) > 1e-4 {
					t.Errorf("%s to %s: %.5f, want %.5f", f.from, f.to, got, f.want)
				}
			}
		})
	}
}
