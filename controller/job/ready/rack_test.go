package ready

import (
	"testing"

	"github.com/weft-sdn/weft/api"
)

// TestRacks: each NIC shows its worst fact, and each rack the smallest share of its paths.
func TestRacks(t *testing.T) {
	f := clos(2, 3, 2, 2, 2)
	f.Fabric.NICs[1].Ports[0].Up = Fact{State: Bad, Why: "down"}
	f.Fabric.NICs[1].Holds = Fact{Why: "told nothing"}
	f.Fabric.NICs[4].Stream = Fact{}
	f.Fabric.Paths[0].Active = 8 // of rack 0 to itself, plane 1
	for i := range f.Fabric.Paths {
		if p := &f.Fabric.Paths[i]; f.Need.Pairs[p.Pair] == [2]int32{2, 0} {
			p.Of = 0
		}
	}
	f.Fabric.Paths[1].RoundTrip, f.Fabric.Paths[0].RoundTrip = 9, 7
	r := Racks("j", f)
	if p := r.Pairs[0]; len(r.Pairs) != len(f.Need.Pairs) || p.From != 0 || p.To != 0 ||
		*p.Left != 0.75 || *p.RoundTrip != 9 || r.Pairs[1].RoundTrip != nil {
		t.Errorf("of %d pairs the first is %+v", len(f.Need.Pairs), p)
	}
	if p := r.Pairs[len(f.Need.Pairs)-3]; p.From != 2 || p.To != 0 || p.Left != nil {
		t.Errorf("the pair of which nothing is known is %+v", p)
	}
	if len(r.Racks) != 3 || r.Name != "j" || !r.At.Equal(f.At) {
		t.Fatalf("the racks are %+v", r)
	}
	for i, want := range []struct {
		good int
		left float64
	}{{3, 0.75}, {3, 1}, {4, -1}} {
		rack := r.Racks[i]
		left := -1.0
		if rack.Left != nil {
			left = *rack.Left
		}
		if rack.Ranks != 4 || len(rack.NICs) != 4 || rack.Good != want.good || left != want.left {
			t.Errorf("rack %d is %+v with %v left, want %+v", i, rack, left, want)
		}
	}
	want := api.JobNIC{Rank: 1, Name: f.Need.NICs[1], State: "bad", Ports: 2, Up: 1, Why: "down"}
	if got := r.Racks[0].NICs[1]; got != want {
		t.Errorf("NIC 1 is %+v, want %+v", got, want)
	}
	if got := r.Racks[1].NICs[0]; got.State != "unknown" || got.Why == "" || got.Rank != 4 {
		t.Errorf("NIC 4 is %+v", got)
	}
	f.Fabric = Fabric{Known: Fact{Why: "no fabric yet"}}
	if got := Racks("j", f).Racks[0]; got.Good != 0 || got.Left != nil ||
		got.NICs[0].Why != "no fabric yet" {
		t.Errorf("without a fabric the rack is %+v", got)
	}
}

// TestRacksOfManyRanks: a job of very many ranks has no NICs one by one.
func TestRacksOfManyRanks(t *testing.T) {
	f := &Facts{Need: &Need{Racks: []string{"a+b"}}}
	for range api.MaxJobNICs + 1 {
		f.Need.NICs, f.Need.Rack = append(f.Need.NICs, "n"), append(f.Need.Rack, 0)
	}
	r := Racks("j", f).Racks[0]
	if r.Ranks != api.MaxJobNICs+1 || r.NICs != nil || len(r.Switches) != 2 {
		t.Errorf("%d ranks, %d NICs, at %v", r.Ranks, len(r.NICs), r.Switches)
	}
}

// TestAffected: the ranks at a part depend on it, and all where it is above the leaves.
func TestAffected(t *testing.T) {
	f := clos(2, 3, 2, 2, 2)
	link := &f.Fabric.Links[0] // from the leaf of rack 0
	f.Fabric.Links = append(f.Fabric.Links, Link{Name: "core", ID: "core/0", Plane: 1,
		From: "p0-t1-0", To: "core0"}, Link{Name: "a~b", ID: "b~a", Plane: 2, From: "core1", To: "core2"},
		Link{})
	parts := NewParts(f.Need, &f.Fabric)
	for name, c := range map[string]struct {
		part api.Part
		want int
	}{
		"a NIC":                   {api.Part{Kind: api.PartHost, Name: f.Need.NICs[3]}, 1},
		"a host of another job":   {api.Part{Kind: api.PartHost, Name: "x"}, 0},
		"a leaf":                  {api.Part{Kind: api.PartSwitch, Name: t0(0, 1)}, 4},
		"a switch above":          {api.Part{Kind: api.PartSwitch, Name: "p0-t1-0"}, 12},
		"another switch":          {api.Part{Kind: api.PartSwitch, Name: "x"}, 0},
		"a link at a leaf":        {api.Part{Kind: api.PartLink, Name: link.ID}, 4},
		"the other direction":     {api.Part{Kind: api.PartLink, Name: f.Fabric.Links[1].ID}, 4},
		"a link above the leaves": {api.Part{Kind: api.PartLink, Name: "core/0"}, 12},
		"against the packets":     {api.Part{Kind: api.PartLink, Name: "a~b"}, 12},
		"what was not read":       {api.Part{Kind: api.PartLink}, 0},
		"another link":            {api.Part{Kind: api.PartLink, Name: "x"}, 0},
		"a plane":                 {api.Part{Kind: api.PartPlane, Name: "2"}, 12},
		"another plane":           {api.Part{Kind: api.PartPlane, Name: "9"}, 0},
	} {
		if got := parts.Affected(c.part); got != c.want {
			t.Errorf("%s: %d ranks, want %d", name, got, c.want)
		}
	}
}
