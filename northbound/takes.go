package northbound

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/northbound/causes"
)

// takesFromJobs adds to a dry run the losses of jobs: paths and ports that go out of use by the
// write.
func (s *Server) takesFromJobs(ctx context.Context, view any, t *resource.Trial) error {
	if m, ok := view.(api.Maintenance); ok {
		for i := range m.Status.Jobs {
			j := &m.Status.Jobs[i]
			take(t, j.Name, fmt.Sprintf("it keeps %.0f %% of the paths of %d pairs of racks, and %d of its "+
				"ranks have no port", 100*j.Left, j.Lose, j.CutOff))
		}
		return nil
	}
	if l, ok := view.(api.PathLease); ok && l.Spec.Sharing == api.LeaseExclusive {
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
	blocked := causes.Blocked(l, of)
	if len(blocked) == 0 {
		return nil
	}
	before := make(map[string]bool)
	leases := kindOf[api.PathLeaseSpec, api.PathLease](s)
	if was, err := leases.Get(ctx, l.Name); err == nil {
		for _, j := range causes.Blocked(&was, of) {
			before[j.Name] = true
		}
	}
	for _, j := range blocked {
		if before[j.Name] {
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
