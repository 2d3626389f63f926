package controller_test

import (
	"slices"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store"
)

// TestRecordsCutAnywhere: a group is created, removed while a switch is away, and created again.
// The store may carry out only a part of the writes of each step. A controller that starts on the
// remaining records has the group from before the step or from after the step, and one index for
// the group.
func TestRecordsCutAnywhere(t *testing.T) {
	net := sample.Figure1()
	net.Inventory.Intervals.Settle = 0
	cfg := controller.Config{Inventory: net.Inventory, Start: start}
	core, err := controller.NewCore(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	core.SetTopology(net.Topology.Build())
	spec := net.Spec(1, "s1", "r1", "r3")
	put := func() {
		if _, _, err := core.Groups().Put("g", spec, resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	put()
	first, _ := core.Groups().Get("g")
	// they hold entries, which have to go after the removal
	for _, n := range first.Status.Tree.Nodes {
		core.SwitchConnected(n.Switch, entry.Contents{Entities: core.Wanted(n.Switch)})
	}
	cuts := 0
	kept := make(map[string]store.Record)
	check := func(step string, before, after int) {
		t.Helper()
		ops := core.Ready(0).Saves
		for cut := range len(ops) + 1 {
			if cut > 0 {
				op := ops[cut-1]
				if kept[op.Key] = (store.Record{Key: op.Key, Value: op.Value}); op.Value == nil {
					delete(kept, op.Key)
				}
			}
			_, isGroup := kept["groups/g"]
			if _, leaves := kept["leaving-groups/g"]; step != "create" && !isGroup && !leaves {
				t.Errorf("%s, after %d of %d writes: no record has the group's tree", step, cut, len(ops))
			}
			var records []store.Record
			for _, r := range kept {
				records = append(records, r)
			}
			slices.SortFunc(records, func(a,
				b store.Record) int {
				return slices.Compare([]byte(a.Key), []byte(b.Key))
			})
			for range 2 { // in any order
				again, err := controller.NewCore(cfg, records)
				if err != nil {
					t.Fatalf("%s, after %d of %d writes: %v", step, cut, len(ops), err)
				}
				if n := len(again.Groups().List()); (n == 1) != isGroup || cut == 0 && n != before ||
					cut == len(ops) && n != after {
					t.Errorf("%s, after %d of %d writes: %d groups", step, cut, len(ops), n)
				}
				again.SetTopology(net.Topology.Build())
				g, _, err := again.Groups().Put("g", spec, resource.Precondition{})
				if err != nil || g.Status.Index != first.Status.Index && cut == len(ops) {
					t.Errorf("%s, after %d of %d writes: %v, index %d", step, cut, len(ops), err, g.Status.Index)
				}
				leaving := slices.ContainsFunc(again.Ready(0).Saves,
					func(op store.Op) bool { return op.Key == "leaving-groups/g" && op.Value != nil })
				if leaving {
					t.Errorf("%s, after %d of %d writes: a group is kept as one that leaves", step, cut, len(ops))
				}
				slices.Reverse(records)
			}
			cuts++
		}
	}
	check("create", 0, 1)
	if err := core.Groups().Delete("g", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	check("delete", 1, 0)
	if _, ok := kept["leaving-groups/g"]; !ok {
		t.Fatal("the group left at once")
	}
	put()
	check("create again", 0, 1)
	if g, _ := core.Groups().Get("g"); g.Status.Index != first.Status.Index ||
		!g.Status.Is(api.Accepted) {
		t.Errorf("the group that comes again: %+v", g.Status)
	}
	if cuts < 8 {
		t.Errorf("%d cuts", cuts)
	}
}
