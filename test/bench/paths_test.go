package main

import "testing"

// TestPaths: the bench finds every path of a fabric, profiles for all pairs, and what losses deny.
func TestPaths(t *testing.T) {
	r, err := pathFabric{planes: 2, leaves: 4, spines: 3}.measure()
	if err != nil {
		t.Fatal(err)
	}
	if r.Switches != 14 || r.Links != 24 || r.Pairs != 24 || r.Paths != 72 || r.ProfilePairs != 12 {
		t.Errorf("%+v: want 14 switches, 24 links, 24 pairs, 72 paths, 12 profiles", r)
	}
	// A leaf's link: the profiles from and to its hosts. A spine: those of all.
	if r.LinkLost != 6 || r.SpineLost != 12 {
		t.Errorf("a link denies EVs of %d profiles, a spine of %d; want 6 and 12", r.LinkLost,
			r.SpineLost)
	}
}
