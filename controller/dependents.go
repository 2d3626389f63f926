package controller

import (
	"cmp"
	"context"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/job"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/internal/natural"
)

// Dependents returns the jobs that depend on a part of the network, the most important first. What
// they depend on is read as their readiness is: within so much time for each job.
func (c *Controller) Dependents(ctx context.Context, part api.Part) ([]api.JobDependent, error) {
	out := []api.JobDependent{}
	var tasks []job.Task
	var views []api.Job
	var err error
	stopped := c.read(ctx, func(core *Core) {
		for _, t := range core.jobs.Tasks() {
			if t.Over || t.Demand == nil {
				continue
			}
			var v api.Job
			if v, err = core.Jobs().Get(t.Name); err != nil {
				return
			}
			tasks, views = append(tasks, t), append(views, v)
		}
	})
	if err := first(stopped, err); err != nil {
		return nil, err
	}
	for i, t := range tasks {
		facts := ready.Facts{Need: &t.Demand.Need}
		if c.opts.Fabric != nil && part.Kind != api.PartHost {
			if facts.Fabric, err = c.opts.Fabric(ctx, facts.Need); err != nil {
				return nil, err
			}
		}
		if n := facts.Affected(part); n > 0 {
			v := &views[i]
			out = append(out, api.JobDependent{Name: t.Name, Phase: v.Status.Phase,
				Go: v.Status.Conditions.Is(api.Ready), Priority: v.Spec.Priority, Affected: n,
				Ranks: v.Status.Ranks})
		}
	}
	slices.SortFunc(out, func(a, b api.JobDependent) int {
		return cmp.Or(b.Priority-a.Priority, natural.Compare(a.Name, b.Name))
	})
	return out, nil
}
