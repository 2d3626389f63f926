package northbound

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/northbound/causes"
)

// takesFromJobs adds to a dry run the losses of jobs: paths and ports that go out of use by the
// write.
func (s *Server) takesFromJobs(ctx context.Context, view any, t *resource.Trial) error {
	steps := s.stepsAfter(ctx, happening(view, t.Takes))
	take := func(t *resource.Trial, job, message string) {
		take(t, job, message+steps[job])
	}
	if m, ok := view.(api.Maintenance); ok {
		for i := range m.Status.Jobs {
			j := &m.Status.Jobs[i]
			take(t, j.Name, fmt.Sprintf("it keeps %.0f %% of the paths of %d pairs of racks, and %d of its "+
				"ranks have no port", 100*j.Left, j.Lose, j.CutOff))
		}
		return nil
	}
	if l, ok := view.(api.PathLease); ok && len(l.Alone()) > 0 {
		return s.takesByLease(ctx, &l, t)
	}
	parts := leaving(view, t.Takes)
	if len(parts) == 0 {
		return nil
	}
	of, err := s.controller.Dependents(ctx)
	if err != nil {
		return err
	}
	for _, part := range parts {
		for _, j := range of(part) {
			take(t, j.Name, fmt.Sprintf("%d of its %d ranks depend on %s %s", j.Affected, j.Ranks,
				part.Kind, part.Name))
		}
	}
	return nil
}

// takesByLease adds to a dry run the jobs that an exclusive lease would block, and does not block
// already.
func (s *Server) takesByLease(ctx context.Context, l *api.PathLease, t *resource.Trial) error {
	of, err := s.controller.Dependents(ctx)
	if err != nil {
		return err
	}
	was, _ := kindOf[api.PathLeaseSpec, api.PathLease](s).Get(ctx, l.Name) // nothing: it blocked none
	before := causes.Blocked(&was, of)
	for _, j := range causes.Blocked(l, of) {
		if slices.ContainsFunc(before, func(b api.JobDependent) bool { return b.Name == j.Name }) {
			continue
		}
		project := ""
		if name := s.controller.Members().Of(j.Name); name != "" {
			project = " of project " + name
		}
		take(t, j.Name, fmt.Sprintf("%d of its %d ranks depend on links that the lease has for itself: "+
			"the job%s is NO-GO while the lease lasts", j.Affected, j.Ranks, project))
	}
	return nil
}

// take adds a job to what a dry run takes, once.
func take(t *resource.Trial, job, message string) {
	object := "jobs/" + job
	if len(t.Takes) < api.MostTaken &&
		!slices.ContainsFunc(t.Takes, func(x api.Taken) bool { return x.Object == object }) {
		t.Takes = append(t.Takes, api.Taken{Kind: "job", Name: job, Object: object,
			Reason: api.ReasonTaken, Message: message})
	}
}

// leaving returns the parts of the network that a tried write takes out of use, by the view that
// follows and by what the write takes.
func leaving(view any, takes []api.Taken) (parts []api.Part) {
	add := func(leaves bool, kind api.PartKind, name string) {
		if leaves {
			parts = append(parts, api.Part{Kind: kind, Name: name})
		}
	}
	drained := func(s api.AdminSpec) bool { return s.Admin == api.AdminDrained }
	switch v := view.(type) {
	case api.Link:
		add(drained(v.Spec) && !v.Status.Drained, api.PartLink, string(v.ID))
	case api.Node:
		add(drained(v.Spec) && len(v.Status.Drains) == 0, api.PartSwitch, v.Status.Name)
	case api.Plane:
		add(drained(v.Spec) && len(v.Status.Drains) == 0, api.PartPlane, strconv.Itoa(v.Plane))
	case api.HostPort:
		for _, t := range takes {
			add(t.Kind == "host", api.PartHost, t.Name)
		}
	case api.Port:
		off := v.Spec.Disabled()
		add(off && v.Status.Link != "" && v.Status.Oper != "down", api.PartLink, string(v.Status.Link))
		for _, t := range takes {
			add(off && t.Kind == "host", api.PartHost, t.Name)
		}
	}
	return parts
}

// happening returns what a tried write does to the fabric, by the view that follows and
// by what the write takes.
func happening(view any, takes []api.Taken) (events []api.SimulationEvent) {
	drain := func(s api.AdminSpec, o api.SimulationObject) {
		if s.Admin == api.AdminDrained {
			events = append(events, api.SimulationEvent{Action: api.SimulationDrain, Object: o})
		}
	}
	switch v := view.(type) {
	case api.Maintenance:
		for _, o := range v.Spec.Objects {
			drain(api.AdminSpec{Admin: api.AdminDrained}, o)
		}
	case api.Link:
		drain(v.Spec, api.SimulationObject{Link: v.ID})
	case api.Node:
		drain(v.Spec, api.SimulationObject{Node: string(v.ID)})
	case api.Plane:
		drain(v.Spec, api.SimulationObject{Plane: v.Plane})
	case api.HostPort:
		for _, t := range takes {
			if t.Kind == "host" {
				drain(v.Spec, api.SimulationObject{Host: t.Name, Port: v.Port})
			}
		}
	case api.Port:
		if v.Spec.Disabled() && v.Status.Link != "" {
			events = append(events, api.SimulationEvent{Action: api.SimulationFail,
				Object: api.SimulationObject{Link: v.Status.Link}})
		}
	}
	return events[:min(len(events), api.MaxSimulationEvents)]
}

// longestLook bounds how long a dry run simulates the steps of jobs.
const longestLook = 2 * time.Second

// stepsAfter returns what becomes of a step of each job after some events, to be put behind another
// clause; nothing where that is not known in time.
func (s *Server) stepsAfter(ctx context.Context, events []api.SimulationEvent) map[string]string {
	out := make(map[string]string)
	if len(events) == 0 || s.cfg.Multipath == nil {
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, longestLook)
	defer cancel()
	sim, err := s.simulate(ctx, api.SimulationSpec{Events: events})
	if err != nil {
		return out
	}
	for i := range sim.Jobs {
		switch j := &sim.Jobs[i]; {
		case j.After == nil:
		case j.After.CutOff > 0:
			out[j.Name] = fmt.Sprintf("; %d of its ranks are cut off, so that its steps do not end",
				j.After.CutOff)
		case j.Increase == nil:
		case *j.Increase < 0.001:
			out[j.Name] = "; its steps take no longer"
		default:
			out[j.Name] = fmt.Sprintf("; its steps take %.1f %% longer", 100**j.Increase)
		}
	}
	return out
}
