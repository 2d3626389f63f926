package job

import (
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/resource"
)

// Jobs returns the jobs.
func (f *Feature) Jobs() resource.Resources[api.JobSpec, api.Job] {
	return resource.Written[api.JobSpec, decided, api.Job]{All: f.All, Env: f.env, Decide: f.decide,
		View: f.view, Gone: f.gone, Changed: f.follow}
}

func (f *Feature) decide(old, j *item, pre resource.Precondition) error {
	j.Spec = j.Spec.Complete()
	if err := j.Spec.Validate(f.validation()); err != nil {
		return err
	}
	if old != nil && old.Spec.Equal(&j.Spec) {
		return resource.ErrUnchanged
	}
	j.Decided = decided{Renewed: f.env.Wall()}
	if old != nil && samePlace(&old.Spec, &j.Spec) {
		j.Decided.demand, j.Decided.readiness = old.Decided.demand, old.Decided.readiness
		j.Decided.since = old.Decided.since
	} else {
		f.plan(j)
	}
	if over(j) {
		f.renew(j) // hosts hold what followed from it until they say otherwise
	}
	if err := f.apart(j, pre); err != nil {
		return err
	}
	f.env.Event(api.EventJobChanged, j.Name, fmt.Sprintf("%s: %d ranks, %d pairs of racks talk",
		j.Spec.State, ranksOf(j), j.Decided.demand.rackPairs()), nil)
	return nil
}

// plan works out the demand of a job. The record of an earlier controller may contain a spec that
// this controller refuses: such a job needs nothing, and is not ready.
func (f *Feature) plan(j *item) {
	d, err := newDemand(&j.Spec, func(name string) *inventory.Host { return f.nics[name] })
	if err != nil {
		d = nil
	}
	j.Decided.demand = d
	f.renew(j)
}

// follow notes that clients have changed jobs.
func (f *Feature) follow() {
	f.groups.due = true
	f.change()
}

// change notes that jobs or their needs have changed.
func (f *Feature) change() {
	f.changed, f.fresh = true, true
	f.changes++
}

// over reports whether a job is done, or its lease has ended.
func over(j *item) bool { return j.Spec.State == api.JobDone || j.Decided.Ended }

// ends returns when the lease of a job ends; zero: it does not.
func ends(j *item) time.Time {
	if j.Spec.Lease == 0 || over(j) {
		return time.Time{}
	}
	return j.Decided.Renewed.Add(j.Spec.Lease.D())
}

// phase returns how far a job is.
func (f *Feature) phase(j *item) api.JobPhase {
	r := j.Decided.readiness
	switch {
	case over(j) && (r == nil || r.behind):
		return api.PhaseDraining
	case over(j):
		return api.PhaseDone
	case j.Spec.State == api.JobRunning:
		return api.PhaseRunning
	case r != nil && r.Go:
		return api.PhaseReady
	}
	return api.PhasePending
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

func (f *Feature) validation() api.JobEnv {
	return api.JobEnv{Expand: expand, Layout: checkLayout,
		HasNIC: func(name string) bool { return f.nics[name] != nil }}
}

// apart refuses a job that shares NICs with another job if either job is exclusive.
func (f *Feature) apart(j *item, pre resource.Precondition) error {
	if over(j) || j.Decided.demand == nil {
		return nil
	}
	var mine map[string]bool
	for _, o := range f.All.All() {
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

func (f *Feature) gone(j *item, _ resource.Precondition) error {
	f.env.Event(api.EventJobDeleted, j.Name, "deleted", nil)
	return nil
}

// Renew renews the lease of a job that has not ended.
func (f *Feature) Renew(name string, pre resource.Precondition) error {
	j, err := resource.CheckDelete(f.All, name, pre)
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
	f.All.Save(name)
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
