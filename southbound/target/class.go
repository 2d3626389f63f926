package target

import (
	"slices"

	"github.com/weft-sdn/weft/api"
)

// FreeClass returns a traffic class unused by all DSCPs of a model, for packets that the switch
// trims itself: systems mark by class and port, and packets trimmed elsewhere, or control packets,
// must keep their DSCP.
func FreeClass(m *api.SwitchModel) uint8 {
	for tc := uint8(7); tc > 0; tc-- {
		if !slices.ContainsFunc(m.Classes, func(c api.ModelClass) bool { return c.Queue == tc }) {
			return tc
		}
	}
	return 0
}
