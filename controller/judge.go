package controller

import (
	"context"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/job"
	"github.com/weft-sdn/weft/controller/job/ready"
)

// known asks for what is known of jobs, read anew. Jobs that are gone are left out.
func (c *Controller) known(ctx context.Context, names ...string) ([]job.Known, error) {
	return ask[[]job.Known](ctx, c, func(core *Core) (uint64, error) {
		return core.AskJobs(names), nil
	})
}

// AskJobs asks for new readings of jobs. The answer, a []job.Known of the existing jobs, comes
// under the id.
func (c *Core) AskJobs(names []string) (id uint64) {
	id = c.jobs.Ask(names)
	c.settle()
	return id
}

// knownOf is known of a job. The error for an unknown job is an *api.Error.
func (c *Controller) knownOf(ctx context.Context, name string) (k job.Known, err error) {
	all, err := c.known(ctx, name)
	switch {
	case err != nil:
		return k, err
	case len(all) > 0:
		return all[0], nil
	}
	stopped := c.read(ctx, func(core *Core) { _, err = core.jobs.Task(name) })
	return k, first(stopped, err)
}

// racks returns the ranks of a job by rack. The error for an unknown job is an *api.Error.
func (c *Controller) racks(ctx context.Context, name string) (r api.JobRacks, err error) {
	k, err := c.knownOf(ctx, name)
	if err != nil {
		return r, err
	}
	return ready.Racks(name, k.Facts), nil
}

// readiness judges a job now. The error for an unknown job is an *api.Error.
func (c *Controller) readiness(
	ctx context.Context, name string,
) (r api.JobReadiness, err error) {
	k, err := c.knownOf(ctx, name)
	if err != nil {
		return r, err
	}
	r = ready.Judge(name, k.Facts, k.Last)
	if k.Over {
		r.Go = false
		r.Blockers = append([]api.JobBlocker{{Kind: "controller", State: "bad", Why: "the job has ended",
			Want: "a job that has not", Since: r.At}}, r.Blockers...)
	}
	return r, nil
}

// readRunning implements prepare of [more]: an exclusive lease, and a lease that may take links
// from other leases, leaves running jobs their present paths.
func readRunning(ctx context.Context, c *Controller, spec any) error {
	s := spec.(api.PathLeaseSpec)
	if s.Sharing != api.LeaseExclusive && s.Priority <= 0 {
		return nil
	}
	var names []string
	if err := c.read(ctx, func(core *Core) {
		for _, j := range core.jobs.Running() {
			names = append(names, j.Job)
		}
	}); err != nil || len(names) == 0 {
		return err
	}
	_, err := c.known(ctx, names...)
	return err
}
