package port

import (
	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
)

// Kind describes ports of switches; their names are those of switch and port.
var Kind = kind.New[api.PortSpec, api.Port](kind.About{
	Names:  kind.Names{One: "port", Noun: "port", Nouns: "ports of switches"},
	Prefix: "ports/", Heading: kind.HeadingSwitches, Reads: access.Read, Writes: access.Operate,
	Verbs: kind.List | kind.Get | kind.Put | kind.Delete, At: "/v1/switches/{id}/ports/{port}",
	Address: struct {
		ID   string `path:"id" maxLength:"63" doc:"Name of the switch."`
		Port uint32 `path:"port" minimum:"1" maximum:"507" doc:"P4Runtime port."`
	}{},
	Filter:  api.OnSwitch{},
	Example: map[string]any{"enabled": false},
	Gets:    "Get a port of a switch", Patches: "Change parts of the spec of a port",
	Deletes: "Delete the spec of a port",
	Listed:  "Those that switches report by gNMI, and those with a spec.",
	Written: "The controller writes the settings by gNMI, reads them back, and writes them again " +
		"when the switch changes them.",
	Patched: "A JSON merge patch (RFC 7396) of the resource. " +
		"null leaves a setting as it is on the switch.",
	Deleted: "The switch keeps the settings that it has.",
	Form:    "SWITCH/PORT", Events: []string{"port"},
})

// Matches applies a filter of a list.
func Matches(p *api.Port, filter any) bool {
	if _, wanted := filter.(api.WantedPorts); wanted {
		return p.Version > 0
	}
	of, ok := filter.(api.OnSwitch)
	return !ok || p.Status.Switch == of.Switch
}
