package mrc

import (
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/topology"
)

// read reads all that a job needs, and all links; nil: there is no fabric.
func (w *bed) read(need *ready.Need, names map[topology.NodeID]string) *ready.Fabric {
	w.t.Helper()
	out := &ready.Fabric{NICs: make([]ready.NIC, len(need.NICs))}
	j := w.core.ReadJob(need, names, func(string) (Stream, bool) { return Stream{}, false }, out)
	if j == nil {
		if out.Known.State == ready.Good || out.Known.Why == "" {
			w.t.Errorf("nothing is read, and known is %+v", out.Known)
		}
		return out
	}
	for i := range need.NICs {
		j.NIC(i)
	}
	for i := range need.Pairs {
		j.Path(i)
	}
	out.Links = make([]ready.Link, w.core.state.Links().Len())
	for i := range out.Links {
		j.Link(i, int32(i))
	}
	return out
}

// TestJobReading: a job learns why its fabric, paths or links are unknown; otherwise it gets the
// facts, with switch names from the inventory or the network.
func TestJobReading(t *testing.T) {
	need := needOf(1, 2)
	known := func(w *bed, want string, wiring bool) {
		t.Helper()
		if got := w.read(need, nil); !strings.HasPrefix(got.Known.Why, want) ||
			(want == "") != (got.Known == ready.IsGood()) {
			t.Errorf("%+v is known, want %q", got.Known, want)
		}
		if v := w.core.View(); (v.Wiring != nil) != wiring {
			t.Errorf("the wiring is %v", v.Wiring)
		}
	}
	w := newBed(t, 1, nil).clos(2, 3, 2, 2)
	w.net.SetNode(topology.Node{ID: spineID(1, 2), Name: "a spine"})
	known(w, "the topology is not in sync", false)
	w.start()
	known(w, "", true)
	got := w.read(need, map[topology.NodeID]string{leafID(1, 1): "of the inventory"})
	if got.Unprobed != "" {
		t.Errorf("unprobed, as %s", got.Unprobed)
	}
	if len(got.Paths) != 2 {
		t.Fatalf("%d paths, want one by each plane", len(got.Paths))
	}
	for i, from := range []string{"of the inventory", string(leafID(2, 1))} {
		if p := got.Paths[i]; p.From != from || p.To != string(leafID(i+1, 2)) || p.Why != "" ||
			p.Of == 0 || p.Active != p.Of {
			t.Errorf("path %d is %+v, want all its EVs from %s", i, p, from)
		}
	}
	names := make(map[string]bool)
	for _, l := range got.Links {
		names[l.From] = true
		if !l.Probed.IsZero() || l.Answered {
			t.Errorf("link %s was probed at %v before any result came", l.ID, l.Probed)
		}
	}
	if !names["of the inventory"] || !names["a spine"] || !names[string(spineID(1, 1))] ||
		names[string(spineID(1, 2))] || names[""] {
		t.Errorf("the names of switches are %v", names)
	}
	w.run(5 * time.Second)
	for i, p := range w.read(need, nil).Paths {
		if !p.Since.IsZero() {
			t.Errorf("path %d, which has all its EVs, is so since %v", i, p.Since)
		}
	}
	for _, l := range w.read(need, nil).Links {
		if l.Probed.IsZero() || !l.Answered {
			t.Errorf("link %s was probed at %v and answered: %v", l.ID, l.Probed, l.Answered)
		}
	}
	few := newBed(t, 1, func(c *Config) { c.MinActive = 4 }).clos(2, 3, 2, 2).start()
	few.run(time.Second)
	few.remove(few.both(leafID(1, 1), spineID(1, 1)))
	few.run(time.Second)
	if p := few.read(need, nil).Paths[0]; p.Since.IsZero() || p.Active >= p.Of {
		t.Errorf("the path of a lost link is %+v, want it to be so for a while", p)
	}
	none := newBed(t, 1, func(c *Config) { c.Probes.Rate = 0 }).clos(2, 3, 2, 2).start()
	if got := none.read(need, nil); got.Unprobed != "no host probes" {
		t.Errorf("unprobed, as %q", got.Unprobed)
	}
	w.net.SetNode(topology.Node{ID: leafID(1, 1), Pseudonode: true}) // no switch, so no leaf
	w.publish()
	if w.core.Failure() == nil {
		t.Fatal("there is still a fabric")
	}
	known(w, w.core.Failure().Error(), false)
}
