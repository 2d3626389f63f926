package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// leasedCore returns a core with leases on a fabric with one spine for each plane and links of
// capacity 100.
func leasedCore(t *testing.T) (*Core, *leasedFabric) {
	t.Helper()
	c := pfcCore(t, nil)
	f := newLeasedFabric(1, func() uint64 { return 100 })
	f.tell(c)
	return c, f
}

func leaseOf(from, to string, change func(*api.PathLeaseSpec)) api.PathLeaseSpec {
	s := api.PathLeaseSpec{Pairs: []api.LeasePair{{From: from, To: to}}}
	if change != nil {
		change(&s)
	}
	return s
}

func putLease(c *Core, name string, s api.PathLeaseSpec, pre resource.Precondition) error {
	_, _, err := c.Leases().Put(name, s, pre)
	return err
}

// TestLeaseQuota: a project gets as many leases as its quota, and no more. At the limit the project
// can still write its present leases, and after a deletion it can make a new lease.
func TestLeaseQuota(t *testing.T) {
	for _, limit := range []int{0, 1, 2, 3} {
		c := twoProjects(t)
		f := newLeasedFabric(1, func() uint64 { return 100 })
		f.tell(c)
		acme, pre := acmeSpec(), asMember("acme")
		acme.Quotas.Leases = &limit
		putProject(t, c, "acme", acme)
		one := leaseOf("a1", "a2", func(s *api.PathLeaseSpec) { s.Bandwidth = 1 })
		for i := range 4 {
			err := putLease(c, fmt.Sprintf("acme-%d", i), one, pre)
			if (err == nil) != (i < limit) {
				t.Fatalf("lease %d of at most %d: %v", i+1, limit, err)
			}
			if err == nil {
				continue
			}
			e := refusalOf(t, err)
			want := fmt.Sprintf("at most %d leases of project acme, which has %d", limit, limit)
			if len(e.Fields) != 1 || e.Fields[0].Code != api.CodeLimit || e.Fields[0].Want != want ||
				*e.Fields[0].Limit != int64(limit) {
				t.Errorf("the refusal is %+v, want %s", e.Fields, want)
			}
		}
		if err := putLease(c, "of-nobody", leaseOf("b1", "b1", nil), pre); err == nil {
			t.Error("a lease of no project was made by a member")
		}
		p, err := c.Projects().Get("acme")
		if err != nil || p.Status.Used.Leases != limit || *p.Status.Left.Leases != 0 {
			t.Errorf("used %+v, left %+v, %v", p.Status.Used, p.Status.Left, err)
		}
		if limit == 0 {
			continue
		}
		one.Heartbeat = api.Duration(time.Minute)
		if err := putLease(c, "acme-0", one, pre); err != nil {
			t.Errorf("a lease that is there: %v", err)
		}
		if err := c.Leases().Delete("acme-0", pre); err != nil {
			t.Fatal(err)
		}
		if err := putLease(c, "acme-9", one, pre); err != nil {
			t.Errorf("in place of one that has gone: %v", err)
		}
	}
}

// TestLeaseRefusals: a refusal names the field, and the rest depends on who asks.
func TestLeaseRefusals(t *testing.T) {
	c, _ := leasedCore(t)
	all := resource.Precondition{}
	full := leaseOf("a1", "b1", func(s *api.PathLeaseSpec) {
		s.Paths, s.Bandwidth, s.Duration = 2, 60, api.Duration(time.Hour)
	})
	if err := putLease(c, "secret", full, all); err != nil {
		t.Fatal(err)
	}
	for _, at := range []struct {
		bandwidth uint64
		granted   bool
	}{{39, true}, {40, true}, {41, false}} {
		err := putLease(c, "edge", leaseOf("a1", "b1", func(s *api.PathLeaseSpec) {
			s.Bandwidth = at.bandwidth
		}), all)
		if (err == nil) != at.granted {
			t.Errorf("%d beside 60 of 100: %v", at.bandwidth, err)
		}
		if err == nil {
			if err := c.Leases().Delete("edge", all); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, x := range []struct {
		change func(*api.PathLeaseSpec)
		field  string
		code   api.Code
		want   string
	}{
		{func(s *api.PathLeaseSpec) { s.Bandwidth = 41 }, "spec.pairs[0]", api.CodeConflict,
			`"secret"`},
		{func(s *api.PathLeaseSpec) { s.Bandwidth = 101 }, "spec.bandwidth", api.CodeNotPlannable,
			"100 bit/s"},
		{func(s *api.PathLeaseSpec) { s.Paths = 3 }, "spec.paths", api.CodeNotPlannable, "3 paths"},
		{func(s *api.PathLeaseSpec) { s.Paths, s.Disjointness = 3, api.DisjointPlane },
			"spec.disjointness", api.CodeNotPlannable, "plane"},
		{func(s *api.PathLeaseSpec) { s.Pairs = nil }, "spec.pairs", api.CodeInvalid, "1 to 256"},
		{func(s *api.PathLeaseSpec) { s.Pairs[0].To = "nowhere" }, "spec.pairs[0].to",
			api.CodeInvalid, "inventory"},
		{func(s *api.PathLeaseSpec) { s.Pairs[0].To = "a1" }, "spec.pairs[0].to", api.CodeInvalid,
			"another NIC"},
		{func(s *api.PathLeaseSpec) { s.Paths = 17 }, "spec.paths", api.CodeInvalid, "1 to 16"},
		{func(s *api.PathLeaseSpec) { s.Sharing = "x" }, "spec.sharing", api.CodeInvalid, "exclusive"},
		{func(s *api.PathLeaseSpec) { s.Disjointness = "x" }, "spec.disjointness", api.CodeInvalid,
			"plane"},
		{func(s *api.PathLeaseSpec) { s.Heartbeat = api.Duration(time.Millisecond) },
			"spec.heartbeat", api.CodeInvalid, "1s"},
		{func(s *api.PathLeaseSpec) { s.Duration = -1 }, "spec.duration", api.CodeInvalid, "1s"},
	} {
		e := refusalOf(t, putLease(c, "x", leaseOf("a1", "b1", x.change), all))
		if e.Code != x.code || len(e.Fields) != 1 || e.Fields[0].Field != x.field ||
			!strings.Contains(e.Fields[0].Want, x.want) {
			t.Errorf("%+v, want %s %s with %q", e, x.field, x.code, x.want)
		}
	}
	fixed := full
	fixed.Bandwidth = 1
	if e := refusalOf(t, putLease(c, "secret", fixed, all)); e.Code != api.CodeConflict ||
		e.Fields[0].Field != "spec.bandwidth" {
		t.Errorf("other paths for a lease that has some: %+v", e)
	}
	if e := refusalOf(t, putLease(pfcCore(t, nil), "y", leaseOf("a1", "b1", nil), all)); e.Code !=
		api.CodeUnavailable {
		t.Errorf("without a fabric: %+v", e)
	}
}

// TestLeasesOfProjects: a project leases paths between NICs of its own hosts. Holdings of further
// leases appear without their names.
func TestLeasesOfProjects(t *testing.T) {
	c := twoProjects(t)
	acme := acmeSpec()
	acme.ExclusiveLeases = true
	putProject(t, c, "acme", acme)
	f := newLeasedFabric(1, func() uint64 { return 100 })
	f.tell(c)
	pre := asMember("acme")
	e := refusalOf(t, putLease(c, "acme-l", leaseOf("a1", "b1", nil), pre))
	if e.Code != api.CodeForbidden || e.Fields[0].Field != "spec.pairs[0].to" {
		t.Errorf("a lease to another project's host: %+v", e)
	}
	if e := refusalOf(t, putLease(c, "free", leaseOf("a1", "a2", nil), resource.Precondition{})); e.
		Code != api.CodeForbidden {
		t.Errorf("a lease of nobody on hosts of a project: %+v", e)
	}
	if err := putLease(c, "acme-l", leaseOf("a1", "a2", func(s *api.PathLeaseSpec) {
		s.Paths, s.Sharing, s.Duration = 2, api.LeaseExclusive, api.Duration(time.Hour)
	}), pre); err != nil {
		t.Fatal(err)
	}
	// Its links are full for the project itself.
	e = refusalOf(t, putLease(c, "acme-m", leaseOf("a1", "a2", nil), pre))
	if text := fmt.Sprint(e); e.Code != api.CodeConflict || strings.Contains(text, "p1s0") ||
		strings.Contains(text, "p2s0") || !strings.Contains(text, "wait until") {
		t.Errorf("a member is told %+v", e)
	}
	p, err := c.Projects().Get("acme")
	if err != nil || !slices.Contains(p.Status.Resources, "leases/acme-l") ||
		!slices.Contains(p.Status.Things[0].UsedBy, "leases/acme-l") {
		t.Errorf("the project has %+v, %v", p.Status, err)
	}
	if err := c.Projects().Delete("acme", resource.Precondition{}); err == nil {
		t.Error("a project with a lease was deleted")
	}
}

// TestLeaseBlocking: an exclusive lease blocks every job with paths across its links, except the
// job that the lease serves. A shared lease blocks no job.
func TestLeaseBlocking(t *testing.T) {
	c, f := leasedCore(t)
	put := func(change func(*api.PathLeaseSpec)) {
		t.Helper()
		_ = c.Leases().Delete("l", resource.Precondition{})
		if err := putLease(c, "l", leaseOf("a1", "b1", change), resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	facts := &ready.Fabric{
		NICs: []ready.NIC{{Ports: []ready.Port{{Leaf: "leafA"}}}, {Ports: []ready.Port{{Leaf: "leafB"}}},
			{Ports: []ready.Port{{Leaf: "leafC"}}}},
		Links: []ready.Link{{ID: "a1-p1s0", From: "leafA", To: "p1s0"},
			{ID: "p1s0-b1", From: "p1s0", To: "leafB"}, {ID: "p2s0-a2", From: "p2s0", To: "leafC"}},
	}
	put(nil)
	if got := c.leases.Blocking("train", facts); got != nil {
		t.Errorf("a shared lease: %+v", got)
	}
	exclusive := func(job string) func(*api.PathLeaseSpec) {
		return func(s *api.PathLeaseSpec) {
			s.Sharing, s.Job, s.Duration = api.LeaseExclusive, job, api.Duration(time.Hour)
		}
	}
	put(exclusive("train"))
	if got := c.leases.Blocking("train", facts); got != nil {
		t.Errorf("the job's own lease: %+v", got)
	}
	put(exclusive(""))
	got := c.leases.Blocking("train", facts)
	if len(got) != 1 || got[0].Kind != "lease" || got[0].Object != "l" ||
		got[0].State != ready.Bad || !strings.Contains(got[0].Want, "its end at") ||
		!got[0].NICs(0) || !got[0].NICs(1) || got[0].NICs(2) {
		t.Errorf("an exclusive lease: %+v", got)
	}
	f.down["a1-p1s0"], f.down["a1-p2s0"] = true, true
	f.tell(c)
	if got := c.leases.Blocking("train", facts); got != nil {
		t.Errorf("a broken lease: %+v", got)
	}
}

// TestEndedLeases: a lease that has ended is there for an hour, is granted anew by a PUT, and goes
// then, for the projects too.
func TestEndedLeases(t *testing.T) {
	c, _ := leasedCore(t)
	s := leaseOf("a1", "b1", func(s *api.PathLeaseSpec) {
		s.Heartbeat = api.Duration(10 * time.Second)
	})
	if err := putLease(c, "l", s, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	phase := func(at time.Duration, want api.LeasePhase) {
		t.Helper()
		c.Tick(at)
		if l, err := c.Leases().Get("l"); err != nil || l.Status.Phase != want {
			t.Errorf("at %v it is %s, %v, want %s", at, l.Status.Phase, err, want)
		}
	}
	phase(10*time.Second-1, api.LeaseActive)
	phase(10*time.Second, api.LeaseEnded)
	if err := c.leases.Ask("l", api.RenewLease{},
		resource.Precondition{}); !errors.Is(err, api.ErrConflict) {
		t.Errorf("renewing a lease that has ended: %v", err)
	}
	if err := putLease(c, "l", s, resource.Precondition{}); err != nil {
		t.Error(err)
	}
	phase(11*time.Second, api.LeaseActive)
	phase(20*time.Second, api.LeaseEnded)
	phase(20*time.Second+time.Hour-1, api.LeaseEnded)
	c.Ready(0)
	c.Tick(20*time.Second + time.Hour)
	if _, err := c.Leases().Get("l"); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("an hour after its end: %v", err)
	}
	if saves := c.Ready(0).Saves; !slices.ContainsFunc(saves, func(o store.Op) bool {
		return o.Key == "leases/l" && o.Value == nil
	}) {
		t.Errorf("its record is kept: %v", saves)
	}
}

// TestLeasesFollow: a lease follows a view of the fabric at once, the next view a while later, and
// no older view. A change of a lease rests on the newest view.
func TestLeasesFollow(t *testing.T) {
	c, f := leasedCore(t)
	if err := putLease(c, "l", leaseOf("a1", "b1", func(s *api.PathLeaseSpec) {
		s.Bandwidth = 60
	}), resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	is := func(want api.LeasePhase) {
		t.Helper()
		if l, err := c.Leases().Get("l"); err != nil || l.Status.Phase != want {
			t.Errorf("at %v it is %s, %v, want %s", c.Now(), l.Status.Phase, err, want)
		}
	}
	view := func(revision uint64, down ...topology.LinkID) *fabricview.View {
		clear(f.down)
		for _, id := range down {
			f.down[id] = true
		}
		return &fabricview.View{Revision: revision, Leases: f.network()}
	}
	c.Tick(time.Second)
	c.SetFabric(&fabricview.View{Revision: 9, Why: "it is unknown for now"})
	lost := []topology.LinkID{"a1-p1s0", "a1-p2s0"}
	c.SetFabric(view(10, lost[0]))
	is(api.LeaseMoving)
	c.SetFabric(view(12, lost...))
	c.SetFabric(view(11))
	is(api.LeaseMoving)
	next := time.Second + 250*time.Millisecond
	if at, ok := c.Next(); !ok || at != next {
		t.Errorf("it is due at %v, %v, want %v", at, ok, next)
	}
	c.Tick(next - 1)
	is(api.LeaseMoving)
	c.Tick(next)
	is(api.LeaseBroken)
	c.SetFabric(view(13, lost[0]))
	is(api.LeaseBroken)
	if err := putLease(c, "m", leaseOf("a1", "b1", func(s *api.PathLeaseSpec) {
		s.Bandwidth = 40
	}), resource.Precondition{}); err != nil {
		t.Errorf("by the link that is back: %v", err)
	}
	is(api.LeaseActive)
	c.SetFabric(view(14, lost...))
	if err := c.leases.Ask("m", api.RenewLease{}, resource.Precondition{}); err != nil {
		t.Error(err)
	}
	is(api.LeaseBroken)
}

// TestLeaseTakes: the dry run of a lease of a higher priority names the lease whose links it takes;
// one of the same priority takes none.
func TestLeaseTakes(t *testing.T) {
	c, f := leasedCore(t)
	all := func(priority int) api.PathLeaseSpec {
		return leaseOf("a1", "b1", func(s *api.PathLeaseSpec) {
			s.Priority, s.Bandwidth, s.Paths = priority, 100, 1
			s.Disjointness = api.DisjointNone
		})
	}
	for _, name := range []string{"low-1", "low-2"} {
		if err := putLease(c, name, all(0), resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	taken, err := c.Takes(func(c *Core) error {
		f.tell(c)
		return putLease(c, "high", all(5), resource.Precondition{})
	})
	if err != nil || len(taken) != 1 || taken[0].Kind != "lease" ||
		!strings.HasPrefix(taken[0].Object, "leases/low-") ||
		taken[0].Reason != api.ReasonPreempted {
		t.Errorf("it takes %+v, %v", taken, err)
	}
	if taken, err = c.Takes(func(c *Core) error {
		f.tell(c)
		return c.Leases().Delete("low-1", resource.Precondition{})
	}); err != nil || len(taken) != 0 {
		t.Errorf("its deletion takes %+v, %v", taken, err)
	}
}
