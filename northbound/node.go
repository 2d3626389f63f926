package northbound

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/topology"
)

// fabricNode is a switch of the fabric.
type fabricNode struct {
	ID      topology.NodeID  `json:"id" doc:"AS:router-id, as in the topology."`
	Version uint64           `json:"version" doc:"Changes with every change of the spec; also the ETag. 0: nobody wants anything."`
	Changed time.Time        `json:"changed,omitzero" doc:"When the spec changed last."`
	Spec    api.AdminSpec    `json:"spec"`
	Status  fabricNodeStatus `json:"status"`
}

type fabricNodeStatus struct {
	Name        string      `json:"name,omitempty"`
	Tier        *int        `json:"tier,omitempty" doc:"0 is a leaf. Absent without an MRC fabric."`
	Planes      []int       `json:"planes" nullable:"false"`
	Present     bool        `json:"present" doc:"It is advertised now."`
	Links       int         `json:"links" doc:"Links of the fabric from and to it, each direction counted."`
	DeniedLinks int         `json:"deniedLinks" doc:"Of those, the ones over which EVs are denied."`
	Drains      []drainView `json:"drains,omitempty" doc:"What takes it out of use."`
}

// fabricPlane is a plane of the fabric.
type fabricPlane struct {
	Plane   int               `json:"plane" doc:"From 1."`
	Version uint64            `json:"version" doc:"Changes with every change of the spec; also the ETag. 0: nobody wants anything."`
	Changed time.Time         `json:"changed,omitzero" doc:"When the spec changed last."`
	Spec    api.AdminSpec     `json:"spec"`
	Status  fabricPlaneStatus `json:"status"`
}

type fabricPlaneStatus struct {
	Links       int         `json:"links" doc:"Links of the plane, each direction counted."`
	DeniedLinks int         `json:"deniedLinks" doc:"Of those, the ones over which EVs are denied."`
	Drains      []drainView `json:"drains,omitempty" doc:"What takes it out of use."`
}

type planeList struct {
	Items []fabricPlane `json:"items" nullable:"false" doc:"In order."`
}

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
		OperationID: "list-nodes", Method: http.MethodGet, Path: "/v1/nodes", Tags: []string{fabricTag},
		Summary: "List the switches of the fabric", Description: "Without an MRC fabric: the nodes of the topology.", Errors: []int{422},
	}), s.listNodes)
	d := &drainable[NodeParam, fabricNode]{
		want: func(v *fabricNode, spec api.AdminSpec) { v.Spec = spec },
		path: "/v1/nodes/{id}", one: "node", noun: "node",
		plain: func(ctx context.Context, p *NodeParam) (fabricNode, error) {
			return plainItem(ctx, s, "node", p.ID, (*plainNetwork).nodes, nodeKey)
		},
		get: func(ctx context.Context, m Multipath, p *NodeParam) (fabricNode, api.Admin, error) {
			n, err := m.Node(ctx, topology.NodeID(p.ID))
			if err != nil {
				return fabricNode{}, api.Admin{}, err
			}
			return viewNode(&n), n.Admin, nil
		},
		target: func(p *NodeParam) mrc.Target {
			return mrc.Target{Node: topology.NodeID(p.ID)}
		},
	}
	get, put, patch := d.operations()
	huma.Register(s.api, s.operation(get), func(ctx context.Context, in *NodeParam) (*itemOf[fabricNode], error) {
		return d.read(ctx, s, in)
	})
	huma.Register(s.api, s.operation(put), func(ctx context.Context, in *struct {
		NodeParam
		Conditions
		Body adminDraft
	}) (*itemOf[fabricNode], error) {
		return d.put(ctx, s, &in.NodeParam, in.Conditions, in.Body)
	})
	huma.Register(s.api, s.operation(patch), func(ctx context.Context, in *struct {
		NodeParam
		Patch
	}) (*itemOf[fabricNode], error) {
		return d.patch(ctx, s, &in.NodeParam, in.Patch)
	})
	s.describePatch(d.path, "a node", map[string]any{"admin": "drained"})
}

func (s *Server) listNodes(ctx context.Context, in *PageParams) (*listOf[fabricNode], error) {
	if s.cfg.Multipath == nil {
		return plainPage(ctx, s, *in, (*plainNetwork).nodes, nodeKey)
	}
	list := func(m Multipath, page mrc.Page) ([]mrc.NodeResource, bool, error) {
		return m.Nodes(ctx, page)
	}
	return pageOfFabric(s, *in, list, viewNode, func(n *mrc.NodeResource) string { return string(n.Status.ID) })
}

func viewNode(n *mrc.NodeResource) fabricNode {
	st := &n.Status
	return fabricNode{ID: st.ID, Version: n.Version, Changed: n.Changed, Spec: adminOf(n.Admin), Status: fabricNodeStatus{
		Name: st.Name, Tier: &st.Tier, Planes: append([]int{}, st.Planes...), Present: st.Present,
		Links: st.Links, DeniedLinks: st.DeniedLinks, Drains: viewDrains(st.Drains),
	}}
}

func (s *Server) registerPlanes() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-planes", Method: http.MethodGet, Path: "/v1/planes", Tags: []string{fabricTag},
		Summary: "List the planes of the fabric", Errors: []int{501},
	}), s.listPlanes)
	d := &drainable[PlaneParam, fabricPlane]{
		want: func(v *fabricPlane, spec api.AdminSpec) { v.Spec = spec },
		path: "/v1/planes/{plane}", one: "plane", noun: "plane",
		get: func(ctx context.Context, m Multipath, p *PlaneParam) (fabricPlane, api.Admin, error) {
			all, err := m.Planes(ctx)
			if err != nil {
				return fabricPlane{}, api.Admin{}, err
			}
			for i := range all {
				if all[i].Status.Plane == p.Plane {
					return viewPlane(&all[i]), all[i].Admin, nil
				}
			}
			return fabricPlane{}, api.Admin{}, newProblem(string(api.CodeNotFound), fmt.Sprintf("there is no plane %d: the fabric has %d", p.Plane, len(all)))
		},
		target: func(p *PlaneParam) mrc.Target { return mrc.Target{Plane: p.Plane} },
	}
	get, put, patch := d.operations()
	huma.Register(s.api, s.operation(get), func(ctx context.Context, in *PlaneParam) (*itemOf[fabricPlane], error) {
		return d.read(ctx, s, in)
	})
	huma.Register(s.api, s.operation(put), func(ctx context.Context, in *struct {
		PlaneParam
		Conditions
		Body adminDraft
	}) (*itemOf[fabricPlane], error) {
		return d.put(ctx, s, &in.PlaneParam, in.Conditions, in.Body)
	})
	huma.Register(s.api, s.operation(patch), func(ctx context.Context, in *struct {
		PlaneParam
		Patch
	}) (*itemOf[fabricPlane], error) {
		return d.patch(ctx, s, &in.PlaneParam, in.Patch)
	})
	s.describePatch(d.path, "a plane", map[string]any{"admin": "drained"})
}

func (s *Server) listPlanes(ctx context.Context, _ *struct{}) (*struct{ Body planeList }, error) {
	m, err := s.multipath()
	if err != nil {
		return nil, err
	}
	all, err := m.Planes(ctx)
	if err != nil {
		return nil, problemOf(err)
	}
	out := planeList{Items: make([]fabricPlane, 0, len(all))}
	for i := range all {
		out.Items = append(out.Items, viewPlane(&all[i]))
	}
	return &struct{ Body planeList }{out}, nil
}

func viewPlane(p *mrc.PlaneResource) fabricPlane {
	st := &p.Status
	return fabricPlane{Plane: st.Plane, Version: p.Version, Changed: p.Changed, Spec: adminOf(p.Admin), Status: fabricPlaneStatus{
		Links: st.Links, DeniedLinks: st.DeniedLinks, Drains: viewDrains(st.Drains),
	}}
}
