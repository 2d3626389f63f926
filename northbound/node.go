package northbound

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/topology"
)

// NodeParam is exported because huma passes over other embedded types.
type NodeParam struct {
	ID string `path:"id" maxLength:"253" doc:"Id of the node, as in the topology."`
}

// PlaneParam is exported because huma passes over other embedded types.
type PlaneParam struct {
	Plane int `path:"plane" minimum:"1" doc:"Number of the plane, from 1."`
}

func (s *Server) registerNodes() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-nodes", Method: http.MethodGet, Security: asks(access.Read), Path: "/v1/nodes", Tags: []string{fabricTag},
		Summary: "List the switches of the fabric", Description: "Without an MRC fabric: the nodes of the topology.", Errors: []int{422},
	}), s.listNodes)
	d := &drainable[NodeParam, api.Node]{
		intent: func(v *api.Node) (uint64, *api.AdminSpec) { return v.Version, &v.Spec },
		path:   "/v1/nodes/{id}", one: "node", noun: "node",
		plain: func(ctx context.Context, p *NodeParam) (api.Node, error) {
			return plainItem(ctx, s, "node", p.ID, (*plainNetwork).nodes, nodeKey)
		},
		get: func(ctx context.Context, m Multipath, p *NodeParam) (api.Node, error) {
			return m.Node(ctx, topology.NodeID(p.ID))
		},
		target: func(p *NodeParam) mrc.Target {
			return mrc.Target{Node: topology.NodeID(p.ID)}
		},
	}
	get, put, patch := d.operations()
	huma.Register(s.api, s.operation(get), func(ctx context.Context, in *NodeParam) (*itemOf[api.Node], error) {
		return d.read(ctx, s, in)
	})
	huma.Register(s.api, s.operation(put), func(ctx context.Context, in *struct {
		NodeParam
		Conditions
		Body api.AdminRequest
	}) (*itemOf[api.Node], error) {
		return d.put(ctx, s, &in.NodeParam, in.Conditions, in.Body)
	})
	huma.Register(s.api, s.operation(patch), func(ctx context.Context, in *struct {
		NodeParam
		Patch
	}) (*itemOf[api.Node], error) {
		return d.patch(ctx, s, &in.NodeParam, in.Patch)
	})
	s.describePatch(d.path, "a node", map[string]any{"admin": "drained"})
}

func (s *Server) listNodes(ctx context.Context, in *PageParams) (*listOf[api.Node], error) {
	if s.cfg.Multipath == nil {
		return plainPage(ctx, s, *in, (*plainNetwork).nodes, nodeKey)
	}
	list := func(m Multipath, page mrc.Page) ([]api.Node, bool, error) {
		return m.Nodes(ctx, page)
	}
	return pageOfFabric(s, *in, list, nodeKey)
}

func (s *Server) registerPlanes() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-planes", Method: http.MethodGet, Security: asks(access.Read), Path: "/v1/planes", Tags: []string{fabricTag},
		Summary: "List the planes of the fabric", Errors: []int{501},
	}), s.listPlanes)
	d := &drainable[PlaneParam, api.Plane]{
		intent: func(v *api.Plane) (uint64, *api.AdminSpec) { return v.Version, &v.Spec },
		path:   "/v1/planes/{plane}", one: "plane", noun: "plane",
		get: func(ctx context.Context, m Multipath, p *PlaneParam) (api.Plane, error) {
			all, err := m.Planes(ctx)
			if err != nil {
				return api.Plane{}, err
			}
			for i := range all {
				if all[i].Plane == p.Plane {
					return all[i], nil
				}
			}
			return api.Plane{}, newProblem(string(api.CodeNotFound), fmt.Sprintf("there is no plane %d: the fabric has %d", p.Plane, len(all)))
		},
		target: func(p *PlaneParam) mrc.Target { return mrc.Target{Plane: p.Plane} },
	}
	get, put, patch := d.operations()
	huma.Register(s.api, s.operation(get), func(ctx context.Context, in *PlaneParam) (*itemOf[api.Plane], error) {
		return d.read(ctx, s, in)
	})
	huma.Register(s.api, s.operation(put), func(ctx context.Context, in *struct {
		PlaneParam
		Conditions
		Body api.AdminRequest
	}) (*itemOf[api.Plane], error) {
		return d.put(ctx, s, &in.PlaneParam, in.Conditions, in.Body)
	})
	huma.Register(s.api, s.operation(patch), func(ctx context.Context, in *struct {
		PlaneParam
		Patch
	}) (*itemOf[api.Plane], error) {
		return d.patch(ctx, s, &in.PlaneParam, in.Patch)
	})
	s.describePatch(d.path, "a plane", map[string]any{"admin": "drained"})
}

func (s *Server) listPlanes(ctx context.Context, _ *struct{}) (*struct{ Body api.List[api.Plane] }, error) {
	m, err := s.multipath()
	if err != nil {
		return nil, err
	}
	all, err := m.Planes(ctx)
	if err != nil {
		return nil, problemOf(err)
	}
	return &struct{ Body api.List[api.Plane] }{api.List[api.Plane]{Items: append([]api.Plane{}, all...)}}, nil
}
