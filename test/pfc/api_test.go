package pfc

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/northbound/northboundtest"
)

// shown is a controller for the API with PFC policies from a core in virtual time.
type shown struct {
	*northboundtest.Controller
	core *controller.Core
}

func (s *shown) Kinds() []*kind.Kind {
	all := s.Controller.Kinds()
	for i, k := range all {
		if _, ok := k.Zero().(api.PFCPolicy); ok {
			all[i] = k.With(policies{core: s.core})
		}
	}
	return all
}

// policies are the PFC policies of a core.
type policies struct {
	kind.Base
	core *controller.Core
}

func (p policies) List(context.Context, kind.Query) (kind.Page[any], error) {
	return kind.Any(kind.Page[api.PFCPolicy]{Items: p.core.PFCPolicies().List()}), nil
}

func (p policies) Get(_ context.Context, name string) (any, error) {
	return p.core.PFCPolicies().Get(name)
}

// restAPI asks the API of the bed's controller.
type restAPI struct {
	t       testing.TB
	handler http.Handler
}

func newAPI(b *bed) *restAPI {
	b.t.Helper()
	c := &shown{northboundtest.NewController(b.core().Topology()), b.core()}
	s, err := northbound.New(northbound.DefaultConfig(), c, northbound.NewEvents(16, time.Unix(0, 0)))
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
