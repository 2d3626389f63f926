package northbound

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
)

// TestStoreFails: a change that the store does not take is answered with the reason.
func TestStoreFails(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		want   string
	}{
		{errors.New("i/o error"), 503, "503 store_unavailable: the store takes no changes: i/o error"},
		{controller.ErrNoRoom, 507, "507 no_room: the store takes no changes: its disk is full"},
	} {
		p, ok := problemOf(fmt.Errorf("%w: %w", controller.ErrStore, c.err)).(interface {
			GetStatus() int
			Error() string
		})
		if !ok || p.GetStatus() != c.status || p.Error() != c.want {
			t.Errorf("%v, want %s", p, c.want)
		}
	}
	// What may have been kept is not refused, whatever its disk is like.
	if p, ok := problemOf(fmt.Errorf("%w: %w", controller.ErrUnknown, controller.ErrNoRoom)).(*api.Problem); !ok || p.Status != 504 {
		t.Errorf("%v", p)
	}
}

// TestFullDiskIsRefused: without room changes get 507, and deletions and trials are carried out; GET
// /readyz says why, also when what is known cannot be answered.
func TestFullDiskIsRefused(t *testing.T) {
	full := fmt.Errorf("%w: 3 MiB free", controller.ErrNoRoom)
	s, _, _ := newTestServer(t, func(c *Config) {
		c.Cluster = &fullCluster{}
		c.Writable = func() error { return full }
	})
	p := problemIn(t, do(s, "PUT", groupsPath+"/g1", groupBody("g1", 1)), http.StatusInsufficientStorage, "no_room")
	if p.Detail != full.Error() {
		t.Errorf("%+v", p)
	}
	if w := do(s, "PUT", groupsPath+"/g1?dryRun=true", groupBody("g1", 1)); w.Code >= 500 {
		t.Errorf("a trial: %d %s", w.Code, w.Body)
	}
	if w := do(s, "POST", sessionPath, `{"user":"ann","password":"a password"}`); w.Code != http.StatusUnauthorized {
		t.Errorf("a sign-in of nobody: %d %s", w.Code, w.Body)
	}
	if w := do(s, "DELETE", groupsPath+"/g1", ""); w.Code >= 500 {
		t.Errorf("a deletion: %d %s", w.Code, w.Body)
	}
	for _, want := range []string{`"ready":false`, `{"name":"disk","ok":false,"message":"3 MiB free"}`, `"bgp-ls"`} {
		if w := do(s, "GET", "/readyz", ""); w.Code != 503 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("/readyz: %d %s, want %s", w.Code, w.Body, want)
		}
	}
	failed := failing{s.controller, fmt.Errorf("%w: i/o error", controller.ErrStore)}
	r, err := readiness(t.Context(), failed, nil, nil, (&fullCluster{}).Readiness())
	if err != nil || r.Ready || len(r.Checks) != 2 || r.Checks[0].Name != "disk" || r.Checks[1].Name != "controller" || !strings.Contains(r.Checks[1].Message, "i/o error") {
		t.Errorf("without an answer: %+v, %v", r, err)
	}
}

// fullCluster is a controller whose disk is full.
type fullCluster struct{ fakeCluster }

func (*fullCluster) Readiness() []api.ReadinessCheck {
	return []api.ReadinessCheck{{Name: "disk", Message: "3 MiB free"}}
}

// failing is a controller that does not say what switches there are.
type failing struct {
	Controller
	err error
}

func (f failing) Switches(context.Context) ([]api.SwitchStatus, error) { return nil, f.err }
