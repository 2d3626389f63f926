package pfc

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/northbound/northboundtest"
)

// shown is a controller for the API whose PFC policies are those of the core in virtual time.
type shown struct {
	fake
	core *controller.Core
}

// fake answers what no test here asks for.
type fake struct{ *northboundtest.Controller }

func (fake) GroupState(context.Context, string) (r api.GroupState, err error)  { return r, nil }
func (fake) Tables(context.Context, string) ([]api.Table, error)               { return nil, nil }
func (fake) Entries(context.Context, string, string) ([]api.TableEntry, error) { return nil, nil }
func (fake) Counters(context.Context, string) ([]api.Counter, error)           { return nil, nil }

func (s *shown) PFCPolicies() resource.Handle[api.PFCPolicySpec, api.PFCPolicy] {
	policies := s.core.PFCPolicies()
	return &northboundtest.Kind[api.PFCPolicySpec, api.PFCPolicy]{
		All: func(context.Context) ([]api.PFCPolicy, error) { return policies.List(), nil },
		One: func(_ context.Context, name string) (api.PFCPolicy, error) { return policies.Get(name) },
	}
}

// restAPI asks the API of the bed's controller.
type restAPI struct {
	t       testing.TB
	handler http.Handler
}

func newAPI(b *bed) *restAPI {
	b.t.Helper()
	s, err := northbound.New(northbound.DefaultConfig(),
		&shown{fake{northboundtest.NewController(b.core().Topology())}, b.core()},
		northbound.NewEvents(16, time.Unix(0, 0)))
	b.must(err)
	return &restAPI{b.t, s.Handler()}
}

func (a *restAPI) get(path string) string {
	a.t.Helper()
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, httptest.NewRequestWithContext(a.t.Context(), http.MethodGet,
		"http://localhost"+path, nil))
	if w.Code != http.StatusOK {
		a.t.Fatalf("GET %s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}
