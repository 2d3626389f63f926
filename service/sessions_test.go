package service

import (
	"slices"
	"testing"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/service/cluster"
)

// TestOwnedSwitches: the controllers share the switches that run P4 and are programmed; switches
// without an election, and switches that nobody programs, have no owner.
func TestOwnedSwitches(t *testing.T) {
	o := &Options{Inventory: inventory.Inventory{Switches: []inventory.Switch{
		{Name: "a", Address: "192.0.2.1:9559"},
		{Name: "b", Address: "192.0.2.2:8080", System: "sonic"},
		{Name: "c"},
		{Name: "d", Address: "192.0.2.4:9559", System: inventory.P4},
	}}}
	s := &sessions{o: o, planes: func() map[string]int { return map[string]int{"a": 1, "d": 2} }}
	want := []cluster.Switch{{Name: "a", Plane: 1}, {Name: "d", Plane: 2}}
	if got := s.switches(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
