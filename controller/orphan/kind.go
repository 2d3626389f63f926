package orphan

import (
	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
)

// Kind describes orphans.
var Kind = kind.NewView[api.Orphan](kind.About{
	Names: kind.Names{One: "orphan", Noun: "orphan"}, Heading: kind.HeadingSwitches,
	Reads: access.Read, Writes: access.Configure,
	Deleted: "The entries of the orphan are removed from the switch, at once or when the switch is " +
		"connected again.",
	Help: "orphans: entries of switches that no resource explains", Events: []string{"orphan"},
})

// Matches applies a filter of a list.
func Matches(o *api.Orphan, filter any) bool {
	of, ok := filter.(api.OnSwitch)
	return !ok || o.Switch == of.Switch
}
