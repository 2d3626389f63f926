package controller

import (
	"testing"

	"github.com/weft-sdn/weft/controller/inventory"
)

// TestDeviceID: a switch without a device id shows the device id of the session. A switch that the
// controller does not program shows no device id.
func TestDeviceID(t *testing.T) {
	inv := inventory.Default()
	inv.Switches = []inventory.Switch{
		{Name: "a", Address: "192.0.2.1:9559", MAC: inventory.MAC{2, 5: 1}},
		{Name: "b", Address: "192.0.2.2:9559", MAC: inventory.MAC{2, 5: 2}, DeviceID: 7},
		{Name: "c", MAC: inventory.MAC{2, 5: 3}},
	}
	core, err := NewCore(Config{Inventory: inv}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{1, 7, 0} {
		if got := core.Switches()[i].DeviceID; got != want {
			t.Errorf("switch %s has device id %d, want %d", inv.Switches[i].Name, got, want)
		}
	}
}
