package controller

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/job"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/store"
)

// jobOn is a job on hosts that talk in a ring.
func jobOn(hosts string, n int) api.JobSpec {
	return api.JobSpec{Hosts: hosts, Layout: &api.JobLayout{DP: n}}
}

func putJob(c *Core, name string, spec api.JobSpec, pre resource.Precondition) error {
	_, _, err := c.Jobs().Put(name, spec, pre)
	return err
}

// TestJobsOfProjects: a job of a project may use only NICs of the project's hosts, within the
// quotas of the project, and counts against the quotas.
func TestJobsOfProjects(t *testing.T) {
	c := twoProjects(t)
	one, three := 1, 3
	acme := acmeSpec()
	acme.Quotas = api.ProjectQuotas{Jobs: &one, Ranks: &three}
	putProject(t, c, "acme", acme)
	refused := func(err error, field string, code api.Code, want string) {
		t.Helper()
		e := refusalOf(t, err)
		if e.Code != code || len(e.Fields) != 1 || e.Fields[0].Field != field ||
			!strings.Contains(e.Error(), want) {
			t.Errorf("the refusal is %+v, want %s %s with %q", e, code, field, want)
		}
	}
	pre := asMember("acme")
	refused(putJob(c, "acme-j", jobOn("a1,b1", 2), pre), "spec.hosts", api.CodeForbidden, "b1")
	if e := putJob(c, "acme-j", jobOn("a1,b1", 2), pre); strings.Contains(e.Error(), "globex") {
		t.Errorf("a member learns of another project: %v", e)
	}
	err := putJob(c, "free", jobOn("a1,a2", 2), resource.Precondition{})
	if e := refusalOf(t, err); e.Code != api.CodeForbidden || len(e.Fields) != 2 {
		t.Errorf("a job of nobody on hosts of a project: %v", e)
	}
	if err := putJob(c, "acme-j", jobOn("a1,a2", 2), pre); err != nil {
		t.Fatal(err)
	}
	refused(putJob(c, "acme-k", jobOn("a1,a2", 2), pre), "name", api.CodeLimit, "at most 1 jobs")
	p, err := c.Projects().Get("acme")
	if err != nil {
		t.Fatal(err)
	}
	if u, l := p.Status.Used, p.Status.Left; u.Jobs != 1 || u.Ranks != 2 || *l.Jobs != 0 ||
		*l.Ranks != 1 {
		t.Errorf("used %+v, left %+v", u, l)
	}
	if got := p.Status.Things[0].UsedBy; len(got) != 1 || got[0] != "jobs/acme-j" {
		t.Errorf("host a1 is used by %v", got)
	}
	acme.Hosts = acme.Hosts[:1]
	if _, _, err := c.Projects().Put("acme", acme, resource.Precondition{}); refusalOf(t, err).Code !=
		api.CodeConflict {
		t.Errorf("taking a host of a job away: %v", err)
	}
	if err := c.Projects().Delete("acme", resource.Precondition{}); err == nil {
		t.Error("a project with a job was deleted")
	}
	acme = acmeSpec()
	acme.Quotas.Ranks = &one
	if err := c.Jobs().Delete("acme-j", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	putProject(t, c, "acme", acme)
	refused(putJob(c, "acme-j", jobOn("a1,a2", 2), pre), "spec.hosts", api.CodeLimit, "ranks of jobs")
}

// TestExclusiveJobs: no other job may use the NICs of an exclusive job until the exclusive job has
// ended.
func TestExclusiveJobs(t *testing.T) {
	c := pfcCore(t, nil)
	own := jobOn("a1,a2", 2)
	own.Exclusive = true
	if err := putJob(c, "own", own, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	err := putJob(c, "other", jobOn("a2,b1", 2), resource.Precondition{})
	if e := refusalOf(t, err); e.Code != api.CodeConflict || e.Fields[0].Value != "a2" ||
		!strings.Contains(e.Error(), `job "own"`) {
		t.Errorf("the refusal is %v", e)
	}
	unseen := resource.Precondition{Sees: func(string) bool { return false }}
	err = putJob(c, "other", jobOn("a2,b1", 2), unseen)
	if strings.Contains(err.Error(), `"own"`) {
		t.Errorf("a stranger learns of the job: %v", err)
	}
	own.State = api.JobDone
	if err := putJob(c, "own", own, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if err := putJob(c, "other", jobOn("a2,b1", 2), resource.Precondition{}); err != nil {
		t.Errorf("after it has ended: %v", err)
	}
	own.State = api.JobPlaced
	if refusalOf(t, putJob(c, "own", own, resource.Precondition{})).Code != api.CodeConflict {
		t.Error("an exclusive job came back to NICs of another one")
	}
}

// TestJobsOutliveTheCore: jobs, their leases and their ends are in the records.
func TestJobsOutliveTheCore(t *testing.T) {
	c := pfcCore(t, nil)
	leased := jobOn("a1,a2", 2)
	leased.Lease = api.Duration(time.Minute)
	if err := putJob(c, "j", leased, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	before, err := c.Jobs().Get("j")
	if err != nil {
		t.Fatal(err)
	}
	if before.Status.Follows.Pairs != 2 || before.Status.Ends.IsZero() {
		t.Errorf("the status is %+v", before.Status)
	}
	again := func(c *Core) *Core {
		t.Helper()
		next, err := NewCore(Config{Inventory: *c.configured, Start: c.env.Start}, c.records())
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	next := again(c)
	after, err := next.Jobs().Get("j")
	if err != nil || after.Version != before.Version || after.Status.Ends != before.Status.Ends ||
		after.Status.Follows.Pairs != 2 {
		t.Errorf("after a restart: %+v, %v", after, err)
	}
	at, ok := next.Next()
	if ends := before.Status.Ends.Sub(next.env.Start); !ok || at > ends {
		t.Errorf("the next time is %v, %v, the lease ends at %v", at, ok, ends)
	}
	next.Ready(0)
	next.Tick(before.Status.Ends.Sub(next.env.Start))
	if saves := next.Ready(0).Saves; !slices.ContainsFunc(saves, func(o store.Op) bool {
		return o.Key == "jobs/j" && strings.Contains(string(o.Value), `"ended":true`)
	}) {
		t.Errorf("the end of the lease is not kept: %v", saves)
	}
	if j, _ := again(next).Jobs().Get("j"); j.Status.Phase != api.PhaseDraining &&
		j.Status.Phase != api.PhaseDone {
		t.Errorf("after its lease and a restart the job is %s", j.Status.Phase)
	}
}

// TestEndOfALease: what was found before the lease of a job ended does not have it done.
func TestEndOfALease(t *testing.T) {
	c := pfcCore(t, nil)
	leased := jobOn("a1,a2", 2)
	leased.Lease = api.Duration(time.Minute)
	if err := putJob(c, "j", leased, resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	before := c.jobs.Tasks()
	c.jobs.SetReadiness(&before[0], api.JobReadiness{Name: "j"}, false, nil)
	c.Tick(c.env.Now + 2*time.Minute)
	for _, x := range []struct {
		asked []job.Task // nil: nothing was found since
		want  api.JobPhase
	}{{nil, api.PhaseDraining}, {before, api.PhaseDraining}, {c.jobs.Tasks(), api.PhaseDone}} {
		if len(x.asked) > 0 {
			c.jobs.SetReadiness(&x.asked[0], api.JobReadiness{Name: "j"}, false, nil)
		}
		if j, err := c.Jobs().Get("j"); err != nil || j.Status.Phase != x.want {
			t.Errorf("the job is %s, %v, want %s", j.Status.Phase, err, x.want)
		}
	}
}

// TestJobDryRun: a dry run has what follows from a job, and changes nothing.
func TestJobDryRun(t *testing.T) {
	c := pfcCore(t, nil)
	var got api.Job
	changes, _, err := c.fork().run(func(core *Core) (err error) {
		got, _, err = core.Jobs().Put("j", jobOn("a1,a2,b1,b2", 4), resource.Precondition{})
		return err
	})
	if err != nil || len(changes) != 0 || got.Status.Follows.Pairs != 4 {
		t.Errorf("%+v, %v, %v", got.Status, changes, err)
	}
	if _, err := c.Jobs().Get("j"); err == nil {
		t.Error("the dry run created the job")
	}
}

// knownFabric implements [Multipath] by a function that knows what a job depends on.
type knownFabric struct {
	read func(*ready.Need) ready.Fabric
	to   atomic.Pointer[Controller]

	mu     sync.Mutex
	view   fabricview.View
	wants  *fabricview.Wants
	pauses bool // wants are taken, and nothing is read
}

func (f *knownFabric) SetPorts(context.Context, string, PortStates) {}

// SetWants implements [Multipath]: it reads all jobs.
func (f *knownFabric) SetWants(w *fabricview.Wants) {
	f.mu.Lock()
	f.wants = w
	f.mu.Unlock()
	f.look(func(*fabricview.View) {})
}

// look changes the view, and reads all jobs.
func (f *knownFabric) look(change func(*fabricview.View)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.view)
	if f.view.Jobs = maps.Clone(f.view.Jobs); f.view.Jobs == nil {
		f.view.Jobs = make(map[*ready.Need]*fabricview.Reading)
	}
	for i := 0; f.wants != nil && !f.pauses && i < len(f.wants.Jobs); i++ {
		need := f.wants.Jobs[i].Need
		f.view.Jobs[need] = &fabricview.Reading{Need: need, Wants: f.wants.Seq, Fabric: f.read(need),
			Wiring: f.view.Wiring}
	}
	f.view.Revision++
	v := f.view
	f.to.Load().SetFabric(&v)
}

// talks returns how many jobs talk.
func (f *knownFabric) talks() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wants == nil {
		return -1
	}
	return len(f.wants.Talk())
}

// TestNewJobsDoNotWait: hosts receive a new job before the controller judges the earlier jobs.
func TestNewJobsDoNotWait(t *testing.T) { bubble.Test(t, newJobsDoNotWait) }

func newJobsDoNotWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := pfcCore(t, nil)
	fabric := &knownFabric{pauses: true}
	controller, err := NewController(ctx, Options{Inventory: *c.configured, Store: store.NewMemory(),
		Multipath: fabric})
	if err != nil {
		t.Fatal(err)
	}
	fabric.to.Store(controller)
	controller.core.configured.Switches = nil
	ended := make(chan error, 1)
	go func() { ended <- controller.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	synctest.Wait()
	for i, name := range []string{"a", "b", "c"} { // while none before is judged
		if got := fabric.talks(); got != i {
			t.Fatalf("hosts are told of %d jobs, want %d", got, i)
		}
		if _, _, err := controller.Jobs().Put(ctx, name, jobOn("a1,a2", 2),
			resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
	}
	is := func(judged bool) {
		t.Helper()
		for _, name := range []string{"a", "b", "c"} {
			j, err := controller.Jobs().Get(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			ready := j.Status.Conditions.Find(api.Ready)
			if (ready.Reason != api.ReasonUnjudged) != judged {
				t.Errorf("job %s is judged, want %v: %+v", name, judged, ready)
			}
		}
	}
	is(false)
	fabric.read = func(*ready.Need) (out ready.Fabric) { return out }
	fabric.pauses = false
	fabric.look(func(*fabricview.View) {})
	synctest.Wait()
	is(true)
}

// TestJobsWithoutAFabric: without an MRC fabric no job is GO, and says so.
func TestJobsWithoutAFabric(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := pfcCore(t, nil)
	controller, err := NewController(ctx, Options{Inventory: *c.configured, Store: store.NewMemory(),
		Southbound: nil})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	controller.core.configured.Switches = nil
	go func() { ended <- controller.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	_, _, err = controller.Jobs().Put(ctx, "j", jobOn("a1,a2", 2), resource.Precondition{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := controller.readiness(ctx, "j")
	if err != nil || r.Go || len(r.Blockers) != 1 ||
		!strings.Contains(r.Blockers[0].Why, "no MRC fabric") {
		t.Errorf("the readiness is %+v, %v", r, err)
	}
}
