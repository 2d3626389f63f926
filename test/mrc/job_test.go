package mrc

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
)

// ring is a job on all hosts, which talk in a ring.
var ring = api.JobSpec{Hosts: "H[1-4]", Communicators: []api.JobCommunicator{
	{Name: "all", Ranks: "0-3", Pattern: api.PatternRing},
}}

// putJob puts a job.
func (f *bed) putJob(name string, spec api.JobSpec) api.Job {
	f.t.Helper()
	j, _, err := f.controller.Jobs().Put(f.t.Context(), name, spec, resource.Precondition{})
	if err != nil {
		f.t.Fatal(err)
	}
	return j
}

func (f *bed) job(name string) api.Job {
	f.t.Helper()
	j, err := f.controller.Jobs().Get(f.t.Context(), name)
	if err != nil {
		f.t.Fatal(err)
	}
	return j
}

func (f *bed) readiness(name string) api.JobReadiness {
	f.t.Helper()
	r, err := kind.Ask[api.JobReadiness](f.t.Context(), f.controller.Jobs(), name,
		api.ReadReadiness{}, resource.Precondition{})
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// TestJobIsReady: a job is GO once everything is known to be good. A lost link, a lost leaf and a
// lost host give one cause each, and the job is GO again after each fault.
func TestJobIsReady(t *testing.T) {
	run(t, nil, func(t *testing.T, f *bed) {
		j := f.putJob("train", ring)
		if j.Status.Ranks != 4 || j.Status.Follows.Pairs != 4 || j.Status.Follows.RackPairs != 4 ||
			j.Status.Follows.SendPeers != (api.JobPeers{Least: 1, Most: 1}) {
			t.Errorf("the status is %+v", j.Status)
		}
		is := func(phase api.JobPhase) func() bool {
			return func() bool { return f.job("train").Status.Phase == phase }
		}
		f.until(10*time.Second, "the job is ready", is(api.PhaseReady))
		if r := f.readiness("train"); !r.Go || r.Left == nil || *r.Left != 1 {
			t.Errorf("the readiness is %+v", r)
		}
		f.depend("train")
		if !f.happened(api.EventJobReady, "train", "GO") {
			t.Error("no event of GO")
		}
		one := func(kind, object string) func() bool {
			return func() bool {
				r := f.readiness("train")
				return !r.Go && len(r.Blockers) == 1 && r.Blockers[0].Kind == kind &&
					strings.HasPrefix(r.Blockers[0].Object, object) && !r.Blockers[0].Since.IsZero()
			}
		}
		f.setLink("P1-T0-1", "P1-T1-1", false)
		f.until(3*time.Second, "the link is the one cause", one("link", ""))
		f.until(3*time.Second, "the job is not ready", is(api.PhasePending))
		f.setLink("P1-T0-1", "P1-T1-1", true)
		f.until(20*time.Second, "the job is ready again", is(api.PhaseReady))

		running := ring
		running.State = api.JobRunning
		f.putJob("train", running)
		if j := f.job("train"); j.Status.Phase != api.PhaseRunning ||
			!j.Status.Conditions.Is(api.Ready) {
			t.Errorf("the status of the running job is %+v", j.Status)
		}
		done := ring
		done.State = api.JobDone
		f.putJob("train", done)
		f.until(3*time.Second, "the job is done", is(api.PhaseDone))
		if r := f.readiness("train"); r.Go {
			t.Errorf("the readiness of a job that is done is %+v", r)
		}
		if err := f.controller.Jobs().Delete(t.Context(), "train", resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.controller.Jobs().Get(t.Context(), "train"); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("a deleted job: %v", err)
		}
	})
}

// depend checks the dependence of a four-rank job in two racks on each part of the network.
func (f *bed) depend(name string) {
	f.t.Helper()
	r, err := kind.Ask[api.JobRacks](f.t.Context(), f.controller.Jobs(), name, api.ReadRacks{},
		resource.Precondition{})
	if err != nil || len(r.Racks) != 2 || r.Racks[0].Ranks != 2 || r.Racks[0].Good != 2 ||
		r.Racks[0].Left == nil || *r.Racks[0].Left != 1 || len(r.Racks[1].NICs) != 2 ||
		r.Racks[1].NICs[1] != (api.JobNIC{Rank: 3, Name: "H4", State: "good", Ports: 2, Up: 2}) {
		f.t.Errorf("the racks are %+v, %v", r, err)
	}
	dependents, err := f.controller.Dependents(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	for _, c := range []struct {
		part api.Part
		want int
	}{
		{api.Part{Kind: api.PartSwitch, Name: "P1-T0-1"}, 2},
		{api.Part{Kind: api.PartSwitch, Name: "P1-T1-1"}, 4},
		{api.Part{Kind: api.PartHost, Name: "H3"}, 1}, {api.Part{Kind: api.PartPlane, Name: "2"}, 4},
		{api.Part{Kind: api.PartSwitch, Name: "nosuch"}, 0},
	} {
		got := dependents(c.part)
		if c.want == 0 {
			if len(got) != 0 {
				f.t.Errorf("on %+v depend %+v", c.part, got)
			}
			continue
		}
		if len(got) != 1 || got[0] != (api.JobDependent{Name: name,
			Phase: api.PhaseReady, Go: true, Affected: c.want, Ranks: 4}) {
			f.t.Errorf("on %+v depend %+v, want %d ranks of %s", c.part, got, c.want, name)
		}
	}
}

// TestJobLease: a job whose lease nobody renews ends; a restart does not lengthen it.
func TestJobLease(t *testing.T) {
	long(t)
	run(t, nil, func(t *testing.T, f *bed) {
		leased := ring
		leased.Lease = api.Duration(10 * time.Second)
		f.putJob("train", leased)
		time.Sleep(6 * time.Second)
		if _, err := kind.Ask[api.Job](t.Context(), f.controller.Jobs(), "train", api.RenewJob{},
			resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Second)
		f.stop()
		f.start()
		f.learn()
		if j := f.job("train"); j.Status.Phase == api.PhaseDone || j.Status.Ends.IsZero() {
			t.Errorf("12 s after it began and 6 s after it was renewed: %+v", j.Status)
		}
		f.until(6*time.Second, "the lease has ended", func() bool {
			p := f.job("train").Status.Phase
			return p == api.PhaseDone || p == api.PhaseDraining
		})
		_, err := kind.Ask[api.Job](t.Context(), f.controller.Jobs(), "train", api.RenewJob{},
			resource.Precondition{})
		if !errors.Is(err, api.ErrConflict) {
			t.Errorf("renewing a job that has ended: %v", err)
		}
	})
}
