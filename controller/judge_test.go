package controller

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/job"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/resource"
)

// goodFabric is a fabric in which all is well for a need.
func goodFabric(need *ready.Need, now time.Time) (f ready.Fabric) {
	f.Known = ready.IsGood()
	for range need.NICs {
		f.NICs = append(f.NICs, ready.NIC{Stream: ready.IsGood(), Holds: ready.IsGood(),
			Ports: []ready.Port{{Number: 1, Leaf: "X", Up: ready.IsGood()}}})
	}
	for i := range need.Pairs {
		f.Paths = append(f.Paths, ready.Path{Pair: int32(i), From: "X", To: "X", Active: 4, Of: 4})
	}
	f.Links = []ready.Link{{Name: "l", ID: "l", From: "X", To: "X", Use: ready.IsGood(), Probed: now,
		Answered: true}}
	return f
}

// jobStory is a core with a job, in virtual time.
type jobStory struct {
	t     *testing.T
	core  *Core
	need  *ready.Need
	wants *fabricview.Wants // the newest
}

// step has the core do its work, and returns the answers.
func (s *jobStory) step() (answers []any) {
	for r := s.core.Ready(0); !r.Empty(); r = s.core.Ready(0) {
		if r.Wants != nil {
			s.wants = r.Wants
		}
		for _, w := range r.Work {
			s.core.Worked(w())
		}
		for _, a := range r.Answers {
			answers = append(answers, a.Value)
		}
	}
	return answers
}

// read has the core know a reading since some wants.
func (s *jobStory) read(wants uint64, change func(*ready.Fabric)) (answers []any) {
	f := goodFabric(s.need, s.core.env.Wall())
	if change != nil {
		change(&f)
	}
	s.core.SetFabric(&fabricview.View{Revision: s.core.env.Fabric.Revision + 1,
		Jobs: map[*ready.Need]*fabricview.Reading{s.need: {Need: s.need, Wants: wants, Fabric: f}}})
	return s.step()
}

func (s *jobStory) is(when string, phase api.JobPhase, reason string) {
	s.t.Helper()
	j, err := s.core.Jobs().Get("j")
	if err != nil {
		s.t.Fatal(err)
	}
	if c := j.Status.Conditions.Find(api.Ready); j.Status.Phase != phase || c.Reason != reason {
		s.t.Errorf("%s the job is %s, %+v, want %s, %s", when, j.Status.Phase, c, phase, reason)
	}
}

// put puts the job on two hosts.
func (s *jobStory) put(state api.JobState) {
	s.t.Helper()
	spec := jobOn("a1,a2", 2)
	spec.State = state
	if err := putJob(s.core, "j", spec, resource.Precondition{}); err != nil {
		s.t.Fatal(err)
	}
	d, err := s.core.JobDemand("j")
	if err != nil {
		s.t.Fatal(err)
	}
	s.need = &d.Need
	s.step()
}

func newJobStory(t *testing.T) *jobStory {
	s := &jobStory{t: t, core: pfcCore(t, nil)}
	s.core.configured.MRC.Mode = "stev"
	s.core.SetFabric(&fabricview.View{Revision: 1, Jobs: map[*ready.Need]*fabricview.Reading{}})
	return s
}

// TestJobsSettle: the core judges a job on each reading since its last change. An ended job is done
// when a reading shows that hosts hold their states.
func TestJobsSettle(t *testing.T) {
	s := newJobStory(t)
	s.put(api.JobPlaced)
	since := s.wants.Jobs[0].Since
	if since != s.wants.Seq || len(s.wants.Talk()) != 1 {
		t.Errorf("a new job wants %+v of %d", s.wants.Jobs, s.wants.Seq)
	}
	s.read(since-1, nil)
	s.is("before it is read", api.PhasePending, api.ReasonUnjudged)
	s.read(since, nil)
	s.is("when it is read", api.PhaseReady, api.ReasonGo)
	s.read(since, func(f *ready.Fabric) { f.Links[0].Use = ready.Fact{State: ready.Bad, Why: "down"} })
	s.is("without a link", api.PhasePending, api.ReasonBlocked)
	s.read(since, nil)
	s.put(api.JobRunning)
	s.is("when it runs", api.PhaseRunning, api.ReasonGo)
	s.put(api.JobDone)
	over := s.wants.Seq
	if len(s.wants.Talk()) > 0 || len(s.wants.Jobs) != 1 || s.wants.Jobs[0].Since <= since {
		t.Errorf("a job that has ended wants %+v", s.wants.Jobs)
	}
	s.read(over-1, nil)
	s.is("by what was read before its end", api.PhaseDraining, api.ReasonEnded)
	behind := func(f *ready.Fabric) { f.NICs[0].Holds = ready.Fact{State: ready.Bad} }
	s.read(over, behind)
	s.is("while a host has not applied it", api.PhaseDraining, api.ReasonEnded)
	s.read(over, nil)
	s.is("when hosts have applied it", api.PhaseDone, api.ReasonEnded)
	if len(s.wants.Jobs) > 0 {
		t.Errorf("a job that is done wants %+v", s.wants.Jobs)
	}
}

// TestJobsWithoutReadings: where nobody reads the fabric, jobs are judged again each half second of
// the core's time.
func TestJobsWithoutReadings(t *testing.T) {
	s := newJobStory(t)
	s.core.env.Fabric = &fabricview.View{}
	s.put(api.JobPlaced)
	s.is("before there is a view", api.PhasePending, api.ReasonUnjudged)
	s.core.SetFabric(&fabricview.View{Revision: 1})
	s.step()
	s.is("at once", api.PhasePending, api.ReasonBlocked)
	for range 3 {
		last, err := s.core.jobs.Task("j")
		if err != nil {
			t.Fatal(err)
		}
		at, ok := s.core.jobs.Next()
		if want := s.core.Now() + 500*time.Millisecond; !ok || at != want {
			t.Fatalf("it is judged again at %v, %v, want %v", at, ok, want)
		}
		s.core.Tick(at - 1)
		s.step()
		if now, _ := s.core.jobs.Task("j"); now.Last != last.Last {
			t.Error("it is judged early")
		}
		s.core.Tick(at)
		s.step()
		if now, _ := s.core.jobs.Task("j"); now.Last == last.Last || now.Last.At != s.core.env.Wall() {
			t.Errorf("it was judged at %v", now.Last.At)
		}
	}
}

// TestAskJobs: the answer to a question about jobs follows new readings, also of a finished job; it
// leaves out deleted jobs.
func TestAskJobs(t *testing.T) {
	s := newJobStory(t)
	s.put(api.JobDone)
	s.read(s.wants.Seq, nil)
	s.is("at first", api.PhaseDone, api.ReasonEnded)
	s.core.AskJobs([]string{"j", "nosuch"})
	if got := s.step(); len(got) > 0 || len(s.wants.Jobs) != 1 ||
		s.wants.Jobs[0].Since != s.wants.Seq {
		t.Errorf("the answer is %+v, and %+v is wanted", got, s.wants.Jobs)
	}
	if got := s.read(s.wants.Seq-1, nil); len(got) > 0 {
		t.Errorf("the answer is of an older reading: %+v", got)
	}
	got := s.read(s.wants.Seq, nil)
	if len(got) != 1 || len(s.wants.Jobs) > 0 {
		t.Fatalf("%d answers, and %+v is wanted", len(got), s.wants.Jobs)
	}
	known := got[0].([]job.Known)
	if len(known) != 1 || known[0].Name != "j" || known[0].Facts.Fabric.Known != ready.IsGood() ||
		known[0].Reading.Need != s.need {
		t.Errorf("known is %+v", known)
	}
	s.core.AskJobs([]string{"nosuch"})
	if got := s.step(); len(got) != 1 || len(got[0].([]job.Known)) > 0 {
		t.Errorf("of no job %+v is known", got)
	}
}
