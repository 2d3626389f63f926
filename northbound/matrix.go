package northbound

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/telemetry"
)

func (s *Server) registerMatrices() {
	register(s, huma.Operation{
		OperationID: "get-utilization-matrix", Method: http.MethodGet, Security: asks(access.Read),
		Path: telemetryPath + "/matrices/{plane}", Tags: []string{telemetryTag},
		Summary: "Get the utilization of a plane, T0 by T1", Errors: []int{404, 422, 501},
	}, s.getMatrix)
	register(s, huma.Operation{
		OperationID: "list-plane-balance", Method: http.MethodGet, Security: asks(access.Read),
		Path: telemetryPath + "/balance", Tags: []string{telemetryTag},
		Summary: "List how evenly leaves use the planes",
		Description: "By plane and leaf. Packets of MRC are sprayed evenly over all paths, so an " +
			"uneven use is often the first sign of a fault.",
		Errors: []int{422, 501},
	}, s.listBalance)
}

// planes returns the judge of the MRC fabric's planes, or a problem without an MRC fabric.
func (s *Server) planes() (*telemetry.Planes, error) {
	if s.cfg.Planes == nil {
		return nil, newProblem(codeNoSection,
			"the controller has no MRC fabric: its configuration has no mrc section with a mode")
	}
	return s.cfg.Planes, nil
}

func (s *Server) listBalance(ctx context.Context, in *struct {
	Over string `query:"over" maxLength:"10" doc:"The time up to now that values are means of, 1s to 15m. Default 30s."`
}) (*api.List[api.PlaneBalance], error) {
	var over time.Duration
	if in.Over != "" {
		var err error
		if over, err = window(in.Over); err != nil {
			return nil, err
		}
	}
	p, err := s.planes()
	if err != nil {
		return nil, err
	}
	all, err := p.Balance(ctx, over)
	if err != nil {
		return nil, problemOf(err)
	}
	return &api.List[api.PlaneBalance]{Items: all}, nil
}

func (s *Server) getMatrix(ctx context.Context, in *struct {
	Plane int    `path:"plane" minimum:"1" doc:"Number of the plane."`
	Over  string `query:"over" maxLength:"10" doc:"The time up to until that values are means of, 1s to 15m. Default 10s."`
	Until string `query:"until" maxLength:"40" doc:"A time (RFC 3339), or how long ago, such as 5m, in the last 15 minutes. Default: now."`
}) (*api.Matrix, error) {
	over, err := window(in.Over)
	if err != nil {
		return nil, err
	}
	p, err := s.planes()
	if err != nil {
		return nil, err
	}
	until, err := s.lately(in.Until)
	if err != nil {
		return nil, err
	}
	m, err := p.Matrix(ctx, in.Plane, over, until)
	if err != nil {
		return nil, problemOf(err)
	}
	return &m, nil
}
