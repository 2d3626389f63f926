package northbound

import (
	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

const (
	groupsPath = "/v1/multicast-groups"
	groupPath  = groupsPath + "/{name}"
)

func (s *Server) registerGroups() {
	c := groups().over(s.controller.Groups())
	c.registerAll(s)
	s.registerGroupViews(c)
}

// groups describes the multicast groups.
func groups() *collection[api.MulticastGroupSpec, api.MulticastGroup] {
	return &collection[api.MulticastGroupSpec, api.MulticastGroup]{
		path: groupsPath, reads: access.TenantRead, writes: access.TenantWrite, one: "multicast-group", noun: "multicast group", tag: "multicast groups",
		example: map[string]any{"cnpWindow": "50us"},
		created: "Returns as soon as the group is accepted; status says how far it is.",
		deleted: "The group is gone at once; what the switches hold of it goes after that.",
		draft: func(g *api.MulticastGroup) api.Request[api.MulticastGroupSpec] {
			return api.Request[api.MulticastGroupSpec]{Name: g.Name, Version: g.Version, Spec: g.Spec}
		},
		changed: func(g *api.MulticastGroup, changes []api.SwitchChange) { g.Changes = changes },
	}
}
