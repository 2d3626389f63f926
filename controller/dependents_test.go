package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
)

// TestDependents: what jobs depend on is read once for a job, and again in another fabric, at most
// once a second; what is not known any more stays; a job that is gone is not there.
func TestDependents(t *testing.T) { synctest.Test(t, dependents) }

func dependents(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	core := pfcCore(t, nil)
	leaf, known, reads := "L1", true, 0
	c, err := NewController(ctx, Options{Inventory: *core.configured, Store: store.NewMemory(),
		Fabric: func(_ context.Context, need *ready.Need) (out ready.Fabric, err error) {
			if reads++; known {
				out.Known = ready.IsGood()
				for range need.NICs {
					out.NICs = append(out.NICs, ready.NIC{Ports: []ready.Port{{Number: 1, Leaf: leaf}}})
				}
			}
			return out, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	c.core.configured.Switches = nil
	served := make(chan error, 1)
	go func() { served <- c.ledger.Run(ctx, c.core, c.step) }()
	defer func() {
		cancel()
		<-served
	}()
	rewire := func(n uint64) { c.SetFabric(&fabricview.View{Revision: n, Wiring: n}) }
	rewire(1)
	put := func(name, hosts string, priority int) {
		t.Helper()
		spec := jobOn(hosts, 2)
		spec.Priority = priority
		if _, _, err := c.Jobs().Put(ctx, name, spec, resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, wantReads int, at map[string][]string) {
		t.Helper()
		reads = 0
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
		if reads != wantReads || !maps.EqualFunc(got, at, slices.Equal[[]string]) {
			t.Errorf("%s: %d reads, %v, want %d, %v", when, reads, got, wantReads, at)
		}
	}
	put("a", "a1,a2", 0)
	want("the first time", 1, map[string][]string{"L1": {"a 2/2"}})
	want("again", 0, map[string][]string{"L1": {"a 2/2"}})
	put("b", "a1,a2", 5)
	want("another job", 1, map[string][]string{"L1": {"b 2/2", "a 2/2"}})
	leaf = "L2"
	rewire(2)
	want("another fabric at once", 0, map[string][]string{"L1": {"b 2/2", "a 2/2"}})
	time.Sleep(time.Second)
	want("a second later", 2, map[string][]string{"L2": {"b 2/2", "a 2/2"}})
	known = false
	rewire(3)
	time.Sleep(time.Second)
	want("not known any more", 2, map[string][]string{"L2": {"b 2/2", "a 2/2"}})
	leaf, known = "L3", true
	rewire(4)
	time.Sleep(time.Second)
	want("known again", 2, map[string][]string{"L3": {"b 2/2", "a 2/2"}})
	if err := c.Jobs().Delete(ctx, "b", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	want("a job less", 0, map[string][]string{"L3": {"a 2/2"}})
	if len(c.depend.parts) != 1 {
		t.Errorf("%d jobs are kept, want 1", len(c.depend.parts))
	}
}
