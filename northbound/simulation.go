package northbound

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
)

// registerSimulations registers the operation that says what jobs would get of the fabric.
func (s *Server) registerSimulations() {
	register(s, huma.Operation{
		OperationID: "simulate", Method: http.MethodPost, Security: asks(access.Read),
		Path: "/v1/simulations", Tags: []string{kind.HeadingFabric},
		Summary: "Get what jobs would get of the fabric after some events",
		Description: "As if packets were fluids: the present fabric with its present faults and jobs, " +
			"and then the events. Nothing is changed, and nothing is kept. One simulation runs at a time.",
		Errors: []int{413, 415, 501, 503},
	}, func(ctx context.Context, in *struct{ Body api.SimulationSpec }) (*api.Simulation, error) {
		if _, err := s.multipath(); err != nil {
			return nil, err
		}
		out, err := s.simulate(ctx, in.Body)
		if err != nil {
			return nil, problemOf(err)
		}
		return &out, nil
	})
}

// simulate asks the controller what jobs would get of the fabric.
func (s *Server) simulate(
	ctx context.Context, spec api.SimulationSpec,
) (api.Simulation, error) {
	jobs := kind.Of[api.JobSpec, api.Job](s.controller.Kinds())
	return kind.Ask[api.Simulation](ctx, jobs, "", api.Simulate{SimulationSpec: spec},
		resource.Precondition{})
}
