package northbound

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

func (s *Server) registerFabric() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "get-fabric", Method: http.MethodGet, Security: asks(access.Read), Path: "/v1/fabric", Tags: []string{fabricTag},
		Summary: "Get the fabric as a whole", Errors: []int{501},
	}), func(ctx context.Context, _ *struct{}) (*struct{ Body api.Fabric }, error) {
		m, err := s.multipath()
		if err != nil {
			return nil, err
		}
		f, err := m.Fabric(ctx)
		if err != nil {
			return nil, problemOf(err)
		}
		return &struct{ Body api.Fabric }{f}, nil
	})
}
