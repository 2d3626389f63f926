package northbound

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/topology"
)

const linksPath = "/v1/links"

// LinkParam is exported because huma passes over other embedded types.
type LinkParam struct {
	ID string `path:"id" maxLength:"512" doc:"Id of the link, as in the topology."`
}

func (s *Server) registerLinks() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-links", Method: http.MethodGet, Security: asks(access.Read), Path: linksPath, Tags: []string{fabricTag},
		Summary: "List the links of the fabric", Description: "One direction each, of those that paths cross. Without an MRC fabric: those of the topology.", Errors: []int{422},
	}), s.listLinks)
	d := &drainable[LinkParam, api.Link]{
		intent: func(v *api.Link) (uint64, *api.AdminSpec) { return v.Version, &v.Spec },
		path:   linksPath + "/{id}", one: "link", noun: "link",
		plain: func(ctx context.Context, p *LinkParam) (api.Link, error) {
			return plainItem(ctx, s, "link", p.ID, (*plainNetwork).links, linkKey)
		},
		get: func(ctx context.Context, m Multipath, p *LinkParam) (api.Link, error) {
			return m.Link(ctx, topology.LinkID(p.ID))
		},
		target: func(p *LinkParam) mrc.Target {
			return mrc.Target{Link: topology.LinkID(p.ID)}
		},
	}
	get, put, patch := d.operations()
	huma.Register(s.api, s.operation(get), func(ctx context.Context, in *LinkParam) (*itemOf[api.Link], error) {
		return d.read(ctx, s, in)
	})
	huma.Register(s.api, s.operation(put), func(ctx context.Context, in *struct {
		LinkParam
		Conditions
		Body api.AdminRequest
	}) (*itemOf[api.Link], error) {
		return d.put(ctx, s, &in.LinkParam, in.Conditions, in.Body)
	})
	huma.Register(s.api, s.operation(patch), func(ctx context.Context, in *struct {
		LinkParam
		Patch
	}) (*itemOf[api.Link], error) {
		return d.patch(ctx, s, &in.LinkParam, in.Patch)
	})
	s.describePatch(d.path, "a link", map[string]any{"admin": "drained"})
}

func (s *Server) listLinks(ctx context.Context, in *struct {
	PageParams
	Node   string `query:"node" maxLength:"253" doc:"Only links from or to this switch, by name or id."`
	Plane  int    `query:"plane" minimum:"0" doc:"Only links of this plane; 0 is any."`
	Denied bool   `query:"denied" doc:"Only links over which EVs are denied."`
}) (*listOf[api.Link], error) {
	if s.cfg.Multipath == nil {
		return s.listPlainLinks(ctx, in.PageParams, in.Node, in.Plane, in.Denied)
	}
	list := func(m Multipath, page mrc.Page) ([]api.Link, bool, error) {
		return m.Links(ctx, mrc.LinkFilter{Node: in.Node, Plane: in.Plane, Denied: in.Denied}, page)
	}
	return pageOfFabric(s, in.PageParams, list, linkKey,
		named{"node", in.Node, nodeNames(ctx, s.cfg.Multipath)}, named{"plane", planeText(in.Plane), planeNames(ctx, s.cfg.Multipath)})
}

func (s *Server) listPlainLinks(ctx context.Context, in PageParams, node string, plane int, denied bool) (*listOf[api.Link], error) {
	out, err := plainPage(ctx, s, in, func(p *plainNetwork) []api.Link {
		return slices.DeleteFunc(p.links(), func(l api.Link) bool {
			st := &l.Status
			at := string(st.From) == node || st.FromName == node || string(st.To) == node || st.ToName == node
			return denied || plane != 0 || node != "" && !at
		})
	}, linkKey)
	if err != nil {
		return nil, err
	}
	none := func() ([]string, error) { return nil, nil }
	return out, known(in, len(out.Body.Items), named{"node", node, topologyNames(s.controller.Topology())}, named{"plane", planeText(plane), none})
}
