package job

import (
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/resource"
)

// Jobs returns the jobs.
func (f *Feature) Jobs() resource.Resources[api.JobSpec, api.Job] { return jobs{f} }

// jobs implements resource.Resources.
type jobs struct{ *Feature }

// List returns the jobs, by name.
func (f jobs) List() []api.Job { return resource.Views(f.all, f.view) }

// Get implements resource.Resources.
func (f jobs) Get(name string) (api.Job, error) { return resource.View(f.all, name, f.view) }

// Put implements resource.Resources.
func (f jobs) Put(
	name string, spec api.JobSpec, pre resource.Precondition,
) (v api.Job, created bool, err error) {
	spec = spec.Complete()
	j, err := f.all.CheckPut(name, pre)
	if err == nil {
		err = spec.Validate(f.validation())
	}
	if err != nil {
		return v, false, err
	}
	if j != nil && j.Spec.Equal(&spec) {
		return f.view(j), false, nil
	}
	try := f.all.Try(name, spec, f.env.Wall())
	try.Decided = decided{Renewed: f.env.Wall()}
	if j != nil && samePlace(&j.Spec, &spec) {
		try.Decided.demand, try.Decided.readiness = j.Decided.demand, j.Decided.readiness
		try.Decided.since = j.Decided.since
	} else {
		f.plan(try)
	}
	if over(try) {
		f.renew(try) // hosts hold what followed from it until they say otherwise
	}
	if err := f.apart(try, pre); err != nil {
		return v, false, err
	}
	created = j == nil
	j = f.all.Put(name, spec, f.env.Wall())
	j.Decided = try.Decided
	f.groups.due = true
	f.change()
	f.env.Event(api.EventJobChanged, name, fmt.Sprintf("%s: %d ranks, %d pairs of racks talk",
		spec.State, ranksOf(j), j.Decided.demand.rackPairs()), nil)
	return f.view(j), created, nil
}

// samePlace reports whether the same NICs talk to each other by two specs.
func samePlace(a, b *api.JobSpec) bool {
	x := *b
	x.Exclusive, x.Lease, x.Priority, x.State = a.Exclusive, a.Lease, a.Priority, a.State
	x.Communicators = slices.Clone(b.Communicators)
	for i := range min(len(a.Communicators), len(b.Communicators)) {
		if was := a.Communicators[i].Multicast; was != nil && x.Communicators[i].Multicast != nil {
			x.Communicators[i].Multicast = was // its queue pairs and addresses change nothing
		}
	}
	return a.Equal(&x)
}

func (f jobs) validation() api.JobEnv {
	return api.JobEnv{Expand: expand, Layout: checkLayout,
		HasNIC: func(name string) bool { return f.nics[name] != nil }}
}

// apart refuses a job that shares NICs with another job if either job is exclusive.
func (f jobs) apart(j *item, pre resource.Precondition) error {
	if over(j) || j.Decided.demand == nil {
		return nil
	}
	var mine map[string]bool
	for _, o := range f.all.All() {
		if o.Name == j.Name || over(o) || o.Decided.demand == nil ||
			!o.Spec.Exclusive && !j.Spec.Exclusive {
			continue
		}
		if mine == nil {
			mine = make(map[string]bool, len(j.Decided.demand.NICs))
			for _, name := range j.Decided.demand.NICs {
				mine[name] = true
			}
		}
		for _, name := range o.Decided.demand.NICs {
			if !mine[name] {
				continue
			}
			other := "another job"
			if o := pre.Visible(o.Name); o != "" {
				other = fmt.Sprintf("job %q", o)
			}
			return api.Refuse([]api.FieldError{{
				Field: placesField(&j.Spec), Code: api.CodeConflict, Value: name,
				Want: "NICs that no other job has: one of the two is exclusive, and " + other +
					" has this one",
			}})
		}
	}
	return nil
}

// Delete implements resource.Resources.
func (f jobs) Delete(name string, pre resource.Precondition) error {
	if _, err := f.all.CheckDelete(name, pre); err != nil {
		return err
	}
	f.all.Delete(name)
	f.groups.due = true
	f.change()
	f.env.Event(api.EventJobDeleted, name, "deleted", nil)
	return nil
}

// Renew renews the lease of a job that has not ended.
func (f *Feature) Renew(name string, pre resource.Precondition) error {
	j, err := f.all.CheckDelete(name, pre)
	switch {
	case err != nil:
		return err
	case over(j):
		return &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf(
			"job %q has ended: want one that has not; a new spec begins it anew", name)}
	case j.Spec.Lease == 0:
		return &api.Error{Code: api.CodeConflict,
			Message: fmt.Sprintf("job %q has no lease: want spec.lease, a duration", name)}
	}
	j.Decided.Renewed = f.env.Wall()
	f.all.Save(name)
	return nil
}

func ranksOf(j *item) int {
	if j.Decided.demand == nil {
		return 0
	}
	return len(j.Decided.demand.NICs)
}

func (d *Demand) rackPairs() int {
	if d == nil {
		return 0
	}
	return len(d.Pairs)
}

// view returns a job with its status.
func (f *Feature) view(j *item) api.Job {
	v := api.Job{Name: j.Name, Version: j.Version, Created: j.Created, Spec: j.Spec}
	s := &v.Status
	s.Phase, s.Ranks, s.Ends = f.phase(j), ranksOf(j), ends(j)
	s.Groups = f.groupsOf(j.Name)
	if d := j.Decided.demand; d != nil {
		s.Follows = d.Follows
		s.Conditions.Set(api.Accepted, true, api.ReasonPlanned, "", j.Changed)
	} else {
		s.Conditions.Set(api.Accepted, false, api.ReasonNotPlannable,
			"the spec of an earlier controller is not valid any more", j.Changed)
	}
	r := j.Decided.readiness
	switch {
	case over(j):
		s.Conditions.Set(api.Ready, false, api.ReasonEnded, "the job has ended", j.Changed)
	case r == nil:
		s.Conditions.Set(api.Ready, false, api.ReasonUnjudged, "nobody has looked yet", j.Changed)
	case r.Go:
		s.Conditions.Set(api.Ready, true, api.ReasonGo, "", r.since)
		s.Left = r.Left
	default:
		s.Conditions.Set(api.Ready, false, api.ReasonBlocked, ready.Summary(&r.JobReadiness), r.since)
		s.Blockers, s.Left = len(r.Blockers), r.Left
	}
	return v
}
