package mrc

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/topology"
)

// TestUplinks: the uplinks are the advertised links from leaves to spines, with the inventory's
// names and ports for switches in the inventory.
func TestUplinks(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 1)
	if len(w.core.Uplinks()) > 0 {
		t.Error("there are uplinks before there is a fabric")
	}
	w.start()
	w.run(time.Second)
	if n := len(w.core.Uplinks()); n != 2*3*2 {
		t.Fatalf("%d uplinks, want %d", n, 2*3*2)
	}
	links := w.both("leaf1-1", "spine1-2")
	l := w.core.state.Advertised().Link(links[0].ID)
	of := map[topology.NodeID]*inventory.Switch{
		"leaf1-1": {Name: "L", Ports: map[uint32]uint32{l.LocalID: 77}}, "spine1-2": {Name: "S"},
	}
	find := func() (found int) {
		for _, up := range w.core.state.Fabric().Uplinks(w.core.state.Advertised(), of) {
			if up == (fabric.Uplink{Plane: 1, From: "L", To: "S", Port: 77}) {
				found++
			}
		}
		return found
	}
	if n := find(); n != 1 {
		t.Errorf("the uplink of the inventory is there %d times: %+v",
			n, w.core.state.Fabric().Uplinks(w.core.state.Advertised(), of))
	}
	w.remove(links)
	w.run(time.Millisecond)
	if n, all := find(), len(w.core.Uplinks()); n != 0 || all != 11 {
		t.Errorf("a link that is no longer advertised is an uplink; %d in all, want 11", all)
	}
}

// TestUplinksOfThreeTiers: links between the upper tiers, and links down, are no uplinks.
func TestUplinksOfThreeTiers(t *testing.T) {
	w := newBed(t, 1, nil).pods(1, 2, 1).start()
	w.run(time.Second)
	of, tier := map[topology.NodeID]*inventory.Switch{}, map[string]int{}
	for _, n := range w.core.state.Advertised().Nodes {
		of[n.ID] = &inventory.Switch{Name: string(n.ID)}
		tier[string(n.ID)], _ = w.core.state.Fabric().Clos().Tier(n.ID)
	}
	all := w.core.state.Fabric().Uplinks(w.core.state.Advertised(), of)
	if len(all) != 2*2*2 {
		t.Errorf("%d uplinks, want 8: two leaves a pod, with two links each", len(all))
	}
	for _, up := range all {
		if tier[up.From] != 0 || tier[up.To] != 1 {
			t.Errorf("%+v leads from tier %d to tier %d", up, tier[up.From], tier[up.To])
		}
	}
}
