package controller

import (
	"errors"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/resource"
)

// TestSwitchModel: the model of a switch has the port settings that clients want, and names the
// features that only the P4 program has. A switch outside the inventory has no model.
func TestSwitchModel(t *testing.T) {
	n := sample.Figure1()
	core, err := NewCore(Config{Inventory: n.Inventory}, nil)
	if err != nil {
		t.Fatal(err)
	}
	core.SetTopology(n.Topology.Build())
	core.Tick(n.Inventory.Intervals.Settle.D() + 1)
	mtu := uint32(9000)
	none := resource.Precondition{}
	if _, _, err := core.Ports().Put("n4/1", api.PortSpec{MTU: &mtu}, none); err != nil {
		t.Fatal(err)
	}
	if _, _, err := core.Groups().Put("g", n.Spec(1, "s1", "r1", "r3"), none); err != nil {
		t.Fatal(err)
	}
	core.Ready(0)
	m, err := core.SwitchModel("n4")
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(m.Ports, func(p api.ModelPort) bool { return p.Port == 1 })
	if at < 0 || m.Ports[at].Settings.MTU == nil || *m.Ports[at].Settings.MTU != mtu {
		t.Errorf("ports %+v", m.Ports)
	}
	want := api.ModelExtra{Feature: api.ExtraMulticast, Object: "group g"}
	if !slices.Contains(m.Extras, want) {
		t.Errorf("extras %v, want %v", m.Extras, want)
	}
	if len(m.Routes) == 0 || m.Mode != "" || m.Tier != -1 {
		t.Errorf("%d routes, mode %q, tier %d", len(m.Routes), m.Mode, m.Tier)
	}
	var missing *api.Error
	_, err = core.SwitchModel("n9")
	if !errors.As(err, &missing) || missing.Code != api.CodeNotFound {
		t.Errorf("n9: %v", err)
	}
}
