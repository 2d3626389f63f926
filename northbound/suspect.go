package northbound

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

func (s *Server) registerSuspects() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-suspects", Method: http.MethodGet, Security: asks(access.Read), Path: "/v1/suspects", Tags: []string{fabricTag},
		Summary: "List the links that lose packets", Description: "From what hosts report of EVs, from probes and from the switches' counters. The surest first, and after them those that are denied for it.", Errors: []int{501},
	}), s.listSuspects)
}

func (s *Server) listSuspects(ctx context.Context, _ *struct{}) (*struct{ Body api.List[api.Suspect] }, error) {
	m, err := s.multipath()
	if err != nil {
		return nil, err
	}
	all, err := m.Suspects(ctx)
	if err != nil {
		return nil, problemOf(err)
	}
	return &struct{ Body api.List[api.Suspect] }{api.List[api.Suspect]{Items: append([]api.Suspect{}, all...)}}, nil
}
