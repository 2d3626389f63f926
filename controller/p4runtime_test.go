package controller

import (
	"testing"

	"github.com/weft-sdn/weft/southbound"
)

// A controller that is not primary names its own election id and the one in its way,
// both whole.
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
	} {
		var got SwitchEvent
		hand(c.backup, func(e SwitchEvent) { got = e })
		if got.Up || got.Err == nil || got.Err.Error() != c.want {
			t.Errorf("%+v\nwant %s", got, c.want)
		}
	}
}
