package northbound

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/internal/natural"
)

type readinessOutput struct {
	Status int
	Body   api.Readiness
}

func (s *Server) registerHealth() {
	tags := []string{"controller"}
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "healthz", Method: http.MethodGet, Path: "/healthz", Tags: tags, Security: asks(access.Open), Summary: "Is the process alive?",
	}), func(context.Context, *struct{}) (*struct{ Body api.Health }, error) {
		return &struct{ Body api.Health }{api.Health{Status: "ok", Version: s.cfg.Version}}, nil
	})
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "readyz", Method: http.MethodGet, Path: "/readyz", Tags: tags, Security: asks(access.Open),
		Summary:     "Is the controller in sync?",
		Description: "200 when changes are kept, every BGP-LS peer has sent all that it has once, and every switch and, where there is one, the MRC fabric are in sync, 503 with the same body when not. A check that is advisory does not count: a peer that was in sync and is lost leaves the controller with the topology that it learned.",
	}), func(ctx context.Context, _ *struct{}) (*readinessOutput, error) {
		view, err := readiness(ctx, s.controller, s.cfg.Multipath, s.cfg.BGP, s.kept())
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
	op.Responses["503"] = &huma.Response{Description: "Not in sync yet, or no longer.", Content: op.Responses["200"].Content}
}

// kept are the checks of what the controller keeps changes in.
func (s *Server) kept() []api.ReadinessCheck {
	if s.cfg.Cluster == nil {
		return nil
	}
	return s.cfg.Cluster.Readiness()
}

// readiness reports what the controller waits for: a store that keeps changes, everything from each
// BGP-LS peer once, every switch it programs to be part of it, connected, and as it should be, and
// with MRC a fabric whose paths hosts can be given.
func readiness(ctx context.Context, c Controller, m Multipath, bgp BGP, kept []api.ReadinessCheck) (api.Readiness, error) {
	view := api.Readiness{Ready: true}
	add := func(c api.ReadinessCheck) {
		view.Ready = view.Ready && (c.OK || c.Advisory)
		view.Checks = append(view.Checks, c)
	}
	for _, c := range kept {
		add(c)
	}
	switches, err := kind.Views[api.SwitchStatus](ctx, c.Kinds())
	if errors.Is(err, controller.ErrStore) { // what is known of the network may not be kept
		add(api.ReadinessCheck{Name: "controller", Message: err.Error()})
		return view, nil
	}
	if err != nil {
		return api.Readiness{}, err
	}
	network := api.ReadinessCheck{Name: "bgp-ls"}
	switch t := c.Topology(); {
	case t.Version == 0:
		network.Message = "nothing was learned yet"
	case t.Stale != nil:
		network.Message, network.Advisory = t.Stale.Reason, !t.Stale.Incomplete
	default:
		network.OK = true
	}
	add(network)
	if bgp != nil {
		for _, c := range peerChecks(bgp.Peers()) {
			add(c)
		}
	}
	if m != nil {
		fabric, err := m.Fabric(ctx)
		if err != nil {
			return api.Readiness{}, err
		}
		c := api.ReadinessCheck{Name: "mrc", OK: fabric.InSync && fabric.Failure == "", Message: fabric.Failure}
		if !fabric.InSync {
			c.Message = "the topology is not in sync: hosts are told nothing"
		}
		add(c)
	}
	for i := range switches {
		w := &switches[i]
		if !w.Managed {
			continue
		}
		c := api.ReadinessCheck{Name: "switch/" + w.Name}
		switch {
		case w.Node == "":
			c.Message = "not in the topology"
		case !w.Connected:
			c.Message = "not connected: " + w.Reason
		case !w.Synced:
			c.Message = fmt.Sprintf("%d updates to make", w.Pending)
		default:
			c.OK = true
		}
		add(c)
	}
	slices.SortStableFunc(view.Checks[len(kept)+1:], func(a, b api.ReadinessCheck) int { return natural.Compare(a.Name, b.Name) })
	return view, nil
}
