package mrc

import (
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// TestTakes: a drain says beforehand which EV profiles keep paths in fewer planes, and how many
// ports a host keeps; a smaller profile says how many EVs its hosts keep. A write that takes
// nothing lists nothing.
func TestTakes(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 1).start()
	w.run(time.Second)
	taken := func(target Target) []api.Taken {
		t.Helper()
		places, err := w.core.checkDrain(target)
		if err != nil {
			t.Fatal(err)
		}
		return w.core.takes(target, places)
	}
	leaf := topology.NodeID("")
	for _, n := range w.core.state.Fabric().Snapshot().Nodes {
		if n.DisplayName() == "leaf1-1" {
			leaf = n.ID
		}
	}
	link := w.both("leaf1-1", "spine1-1")[0].ID
	host := w.core.profiles.all[0].from.rack.Hosts()[0].Name
	for _, c := range []struct {
		target Target
		n      int
		says   string
	}{
		{Target{Plane: 1}, 9, "it keeps paths in 1 of 2 planes"},
		{Target{Node: leaf}, 5, "it keeps paths in 1 of 2 planes"}, // from and to its rack
		{Target{Link: link}, 0, ""},                                // the other spine is left
		{Target{Host: host, Port: 2}, 1, "it keeps 1 of 2 usable ports"},
	} {
		all := taken(c.target)
		if len(all) != c.n {
			t.Errorf("%v takes %+v, want %d", c.target, all, c.n)
		}
		for _, x := range all {
			if x.Message != c.says || x.Reason != api.ReasonTaken || !strings.HasSuffix(x.Object, x.Name) {
				t.Errorf("%v takes %+v, want %q", c.target, x, c.says)
			}
		}
	}
	if err := w.core.Drain(Target{Plane: 1}); err != nil {
		t.Fatal(err)
	}
	w.run(time.Second)
	if all := taken(Target{Plane: 1}); len(all) > 0 {
		t.Errorf("a drain that is there takes %+v", all)
	}
	name := w.core.profiles.all[0].name
	count := w.core.profiles.all[0].Built().Count
	for most, want := range map[int]int{count - 1: 1, count: 0} {
		if all := w.core.fewer(name, Override{MaxEVs: most}); len(all) != want {
			t.Errorf("%d of %d EVs take %+v, want %d", most, count, all, want)
		}
	}
}
