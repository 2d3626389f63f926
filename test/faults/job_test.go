package faults

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/dataplane/p4rt"
)

const (
	// jobCalm is the time until every placed job is ready, and no object drained.
	jobCalm = 8 * time.Second
	jobLook = 20 * time.Millisecond
	// jobUnread bounds the time between two readings of a job.
	jobUnread = 900 * time.Millisecond
	// jobAnswer bounds the time until the answer to a question about jobs.
	jobAnswer = 500 * time.Millisecond
)

// jobStory is a fabric with jobs and maintenances during faults.
type jobStory struct {
	*leaseStory
	// read has the newest reading of each job, and the time of its arrival.
	read map[string]jobRead
	// asked has the times of questions to the controller, by id.
	asked map[uint64]time.Duration
	life  *controller.Core // of asked
	// silences and projects are those of clients; a silence has its end.
	silences map[string]time.Time
	projects map[string]bool
	// counts of events
	ready, drained, answered int
}

type jobRead struct {
	*fabricview.Reading
	at time.Duration
}

// wall returns the wall-clock time after a while.
func (s *jobStory) wall(d time.Duration) time.Time { return s.control.Wall(s.world.Now() + d) }

// job returns a random job.
func (s *jobStory) job() api.JobSpec {
	n := 2 + s.rng.IntN(3)
	spec := api.JobSpec{Hosts: fmt.Sprintf("H[1-%d]", n), Priority: s.rng.IntN(3),
		Communicators: []api.JobCommunicator{{Name: "all", Ranks: fmt.Sprintf("0-%d", n-1),
			Pattern: api.PatternRing}},
		State: []api.JobState{api.JobPlaced, api.JobRunning, api.JobDone}[s.rng.IntN(3)]}
	if s.rng.IntN(3) == 0 {
		spec.Lease = api.Duration(time.Second + time.Duration(s.rng.Int64N(int64(2*time.Second))))
	}
	return spec
}

// window returns a random maintenance, which ends before the calm.
func (s *jobStory) window() api.MaintenanceSpec {
	p, i := 1+s.rng.IntN(2), 1+s.rng.IntN(2)
	object := []api.MaintenanceObject{{Node: fmt.Sprintf("P%d-T1-%d", p, i)},
		{Node: fmt.Sprintf("P%d-T0-%d", p, i)}, {Plane: p}, {Node: "nosuch"},
		{Host: s.world.Network.Hosts[s.rng.IntN(4)].Name, Port: uint8(p)},
	}[s.rng.IntN(5)]
	from := s.between(0, time.Second)
	return api.MaintenanceSpec{Objects: []api.MaintenanceObject{object}, Priority: s.rng.IntN(3),
		From: s.wall(from), Until: s.wall(from + s.between(100*time.Millisecond, time.Second)),
		Lead: api.Duration(s.between(0, 500*time.Millisecond))}
}

// act changes a resource, or asks about jobs.
func (s *jobStory) act() {
	name, what := fmt.Sprint("x", s.rng.IntN(4)), s.rng.IntN(10)
	job, window := s.job(), s.window()
	silence := api.SilenceSpec{Cause: "link/x", Until: s.wall(s.between(time.Second, 20*time.Second))}
	text := fmt.Sprintf("%d of %s, %+v, %+v", what, name, job, window)
	s.ask(text, func(core *controller.Core) (err error) {
		pre := resource.Precondition{}
		switch what {
		case 0, 1, 2:
			_, _, err = core.Jobs().Put(name, job, pre)
		case 3:
			err = core.Jobs().Delete(name, pre)
		case 4:
			_, _, err = core.Maintenances().Put(name, window, pre)
		case 5:
			err = core.Maintenances().Delete(name, pre)
		case 6:
			if s.life != core {
				s.life, s.asked = core, make(map[uint64]time.Duration)
			}
			s.asked[core.AskJobs([]string{"x0", name})] = s.world.Now()
		case 7:
			if _, _, err = core.Silences().Put(name, silence, pre); err == nil {
				s.silences[name] = silence.Until
			}
		case 8:
			if _, _, err = core.Projects().Put("p"+name, api.ProjectSpec{}, pre); err == nil {
				s.projects["p"+name] = true
			}
		case 9:
			if err = core.Projects().Delete("p"+name, pre); err == nil {
				delete(s.projects, "p"+name)
			}
		}
		return err
	})
}

// watch looks at the readings of jobs and at the answers to questions, again and again.
func (s *jobStory) watch() {
	s.world.After(jobLook, s.watch)
	core, now := s.control.Core(), s.world.Now()
	if core == nil || core != s.life {
		clear(s.read)
		s.life, s.asked = core, make(map[uint64]time.Duration)
		return
	}
	for id, at := range s.asked {
		if _, ok := s.control.Answer(id); ok {
			s.answered++
			delete(s.asked, id)
		} else if now-at > jobAnswer {
			s.fail("question %d has no answer since %v", id, at)
		}
	}
	read := make(map[string]jobRead)
	for _, j := range core.Jobs().List() {
		d, err := core.JobDemand(j.Name)
		if err != nil || j.Status.Phase == api.PhaseDone {
			continue
		}
		r := jobRead{s.control.Paths.Core().View().Jobs[&d.Need], now}
		if last, ok := s.read[j.Name]; ok && last.Reading == r.Reading {
			if r.at = last.at; now-r.at > jobUnread {
				s.fail("job %s has no reading since %v", j.Name, r.at)
			}
		}
		read[j.Name] = r
	}
	s.read = read
}

// whole reports whether no link is down for the controller: a link that was down often comes back
// after minutes.
func (s *jobStory) whole() bool {
	network := s.control.Paths.Core().View().Leases
	return network != nil && len(network.Down) == 0
}

// settled checks all after a calm time. whole: no link was down for the last second.
func (s *jobStory) settled(whole bool) {
	core, paths := s.control.Core(), s.control.Paths.Core()
	for _, j := range core.Jobs().List() {
		over := j.Spec.State == api.JobDone || j.Status.Ends.IsZero() && j.Spec.Lease > 0
		switch ready := j.Status.Conditions.Find(api.Ready); {
		case over && j.Status.Phase != api.PhaseDone:
			s.fail("job %s has ended, and its phase is %s", j.Name, j.Status.Phase)
		case !over && whole && !ready.Status:
			s.fail("job %s: %+v", j.Name, ready)
		}
	}
	for _, m := range core.Maintenances().List() {
		if m.Status.Phase != api.MaintenanceEnded {
			s.fail("maintenance %s: its phase is %s", m.Name, m.Status.Phase)
		}
	}
	if held, drains := paths.View().Held, paths.Drains(); len(held)+len(drains) > 0 {
		s.fail("after all maintenances %+v remain held, and %+v drained", held, drains)
	}
	for name, until := range s.silences {
		_, err := core.Silences().Get(name)
		if there := until.After(s.wall(0)); (err == nil) != there {
			s.fail("silence %s until %v: %v", name, until, err)
		}
	}
	if n := len(core.Projects().List()); n != len(s.projects) {
		s.fail("there are %d projects, want %v", n, s.projects)
	}
}

// runJobs is the run of a seed.
func runJobs(seed uint64, cache *p4rt.Cache) (*jobStory, error) {
	planes, err := newPlanes(seed, cache)
	s := &jobStory{leaseStory: &leaseStory{planesStory: planes}, read: make(map[string]jobRead),
		silences: make(map[string]time.Time), projects: make(map[string]bool)}
	if err != nil {
		return s, err
	}
	s.control.Events = func(e api.Event) {
		switch e.Type {
		case api.EventJobReady:
			s.ready++
		case api.EventMaintenanceBegan:
			s.drained++
		}
		s.tell("%s %s: %s", e.Type, e.Object, e.Message)
	}
	s.watch()
	s.play(clientTrouble, s.act, s.trouble, jobCalm)
	whole := s.broken == nil && s.whole()
	s.world.Run(s.world.Now()+time.Second, s.stopped)
	if s.broken == nil {
		s.settled(whole && s.whole())
	}
	return s, s.outcome()
}

// TestJobs: clients change jobs, maintenances, silences and projects, and ask about jobs, during
// failures and restarts. Functions watch and settled check the outcome.
func TestJobs(t *testing.T) {
	var ready, drained, answered atomic.Uint64
	n := sweep(t, clientSeeds, func(seed uint64, cache *p4rt.Cache) ([]string, error) {
		s, err := runJobs(seed, cache)
		ready.Add(uint64(s.ready))
		drained.Add(uint64(s.drained))
		answered.Add(uint64(s.answered))
		return s.story, err
	})
	t.Logf("%d times a job was ready, %d maintenances began, %d questions have answers, in %d seeds",
		ready.Load(), drained.Load(), answered.Load(), n)
	if n >= 8 && (ready.Load() < n/4 || drained.Load() < n/2 || answered.Load() < n) {
		t.Error("too few")
	}
}
