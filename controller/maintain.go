package controller

import (
	"context"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/job"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/maintenance"
)

// The controller of the MRC fabric drains what maintenances hold, and knows what jobs lose. A
// goroutine has it do so, beside the core, and a request for a maintenance asks before it is
// decided.

// maintainEvery is the pause between two looks at maintenances that have not ended.
const maintainEvery = 500 * time.Millisecond

// maintain has the objects of maintenances drained until ctx ends. The first round, after a start,
// ends drains of maintenances that have ended meanwhile.
func (c *Controller) maintain(ctx context.Context) {
	if c.opts.Hold == nil || c.opts.Impact == nil {
		return
	}
	for {
		select {
		case <-c.maintained:
		case <-ctx.Done():
			return
		}
		for c.maintainOnce(ctx) {
		}
	}
}

// maintainOnce has the objects drained that are to be now, and pauses; it returns false when
// nothing is left to look at, or ctx has ended.
func (c *Controller) maintainOnce(ctx context.Context) bool {
	began := time.Now()
	var held []api.MaintenanceObject
	var tasks []maintenance.Task
	if c.Do(ctx, func(core *Core) {
		held, tasks = core.maintenances.Held(), core.maintenances.Tasks()
	}) != nil {
		return false
	}
	states, why, err := c.opts.Hold(ctx, held)
	if err == nil && why == "" {
		err = c.Do(ctx, func(core *Core) { core.maintenances.SetStates(states) })
	}
	for _, t := range tasks {
		if err != nil {
			break
		}
		var look *maintenance.Look
		if look, err = c.lookAt(ctx, t.Objects); err == nil {
			err = c.Do(ctx, func(core *Core) { core.maintenances.SetLook(t.Name, t.Version, look) })
		}
	}
	done := err == nil && why == "" && len(tasks) == 0 &&
		!slices.ContainsFunc(states, func(s api.MaintenanceObjectState) bool { return !s.Drained })
	if done || ctx.Err() != nil {
		return false
	}
	select {
	case <-time.After(max(maintainEvery, judgeShare*time.Since(began))):
	case <-c.maintained:
	case <-ctx.Done():
		return false
	}
	return true
}

// lookAt returns the known state of objects, and the losses of jobs without these objects.
func (c *Controller) lookAt(
	ctx context.Context, objects []api.MaintenanceObject,
) (*maintenance.Look, error) {
	look := &maintenance.Look{Objects: objects}
	if c.opts.Impact == nil {
		look.Why = "the configuration has no MRC fabric"
		return look, nil
	}
	var tasks []job.Task
	if err := c.Do(ctx, func(core *Core) { tasks = core.jobs.Tasks() }); err != nil {
		return nil, err
	}
	tasks = slices.DeleteFunc(tasks, func(t job.Task) bool { return t.Over || t.Demand == nil })
	needs := make([]*ready.Need, len(tasks))
	for i := range tasks {
		needs[i] = &tasks[i].Demand.Need
	}
	unknown, impacts, why, err := c.opts.Impact(ctx, objects, needs)
	if err != nil {
		return nil, err
	}
	look.Unknown, look.Why = unknown, why
	for i := range impacts {
		t := &tasks[i]
		look.Jobs = append(look.Jobs, maintenance.Concern{Job: t.Name, Version: t.Version,
			Priority: t.Priority, Running: t.Running, Need: needs[i], Impact: impacts[i]})
	}
	return look, nil
}

// lookAhead implements prepare of [more].
func lookAhead(ctx context.Context, c *Controller, spec any) (func(*Core), error) {
	look, err := c.lookAt(ctx, spec.(api.MaintenanceSpec).Objects)
	if err != nil {
		return nil, err
	}
	return func(core *Core) { core.maintenances.SetLook("", 0, look) }, nil
}
