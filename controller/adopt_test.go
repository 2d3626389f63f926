package controller_test

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store"
)

// orphans starts a controller without records beside switches that hold the
// groups a, g and h, of index 0 to 2.
func orphans(
	t *testing.T, seed uint64, mode api.GroupMode,
) (w *bed, specs [3]api.MulticastGroupSpec, epoch uint32) {
	net := sample.Figure1()
	w = up(t, net, seed)
	specs = [3]api.MulticastGroupSpec{
		net.Spec(1, "s1", "r1", "r4"), net.Spec(2, "s1", "r1", "r5"), net.Spec(3, "r1", "r2", "r3"),
	}
	for i := range specs {
		specs[i].Mode = mode
		w.put(string("agh"[i]), specs[i])
		w.run(time.Second)
	}
	// g has grown, and the data of g uses the tree of the second turn.
	specs[1] = net.Spec(2, "s1", "r1", "r2", "r3", "r5")
	specs[1].Mode = mode
	epoch = w.put("g", specs[1]).Status.Epoch
	w.run(time.Second)
	w.pump()
	w.wires = w.core.Topology()
	w.store = store.NewMemory()
	for name := range w.devices {
		w.session[name]++
	}
	w.boot()
	return w, specs, epoch
}

// holds reports whether some switch holds something of an index.
func (w *bed) holds(index int) bool {
	for _, d := range w.devices {
		for _, e := range d.Entities {
			if plan.GroupOf(e) == index {
				return true
			}
		}
	}
	return false
}

// A group that is applied again keeps the index, and the data keeps the path: the controller writes
// no data entities if the tree is the same.
func TestAdopt(t *testing.T) {
	for _, mode := range []api.GroupMode{api.ModeProvisioned, api.ModeInband} {
		t.Run(string(mode), func(t *testing.T) {
			seeds(t, 20, func(t *testing.T, seed uint64) {
				w, specs, epoch := orphans(t, seed, mode)
				var written []entry.Update
				for _, d := range w.devices {
					wrote := d.Wrote
					d.Wrote = func(u entry.Update) {
						wrote(u)
						if plan.GroupOf(u.Entity) >= 0 {
							written = append(written, u)
						}
					}
				}
				if mode == api.ModeProvisioned {
					w.always(&specs[1], []string{"r1", "r2", "r3", "r5"})
				}
				w.core.SetTopology(w.wires)
				w.connectAll()
				w.run(150 * time.Millisecond)
				if len(written) > 0 {
					t.Fatalf("written for nobody: %v", written)
				}
				g := w.put("again", specs[1]) // the name is not in the switches
				if g.Status.Index != 1 || g.Status.Epoch <= epoch {
					t.Errorf("index %d, epoch %d after %d", g.Status.Index, g.Status.Epoch, epoch)
				}
				if n := w.put("n", w.net.Spec(4, "s1", "r2")); n.Status.Index != 3 {
					t.Errorf("a new group has index %d", n.Status.Index)
				}
				w.run(100 * time.Millisecond)
				for _, u := range written {
					if _, isResponse := plan.EpochOf(u.Entity); plan.GroupOf(u.Entity) == 1 && !isResponse {
						t.Errorf("written: %v", u)
					}
				}
				if g = w.group("again"); !g.Status.Is(api.Programmed) || !w.holds(0) || !w.holds(2) {
					t.Errorf("after 250 ms: %+v", g.Status)
				}
				w.every = nil
				if mode == api.ModeProvisioned {
					w.delivers(&specs[2])
				}
				w.run(time.Hour)
				if !w.holds(0) || !w.holds(2) {
					t.Error("groups that nobody has applied are removed")
				}
				w.deleteOrphans()
				w.run(time.Second)
				if w.holds(0) || w.holds(2) {
					t.Error("groups stay that were deleted as orphans")
				}
				w.converged()
			})
		})
	}
}

// A group that is applied again with other receivers moves to the new tree like any other group.
func TestAdoptMoves(t *testing.T) {
	seeds(t, 20, func(t *testing.T, seed uint64) {
		w, _, epoch := orphans(t, seed, api.ModeProvisioned)
		w.core.SetTopology(w.wires)
		w.connectAll()
		w.run(50 * time.Millisecond)
		spec := w.net.Spec(2, "s1", "r4", "r5", "r1")
		w.always(&spec, []string{"r1", "r5"}, "r2", "r3", "r4")
		if g := w.put("g", spec); g.Status.Index != 1 || g.Status.Epoch <= epoch {
			t.Errorf("index %d, epoch %d after %d", g.Status.Index, g.Status.Epoch, epoch)
		}
		if seed%2 == 1 { // changes its mind on the way
			w.run(w.random(10 * time.Millisecond))
			spec = w.net.Spec(2, "s1", "r1", "r2", "r5")
			w.always(&spec, []string{"r1", "r5"}, "r2", "r3", "r4")
			w.put("g", spec)
		}
		w.run(time.Second)
		w.every = nil
		w.deleteOrphans()
		w.run(time.Second)
		w.converged()
		w.delivers(&spec)
	})
}

// A group that is applied before any read takes the index of no orphan. A group that is deleted
// again leaves no entries.
func TestAdoptEarlyAndNever(t *testing.T) {
	w, specs, _ := orphans(t, 1, api.ModeProvisioned)
	w.core.SetTopology(w.wires)
	if g := w.put("early", w.net.Spec(9, "s1",
		"r2")); int(g.Status.Index) != w.net.Inventory.Limits.Groups-1 {
		t.Errorf("index %d", g.Status.Index)
	}
	w.always(&specs[1], []string{"r1", "r2", "r3", "r5"})
	w.connectAll()
	w.run(50 * time.Millisecond)
	w.every = nil
	if w.put("a", specs[0]).Status.Index != 0 {
		t.Error("a has another index")
	}
	if err := w.core.Groups().Delete("a", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	w.run(100 * time.Millisecond)
	if w.holds(0) || !w.holds(1) {
		t.Error("a stays, or g does not")
	}
	// The entities on a returning switch are orphans too, and h is still an orphan.
	late := slices.Clone(w.devices["n1"].Contents().Entities)
	w.disconnect("n1")
	w.run(time.Second)
	for _, e := range late {
		w.devices["n1"].Entities[e.Key()] = e
	}
	w.connect("n1")
	w.run(time.Second)
	w.deleteOrphans()
	w.run(time.Second)
	w.converged()
}

// deleteOrphans deletes all orphans by request.
func (w *bed) deleteOrphans() {
	w.t.Helper()
	for _, o := range w.core.Orphans() {
		if err := w.core.DeleteOrphan(o.Name); err != nil {
			w.t.Error(err)
		}
	}
	if left := w.core.Orphans(); len(left) > 0 {
		w.t.Errorf("left: %+v", left)
	}
}
