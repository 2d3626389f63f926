package northbound

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc"
)

func (s *Server) registerProbes() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-ev-probes", Method: http.MethodGet, Security: asks(access.Read), Path: "/v1/ev-probes", Tags: []string{fabricTag},
		Summary: "List what probes have shown", Description: "A live matrix of source, destination and EV, ordered by profile and EV.", Errors: []int{422, 501},
	}), s.listProbes)
}

func (s *Server) listProbes(ctx context.Context, in *struct {
	PageParams
	Profile     string `query:"profile" maxLength:"253" doc:"Only EVs of this profile."`
	Source      string `query:"source" maxLength:"253" doc:"Only where this host probed last."`
	Destination string `query:"destination" maxLength:"253" doc:"Only where this host was probed last."`
}) (*listOf[api.EVProbe], error) {
	list := func(m Multipath, page mrc.Page) ([]api.EVProbe, bool, error) {
		return m.Probes(ctx, mrc.ProbeFilter{Profile: in.Profile, Source: in.Source, Destination: in.Destination}, page)
	}
	return pageOfFabric(s, in.PageParams, list, mrc.ProbeKey,
		named{"profile", in.Profile, profileNames(ctx, s.cfg.Multipath)},
		named{"source", in.Source, hostNames(ctx, s.cfg.Multipath)}, named{"destination", in.Destination, hostNames(ctx, s.cfg.Multipath)})
}
