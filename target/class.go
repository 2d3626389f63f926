package target

import (
	"slices"

	"github.com/weft-sdn/weft/api"
)

// FreeClass returns a traffic class that no DSCP of a model leads to, for packets that the switch
// trims itself: systems mark by class and port, and what was trimmed elsewhere, or is a control
// packet, must keep the DSCP that it has.
func FreeClass(m *api.SwitchModel) uint8 {
	for tc := uint8(7); tc > 0; tc-- {
		if !slices.ContainsFunc(m.Classes, func(c api.ModelClass) bool { return c.Queue == tc }) {
			return tc
		}
	}
	return 0
}
