package controller

import (
	"context"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/job"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/leases"
)

// Jobs are judged by a goroutine of their own, beside the core and the controller of the MRC
// fabric: it asks both for facts, and neither waits for the other.

// judgeEvery is the pause between two judgements of all jobs, at least; judgeShare bounds the time
// that judging takes, as a part of all time.
const (
	judgeEvery = 500 * time.Millisecond
	judgeShare = 4
)

// judgeAll judges the jobs again and again until ctx ends.
func (c *Controller) judgeAll(ctx context.Context) {
	for {
		select {
		case <-c.anew:
		case <-ctx.Done():
			return
		}
		for c.judgeOnce(ctx) {
		}
	}
}

// judgeOnce judges the jobs and pauses; it returns false when there are none, or ctx has ended.
func (c *Controller) judgeOnce(ctx context.Context) bool {
	began := time.Now()
	tasks, told := c.talk(ctx)
	if told && len(tasks) == 0 {
		_ = c.Do(ctx, func(core *Core) { core.leases.SetRunning(nil) })
		return false
	}
	changed, running := false, []*leases.Running{}
	known := told && c.opts.Fabric != nil // the paths of all running jobs
	for _, t := range tasks {
		select {
		case <-c.anew: // what new jobs need does not wait until all others are judged
			changed = true
			_, told = c.talk(ctx)
		default:
		}
		if !told {
			known = false
			break // a job that has ended may be taken for done
		}
		r, facts, err := c.judge(ctx, t)
		exclusive := false
		if err == nil {
			err = c.Do(ctx, func(core *Core) {
				core.jobs.SetReadiness(&t, r, behind(facts))
				core.settle()
				exclusive = core.leases.Exclusive()
			})
		}
		if err != nil && ctx.Err() != nil {
			return false
		}
		known = known && err == nil && exclusive && addRunning(&running, &t, &facts.Fabric)
	}
	if known {
		_ = c.Do(ctx, func(core *Core) { core.leases.SetRunning(running) })
	}
	if changed && told {
		return true
	}
	select {
	case <-time.After(max(judgeEvery, judgeShare*time.Since(began))):
	case <-c.anew:
	case <-ctx.Done():
		return false
	}
	return true
}

// talk makes the hosts of the MRC fabric talk to each other for the needs of running jobs. talk
// returns the jobs that matter; told is false if the controller could not notify the hosts.
func (c *Controller) talk(ctx context.Context) (tasks []job.Task, told bool) {
	if c.Do(ctx, func(core *Core) { tasks = core.jobs.Tasks() }) != nil {
		return nil, false
	}
	if c.opts.Talk == nil {
		return tasks, true
	}
	var needs []*ready.Need
	for _, t := range tasks {
		if !t.Over && t.Demand != nil {
			needs = append(needs, &t.Demand.Need)
		}
	}
	return tasks, c.opts.Talk(ctx, needs) == nil
}

// judge returns the readiness of a job, and the facts that it follows from.
func (c *Controller) judge(
	ctx context.Context, t job.Task,
) (r api.JobReadiness, facts *ready.Facts, err error) {
	if facts, err = c.facts(ctx, t); err != nil {
		return r, nil, err
	}
	return ready.Judge(t.Name, facts, t.Last), facts, nil
}

// behind reports whether connected hosts do not hold all that they were told.
func behind(f *ready.Facts) bool {
	return slices.ContainsFunc(f.Fabric.NICs, func(n ready.NIC) bool {
		return n.Stream.State == ready.Good && n.Holds.State != ready.Good
	})
}

// runs reports whether a job runs, and it is known what it needs.
func runs(t *job.Task) bool { return t.Running && !t.Over && t.Demand != nil }

// addRunning adds a job with the paths that the fabric has for the job, if the job runs; false: the
// paths are not known.
func addRunning(to *[]*leases.Running, t *job.Task, f *ready.Fabric) (known bool) {
	if !runs(t) {
		return true
	}
	if known = f.Known.State == ready.Good; known {
		*to = append(*to, leases.NewRunning(t.Name, len(t.Demand.Need.Pairs), f))
	}
	return known
}

// runningJobs implements prepare of [more]: an exclusive lease, and one that may take links from
// others, leaves running jobs their paths.
func runningJobs(ctx context.Context, c *Controller, spec any) (func(*Core), error) {
	know := func(*Core) {}
	s := spec.(api.PathLeaseSpec)
	if c.opts.Fabric == nil || s.Sharing != api.LeaseExclusive && s.Priority <= 0 {
		return know, nil
	}
	var tasks []job.Task
	if err := c.Do(ctx, func(core *Core) { tasks = core.jobs.Tasks() }); err != nil {
		return nil, err
	}
	var running []*leases.Running
	for i := range tasks {
		if t := &tasks[i]; runs(t) {
			fabric, err := c.opts.Fabric(ctx, &t.Demand.Need)
			if err != nil || !addRunning(&running, t, &fabric) {
				return know, nil // what was known last is the best that there is
			}
		}
	}
	return func(core *Core) { core.leases.SetRunning(running) }, nil
}

// facts returns what is known of what a job depends on.
func (c *Controller) facts(ctx context.Context, t job.Task) (*ready.Facts, error) {
	facts := &ready.Facts{Need: &ready.Need{}}
	if t.Demand == nil {
		facts.At = time.Now().UTC()
		facts.Fabric.Known = ready.Fact{State: ready.Bad,
			Why: "the spec of the job is not valid any more"}
		return facts, nil
	}
	facts.Need = &t.Demand.Need
	if err := c.Do(ctx, func(core *Core) {
		facts.Switches, facts.Groups = core.jobs.Switches(), core.jobs.GroupFacts(&t)
	}); err != nil {
		return nil, err
	}
	if c.opts.Fabric == nil {
		facts.Fabric.Known = ready.Fact{State: ready.Bad, Why: "the configuration has no MRC fabric"}
	} else {
		var err error
		if facts.Fabric, err = c.opts.Fabric(ctx, facts.Need); err != nil {
			return nil, err
		}
	}
	if err := c.Do(ctx, func(core *Core) {
		facts.Others = append(core.leases.Blocking(t.Name, &facts.Fabric),
			core.maintenances.Blocking(t.Name, t.Version, t.Ends)...)
	}); err != nil {
		return nil, err
	}
	facts.At = time.Now().UTC()
	return facts, nil
}

// racks returns the ranks of a job by rack. The error of one that there is not is an *api.Error.
func (c *Controller) racks(ctx context.Context, name string) (r api.JobRacks, err error) {
	var t job.Task
	if stopped := c.read(ctx, func(core *Core) { t, err = core.jobs.Task(name) }); stopped != nil ||
		err != nil {
		return r, first(stopped, err)
	}
	facts, err := c.facts(ctx, t)
	if err != nil {
		return r, err
	}
	return ready.Racks(name, facts), nil
}

// readiness judges a job now. The error of one that there is not is an *api.Error.
func (c *Controller) readiness(
	ctx context.Context, name string,
) (r api.JobReadiness, err error) {
	var t job.Task
	if stopped := c.read(ctx, func(core *Core) { t, err = core.jobs.Task(name) }); stopped != nil ||
		err != nil {
		return r, first(stopped, err)
	}
	r, _, err = c.judge(ctx, t)
	if err == nil && t.Over {
		r.Go = false
		r.Blockers = append([]api.JobBlocker{{Kind: "controller", State: "bad", Why: "the job has ended",
			Want: "a job that has not", Since: r.At}}, r.Blockers...)
	}
	return r, err
}
