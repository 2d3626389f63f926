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
	list := func(m Multipath, page mrc.Page) ([]mrc.Cell, bool, error) {
		return m.Probes(ctx, mrc.CellFilter{Profile: in.Profile, Source: in.Source, Destination: in.Destination}, page)
	}
	return pageOfFabric(s, in.PageParams, list, s.viewProbe, (*mrc.Cell).Key,
		named{"profile", in.Profile, profileNames(ctx, s.cfg.Multipath)},
		named{"source", in.Source, hostNames(ctx, s.cfg.Multipath)}, named{"destination", in.Destination, hostNames(ctx, s.cfg.Multipath)})
}

func (s *Server) viewProbe(c *mrc.Cell) api.EVProbe {
	v := api.EVProbe{
		Profile: c.Profile, EV: c.EV.String(), Port: c.EV.Port, Source: c.Source, Destination: c.Destination, At: s.at(c.At),
		Sent: c.Sent, Received: c.Received, Loss: rounded(c.Loss),
	}
	if c.RTTMax > 0 {
		least, mean, most := api.Duration(c.RTTMin), api.Duration(c.RTTMean), api.Duration(c.RTTMax)
		v.RTTMin, v.RTTMean, v.RTTMax = &least, &mean, &most
	}
	return v
}
