package northbound

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/topology"
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
	for _, c := range []struct {
		err    error
		status int
		code   string
		say    string
	}{
		{controller.ErrStopped, 503, "no_decider", "the request did nothing"},
		{controller.ErrDeposed, 503, "no_decider", controller.ErrDeposed.Error()},
		{controller.ErrUnknown, 504, "outcome_unknown", "may have been kept, or not"},
		{access.ErrUnknown, 504, "outcome_unknown", "GET what it was to change"},
	} {
		p, ok := problemOf(fmt.Errorf("a change: %w", c.err)).(*api.Problem)
		if !ok || p.Status != c.status || p.Code != c.code || !strings.Contains(p.Detail, c.say) {
			t.Errorf("%v: %+v, want %d %s, %q", c.err, p, c.status, c.code, c.say)
		}
	}
	// A change with an unknown outcome is not reported as refused, whatever the state of the disk.
	if p, ok := problemOf(fmt.Errorf("%w: %w", controller.ErrUnknown,
		controller.ErrNoRoom)).(*api.Problem); !ok || p.Status != 504 {
		t.Errorf("%v", p)
	}
}

// TestFullDiskIsRefused: without room changes get 507, and deletions and trials are carried out;
// GET /readyz says why, also when what is known cannot be answered.
func TestFullDiskIsRefused(t *testing.T) {
	full := fmt.Errorf("%w: 3 MiB free", controller.ErrNoRoom)
	s, _, _ := newTestServer(t, func(c *Config) {
		c.Cluster = &fullCluster{}
		c.Writable = func() error { return full }
	})
	p := problemIn(t, do(s, "PUT", groupsPath+"/g1", groupBody("g1", 1)),
		http.StatusInsufficientStorage, "no_room")
	if p.Detail != full.Error() {
		t.Errorf("%+v", p)
	}
	if w := do(s, "PUT", groupsPath+"/g1?dryRun=true", groupBody("g1", 1)); w.Code >= 500 {
		t.Errorf("a trial: %d %s", w.Code, w.Body)
	}
	if w := do(s, "POST", sessionPath,
		`{"user":"ann","password":"a password"}`); w.Code != http.StatusUnauthorized {
		t.Errorf("a sign-in of nobody: %d %s", w.Code, w.Body)
	}
	if w := do(s, "DELETE", groupsPath+"/g1", ""); w.Code >= 500 {
		t.Errorf("a deletion: %d %s", w.Code, w.Body)
	}
	for _, want := range []string{`"ready":false`, `{"name":"disk","ok":false,"message":"3 MiB free"}`,
		`"bgp-ls"`} {
		if w := do(s, "GET", "/readyz", ""); w.Code != 503 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("/readyz: %d %s, want %s", w.Code, w.Body, want)
		}
	}
	failed := failing{s.controller, fmt.Errorf("%w: i/o error", controller.ErrStore)}
	r, err := readiness(t.Context(), failed, nil, nil, (&fullCluster{}).Readiness())
	if err != nil || r.Ready || len(r.Checks) != 2 || r.Checks[0].Name != "disk" ||
		r.Checks[1].Name != "controller" || !strings.Contains(r.Checks[1].Message, "i/o error") {
		t.Errorf("without an answer: %+v, %v", r, err)
	}
}

// TestStaleTopologyIsAdvisory: a controller that has lost a peer works on with the learned
// topology. A controller that never received the full topology is not ready.
func TestStaleTopologyIsAdvisory(t *testing.T) {
	s, _, _ := newTestServer(t)
	for _, incomplete := range []bool{false, true} {
		c := seeing{s.controller, &topology.Snapshot{Version: 1,
			Stale: &topology.Staleness{Reason: "a peer is lost", Incomplete: incomplete}}}
		r, err := readiness(t.Context(), c, nil, nil,
			[]api.ReadinessCheck{{Name: "share", Advisory: true}})
		if err != nil {
			t.Fatal(err)
		}
		for _, check := range r.Checks {
			if check.Name == "bgp-ls" && (check.OK || check.Advisory == incomplete ||
				check.Message != "a peer is lost") {
				t.Errorf("incomplete %v: %+v", incomplete, check)
			}
		}
	}
	quiet := idle{s.controller}
	if r, err := readiness(t.Context(), quiet, nil, nil,
		[]api.ReadinessCheck{{Name: "share", Advisory: true}}); err != nil || !r.Ready {
		t.Errorf("with a check that is advisory: %+v, %v", r, err)
	}
}

// seeing is a controller that knows a topology.
type seeing struct {
	Controller
	topology *topology.Snapshot
}

func (s seeing) Topology() *topology.Snapshot { return s.topology }

// idle is a controller that has a topology without switches.
type idle struct{ Controller }

func (idle) Topology() *topology.Snapshot { return &topology.Snapshot{Version: 1} }
func (idle) Kinds() []*kind.Kind          { return nil }

// TestSlowDiskMetric: a disk is slow or not.
func TestSlowDiskMetric(t *testing.T) {
	for _, slow := range []bool{false, true} {
		registry := prometheus.NewRegistry()
		registry.MustRegister(diskCollector{"c1", &api.ControllerDisk{State: "ok", Slow: slow}})
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "weft_disk_slow" && f.GetMetric()[0].GetGauge().GetValue() != number(slow) {
				t.Errorf("slow %v: %v", slow, f)
			}
		}
		if len(families) != 6 {
			t.Errorf("%d metrics of a disk", len(families))
		}
	}
}

// fullCluster is a controller whose disk is full.
type fullCluster struct{ fakeCluster }

func (*fullCluster) Readiness() []api.ReadinessCheck {
	return []api.ReadinessCheck{{Name: "disk", Message: "3 MiB free"}}
}

// failing is a controller that fails to list its switches.
type failing struct {
	Controller
	err error
}

func (f failing) Kinds() []*kind.Kind {
	about := kind.NewView[api.SwitchStatus](kind.About{Names: kind.Names{One: "switch",
		Noun: "switch"}})
	return []*kind.Kind{about.With(noSwitches{err: f.err})}
}

// noSwitches are switches that cannot be listed.
type noSwitches struct {
	kind.Base
	err error
}

func (n noSwitches) List(context.Context, kind.Query) (p kind.Page[any], err error) {
	return p, n.err
}
