package controller

import (
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store"
)

// held returns what switches hold, by switch.
func (c *Core) held() map[string][]entry.Entity {
	out := make(map[string][]entry.Entity)
	for _, sw := range c.switches.Switches() {
		out[sw] = c.Held(sw)
	}
	return out
}

// connectWith connects switches that hold something, and has them carry out their tasks.
func (c *Core) connectWith(held map[string][]entry.Entity) {
	for _, sw := range c.switches.Switches() {
		c.SwitchConnected(sw, entry.Contents{Entities: held[sw]})
	}
	c.obey()
}

// written returns the updates that lead from one content of switches to another.
func (c *Core) written(before, after map[string][]entry.Entity) (out []string) {
	for sw := range after {
		for _, u := range reconcile.Difference(plan.Rank, before[sw], after[sw]) {
			out = append(out, sw+" "+u.String())
		}
	}
	slices.Sort(out)
	return out
}

func orphanNames(c *Core) (out []string) {
	for _, o := range c.Orphans() {
		out = append(out, o.Name)
	}
	return out
}

// programmedPFC is a core with a policy, a tenant and a PFC policy in its switches, and its
// records.
func programmedPFC(t *testing.T) (c *Core, records []store.Record) {
	c = figure3Core(t)
	c.connectWith(nil)
	if o := c.Orphans(); len(o) > 0 {
		t.Fatalf("orphans %+v", o)
	}
	return c, c.records()
}

// TestPFCOrphans: tenants, SRv6 policies and PFC policies that a controller does not know stay,
// with the ports that they need. New ones get other numbers. Policies that are applied again adopt
// their entries without a write.
func TestPFCOrphans(t *testing.T) {
	first, _ := programmedPFC(t)
	before := first.held()
	c := pfcCore(t, nil)
	c.connectWith(before)
	if w := c.written(before, c.held()); len(w) > 0 {
		t.Fatalf("written for nobody: %q", w)
	}
	found := orphanNames(c)
	for _, want := range []string{"tenant-1@R1", "tenant-1@R3", "slice-1@R1", "pfc-policy@R1",
		"pfc-policy@R3"} {
		if !slices.Contains(found, want) {
			t.Errorf("orphans %q, want %s", found, want)
		}
	}
	if !slices.ContainsFunc(c.Orphans(),
		func(o api.Orphan) bool { return o.Kind == api.OrphanSRv6Policy && o.Switch == "R1" }) {
		t.Errorf("orphans %q, want the list of the SRv6 policy", found)
	}

	// Another tenant and another policy leave them alone.
	policy := wanSpec()
	policy.Segments = nil
	if _, _, err := c.SRv6Policies().Put("other", policy, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	b := tenantSpec(2, 2, 12)
	b.Policies = []string{"other"}
	if _, _, err := c.Tenants().Put("b", b, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	c.obey()
	if vrf := c.Tenants().List()[0].Status.VRF; vrf != 2 {
		t.Errorf("the new tenant has VRF %d", vrf)
	}
	lost := 0
	for sw, entities := range before {
		now := make(map[entry.Key]entry.Entity)
		for _, e := range c.Held(sw) {
			now[e.Key()] = e
		}
		for _, e := range entities {
			if plan.OwnerOf(e) == plan.OwnerPFC && !entry.Equal(e, now[e.Key()]) {
				t.Errorf("%s: %v became %v", sw, e, now[e.Key()])
				lost++
			}
		}
	}
	// Both tenants have the same list for shortest paths at each end.
	shared := len(found) - len(orphanNames(c))
	if found = orphanNames(c); shared != 2 {
		t.Errorf("orphans %q, %d fewer than before, want 2", found, shared)
	}

	// After a restart the new tenant is known, and the orphans are orphans.
	with := c.held()
	c, records := pfcCore(t, c.records()), c.records()
	c.connectWith(with)
	if w := c.written(with, c.held()); len(w) > 0 || !slices.Equal(orphanNames(c), found) {
		t.Fatalf("after a restart: written %q, orphans %q, %d records", w, orphanNames(c), len(records))
	}

	if err := c.Tenants().Delete("b", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if err := c.SRv6Policies().Delete("other", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	c.obey()
	// The list that both had and no orphan leads to was the new tenant's, too.
	if w := c.written(before, c.held()); len(w) > 2 || len(w) > 0 &&
		!strings.Contains(w[0], "delete sr_policy/") {
		t.Errorf("left of the new tenant: %q", w)
	}

	// Applied again, they are what is there.
	if _, _, err := c.SRv6Policies().Put("wan", wanSpec(), resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Tenants().Put("a", tenantSpec(1, 3, 11), resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.PFCPolicies().Put("p", api.PFCPolicySpec{SRv6Policy: "wan", Tenant: "a"},
		resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	c.obey()
	if w := c.written(before, c.held()); len(w) > 0 || len(c.Orphans()) > 0 {
		t.Errorf("applied again: written %q, orphans %q", w, orphanNames(c))
	}
}

// TestPFCOrphansDeleted: what is deleted as an orphan goes, and the rest stays.
func TestPFCOrphansDeleted(t *testing.T) {
	first, _ := programmedPFC(t)
	before := first.held()
	c := pfcCore(t, nil)
	c.connectWith(before)
	if err := c.DeleteOrphan("tenant-1@R1"); err != nil {
		t.Fatal(err)
	}
	c.obey()
	for _, e := range c.Held("R1") {
		if vrf, ok := plan.VRFOf(e); ok && vrf == 1 {
			t.Errorf("left: %v", e)
		}
	}
	if !slices.Contains(orphanNames(c), "tenant-1@R3") ||
		!slices.Contains(orphanNames(c), "pfc-policy@R1") {
		t.Errorf("orphans %q", orphanNames(c))
	}
	for len(c.Orphans()) > 0 {
		if err := c.DeleteOrphan(c.Orphans()[0].Name); err != nil {
			t.Fatal(err)
		}
		c.obey()
	}
	for sw, entities := range c.held() {
		for _, e := range entities {
			if plan.OwnerOf(e) == plan.OwnerPFC {
				t.Errorf("%s: left: %v", sw, e)
			}
		}
	}
}

// TestPFCDeletedWhileAway: a tenant that was deleted while a switch was away is no orphan there.
func TestPFCDeletedWhileAway(t *testing.T) {
	c, _ := programmedPFC(t)
	away := c.Held("R3")
	c.SwitchDisconnected("R3", nil)
	c.deletePFC(t)
	c = pfcCore(t, c.records())
	c.SwitchConnected("R3", entry.Contents{Entities: away})
	c.obey()
	if o := c.Orphans(); len(o) > 0 {
		t.Errorf("orphans %+v", o)
	}
	c.holdsNoPFC(t, "R3")
}

// TestPFCDeletedWithoutNode: a switch that left the topology and comes back empty gets nothing of
// what was deleted meanwhile.
func TestPFCDeletedWithoutNode(t *testing.T) {
	c, _ := programmedPFC(t)
	whole := c.Topology()
	c.SwitchDisconnected("R2", nil)
	without := whole.Builder()
	without.RemoveNode("64512:R2")
	c.SetTopology(without.Build())
	c.obey()
	c.deletePFC(t)
	back := without.Build().Builder()
	for _, n := range whole.Nodes {
		back.SetNode(*n)
	}
	for _, l := range whole.Links {
		back.SetLink(*l)
	}
	c.SetTopology(back.Build())
	c.SwitchConnected("R2", entry.Contents{})
	c.obey()
	c.holdsNoPFC(t, "R2")
}

// TestDefaultsOfPFC: with the last tenant go the default actions that tenants need, also those of a
// switch that was away. A default action that does nothing is left alone.
func TestDefaultsOfPFC(t *testing.T) {
	c, _ := programmedPFC(t)
	set := func(sw string) bool {
		return slices.ContainsFunc(c.Held(sw), func(e entry.Entity) bool {
			return plan.OwnerOf(e) == plan.OwnerPFC && e.Kind() == entry.KindDefault
		})
	}
	if !set("R1") || !set("R2") {
		t.Fatal("tenants need no default actions")
	}
	away := c.Held("R2")
	c.SwitchDisconnected("R2", nil)
	c.deletePFC(t)
	c.holdsNoPFC(t, "R1")
	c.SwitchConnected("R2", entry.Contents{Entities: away})
	c.obey()
	c.holdsNoPFC(t, "R2")
	nothing := entry.DefaultOf(p4.TableSliceField, entry.Do(entry.NoAction))
	c.SwitchDisconnected("R2", nil)
	c.SwitchConnected("R2", entry.Contents{Entities: []entry.Entity{nothing}})
	c.obey()
	if !set("R2") {
		t.Error("a default action that does nothing is reset")
	}
}

// deletePFC deletes what putPFC has made.
func (c *Core) deletePFC(t *testing.T) {
	t.Helper()
	for _, del := range []func() error{
		func() error { return c.PFCPolicies().Delete("p", resource.Precondition{}) },
		func() error { return c.Tenants().Delete("a", resource.Precondition{}) },
		func() error { return c.SRv6Policies().Delete("wan", resource.Precondition{}) },
	} {
		if err := del(); err != nil {
			t.Fatal(err)
		}
		c.obey()
	}
}

// holdsNoPFC checks that a switch holds nothing of tenants, default actions of tables included.
func (c *Core) holdsNoPFC(t *testing.T, sw string) {
	t.Helper()
	for _, e := range c.Held(sw) {
		if plan.OwnerOf(e) == plan.OwnerPFC {
			t.Errorf("left: %v", e)
		}
	}
}
