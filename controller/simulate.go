package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/job"
	"github.com/weft-sdn/weft/controller/mrc/flows"
)

// longestSimulation bounds the time of a simulation, with the time until others have ended.
const longestSimulation = 10 * time.Second

// simulate returns what the jobs that have not ended get of the MRC fabric now, and after some
// events, as if packets were fluids. Nothing changes by it. One simulation runs at a time. Errors
// for clients are *api.Error.
func (c *Controller) simulate(
	ctx context.Context, spec api.SimulationSpec,
) (out api.Simulation, err error) {
	within, stop := context.WithTimeout(ctx, longestSimulation)
	defer stop()
	late := func(code api.Code, message string) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &api.Error{Code: code, Message: message}
	}
	select {
	case c.simulating <- struct{}{}:
		defer func() { <-c.simulating }()
	case <-within.Done():
		return out, late(api.CodeUnavailable, fmt.Sprintf("other simulations took %v: one runs at a "+
			"time, ask again later", longestSimulation))
	}
	var run func(context.Context, api.SimulationSpec) (api.Simulation, error)
	if err := c.read(within, func(core *Core) { run = core.Simulation() }); err != nil {
		return out, err
	}
	if out, err = run(within, spec); err != nil && within.Err() != nil {
		return out, late(api.CodeLimit, fmt.Sprintf("the simulation takes longer than %v: less are "+
			"fewer events, and in jobs[].data fewer communicators with data", longestSimulation))
	}
	return out, err
}

// Simulation returns a function that answers how much of the present fabric the present jobs get,
// now and after some events. Any goroutine may call the function.
func (c *Core) Simulation() func(context.Context, api.SimulationSpec) (api.Simulation, error) {
	view := c.env.Fabric
	tasks := slices.DeleteFunc(c.jobs.Tasks(), func(t job.Task) bool { return t.Over })
	return func(ctx context.Context, spec api.SimulationSpec) (api.Simulation, error) {
		return simulated(ctx, view, tasks, spec)
	}
}

func simulated(
	ctx context.Context, view *fabricview.View, tasks []job.Task, spec api.SimulationSpec,
) (out api.Simulation, err error) {
	if err := spec.Validate(); err != nil {
		return out, err
	}
	if view.Fluid == nil {
		return out, &api.Error{Code: api.CodeUnavailable, Message: view.NoLosses}
	}
	network, before := view.Fluid()
	after := before.Clone()
	apart, err := happen(view, spec.Events, after)
	if err != nil {
		return out, err
	}
	out = api.Simulation{Events: []string{}, Jobs: []api.SimulatedJob{}}
	for _, e := range spec.Events {
		out.Events = append(out.Events, e.String())
	}
	steps, err := stepsOf(spec.Jobs, tasks)
	if err != nil {
		return out, err
	}
	var jobs []flows.Job
	var place []int
	for i := range tasks {
		t := &tasks[i]
		x := api.SimulatedJob{Name: t.Name, Running: t.Running}
		j, why := patternOf(t, steps[t.Name], network)
		if x.Ranks = len(j.NICs); why != "" {
			x.Why = why
		} else {
			jobs, place = append(jobs, j), append(place, len(out.Jobs))
		}
		out.Jobs = append(out.Jobs, x)
	}
	apart = append(apart, slices.Sorted(maps.Keys(before.Ports))...)
	model, err := network.Compile(ctx, jobs, apart...)
	switch {
	case errors.Is(err, flows.ErrTooLarge):
		return out, &api.Error{Code: api.CodeLimit, Message: err.Error()}
	case err != nil:
		return out, err
	}
	found, err := model.Compare(ctx, before, after)
	if err != nil {
		return out, err
	}
	for i := range found {
		x := &out.Jobs[place[i]]
		x.Before, x.After = &found[i].Before, &found[i].After
		if x.Before.Step > 0 && x.After.Step > 0 {
			more := float64(x.After.Step)/float64(x.Before.Step) - 1
			x.Increase = &more
		}
	}
	slices.SortFunc(out.Jobs, flows.Worst)
	return out, nil
}

// happen changes a state by events, and returns the NICs that these name.
func happen(
	view *fabricview.View, events []api.SimulationEvent, to *flows.State,
) (nics []string, err error) {
	var faults []api.FieldError
	for i, e := range events {
		o := e.Object
		if why := view.Losses.Unknown(o.Part()); why != "" {
			faults = append(faults, api.FieldError{Field: fmt.Sprintf("events[%d].object", i),
				Code: api.CodeInvalid, Value: o.String(), Want: "a part of the fabric: " + why})
			continue
		}
		if o.Host != "" {
			nics = append(nics, o.Host)
			if mask := hostapi.Ports(int(o.Port)); e.Action == api.SimulationRepair {
				to.Ports[o.Host] &^= mask
			} else {
				to.Ports[o.Host] |= mask
			}
			continue
		}
		links, node := view.Losses.Links(o.Part())
		to.Apply(e.Action, o, links, node)
	}
	return nics, api.Refuse(faults)
}

// stepsOf returns what a request says of jobs, by name.
func stepsOf(
	steps []api.SimulationStep, tasks []job.Task,
) (map[string]*api.SimulationStep, error) {
	out := make(map[string]*api.SimulationStep, len(steps))
	var faults []api.FieldError
	bad := func(value, want, field string, at ...any) {
		faults = append(faults, api.FieldError{Field: fmt.Sprintf(field, at...), Code: api.CodeInvalid,
			Value: value, Want: want})
	}
	for i := range steps {
		name := steps[i].Name
		at := slices.IndexFunc(tasks, func(t job.Task) bool { return t.Name == name })
		if at < 0 || out[name] != nil {
			bad(name, "a job that has not ended, once", "jobs[%d].name", i)
			continue
		}
		if t := &tasks[at]; t.Demand != nil {
			groups, _ := job.Communicators(&t.Spec, len(t.Demand.NICs)) // patternOf says what is wrong
			var known []string
			for _, g := range groups {
				known = append(known, g.Name)
			}
			slices.Sort(known)
			known = slices.Compact(known)
			for k, d := range steps[i].Data {
				if len(known) > 0 && !slices.Contains(known, d.Communicator) {
					bad(d.Communicator, "one of "+strings.Join(known, ", "),
						"jobs[%d].data[%d].communicator", i, k)
				}
			}
		}
		out[name] = &steps[i]
	}
	return out, api.Refuse(faults)
}

// patternOf returns a job with a step as a request has it, nil: as any; why is not empty where
// nothing can be said of the job.
func patternOf(
	t *job.Task, step *api.SimulationStep, in *flows.Network,
) (j flows.Job, why string) {
	if t.Demand == nil {
		return j, "the job does not fit the configuration of this controller"
	}
	j = flows.Job{Name: t.Name, NICs: t.Demand.NICs, Steps: 1}
	for _, name := range j.NICs {
		if _, ok := in.Hosts[name]; !ok {
			return j, fmt.Sprintf("NIC %s is not attached to the fabric", name)
		}
	}
	groups, err := job.Communicators(&t.Spec, len(j.NICs))
	if err != nil {
		return j, err.Error()
	}
	if step != nil {
		j.Compute = step.Compute.D()
	}
	for _, g := range groups {
		octets := int64(api.SimulationBytes)
		if step != nil && len(step.Data) > 0 {
			octets = 0
			for _, d := range step.Data {
				if d.Communicator == g.Name {
					octets = d.Bytes
				}
			}
		}
		j.Groups = append(j.Groups, flows.Group{Ranks: g.Ranks,
			Collective: flows.ByPattern(g.Pattern), Octets: int(octets)})
	}
	return j, ""
}
