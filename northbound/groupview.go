package northbound

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
)

const (
	groupsPath = "/v1/multicast-groups"
	groupPath  = groupsPath + "/{name}"
)

// groupKind reaches the multicast groups.
func (s *Server) groupKind() kind.Handle[api.MulticastGroupSpec, api.MulticastGroup] {
	return kind.Of[api.MulticastGroupSpec, api.MulticastGroup](s.controller.Kinds())
}

func (s *Server) registerGroupViews() {
	tags := []string{kind.HeadingGroups}
	register(s, huma.Operation{
		OperationID: "get-multicast-group-tree", Method: http.MethodGet,
		Security: asks(access.TenantRead), Path: groupPath + "/tree", Tags: tags,
		Summary: "Get the tree of a multicast group", Errors: []int{404},
	}, s.groupTree)
	register(s, huma.Operation{
		OperationID: "get-multicast-group-state", Method: http.MethodGet,
		Security: asks(access.TenantRead), Path: groupPath + "/state", Tags: tags,
		Summary:     "Get the aggregation state of a multicast group",
		Description: "Asked of the switches when you ask.",
		Errors:      []int{404, 503, 504},
	}, s.groupState)
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "reset-multicast-group", Method: http.MethodPost, Security: asks(access.TenantWrite),
		Path: groupPath + ":reset", Tags: tags,
		Summary: "Reset a multicast group",
		Description: "Gives every node of the tree a new epoch, which forgets all that branches have " +
			"reported: for queue pairs that were created anew. A new initial PSN is a change of the spec, " +
			"and resets by itself.",
		Errors: []int{404, 412, 422},
	}), action[api.MulticastGroupSpec, api.MulticastGroup](s, api.ResetGroup{}))
}

func (s *Server) groupTree(ctx context.Context, in *NameParam) (*api.PlannedTree, error) {
	g, err := s.groupKind().Get(ctx, in.Name)
	if err != nil {
		return nil, problemOf(err)
	}
	if g.Status.Tree == nil {
		detail := fmt.Sprintf("group %q has no tree yet", g.Name)
		if c := g.Status.Condition(api.Accepted); c != nil && !c.Status {
			detail += ": " + c.Message
		}
		return nil, newProblem(string(api.CodeNotFound), detail)
	}
	return &api.PlannedTree{
		Name: g.Name, Version: g.Status.ObservedVersion, Index: g.Status.Index, Epoch: g.Status.Epoch,
		Tree: *g.Status.Tree,
	}, nil
}

func (s *Server) groupState(ctx context.Context, in *NameParam) (*api.GroupState, error) {
	report, err := kind.Ask[api.GroupState](ctx, s.groupKind(), in.Name, api.ReadGroupState{},
		resource.Precondition{})
	if err != nil {
		return nil, problemOf(err)
	}
	return &report, nil
}
