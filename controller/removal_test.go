package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/southbound/entry"
)

// removals returns the events of removals since the last call, and checks that they count every
// deletion.
func (w *bed) removals(deleted *int) (out []api.Event) {
	w.t.Helper()
	said := 0
	for _, e := range w.log {
		if e.Type == api.EventEntriesRemoved {
			var n int
			if _, err := fmt.Sscanf(e.Message, "%d entries of ", &n); err != nil {
				w.t.Errorf("%q: %v", e.Message, err)
			}
			said += n
			out = append(out, e)
		}
	}
	if said != *deleted {
		w.t.Errorf("events of %d removed entries, %d were deleted: %v", said, *deleted, out)
	}
	w.log, *deleted = nil, 0
	return out
}

// TestRemovalsAreEvents: each removal of entries in force sends one event. The event names the
// owner of the entries, the switches, the number of entries and the reason.
func TestRemovalsAreEvents(t *testing.T) {
	seeds(t, 10, func(t *testing.T, seed uint64) {
		net := sample.Figure1()
		w := up(t, net, seed)
		w.log = nil // routes have been aggregated
		deleted := 0
		for _, d := range w.devices {
			wrote := d.Wrote
			d.Wrote = func(u entry.Update) {
				wrote(u)
				if u.Type == entry.Delete {
					deleted++
				}
			}
		}
		w.put("g", net.Spec(1, "s1", "r1", "r3", "r5"))
		w.put("h", net.Spec(2, "s1", "r1", "r4"))
		w.run(time.Second)
		if e := w.removals(&deleted); len(e) > 0 {
			t.Errorf("created: %v", e)
		}
		one := func(step, object, why string, switches ...string) {
			t.Helper()
			var of []api.Event
			for _, e := range w.removals(&deleted) {
				if e.Object == object {
					of = append(of, e)
				}
			}
			if len(of) != 1 || !strings.HasSuffix(of[0].Message, ": "+why) {
				t.Errorf("%s: %v, want one of %s: %s", step, of, object, why)
				return
			}
			for _, sw := range switches {
				if !strings.Contains(of[0].Message, sw) {
					t.Errorf("%s: %q lacks %s", step, of[0].Message, sw)
				}
			}
		}
		w.put("g", net.Spec(1, "s1", "r1", "r3"))
		w.run(time.Second)
		one("smaller", "group g", "its tree has changed", "n3")
		if err := w.core.Groups().Delete("g", resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		w.run(time.Second)
		one("deleted", "group g", "it was deleted", "n1", "n2", "n6")
		for _, l := range net.Topology.Build().Links {
			if n5, n3 := net.Node("n5"), net.Node("n3"); l.Local == n5 && l.Remote == n3 || l.Local == n3 &&
				l.Remote == n5 {
				net.Topology.RemoveLink(l.ID)
			}
		}
		w.core.SetTopology(net.Topology.Build())
		w.run(time.Second)
		one("a link lost", "routes", "the topology or the configuration has changed, or others stand "+
			"for them")
		// A switch that was away loses what was deleted meanwhile.
		w.disconnect("n1")
		if err := w.core.Groups().Delete("h", resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		w.run(time.Second)
		w.removals(&deleted)
		w.reboot(false)
		w.connectAll()
		w.run(time.Second)
		one("back", "group h", "it was deleted", "n1")
	})
}
