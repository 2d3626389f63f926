package northbound

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/internal/natural"
)

type healthView struct {
	Status  string `json:"status" enum:"ok"`
	Version string `json:"version" doc:"Version of the program."`
}

type readinessView struct {
	Ready  bool    `json:"ready"`
	Checks []check `json:"checks" nullable:"false" doc:"What the controller waits for, or has waited for."`
}

type readinessOutput struct {
	Status int
	Body   readinessView
}

func (s *Server) registerHealth() {
	tags := []string{"controller"}
	open := []map[string][]string{} // never a token
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "healthz", Method: http.MethodGet, Path: "/healthz", Tags: tags, Security: open, Summary: "Is the process alive?",
	}), func(context.Context, *struct{}) (*struct{ Body healthView }, error) {
		return &struct{ Body healthView }{healthView{Status: "ok", Version: s.cfg.Version}}, nil
	})
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "readyz", Method: http.MethodGet, Path: "/readyz", Tags: tags, Security: open,
		Summary:     "Is the controller in sync?",
		Description: "200 when every BGP-LS peer has sent all that it has once, and every switch and, where there is one, the MRC fabric are in sync, 503 with the same body when not. A check that is advisory does not count: a peer that was in sync and is lost leaves the controller with the topology that it learned.",
	}), func(ctx context.Context, _ *struct{}) (*readinessOutput, error) {
		view, err := readiness(ctx, s.controller, s.cfg.Multipath, s.cfg.BGP)
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

// check is one thing a controller waits for before it is ready.
type check struct {
	Name     string `json:"name" doc:"bgp-ls, mrc, or bgp-peer/ and the name of a peer, or switch/ and that of a switch."`
	OK       bool   `json:"ok"`
	Advisory bool   `json:"advisory,omitempty" doc:"The check fails, and the controller is ready all the same."`
	Message  string `json:"message,omitempty" doc:"What is missing."`
}

// readiness says what the controller waits for: everything from each BGP-LS peer
// once, every switch it programs to be part of it, connected, and as it should be, and
// with MRC a fabric whose paths hosts can be given.
func readiness(ctx context.Context, c Controller, m Multipath, bgp BGP) (readinessView, error) {
	switches, err := c.Switches(ctx)
	if err != nil {
		return readinessView{}, err
	}
	network := check{Name: "bgp-ls"}
	switch t := c.Topology(); {
	case t.Version == 0:
		network.Message = "nothing was learned yet"
	case t.Stale != nil:
		network.Message, network.Advisory = t.Stale.Reason, !t.Stale.Incomplete
	default:
		network.OK = true
	}
	view := readinessView{Ready: true}
	add := func(c check) {
		view.Ready = view.Ready && (c.OK || c.Advisory)
		view.Checks = append(view.Checks, c)
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
			return readinessView{}, err
		}
		c := check{Name: "mrc", OK: fabric.InSync && fabric.Failure == "", Message: fabric.Failure}
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
		c := check{Name: "switch/" + w.Name}
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
	slices.SortStableFunc(view.Checks[1:], func(a, b check) int { return natural.Compare(a.Name, b.Name) })
	return view, nil
}
