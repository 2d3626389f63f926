package northbound

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/kind"
)

type readinessOutput struct {
	Status int
	Body   api.Readiness
}

func (s *Server) registerHealth() {
	tags := []string{"controller"}
	register(s, huma.Operation{
		OperationID: "healthz", Method: http.MethodGet, Path: "/healthz", Tags: tags,
		Security: asks(access.Open), Summary: "Is the process alive?",
	}, func(context.Context, *struct{}) (*api.Health, error) {
		return &api.Health{Status: "ok", Version: s.cfg.Version}, nil
	})
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "readyz", Method: http.MethodGet, Path: "/readyz", Tags: tags,
		Security: asks(access.Open),
		Summary:  "Is the controller in sync?",
		Description: "200 when changes are kept, every BGP-LS peer has sent all that it has once, and " +
			"every switch and, where there is one, the MRC fabric are in sync, 503 with the same body " +
			"when not. A check that is advisory does not count: a peer that was in sync and is lost " +
			"leaves the controller with the topology that it learned.",
	}), func(ctx context.Context, _ *struct{}) (*readinessOutput, error) {
		view, err := readiness(ctx, s.controller, s.cfg.Multipath, s.cfg.BGP, kept(&s.cfg))
		if err != nil {
			return nil, problemOf(err)
		}
		out := &readinessOutput{Status: http.StatusOK, Body: view}
		if !view.Ready {
			out.Status = http.StatusServiceUnavailable
		}
		return out, nil
	})
	op := s.api.OpenAPI().Paths["/readyz"].Get
	op.Responses["503"] = &huma.Response{Description: "Not in sync yet, or no longer.",
		Content: op.Responses["200"].Content}
}

// kept are the checks of the store and the disk.
func kept(cfg *Config) []api.ReadinessCheck {
	if cfg.Cluster == nil {
		return nil
	}
	return cfg.Cluster.Readiness()
}

// readiness returns whether the controller is in sync, and what it waits for.
func readiness(
	ctx context.Context, c Controller, m Multipath, bgp BGP, kept []api.ReadinessCheck,
) (api.Readiness, error) {
	of := controller.Sync{Kept: kept, Topology: c.Topology()}
	var err error
	of.Switches, err = kind.Views[api.SwitchStatus](ctx, c.Kinds())
	if err == nil && m != nil {
		var f api.Fabric
		f, err = m.Fabric(ctx)
		of.Fabric = &f
	}
	if bgp != nil {
		of.Peers = bgp.Peers()
	}
	return of.Readiness(err)
}
