package multicast

import (
	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
)

// Kind describes multicast groups. The record of a group has its tree beside the spec.
var Kind = kind.New[api.MulticastGroupSpec, api.MulticastGroup](kind.About{
	Names:  kind.Names{One: "multicast-group", Noun: "multicast group", Short: "group"},
	Prefix: "groups/", Creates: true,
	Heading: kind.HeadingGroups, Reads: access.TenantRead, Writes: access.TenantWrite,
	Example: map[string]any{"cnpWindow": "50us"},
	Created: "Returns as soon as the group is accepted; status says how far it is.",
	Deleted: "The group is gone at once. The controller then removes the group's entries from the " +
		"switches, which drop what is sent to the proxy address.",
	Events: []string{"group", "receiver"},
})
