package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/leases"
	"github.com/weft-sdn/weft/controller/resource"
)

// sharingProjects is a core with the projects acme and globex, which share all hosts of a fabric of
// spines a plane with links of 100.
func sharingProjects(t *testing.T, spines int, acme func(*api.ProjectSpec)) (*Core, *leasedFabric) {
	t.Helper()
	c := pfcCore(t, nil)
	spec := api.ProjectSpec{}
	for _, name := range leaseNICs {
		spec.Hosts = append(spec.Hosts, api.ProjectHost{Name: name, Shared: true})
	}
	putProject(t, c, "globex", spec)
	if acme != nil {
		acme(&spec)
	}
	putProject(t, c, "acme", spec)
	f := newLeasedFabric(spines, func() uint64 { return 100 })
	f.tell(c)
	return c, f
}

// refusedFor checks that a lease is refused for a field.
func refusedFor(t *testing.T, err error, field string, code api.Code, want string) {
	t.Helper()
	if err == nil {
		t.Errorf("no refusal, want one of %s: %s", field, want)
		return
	}
	e := refusalOf(t, err)
	if !slices.ContainsFunc(e.Fields, func(f api.FieldError) bool {
		return f.Field == field && f.Code == code && f.Value != "" && strings.Contains(f.Want, want)
	}) {
		t.Errorf("%+v, want %s %s: %s", e.Fields, field, code, want)
	}
}

// TestHostileTenant: an editor of a project without rights takes nothing for itself, nor for ever,
// nor from others.
func TestHostileTenant(t *testing.T) {
	c, _ := sharingProjects(t, 2, nil)
	pre := asMember("acme")
	all := leaseOf("a1", "b1", func(s *api.PathLeaseSpec) {
		s.Paths, s.Sharing = 4, api.LeaseExclusive
	})
	refusedFor(t, putLease(c, "acme-1", all, pre), "spec.sharing", api.CodeForbidden,
		"shared: exclusiveLeases is not assigned to project acme")
	for _, priority := range []int{0, 1, 1000} {
		err := putLease(c, "acme-p", leaseOf("a1", "b1", func(s *api.PathLeaseSpec) {
			s.Priority = priority
		}), pre)
		if priority == 0 && err != nil {
			t.Error(err)
		} else if priority > 0 {
			refusedFor(t, err, "spec.priority", api.CodeForbidden,
				"at most 0, the leasePriority that is assigned to project acme")
		}
	}
	got, err := c.Leases().Get("acme-p")
	if err != nil || got.Spec.Duration.D() != api.DefaultLeaseDuration ||
		!got.Status.Ends.Equal(got.Status.Granted.Add(api.DefaultLeaseDuration)) {
		t.Errorf("%+v, %v", got, err)
	}
	// The same file again changes nothing.
	again, created, err := c.Leases().Put("acme-p", leaseOf("a1", "b1", nil), pre)
	if err != nil || created || again.Version != got.Version {
		t.Errorf("%+v, %v, %v", again, created, err)
	}
	// Administrators may all of it.
	all.Priority = 1000
	if err := putLease(c, "own", all, resource.Precondition{}); err != nil {
		t.Error(err)
	}
}

// TestLeaseDurations: a lease of a project lasts as long as the project may have one at most, and
// ends then.
func TestLeaseDurations(t *testing.T) {
	c, _ := sharingProjects(t, 2, func(s *api.ProjectSpec) {
		s.Quotas.LeaseDuration = api.Duration(time.Hour)
	})
	pre := asMember("acme")
	lasting := func(d time.Duration) error {
		return putLease(c, "acme-1", leaseOf("a1", "b1", func(s *api.PathLeaseSpec) {
			s.Duration = api.Duration(d)
		}), pre)
	}
	for _, d := range []time.Duration{time.Hour - time.Second, time.Hour, 0} {
		if err := lasting(d); err != nil {
			t.Errorf("%v: %v", d, err)
		}
	}
	refusedFor(t, lasting(time.Hour+time.Second), "spec.duration", api.CodeLimit,
		"at most 1h0m0s, quotas.leaseDuration of project acme")
	granted, err := c.Leases().Get("acme-1")
	if err != nil {
		t.Fatal(err)
	}
	end := granted.Status.Ends.Sub(c.env.Start)
	for _, at := range []struct {
		at    time.Duration
		phase api.LeasePhase
	}{{end - time.Millisecond, api.LeaseActive}, {end, api.LeaseEnded}} {
		c.Tick(at.at)
		if l, err := c.Leases().Get("acme-1"); err != nil || l.Status.Phase != at.phase {
			t.Errorf("at %v: %s, %v, want %s", at.at, l.Status.Phase, err, at.phase)
		}
	}
}

// TestLeaseShares: a project holds so many links, and so many bit/s on its paths, and no more; what
// has ended or is smaller than before does not count.
func TestLeaseShares(t *testing.T) {
	for _, most := range []int{3, 4, 5, 6, 7} { // links; a path has two
		c, _ := sharingProjects(t, 2, func(s *api.ProjectSpec) { s.Quotas.LeaseLinks = &most })
		pre := asMember("acme")
		one := leaseOf("a1", "b1", func(s *api.PathLeaseSpec) { s.Disjointness = api.DisjointLink })
		two := leaseOf("a2", "b2", func(s *api.PathLeaseSpec) {
			s.Paths, s.Disjointness = 2, api.DisjointPlane
		})
		if err := putLease(c, "acme-1", one, pre); err != nil {
			t.Fatal(err)
		}
		err := putLease(c, "acme-2", two, pre)
		if most >= 6 && err != nil {
			t.Errorf("4 links beside 2 of %d: %v", most, err)
		} else if most < 6 {
			refusedFor(t, err, "spec.paths", api.CodeLimit,
				fmt.Sprintf("at most %d links, and this lease would hold 4: that is left", most-2))
		}
		p, err := c.Projects().Get("acme")
		used := min(2, most)
		if most >= 6 {
			used = 6
		}
		if err != nil || p.Status.Used.LeaseLinks != used || *p.Status.Left.LeaseLinks != most-used {
			t.Errorf("%d: used %+v, left %+v, %v", most, p.Status.Used, p.Status.Left, err)
		}
	}
	for _, most := range []uint64{119, 120, 121} {
		c, _ := sharingProjects(t, 2, func(s *api.ProjectSpec) { s.Quotas.LeaseBandwidth = &most })
		pre := asMember("acme")
		two := leaseOf("a1", "b1", func(s *api.PathLeaseSpec) { s.Paths, s.Bandwidth = 2, 60 })
		err := putLease(c, "acme-1", two, pre)
		if most < 120 {
			refusedFor(t, err, "spec.bandwidth", api.CodeLimit, "of the 119 bit/s of leases of project acme")
			continue
		} else if err != nil {
			t.Errorf("120 of %d: %v", most, err)
		}
		one := leaseOf("a2", "b2", func(s *api.PathLeaseSpec) { s.Bandwidth = most - 120 + 1 })
		refusedFor(t, putLease(c, "acme-2", one, pre), "spec.bandwidth", api.CodeLimit, "have 120")
		if err := putLease(c, "globex-2", one, asMember("globex")); err != nil {
			t.Errorf("of another project: %v", err)
		}
		if err := c.Leases().Delete("acme-1", pre); err != nil {
			t.Fatal(err)
		}
		if err := putLease(c, "acme-2", one, pre); err != nil {
			t.Errorf("after the other one: %v", err)
		}
	}
	// No link is left: the next lease is refused before it is looked for.
	none := 0
	c, _ := sharingProjects(t, 2, func(s *api.ProjectSpec) { s.Quotas.LeaseLinks = &none })
	refusedFor(t, putLease(c, "acme-1", leaseOf("a1", "b1", nil), asMember("acme")), "name",
		api.CodeLimit, "as many links as quotas.leaseLinks has")
}

// TestPriorities: a lease of a project takes links from leases of lower priority, up to the
// priority assigned to the project. The owner of a lease that loses links learns why, and who took
// them if it may know.
func TestPriorities(t *testing.T) {
	c, _ := sharingProjects(t, 1, func(s *api.ProjectSpec) { s.LeasePriority = 5 })
	wide := leaseOf("a1", "b1", func(s *api.PathLeaseSpec) { s.Paths, s.Bandwidth = 2, 60 })
	if err := putLease(c, "globex-1", wide, asMember("globex")); err != nil {
		t.Fatal(err)
	}
	pre := asMember("acme")
	take := leaseOf("a1", "b1", func(s *api.PathLeaseSpec) { s.Bandwidth = 60 })
	if err := putLease(c, "acme-1", take, pre); err == nil {
		t.Fatal("a lease of the same priority took links")
	}
	take.Priority = 6
	refusedFor(t, putLease(c, "acme-1", take, pre), "spec.priority", api.CodeForbidden, "at most 5")
	take.Priority = 5
	var events []string
	c.Ready(0)
	if err := putLease(c, "acme-1", take, pre); err != nil {
		t.Fatal(err)
	}
	for _, e := range c.Ready(0).Events {
		events = append(events, fmt.Sprintf("%s %s %s", e.Type, e.Object, e.Message))
	}
	for _, want := range []string{
		"lease.broken globex-1 broken: a lease of priority 5 has taken its links, and there are no " +
			"other paths",
		"lease.changed acme-1 granted: 1 paths, with links that 1 leases of lower priorities have " +
			"given up",
	} {
		if !slices.Contains(events, want) {
			t.Errorf("%q lacks %q", events, want)
		}
	}
	lost, err := c.Leases().Get("globex-1")
	ready := lost.Status.Conditions.Find(api.Ready)
	if err != nil || lost.Status.Phase != api.LeaseBroken || ready == nil || ready.Status ||
		ready.Reason != api.ReasonPreempted || strings.Contains(ready.Message, "acme") ||
		!strings.Contains(lost.Status.Reason, `lease "acme-1" of priority 5 has taken link`) {
		t.Errorf("%+v, %v", lost.Status, err)
	}
	took, err := c.Leases().Get("acme-1")
	if err != nil || took.Status.Took != 1 ||
		!slices.Equal(took.Status.TookFrom, []string{"globex-1"}) {
		t.Errorf("%+v, %v", took.Status, err)
	}
	lost, took = leases.Kind.Hidden(lost).(api.PathLease), leases.Kind.Hidden(took).(api.PathLease)
	if text := fmt.Sprintf("%+v", lost); strings.Contains(text, "acme") ||
		!strings.Contains(lost.Status.Reason, "a lease of priority 5 has taken links") {
		t.Errorf("a member of globex sees %s", text)
	}
	if text := fmt.Sprintf("%+v", took); strings.Contains(text, "globex") || took.Status.Took != 1 {
		t.Errorf("a member of acme sees %s", text)
	}
	// It has its paths again when there is room.
	if err := c.Leases().Delete("acme-1", pre); err != nil {
		t.Fatal(err)
	}
	if lost, err = c.Leases().Get("globex-1"); err != nil || lost.Status.Phase != api.LeaseActive ||
		lost.Status.Reason != "" {
		t.Errorf("%+v, %v", lost.Status, err)
	}
}

// TestLastPathOfAJob: a project does not take the last path between two racks of another's running
// job, in one lease or several, nor by priority from the lease of the job.
func TestLastPathOfAJob(t *testing.T) {
	c, f := sharingProjects(t, 1, func(s *api.ProjectSpec) {
		s.ExclusiveLeases, s.LeasePriority = true, 9
	})
	fabric := ready.Fabric{Known: ready.IsGood(), Paths: []ready.Path{
		{Plane: 1, From: "a1", To: "b1"}, {Plane: 2, From: "a1", To: "b1"}}}
	for _, p := range f.paths[api.LeasePair{From: "a1", To: "b1"}] {
		at := string(p.Nodes[0])
		fabric.Links = append(fabric.Links,
			ready.Link{ID: string(p.Links[0]), Plane: int32(p.Plane), From: "a1", To: at},
			ready.Link{ID: string(p.Links[1]), Plane: int32(p.Plane), From: at, To: "b1"})
	}
	train := jobOn("a1,b1", 2)
	train.State = api.JobRunning
	if err := putJob(c, "globex-train", train, asMember("globex")); err != nil {
		t.Fatal(err)
	}
	f.read(c, "globex-train", fabric)
	pre := asMember("acme")
	alone := func(paths int) api.PathLeaseSpec {
		return leaseOf("a1", "b1", func(s *api.PathLeaseSpec) {
			s.Sharing, s.Paths = api.LeaseExclusive, paths
		})
	}
	const want = "paths that leave each running job of others one"
	refusedFor(t, putLease(c, "acme-1", alone(2), pre), "spec.sharing", api.CodeConflict, want)
	if err := putLease(c, "acme-1", alone(1), pre); err != nil {
		t.Fatal(err)
	}
	err := putLease(c, "acme-2", alone(1), pre)
	refusedFor(t, err, "spec.sharing", api.CodeConflict, want)
	if strings.Contains(err.Error(), "globex") {
		t.Errorf("a member of acme sees %v", err)
	}
	refusedFor(t, putLease(c, "acme-2", alone(1), resource.Precondition{}), "spec.sharing",
		api.CodeConflict, `job "globex-train" would have none`)
	// For the job itself, and of the project of the job.
	for name, job := range map[string]string{"own": "globex-train", "globex-own": ""} {
		spec := alone(1)
		spec.Job = job
		if name == "globex-own" {
			p, err := c.Projects().Get("globex")
			if err != nil {
				t.Fatal(err)
			}
			p.Spec.ExclusiveLeases = true
			putProject(t, c, "globex", p.Spec)
		}
		if err := putLease(c, name, spec, resource.Precondition{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.Leases().Delete(name, resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	// A lease of the running job keeps a path, however high the priority of another project is.
	if err := c.Leases().Delete("acme-1", pre); err != nil {
		t.Fatal(err)
	}
	if err := putLease(c, "globex-job", leaseOf("a1", "b1", func(s *api.PathLeaseSpec) {
		s.Paths, s.Bandwidth, s.Job = 2, 60, "globex-train"
	}), asMember("globex")); err != nil {
		t.Fatal(err)
	}
	take := leaseOf("a1", "b1", func(s *api.PathLeaseSpec) { s.Bandwidth, s.Priority = 60, 9 })
	if err := putLease(c, "acme-3", take, pre); err == nil {
		t.Error("paths of the lease of a running job were taken, and it has no others")
	}
	if l, err := c.Leases().Get("globex-job"); err != nil || l.Status.Phase != api.LeaseActive {
		t.Errorf("%+v, %v", l.Status, err)
	}
	// When the job does not run any more, it may.
	train.State = api.JobDone
	if err := putJob(c, "globex-train", train, asMember("globex")); err != nil {
		t.Fatal(err)
	}
	if err := putLease(c, "acme-3", take, pre); err != nil {
		t.Error(err)
	}
	if err := c.Leases().Delete("acme-3", pre); err != nil {
		t.Fatal(err)
	}
	if err := c.Leases().Delete("globex-job", asMember("globex")); err != nil {
		t.Fatal(err)
	}
	if err := putLease(c, "acme-1", alone(2), pre); err != nil {
		t.Error(err)
	}
}
