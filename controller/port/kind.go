package port

import (
	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
)

// Kind is that of ports of switches; their names are those of switch and port.
var Kind = kind.New[api.PortSpec, api.Port](kind.About{
	Names: kind.Names{One: "port", Noun: "port"}, Prefix: "ports/", Heading: kind.HeadingSwitches,
	Reads: access.Read, Writes: access.Operate,
	Example: map[string]any{"enabled": false},
	Deleted: "The switch keeps the settings that it has.",
})

// Matches applies a filter of a list.
func Matches(p *api.Port, filter any) bool {
	of, ok := filter.(api.OnSwitch)
	return !ok || p.Status.Switch == of.Switch
}
