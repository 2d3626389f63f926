package mrc

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
)

// profiles are the names of the EV profiles that hosts hold.
func (f *bed) profiles() []string {
	names := make(map[string]bool)
	for _, s := range f.states() {
		if s == nil {
			continue
		}
		for _, p := range s.Profiles {
			names[p.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// TestProfilesOfJobs: hosts have EV profiles for the racks that talk in jobs. A job is GO when its
// hosts hold the profiles, and done when its hosts hold the profiles no more. A restart sends hosts
// nothing.
func TestProfilesOfJobs(t *testing.T) {
	long(t)
	run(t, func(m *inventory.MRC) { m.Profiles = "jobs" }, func(t *testing.T, f *bed) {
		if got := f.profiles(); len(got) > 0 {
			t.Fatalf("without a job hosts hold %q", got)
		}
		is := func(job string, phase api.JobPhase) func() bool {
			return func() bool { return f.job(job).Status.Phase == phase }
		}
		// One sends to the others, which answer.
		spec := api.JobSpec{Hosts: "H[1,3]", Communicators: []api.JobCommunicator{
			{Name: "weights", Ranks: "0-1", Pattern: api.PatternBroadcast},
		}}
		pair := []string{"P1-T0-1:P1-T0-2", "P1-T0-2:P1-T0-1"}
		f.putJob("a", spec)
		if f.readiness("a").Go && !slices.Equal(f.profiles(), pair) {
			t.Error("a job is GO before hosts hold its profiles")
		}
		f.until(10*time.Second, "the job is ready", func() bool {
			got := f.profiles()
			if f.readiness("a").Go && !slices.Equal(got, pair) {
				t.Fatalf("the job is GO while hosts hold %q", got)
			}
			return is("a", api.PhaseReady)()
		})
		f.putJob("b", spec)
		f.until(5*time.Second, "the second job is ready", is("b", api.PhaseReady))
		f.until(time.Second, "all is applied", f.ready)
		done := spec
		done.State = api.JobDone
		f.putJob("a", done)
		f.until(5*time.Second, "the first job is done", is("a", api.PhaseDone))
		f.until(time.Second, "all is applied", f.ready)
		if got := f.profiles(); !slices.Equal(got, pair) {
			t.Errorf("after the first job hosts hold %q, want %q", got, pair)
		}
		held := f.states() // with the hints of the second job alone
		f.stop()
		f.start()
		f.learn()
		f.until(20*time.Second, "the job is ready after a restart", func() bool {
			if !f.same(held) {
				t.Fatal("hosts do not hold what they held")
			}
			return f.ready() && is("b", api.PhaseReady)()
		})

		evProfiles := kind.Of[api.EVProfileSpec, api.EVProfile](f.mrc.Kinds())
		own := "P1-T0-1:P1-T0-1"
		p, _, err := evProfiles.Put(t.Context(), own, api.EVProfileSpec{MinActive: 1},
			resource.Precondition{})
		if err != nil || p.Status.Count == 0 {
			t.Fatalf("a client writes %+v, %v", p, err)
		}
		f.putJob("b", done)
		f.until(5*time.Second, "the second job is done", func() bool {
			got := f.profiles()
			if is("b", api.PhaseDone)() && slices.Contains(got, pair[0]) {
				t.Fatalf("the job is done while hosts hold %q", got)
			}
			return is("b", api.PhaseDone)()
		})
		if got := f.profiles(); !slices.Equal(got, []string{own}) {
			t.Errorf("after the last job hosts hold %q, want %q", got, own)
		}
		if err := evProfiles.Delete(t.Context(), own, resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		f.until(time.Second, "hosts hold no profile", func() bool { return len(f.profiles()) == 0 })
		if _, err := evProfiles.Get(t.Context(), own); err == nil {
			t.Error("the profile is there still")
		}
	})
}
