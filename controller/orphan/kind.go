package orphan

import (
	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
)

// Kind is that of orphans.
var Kind = kind.NewView[api.Orphan](kind.About{
	Names: kind.Names{One: "orphan", Noun: "orphan"}, Heading: kind.HeadingSwitches,
	Reads: access.Read, Writes: access.Configure,
})

// Matches applies a filter of a list.
func Matches(o *api.Orphan, filter any) bool {
	of, ok := filter.(api.OnSwitch)
	return !ok || o.Switch == of.Switch
}
