package lab

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls"
	"github.com/weft-sdn/weft/topology/topologytest"
)

// TestHeard: the reports of switches survive the encoding as BGP-LS, including every flavor of
// End.X.PFC with its codepoint.
func TestHeard(t *testing.T) {
	w, err := NewWorld(PFCNetwork(10*time.Millisecond, 1e9), Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	said := w.Learned(topology.NewBuilder())
	heard, err := w.Heard()
	if err != nil {
		t.Fatal(err)
	}
	if d := topologytest.Differences(said, heard); len(d) > 0 || heard.Stale != nil {
		t.Errorf("heard something else, stale %+v: %q", heard.Stale, d)
	}
	seen := make(map[topology.Behavior]int)
	for _, l := range heard.Links {
		for _, x := range l.EndX {
			seen[x.Behavior]++
		}
	}
	for code := topology.Behavior(0x8010); code <= 0x8014; code++ {
		if seen[code] != 4 { // two links of R1, two of R3
			t.Errorf("%d SIDs of behavior %#x, want 4", seen[code], uint16(code))
		}
	}
	if _, err := bgpls.Heard(bgpls.Objects{Node: topology.Node{ID: "R1"}}); err == nil {
		t.Error("a node without a router-id was heard")
	}
}
