package controller

import (
	"context"
	"errors"
	"testing"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/target"
)

// A backup controller names its election id and the higher id, both whole.
func TestBackupReason(t *testing.T) {
	own := southbound.ElectionID{Low: 1795308740}
	for _, c := range []struct {
		backup southbound.Backup
		want   string
	}{
		{southbound.Backup{Own: own, Highest: southbound.ElectionID{High: 1, Low: 5}},
			"another controller is primary, with election id 1:5; this one has 1795308740"},
		{southbound.Backup{Own: own, Highest: southbound.ElectionID{High: 1}, Vacant: true},
			"no controller is primary, but the switch remembers election id 1:0, and this controller has " +
				"1795308740: start it with --election-id 1:0 or higher, or restart the switch"},
		{southbound.Backup{Own: own}, "another controller has become primary; this one has election id " +
			"1795308740"},
		{southbound.Backup{Own: own, Highest: southbound.ElectionID{High: 1, Low: 5}, Waiting: true,
			Foreign: true}, "another installation programs the switch: its controller is primary, with " +
			"election id 1:5; this one, with 1795308740, takes over when that one has gone, or at once " +
			"when it is started with --take-over"},
	} {
		var got SwitchEvent
		hand(c.backup, func(e SwitchEvent) { got = e })
		if got.Up || got.Err == nil || got.Err.Error() != c.want {
			t.Errorf("%+v\nwant %s", got, c.want)
		}
		if errors.Is(got.Err, southbound.ErrForeign) != c.backup.Foreign {
			t.Errorf("%v is of another installation, want %v", got.Err, c.backup.Foreign)
		}
	}
}

// TestWatchedWithoutP4: the ports of every switch can be watched by gNMI alone, as controllers do
// that do not decide; those of a switch without P4 go by the names of its interfaces.
func TestWatchedWithoutP4(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, system := range []target.System{"", inventory.P4, target.SONiC} {
		cfg := SessionConfig(&inventory.Switch{Name: "a", Address: "192.0.2.1:8080", System: system},
			southbound.ElectionID{})
		if valid := cfg.Validate() == nil; valid != (system == target.SONiC) { // P4 wants an election
			t.Errorf("%q: valid without an election: %v", system, valid)
		}
		err := southbound.WatchPorts(ctx, cfg, func(context.Context, southbound.Ports) {})
		if err != nil {
			t.Errorf("%q: %v", system, err)
		}
		if named := cfg.PortOf != nil; named != (system == target.SONiC) {
			t.Errorf("%q: ports by names of interfaces: %v", system, named)
		} else if named && (cfg.PortOf("Ethernet16") != 3 || cfg.PortOf("eth0") != 0) {
			t.Errorf("Ethernet16 is port %d, eth0 %d; want 3 and 0", cfg.PortOf("Ethernet16"),
				cfg.PortOf("eth0"))
		}
	}
}
