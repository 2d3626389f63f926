package controller

import (
	"reflect"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/southbound/entry"
)

// TestTrialOfTenants: dry runs of SRv6 policies, tenants and PFC policies change nothing, and
// say exactly what the writes then change on the switches.
func TestTrialOfTenants(t *testing.T) {
	topo, inv := pfcNetwork()
	inv.Intervals.Settle, inv.Intervals.Audit = 0, 0
	core, err := NewCore(Config{Inventory: inv}, nil)
	if err != nil {
		t.Fatal(err)
	}
	core.SetTopology(topo)
	for _, name := range core.switches.Switches() {
		core.SwitchConnected(name, entry.Contents{})
	}
	core.obey()
	for _, c := range []struct {
		name string
		put  func(c *Core) error
	}{
		{"SRv6 policy", func(c *Core) error {
			_, _, err := c.SRv6Policies().Put("wan", wanSpec(), resource.Precondition{})
			return err
		}},
		{"tenant", func(c *Core) error {
			spec := tenantSpec(1, 3, 11)
			spec.Policies = []string{"wan"}
			_, _, err := c.Tenants().Put("a", spec, resource.Precondition{})
			return err
		}},
		{"PFC policy", func(c *Core) error {
			_, _, err := c.PFCPolicies().Put("p", api.PFCPolicySpec{SRv6Policy: "wan", Tenant: "a"},
				resource.Precondition{})
			return err
		}},
		{"the same PFC policy", func(c *Core) error {
			_, _, err := c.PFCPolicies().Put("p", api.PFCPolicySpec{SRv6Policy: "wan", Tenant: "a"},
				resource.Precondition{})
			return err
		}},
	} {
		before := make(map[string][]entry.Entity)
		for _, name := range core.switches.Switches() {
			before[name] = core.Held(name)
		}
		predicted, err := core.Try(c.put)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, name := range core.switches.Switches() {
			if d, _ := core.switches.Status(name); d.Pending > 0 ||
				len(reconcile.Difference(plan.Rank, before[name], core.Held(name))) > 0 {
				t.Errorf("%s: the trial changed %s", c.name, name)
			}
		}
		if err := c.put(core); err != nil {
			t.Fatal(err)
		}
		core.obey()
		var happened []api.SwitchChange
		for _, name := range []string{"R1", "R2", "R3"} {
			if u := reconcile.Difference(plan.Rank, before[name], core.Held(name)); len(u) > 0 {
				happened = append(happened, api.SwitchChange{Switch: name, Updates: describe(u)})
			}
		}
		if !reflect.DeepEqual(predicted, happened) {
			t.Errorf("%s: predicted\n%v\nhappened\n%v", c.name, predicted, happened)
		}
		if (len(happened) == 0) != (c.name == "the same PFC policy") {
			t.Errorf("%s changed %v", c.name, happened)
		}
	}
}
