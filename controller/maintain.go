package controller

import (
	"context"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/job"
	"github.com/weft-sdn/weft/controller/maintenance"
)

// jobConcerns implements [maintenance.Jobs].
type jobConcerns struct{ *job.Feature }

// Concerns implements [maintenance.Jobs].
func (j jobConcerns) Concerns() (out []maintenance.Concern) {
	for _, t := range j.Tasks() {
		if !t.Over && t.Demand != nil {
			out = append(out, maintenance.Concern{Job: t.Name, Version: t.Version, Priority: t.Priority,
				Running: t.Running, Need: &t.Demand.Need})
		}
	}
	return out
}

// lookAhead implements prepare of [more]: what the core asks about a maintenance is found before,
// and the core does not wait for it.
func lookAhead(ctx context.Context, c *Controller, spec any) error {
	var jobs []maintenance.Concern
	if err := c.read(ctx, func(core *Core) { jobs = jobConcerns{core.jobs}.Concerns() }); err != nil {
		return err
	}
	if v := c.fabric.Load(); v != nil && v.Losses != nil {
		maintenance.LookAt(v.Losses, spec.(api.MaintenanceSpec).Objects, jobs)
	}
	return nil
}
