package northbound

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

type healthView struct {
	Status  string `json:"status" enum:"ok"`
	Version string `json:"version" doc:"Version of the program."`
}

type readinessView struct {
	Ready  bool    `json:"ready"`
	Checks []Check `json:"checks" nullable:"false" doc:"What the controller waits for, or has waited for."`
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
		Description: "200 when BGP-LS and every switch are, 503 with the same body when not.",
	}), func(context.Context, *struct{}) (*readinessOutput, error) {
		out := &readinessOutput{Status: http.StatusOK, Body: readinessView{Checks: append([]Check{}, s.controller.Readiness()...)}}
		out.Body.Ready = ready(out.Body.Checks)
		if !out.Body.Ready {
			out.Status = http.StatusServiceUnavailable
		}
		return out, nil
	})
}

// ready: a controller that waits for nothing at all has not begun.
func ready(checks []Check) bool {
	return len(checks) > 0 && !slices.ContainsFunc(checks, func(c Check) bool { return !c.OK })
}
