package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/store"
)

// TestDependents: the core computes the dependencies of a job once, and anew at a reading in a new
// fabric. Unknown dependencies stay, and removed jobs leave nothing behind.
func TestDependents(t *testing.T) { bubble.Test(t, dependents) }

func dependents(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	core := pfcCore(t, nil)
	leaf, known := "L1", true
	fabric := &knownFabric{read: func(need *ready.Need) (out ready.Fabric) {
		if known {
			out.Known = ready.IsGood()
			for range need.NICs {
				out.NICs = append(out.NICs, ready.NIC{Ports: []ready.Port{{Number: 1, Leaf: leaf}}})
			}
		}
		return out
	}}
	c, err := NewController(ctx, Options{Inventory: *core.configured, Store: store.NewMemory(),
		Multipath: fabric})
	if err != nil {
		t.Fatal(err)
	}
	fabric.to.Store(c)
	c.core.configured.Switches = nil
	served := make(chan error, 1)
	go func() { served <- c.ledger.Run(ctx, c.core, c.step) }()
	defer func() {
		cancel()
		<-served
	}()
	rewire := func(n uint64) {
		fabric.look(func(v *fabricview.View) { v.Wiring = n })
		synctest.Wait()
	}
	rewire(1)
	put := func(name, hosts string, priority int) {
		t.Helper()
		spec := jobOn(hosts, 2)
		spec.Priority = priority
		if _, _, err := c.Jobs().Put(ctx, name, spec, resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, wantFound int, at map[string][]string) {
		t.Helper()
		before := maps.Clone(c.depend.parts)
		of, err := c.Dependents(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[string][]string)
		for _, name := range []string{"L1", "L2", "L3"} {
			for _, j := range of(api.Part{Kind: api.PartSwitch, Name: name}) {
				got[name] = append(got[name], fmt.Sprint(j.Name, " ", j.Affected, "/", j.Ranks))
			}
		}
		found := 0
		for need, p := range c.depend.parts {
			if before[need].Parts != p.Parts {
				found++
			}
		}
		if found != wantFound || !maps.EqualFunc(got, at, slices.Equal[[]string]) {
			t.Errorf("%s: found %d times, %v, want %d, %v", when, found, got, wantFound, at)
		}
	}
	put("a", "a1,a2", 0)
	want("the first time", 1, map[string][]string{"L1": {"a 2/2"}})
	want("again", 0, map[string][]string{"L1": {"a 2/2"}})
	put("b", "a1,a2", 5)
	want("another job", 1, map[string][]string{"L1": {"b 2/2", "a 2/2"}})
	leaf = "L2"
	fabric.pauses = true
	rewire(2)
	want("another fabric at once", 0, map[string][]string{"L1": {"b 2/2", "a 2/2"}})
	fabric.pauses = false
	rewire(2)
	want("when it is read", 2, map[string][]string{"L2": {"b 2/2", "a 2/2"}})
	known = false
	rewire(3)
	want("not known any more", 0, map[string][]string{"L2": {"b 2/2", "a 2/2"}})
	leaf, known = "L3", true
	rewire(4)
	want("known again", 2, map[string][]string{"L3": {"b 2/2", "a 2/2"}})
	if err := c.Jobs().Delete(ctx, "b", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	want("a job less", 0, map[string][]string{"L3": {"a 2/2"}})
	if len(c.depend.parts) != 1 {
		t.Errorf("%d jobs are kept, want 1", len(c.depend.parts))
	}
}
