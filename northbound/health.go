package northbound

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
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
		Description: "200 when BGP-LS, every switch and, where there is one, the MRC fabric are, 503 with the same body when not.",
	}), func(ctx context.Context, _ *struct{}) (*readinessOutput, error) {
		view, err := readiness(ctx, s.controller, s.cfg.Multipath)
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
	Name    string `json:"name" doc:"bgp-ls, mrc, or switch/ and the name of a switch."`
	OK      bool   `json:"ok"`
	Message string `json:"message,omitempty" doc:"What is missing."`
}

// readiness says what the controller waits for: a topology that is not stale,
// every switch it programs to be part of it, connected, and as it should be, and
// with MRC a fabric whose paths hosts can be given.
func readiness(ctx context.Context, c Controller, m Multipath) (readinessView, error) {
	switches, err := c.Switches(ctx)
	if err != nil {
		return readinessView{}, err
	}
	network := check{Name: "bgp-ls"}
	switch t := c.Topology(); {
	case t.Version == 0:
		network.Message = "nothing was learned yet"
	case t.Stale != nil:
		network.Message = t.Stale.Reason
	default:
		network.OK = true
	}
	view := readinessView{Ready: network.OK, Checks: []check{network}}
	if m != nil {
		fabric, err := m.Fabric(ctx)
		if err != nil {
			return readinessView{}, err
		}
		c := check{Name: "mrc", OK: fabric.InSync && fabric.Failure == "", Message: fabric.Failure}
		if !fabric.InSync {
			c.Message = "the topology is not in sync: hosts are told nothing"
		}
		view.Ready = view.Ready && c.OK
		view.Checks = append(view.Checks, c)
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
		view.Ready = view.Ready && c.OK
		view.Checks = append(view.Checks, c)
	}
	slices.SortStableFunc(view.Checks[1:], func(a, b check) int { return strings.Compare(a.Name, b.Name) })
	return view, nil
}
