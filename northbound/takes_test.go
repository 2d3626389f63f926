package northbound

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/topology"
)

// taking lists the possible losses by writes of each kind, and the tests; "-" and a reason: no
// losses.
var taking = map[string]string{
	"multicast-group": "members; queue pairs of other groups: controller.TestTakes",
	"srv6-policy":     "the way of tenants: controller.TestTakes",
	"tenant":          "sites, ports of receivers: controller.TestTakes",
	"pfc-policy":      "a lossless priority: controller.TestTakes",
	"network":         "nodes and links, and what crosses them: controller.TestTakes",
	"job":             "all that is ready for it, its groups: controller.TestTakes",
	"lease":           "links of other leases: controller.TestTakes",
	"maintenance":     "paths of jobs: TestTakesFromJobs",
	"port":            "the ports of hosts and sites, links: controller.TestTakes, TestTakesFromJobs",
	"link":            "paths: mrc.TestTakes, TestTakesFromJobs",
	"node":            "paths: mrc.TestTakes, TestTakesFromJobs",
	"plane":           "paths: mrc.TestTakes, TestTakesFromJobs",
	"host-port":       "a port: mrc.TestTakes, TestTakesFromJobs",
	"ev-profile":      "EVs: mrc.TestTakes",
	"project": "- the controller refuses a write that takes away something in use, and the deletion " +
		"of a project with resources",
	"silence":      "- it hides a cause, which lasts",
	"notification": "- nobody but its receiver hears of causes by it",
	"orphan":       "- it deletes what no resource explains: nobody is known to have it",
	"cc-profile":   "- it changes how fast hosts send; one that is in use cannot be deleted",
}

// TestKindsTake: taking has an entry for each kind with writes, and the view of the kind has the
// field Takes if writes can take something.
func TestKindsTake(t *testing.T) {
	all := make(map[string]bool)
	for _, k := range append(controller.Kinds(), mrc.Kinds()...) {
		what := taking[k.One]
		all[k.One] = true
		_, place := k.View.FieldByName("Takes")
		switch written := k.Creates || k.Has(kind.Put) || k.Has(kind.Delete) || k.One == "orphan"; {
		case written && what == "":
			t.Errorf("nobody says what the writes of a %s can take from others", k.Noun)
		case !written && what != "":
			t.Errorf("a %s is not written, and can take %s", k.Noun, what)
		case written && place == strings.HasPrefix(what, "-"):
			t.Errorf("a %s can take %q; a place for that: %t", k.Noun, what, place)
		}
	}
	for name := range taking {
		if !all[name] {
			t.Errorf("there is no kind %s", name)
		}
	}
}

// TestTakesFromJobs: the dry run of a drain names the dependent jobs, and the dry run of the end of
// a drain names none.
func TestTakesFromJobs(t *testing.T) {
	s, _ := newFabricServer(t, ev.ModeStructured)
	takes := func(path, body string) (from string, ok bool) {
		t.Helper()
		w := do(s, "PUT", path+"?dryRun=true", body)
		var v struct{ Takes []api.Taken }
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Code != 200 && w.Code != 409 {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		var out []string
		for _, x := range v.Takes {
			if x.Kind == "job" && x.Object == "jobs/"+x.Name {
				out = append(out, x.Name+": "+x.Message)
			}
		}
		return strings.Join(out, ", "), w.Code == 200
	}
	nodes, err := kind.ViewsOf[api.Node](t.Context(), s.kinds(), kind.Query{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"/v1/hosts/h1/ports/1": "on host h1: 2 of its 8 ranks depend on host h1",
	}
	for i := range nodes {
		name := nodes[i].Status.Name
		want["/v1/nodes/"+string(nodes[i].ID)] = "on switch " + name + ": 2 of its 8 ranks depend on " +
			"switch " + name
	}
	tried := 0
	for path, want := range want {
		got, ok := takes(path, `{"spec":{"admin":"drained"}}`)
		if !ok {
			continue // the last path of somebody
		}
		if tried++; got != want {
			t.Errorf("a drain of %s takes from %q, want %q", path, got, want)
		}
		if got, _ := takes(path, `{"spec":{"admin":"up"}}`); got != "" {
			t.Errorf("%s taken back into use takes from %q", path, got)
		}
	}
	if tried < 2 {
		t.Errorf("%d drains were accepted, want more", tried)
	}
}

// TestLeaving: a drain or a disabled port takes a link, switch, plane or host out of use, unless
// the part is out of use already.
func TestLeaving(t *testing.T) {
	off, on := false, true
	drained := api.AdminSpec{Admin: api.AdminDrained}
	of := []api.Taken{{Kind: "host", Name: "h1"}, {Kind: "tenant", Name: "red"}}
	is := []api.Drain{{}}
	for i, c := range []struct {
		view any
		want string
	}{
		{api.Link{ID: "a~b", Spec: drained}, "[{link a~b}]"},
		{api.Link{ID: "a~b", Spec: drained, Status: api.LinkStatus{Drained: true}}, "[]"},
		{api.Link{ID: "a~b", Spec: api.AdminSpec{Admin: api.AdminUp}}, "[]"},
		{api.Node{Spec: drained, Status: api.NodeStatus{Name: "A"}}, "[{switch A}]"},
		{api.Node{Spec: drained, Status: api.NodeStatus{Name: "A", Drains: is}}, "[]"},
		{api.Plane{Plane: 2, Spec: drained}, "[{plane 2}]"},
		{api.Plane{Plane: 2, Spec: drained, Status: api.PlaneStatus{Drains: is}}, "[]"},
		{api.HostPort{Spec: drained}, "[{host h1}]"},
		{api.Port{Spec: api.PortSpec{Enabled: &off}, Status: api.PortStatus{Link: "a~b"}},
			"[{link a~b} {host h1}]"},
		{api.Port{Spec: api.PortSpec{Enabled: &off}, Status: api.PortStatus{Link: "a~b", Oper: "down"}},
			"[{host h1}]"},
		{api.Port{Spec: api.PortSpec{Enabled: &on}, Status: api.PortStatus{Link: "a~b"}}, "[]"},
		{api.Port{Status: api.PortStatus{Link: "a~b"}}, "[]"},
		{api.Tenant{}, "[]"},
	} {
		if got := fmt.Sprint(leaving(c.view, of)); got != c.want {
			t.Errorf("%d, %T: %s, want %s", i, c.view, got, c.want)
		}
	}
	var trial resource.Trial
	m := api.Maintenance{Status: api.MaintenanceStatus{Jobs: []api.MaintenanceJob{{Name: "train",
		Left: 0.5, Lose: 3, CutOff: 1}}}}
	s := &Server{}
	if err := s.takesFromJobs(t.Context(), m, &trial); err != nil || len(trial.Takes) != 1 ||
		trial.Takes[0].Message != "it keeps 50 % of the paths of 3 pairs of racks, and 1 of its ranks "+
			"have no port" {
		t.Errorf("a maintenance takes %+v, %v", trial.Takes, err)
	}
}

// busy is a controller with one job that depends on everything.
type busy struct{ *fakeController }

func (busy) Dependents(context.Context) (func(api.Part) []api.JobDependent, error) {
	return func(api.Part) []api.JobDependent {
		return []api.JobDependent{{Name: "acme-train", Affected: 2, Ranks: 8}}
	}, nil
}

// TestLeaseTakes: the dry run of an exclusive lease names the jobs that the lease would block, with
// their projects. It names none for a shared lease, nor for a lease that already blocks these jobs.
func TestLeaseTakes(t *testing.T) {
	s, c, _ := newTestServer(t)
	s.controller = busy{c}
	if _, _, err := projectsOf(s).Put(t.Context(), "acme", api.ProjectSpec{},
		resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	l := api.PathLease{Name: "l", Spec: api.PathLeaseSpec{Sharing: api.LeaseExclusive}}
	l.Status.Phase = api.LeaseActive
	l.Status.Paths = []api.LeasedPath{{Links: []topology.LinkID{"a~b"}}}
	takes := func() string {
		t.Helper()
		var trial resource.Trial
		if err := s.takesFromJobs(t.Context(), l, &trial); err != nil {
			t.Fatal(err)
		}
		if len(trial.Takes) == 0 {
			return ""
		}
		return trial.Takes[0].Object + ": " + trial.Takes[0].Message
	}
	const want = "jobs/acme-train: 2 of its 8 ranks depend on links that the lease has for itself: " +
		"the job of project acme is NO-GO while the lease lasts"
	if got := takes(); got != want {
		t.Errorf("it takes %q, want %q", got, want)
	}
	was := l
	was.Status.Phase = api.LeaseEnded
	c.Leases.Items["l"] = was
	if got := takes(); got != want {
		t.Errorf("a lease that had ended takes %q, want %q", got, want)
	}
	c.Leases.Items["l"] = l
	if got := takes(); got != "" {
		t.Errorf("a lease that blocks the job already takes %q", got)
	}
	delete(c.Leases.Items, "l")
	l.Spec.Sharing = api.LeaseShared
	if got := takes(); got != "" {
		t.Errorf("a shared lease takes %q", got)
	}
}
