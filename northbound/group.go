package northbound

import (
	"context"
	"time"

	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/controller/resource"
)

const (
	groupsPath = "/v1/multicast-groups"
	groupPath  = groupsPath + "/{name}"
)

// group is what clients get.
type group struct {
	Name    string        `json:"name" doc:"Name of the group."`
	Version uint64        `json:"version" doc:"Changes with every change of the spec; also the ETag."`
	Created time.Time     `json:"created,omitzero" doc:"When the group was created."`
	Spec    intent.Spec   `json:"spec" doc:"What a client wants, defaults filled in."`
	Status  intent.Status `json:"status" doc:"What the controller says."`

	Changes []intent.SwitchChange `json:"changes,omitempty" doc:"Of a dry run: what switches would be told."`
}

func (s *Server) registerGroups() {
	c := &collection[intent.Spec, group]{
		path: groupsPath, one: "multicast-group", noun: "multicast group", tag: "multicast groups",
		example: map[string]any{"cnpWindow": "50us"},
		created: "Returns as soon as the group is accepted; status says how far it is.",
		deleted: "The group is gone at once; what the switches hold of it goes after that.",
		all: func(ctx context.Context) ([]group, error) {
			all, err := s.controller.Groups(ctx)
			return converted(all, err, func(g intent.MulticastGroup) group { return group(g) })
		},
		get: func(ctx context.Context, name string) (group, error) {
			g, err := s.controller.Group(ctx, name)
			return group(g), err
		},
		draft: func(g *group) draftOf[intent.Spec] {
			return draftOf[intent.Spec]{Name: g.Name, Version: g.Version, Spec: g.Spec}
		},
		changed: func(g *group, changes []intent.SwitchChange) { g.Changes = changes },
		put: func(ctx context.Context, name string, spec intent.Spec, pre resource.Precondition) (group, bool, error) {
			g, created, err := s.controller.PutGroup(ctx, name, spec, pre)
			return group(g), created, err
		},
		del: s.controller.DeleteGroup,
	}
	c.registerAll(s)
	s.registerGroupViews(c)
}
