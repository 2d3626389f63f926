package controller_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store"
)

// reboot ends the core, and starts another on the same store; lost empties the store.
func (w *bed) reboot(lost bool) {
	w.pump()
	w.wires = w.core.Topology()
	if lost {
		w.store = store.NewMemory()
	}
	for name := range w.devices {
		w.session[name]++
	}
	w.log = nil
	w.boot()
	w.core.SetTopology(w.wires)
}

// eventsOf returns the objects of the events of a type.
func (w *bed) eventsOf(t api.EventType) (objects []string) {
	for _, e := range w.log {
		if e.Type == t {
			objects = append(objects, e.Object)
		}
	}
	slices.Sort(objects)
	return objects
}

func namesOf(orphans []api.Orphan) (out []string) {
	for _, o := range orphans {
		out = append(out, o.Name)
	}
	slices.Sort(out)
	return out
}

// TestOrphansAreKept: a controller without its records keeps what it finds, shows it, and removes
// what a client names, and nothing else.
func TestOrphansAreKept(t *testing.T) {
	seeds(t, 10, func(t *testing.T, seed uint64) {
		w, _, _ := orphans(t, seed, api.ModeProvisioned)
		before := w.contents()
		w.core.SetTopology(w.wires)
		w.connectAll()
		w.run(time.Hour)
		if c := changed(before, w.contents()); len(c) > 0 {
			t.Fatalf("changed without a request: %v", c)
		}
		list := w.core.Orphans()
		found := w.eventsOf(api.EventOrphanFound)
		if len(list) < 8 || !slices.Equal(namesOf(list), found) ||
			len(w.eventsOf(api.EventOrphanGone)) > 0 {
			t.Errorf("orphans %q, found %q, gone %q", namesOf(list), found, w.eventsOf(api.EventOrphanGone))
		}
		i := slices.IndexFunc(list, func(o api.Orphan) bool { return o.Switch == "n6" && o.Index == 0 })
		o := list[i]
		if o.Name != "multicast-group-0@n6" || o.Kind != api.OrphanGroup || o.Entries < 5 ||
			o.Detail != "proxy address 2001:db8:ffff::1" || o.Reason == "" || !o.Connected ||
			o.Since.IsZero() || !o.Removal.IsZero() {
			t.Errorf("%+v", o)
		}
		for _, s := range w.core.Switches() {
			c := s.Conditions.Find(api.OrphansKept)
			has := slices.ContainsFunc(list, func(o api.Orphan) bool { return o.Switch == s.Name })
			if (c != nil && c.Status) != has {
				t.Errorf("%s: %+v, has orphans: %v", s.Name, c, has)
			}
		}
		if err := w.core.DeleteOrphan(o.Name); err != nil {
			t.Fatal(err)
		}
		if err := w.core.DeleteOrphan(o.Name); err == nil {
			t.Error("it is deleted twice")
		}
		w.run(time.Minute)
		after := changed(before, w.contents())
		if len(after) != 1 || after[0].Switch != "n6" || len(after[0].Updates) != o.Entries {
			t.Errorf("changed: %v, want %d entries of n6", after, o.Entries)
		}
		if removed := w.eventsOf(api.EventOrphanRemoved); !slices.Equal(removed, []string{o.Name}) ||
			len(w.eventsOf(api.EventOrphanGone)) > 0 {
			t.Errorf("removed %q, gone %q", removed, w.eventsOf(api.EventOrphanGone))
		}
		w.deleteOrphans()
		w.run(time.Second)
		w.converged()
	})
}

// TestDeletedWhileAway: what was deleted or moved while a switch was away is no orphan, also for a
// controller that starts before the switch is back.
func TestDeletedWhileAway(t *testing.T) {
	for _, restart := range []bool{false, true} {
		for _, reuse := range []bool{false, true} {
			t.Run(fmt.Sprintf("restart=%v reuse=%v", restart, reuse), func(t *testing.T) {
				seeds(t, 10, func(t *testing.T, seed uint64) {
					net := sample.Figure1()
					w := up(t, net, seed)
					w.put("g", net.Spec(1, "s1", "r1", "r3"))
					w.put("h", net.Spec(2, "s1", "r1", "r4"))
					w.run(time.Second)
					w.disconnect("n1") // r1 is there
					if err := w.core.Groups().Delete("g", resource.Precondition{}); err != nil {
						t.Fatal(err)
					}
					w.put("h", net.Spec(2, "s1", "r4"))
					w.run(time.Minute)
					if reuse { // the index of g
						if i := w.put("i", net.Spec(3, "s1", "r3", "r5")).Status.Index; i != 0 {
							t.Fatalf("index %d", i)
						}
						w.run(time.Second)
					}
					if restart {
						w.reboot(false)
						for name := range w.devices {
							if name != "n1" {
								w.connect(name)
							}
						}
						w.run(time.Minute)
					}
					if !slices.ContainsFunc(w.devices["n1"].Contents().Entities,
						func(e entry.Entity) bool { return strings.Contains(e.String(), "mt_proxy") }) {
						t.Fatal("n1 holds nothing of g")
					}
					w.log = nil
					w.connect("n1")
					w.run(time.Second)
					if o := w.core.Orphans(); len(o) > 0 || len(w.eventsOf(api.EventOrphanFound)) > 0 {
						t.Errorf("orphans %+v", o)
					}
					w.converged()
				})
			})
		}
	}
}

// TestForeignAfterRestart: a controller with its records keeps entries that others have written
// meanwhile at unused indexes and on unused switches, and an orphan stays an orphan over restarts.
func TestForeignAfterRestart(t *testing.T) {
	seeds(t, 10, func(t *testing.T, seed uint64) {
		w, specs, _ := orphans(t, seed, api.ModeProvisioned)
		w.core.SetTopology(w.wires)
		w.connectAll()
		w.run(time.Second)
		if g := w.put("g", specs[1]); g.Status.Index != 1 { // adopted
			t.Fatalf("index %d", g.Status.Index)
		}
		for i := range 3 { // in the order of free indexes
			if g := w.put(fmt.Sprintf("n%d", i),
				w.net.Spec(10+i, "s1", "r2", "r3")); int(g.Status.Index) != 3+i {
				t.Errorf("index %d, want %d", g.Status.Index, 3+i)
			}
		}
		w.run(time.Second)
		before, list := w.contents(), w.core.Orphans()
		if len(list) == 0 || slices.ContainsFunc(list,
			func(o api.Orphan) bool { return o.Index == 1 || o.Index > 2 }) {
			t.Errorf("orphans %q", namesOf(list))
		}
		for range 2 {
			w.reboot(false)
			w.connectAll()
			w.run(time.Minute)
			if c := changed(before, w.contents()); len(c) > 0 {
				t.Fatalf("written after the restart: %v", c)
			}
			again := w.core.Orphans()
			if !slices.Equal(namesOf(again), namesOf(list)) || !again[0].Since.Equal(list[0].Since) {
				t.Errorf("orphans %+v, were %+v", again, list)
			}
		}
		// Deleted while its switch is away, and the controller restarts in between.
		o := list[0]
		w.disconnect(o.Switch)
		if err := w.core.DeleteOrphan(o.Name); err != nil {
			t.Fatal(err)
		}
		w.reboot(false)
		w.connectAll()
		w.run(time.Minute)
		c := changed(before, w.contents())
		if len(c) != 1 || c[0].Switch != o.Switch || len(c[0].Updates) != o.Entries {
			t.Errorf("changed %v, want %d entries of %s", c, o.Entries, o.Switch)
		}
		if rest := namesOf(w.core.Orphans()); !slices.Equal(rest, namesOf(list)[1:]) &&
			len(rest) != len(list)-1 {
			t.Errorf("left %q of %q", rest, namesOf(list))
		}
	})
}

// TestOrphanPolicy: with the policy "remove", orphans go after their time, not before, and not
// before the topology has settled.
func TestOrphanPolicy(t *testing.T) {
	w, _, _ := orphans(t, 1, api.ModeProvisioned)
	w.net.Inventory.Orphans = inventory.Orphans{Policy: inventory.OrphansRemove,
		After: api.Duration(time.Minute)}
	w.boot()
	before := w.contents()
	w.connectAll()
	w.run(10 * time.Minute)
	if c := changed(before, w.contents()); len(c) > 0 {
		t.Fatalf("changed without a topology: %v", c)
	}
	w.net.Inventory.Orphans.After = api.Duration(20 * time.Minute)
	if err := w.core.SetInventory(w.net.Inventory); err != nil {
		t.Fatal(err)
	}
	w.core.SetTopology(w.wires)
	w.run(9 * time.Minute)
	if c := changed(before, w.contents()); len(c) > 0 {
		t.Fatalf("changed before the time: %v", c)
	}
	for _, o := range w.core.Orphans() {
		if !o.Removal.Equal(o.Since.Add(20 * time.Minute)) {
			t.Errorf("%+v", o)
		}
	}
	n := len(w.core.Orphans())
	w.run(2 * time.Minute)
	if o := w.core.Orphans(); len(o) > 0 || len(w.eventsOf(api.EventOrphanRemoved)) != n {
		t.Errorf("left %+v, removed %q", o, w.eventsOf(api.EventOrphanRemoved))
	}
	w.converged()
}

// TestOrphanGone: an orphan that somebody else removes is gone.
func TestOrphanGone(t *testing.T) {
	w, _, _ := orphans(t, 1, api.ModeProvisioned)
	w.core.SetTopology(w.wires)
	w.connectAll()
	w.run(time.Second)
	w.disconnect("n6")
	maps.DeleteFunc(w.devices["n6"].Entities,
		func(_ entry.Key, e entry.Entity) bool { return strings.Contains(e.String(), "group=0") })
	delete(w.devices["n6"].Entities, "multicast/64")
	w.connect("n6")
	w.run(time.Second)
	if gone := w.eventsOf(api.EventOrphanGone); !slices.Equal(gone, []string{"multicast-group-0@n6"}) {
		t.Errorf("gone %q, left %q", gone, namesOf(w.core.Orphans()))
	}
}
